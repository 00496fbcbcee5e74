//! A little-endian reader over bytes that never reads or allocates beyond them.

use super::ReadError;

/// A position in a file.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> u64 {
        self.at as u64
    }

    /// Checks that `count` items of `size` bytes each can follow; returns how many bytes those are.
    pub(super) fn expect(&self, count: u64, size: u64) -> Result<usize, ReadError> {
        let left = (self.bytes.len() - self.at) as u64;
        match count.checked_mul(size) {
            Some(wanted) if wanted <= left => Ok(wanted as usize),
            _ => Err(ReadError::Truncated { at: self.position(), count, size, left }),
        }
    }

    /// The next `count` items of `size` bytes each.
    pub(super) fn take(&mut self, count: u64, size: u64) -> Result<&'a [u8], ReadError> {
        let wanted = self.expect(count, size)?;
        let taken = &self.bytes[self.at..][..wanted];
        self.at += wanted;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        Ok(self.take(1, N as u64)?.try_into().expect("exactly N bytes were taken"))
    }

    pub(super) fn u32(&mut self) -> Result<u32, ReadError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, ReadError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A string: its length as 64 bits, then UTF-8.
    pub(super) fn string(&mut self) -> Result<&'a str, ReadError> {
        let length = self.u64()?;
        let at = self.position();
        std::str::from_utf8(self.take(length, 1)?).map_err(|_| ReadError::Utf8 { at })
    }
}

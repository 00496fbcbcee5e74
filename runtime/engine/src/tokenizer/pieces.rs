//! The table from token id to the bytes that it stands for.

use std::sync::LazyLock;

/// Bytes of every token, in one allocation.
pub(super) struct Pieces {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    end: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Absent,
    Text,
    Special,
}

impl Pieces {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), entries: Vec::new() }
    }

    /// A token of the BPE vocabulary, spelled in the byte-level alphabet.
    pub(super) fn insert_byte_level(&mut self, id: u32, token: &str) {
        let start = self.bytes.len();
        for c in token.chars() {
            match byte_of(c) {
                Some(byte) => self.bytes.push(byte),
                None => {
                    // A token with any other character is taken literally, as Hugging Face's decoder does.
                    self.bytes.truncate(start);
                    self.bytes.extend_from_slice(token.as_bytes());
                    break;
                }
            }
        }
        self.set(id, start, Kind::Text);
    }

    /// An added token, whose text stands for itself.
    pub(super) fn insert_literal(&mut self, id: u32, token: &str, special: bool) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(token.as_bytes());
        self.set(id, start, if special { Kind::Special } else { Kind::Text });
    }

    fn set(&mut self, id: u32, start: usize, kind: Kind) {
        let absent = Entry { start: 0, end: 0, kind: Kind::Absent };
        let index = id as usize;
        if self.entries.len() <= index {
            self.entries.resize(index + 1, absent);
        }
        self.entries[index] = Entry { start, end: self.bytes.len(), kind };
    }

    /// One past the largest id.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of a token and whether it is special.
    pub(super) fn get(&self, id: u32) -> Option<(&[u8], bool)> {
        let entry = self.entries.get(id as usize).filter(|e| e.kind != Kind::Absent)?;
        Some((&self.bytes[entry.start..entry.end], entry.kind == Kind::Special))
    }
}

/// The byte that a character of GPT-2's byte-level alphabet stands for.
fn byte_of(c: char) -> Option<u8> {
    static TABLE: LazyLock<[Option<u8>; 324]> = LazyLock::new(|| {
        let mut table = [None; 324];
        let mut next = 256;
        for byte in 0..=255u8 {
            // Printable Latin-1 stands for itself; the other 68 bytes follow from U+0100, in order.
            let visible = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
            let code = if visible { usize::from(byte) } else { next };
            next += usize::from(!visible);
            table[code] = Some(byte);
        }
        table
    });
    TABLE.get(c as usize).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_is_a_bijection_on_bytes() {
        let mut bytes: Vec<u8> = (0..=0x17F).filter_map(char::from_u32).filter_map(byte_of).collect();
        assert_eq!(bytes.len(), 256);
        bytes.sort_unstable();
        bytes.dedup();
        assert_eq!(bytes.len(), 256);
        assert_eq!((byte_of('Ġ'), byte_of('Ċ'), byte_of('A'), byte_of('é')), (Some(b' '), Some(b'\n'), Some(b'A'), Some(0xE9)));
        assert_eq!(byte_of(' '), None);
    }

    #[test]
    fn added_tokens_are_literal_and_holes_are_absent() {
        let mut pieces = Pieces::new();
        pieces.insert_byte_level(0, "Ġcaf\u{c3}\u{a9}");
        pieces.insert_literal(2, "<é>", true);
        pieces.insert_byte_level(3, "a b");
        assert_eq!(pieces.get(0), Some((" café".as_bytes(), false)));
        assert_eq!(pieces.get(1), None);
        assert_eq!(pieces.get(2), Some(("<é>".as_bytes(), true)));
        assert_eq!(pieces.get(3), Some(("a b".as_bytes(), false)));
        assert_eq!((pieces.get(4), pieces.len()), (None, 4));
    }
}

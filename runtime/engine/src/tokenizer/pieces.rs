//! The table from token id to the bytes that it stands for.

use super::byte_level::byte_of;

/// Bytes of every token, in one allocation.
pub(super) struct Pieces {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    end: usize,
    kind: Option<PieceKind>,
}

/// What a token is to the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PieceKind {
    /// Part of it.
    Text,
    /// An added token that is part of it.
    Added,
    /// A control token.
    Special,
}

impl Pieces {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), entries: Vec::new() }
    }

    /// A token of a byte-level vocabulary, spelled in the byte-level alphabet.
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
        self.set(id, start, PieceKind::Text);
    }

    /// A token that stands for these bytes.
    pub(super) fn insert(&mut self, id: u32, bytes: &[u8], kind: PieceKind) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.set(id, start, kind);
    }

    fn set(&mut self, id: u32, start: usize, kind: PieceKind) {
        let index = id as usize;
        if self.entries.len() <= index {
            self.entries.resize(index + 1, Entry { start: 0, end: 0, kind: None });
        }
        self.entries[index] = Entry { start, end: self.bytes.len(), kind: Some(kind) };
    }

    /// One past the largest id.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of a token and its kind.
    pub(super) fn get(&self, id: u32) -> Option<(&[u8], PieceKind)> {
        let entry = self.entries.get(id as usize)?;
        Some((&self.bytes[entry.start..entry.end], entry.kind?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_tokens_are_literal_and_holes_are_absent() {
        let mut pieces = Pieces::new();
        pieces.insert_byte_level(0, "Ġcaf\u{c3}\u{a9}");
        pieces.insert(2, "<é>".as_bytes(), PieceKind::Special);
        pieces.insert_byte_level(3, "a b");
        assert_eq!(pieces.get(0), Some((" café".as_bytes(), PieceKind::Text)));
        assert_eq!(pieces.get(1), None);
        assert_eq!(pieces.get(2), Some(("<é>".as_bytes(), PieceKind::Special)));
        assert_eq!(pieces.get(3), Some(("a b".as_bytes(), PieceKind::Text)));
        assert_eq!((pieces.get(4), pieces.len()), (None, 4));
    }
}

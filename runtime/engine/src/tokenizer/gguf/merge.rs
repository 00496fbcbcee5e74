//! Merging neighbouring symbols of a text, the strongest pair first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A stretch of the text that is one token so far.
#[derive(Clone, Copy)]
pub(super) struct Symbol {
    /// Where it begins, in bytes.
    pub start: usize,
    /// Its bytes; 0 once its left neighbour has taken it.
    pub len: usize,
    /// Its token; `None` for a character that is not a token.
    pub id: Option<u32>,
    left: usize,
    right: usize,
}

/// No neighbour.
const NONE: usize = usize::MAX;

/// Two neighbours that together are a token. The strongest comes first, and of equals the leftmost.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<P> {
    strength: P,
    left: Reverse<usize>,
    right: usize,
    /// Bytes of both: other than now when one of them has grown or is gone since.
    len: usize,
    id: u32,
}

/// The symbols of one text; its memory serves the next one too.
pub(super) struct Symbols<P> {
    symbols: Vec<Symbol>,
    candidates: BinaryHeap<Candidate<P>>,
}

impl<P: Ord> Symbols<P> {
    pub(super) fn new() -> Self {
        Self { symbols: Vec::new(), candidates: BinaryHeap::new() }
    }

    pub(super) fn clear(&mut self) {
        self.symbols.clear();
    }

    /// Appends a symbol of `len` bytes.
    pub(super) fn push(&mut self, len: usize, id: Option<u32>) {
        let index = self.symbols.len();
        let (start, left) = match self.symbols.last_mut() {
            None => (0, NONE),
            Some(last) => {
                last.right = index;
                (last.start + last.len, index - 1)
            }
        };
        self.symbols.push(Symbol { start, len, id, left, right: NONE });
    }

    /// Merges until no two neighbours are a pair: O(n log n) for n symbols. `pair` gives the strength of a pair and its token.
    pub(super) fn merge(&mut self, pair: impl Fn(&Symbol, &Symbol) -> Option<(P, u32)>) -> impl Iterator<Item = Symbol> {
        for right in 1..self.symbols.len() {
            self.consider(right - 1, right, &pair);
        }
        while let Some(Candidate { left: Reverse(left), right, len, id, .. }) = self.candidates.pop() {
            let (a, b) = (self.symbols[left], self.symbols[right]);
            if a.len == 0 || b.len == 0 || a.len + b.len != len {
                continue;
            }
            self.symbols[left] = Symbol { len, id: Some(id), right: b.right, ..a };
            self.symbols[right].len = 0;
            if b.right != NONE {
                self.symbols[b.right].left = left;
            }
            self.consider(a.left, left, &pair);
            self.consider(left, b.right, &pair);
        }
        self.symbols.iter().copied().filter(|symbol| symbol.len > 0)
    }

    fn consider(&mut self, left: usize, right: usize, pair: impl Fn(&Symbol, &Symbol) -> Option<(P, u32)>) {
        if left == NONE || right == NONE {
            return;
        }
        let (a, b) = (&self.symbols[left], &self.symbols[right]);
        if let Some((strength, id)) = pair(a, b) {
            self.candidates.push(Candidate { strength, left: Reverse(left), right, len: a.len + b.len, id });
        }
    }
}

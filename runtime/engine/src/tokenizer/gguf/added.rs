//! Added tokens: found in a text before anything else is.

/// Tokens whose text stands for them wherever it occurs.
pub(super) struct AddedTokens {
    /// Sorted by text, for the search.
    by_text: Vec<Added>,
    /// Indices into `by_text`, the longest text first and of equals the lowest id: the order in which they are taken.
    by_length: Vec<usize>,
    /// The first byte of any of them.
    first_bytes: [bool; 256],
}

struct Added {
    text: Box<str>,
    id: u32,
    /// Whitespace that follows belongs to it.
    strips_right: bool,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fragment<'t> {
    Text(&'t str),
    Token(u32),
}

impl AddedTokens {
    /// Each token has a text and an id, and whitespace behind it belongs to it or not.
    pub(super) fn new<'v>(tokens: impl Iterator<Item = (&'v str, u32, bool)>) -> Self {
        let added = |(text, id, strips_right): (&str, u32, bool)| Added { text: text.into(), id, strips_right };
        // An empty text would be everywhere.
        let mut by_text: Vec<Added> = tokens.filter(|(text, ..)| !text.is_empty()).map(added).collect();
        by_text.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        let mut by_length: Vec<usize> = (0..by_text.len()).collect();
        by_length.sort_by_key(|&i| (std::cmp::Reverse(by_text[i].text.len()), by_text[i].id));
        let mut first_bytes = [false; 256];
        by_text.iter().for_each(|added| first_bytes[usize::from(added.text.as_bytes()[0])] = true);
        Self { by_text, by_length, first_bytes }
    }

    /// Cuts a text: each token in the order of length takes its occurrences, from left to right, in what longer ones have left.
    ///
    /// That is llama.cpp's rule; the leftmost token of two that overlap is not always the one that is taken.
    pub(super) fn partition<'t>(&self, text: &'t str) -> Vec<Fragment<'t>> {
        let present = self.present(text.as_bytes());
        let mut fragments = vec![Fragment::Text(text)];
        for added in self.by_length.iter().filter(|&&i| present[i]).map(|&i| &self.by_text[i]) {
            let mut next = Vec::with_capacity(fragments.len() + 2);
            for fragment in fragments {
                match fragment {
                    Fragment::Text(text) => added.cut(text, &mut next),
                    token => next.push(token),
                }
            }
            fragments = next;
        }
        fragments.retain(|&fragment| fragment != Fragment::Text(""));
        fragments
    }

    /// Which tokens occur in a text at all: few of the thousands that a vocabulary may have.
    fn present(&self, text: &[u8]) -> Vec<bool> {
        let mut present = vec![false; self.by_text.len()];
        for (start, _) in text.iter().enumerate().filter(|&(_, &byte)| self.first_bytes[usize::from(byte)]) {
            // The tokens whose text begins as the text does here, up to `depth` bytes.
            let (mut low, mut high) = (0, self.by_text.len());
            for (depth, &byte) in text[start..].iter().enumerate() {
                let range = &self.by_text[low..high];
                let at = |added: &Added| added.text.as_bytes().get(depth).copied();
                high = low + range.partition_point(|added| at(added) <= Some(byte));
                low += range.partition_point(|added| at(added) < Some(byte));
                if low == high {
                    break;
                }
                // The one that ends here is the first of those that begin with it.
                present[low] |= self.by_text[low].text.len() == depth + 1;
            }
        }
        present
    }
}

impl Added {
    fn cut<'t>(&self, mut text: &'t str, fragments: &mut Vec<Fragment<'t>>) {
        while let Some((before, after)) = text.split_once(&*self.text) {
            fragments.push(Fragment::Text(before));
            fragments.push(Fragment::Token(self.id));
            // C's `isspace`, which has the vertical tab too.
            text = if self.strips_right { after.trim_start_matches([' ', '\t', '\n', '\x0B', '\x0C', '\r']) } else { after };
        }
        fragments.push(Fragment::Text(text));
    }
}

//! Tags in running text: what may be the beginning of one is held back, and not a character more.

/// The end of a text that may be the beginning of a tag.
#[derive(Clone, Debug, Default)]
pub(crate) struct TagMatcher {
    held: String,
}

/// What a character decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// Everything held back may still become a tag.
    Held,
    /// All of a tag is there.
    Tag(&'static str),
}

impl TagMatcher {
    /// Takes a character, hands what can be no tag to `text`, and says what is left. No tag may begin another.
    pub(crate) fn push(&mut self, c: char, tags: &[&'static str], mut text: impl FnMut(char)) -> Match {
        self.held.push(c);
        loop {
            if let Some(tag) = tags.iter().find(|tag| **tag == self.held) {
                self.held.clear();
                return Match::Tag(tag);
            }
            if self.held.is_empty() || tags.iter().any(|tag| tag.starts_with(&self.held)) {
                return Match::Held;
            }
            text(self.held.remove(0));
        }
    }

    /// Whether this character neither begins a tag nor goes on with one.
    pub(crate) fn is_plain(&self, c: char, tags: &[&str]) -> bool {
        self.held.is_empty() && !tags.iter().any(|tag| tag.starts_with(c))
    }

    /// What is held back, which is no tag if nothing follows.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Bytes that are held back before `last`, the character that was pushed last.
    pub(crate) fn before(&self, last: char) -> usize {
        self.held.len().saturating_sub(last.len_utf8())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_behind_what_only_began_like_it() {
        let mut tags = TagMatcher::default();
        let mut text = String::new();
        let mut found = 0;
        for c in "<<tool<tool_cal <tool_call>x".chars() {
            if tags.push(c, &["<tool_call>"], |c| text.push(c)) == Match::Tag("<tool_call>") {
                found += 1;
            }
        }
        assert_eq!((text.as_str(), found, tags.take().as_str()), ("<<tool<tool_cal x", 1, ""));
    }
}

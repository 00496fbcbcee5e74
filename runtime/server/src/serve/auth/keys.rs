//! API keys, of which only hashes are kept.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// The keys of a server. Nothing shows them: they are kept as hashes, which also have one length, so that comparing tells nothing
/// about that of a key.
#[derive(Clone, Default)]
pub struct Keys(Vec<Key>);

#[derive(Clone)]
struct Key {
    hash: [u8; 32],
    name: Option<String>,
}

/// Why keys cannot be read. The messages name lines, and never have a key.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A key has a character that no header can carry.
    #[error("line {0}: a key has visible ASCII characters only, and this one has others")]
    Characters(usize),
    /// Two lines have one key.
    #[error("line {1}: this is the key of line {0} again; each stands once")]
    Twice(usize, usize),
    /// There is no key at all, and everybody would be let in.
    #[error("there is no key in it; each line is a key, and behind a space its name if it has one")]
    Empty,
}

impl Keys {
    /// One key per line, and behind white space its name, which may stand in logs. Empty lines and lines that begin with `#` are
    /// skipped.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let mut keys: Vec<(usize, Key)> = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let (key, name) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(KeyError::Characters(line));
            }
            let key = Key { hash: hash(key.as_bytes()), name: Some(name.trim().to_owned()).filter(|name| !name.is_empty()) };
            if let Some((first, _)) = keys.iter().find(|(_, known)| known.hash == key.hash) {
                return Err(KeyError::Twice(*first, line));
            }
            keys.push((line, key));
        }
        if keys.is_empty() { Err(KeyError::Empty) } else { Ok(Self(keys.into_iter().map(|(_, key)| key).collect())) }
    }

    /// With those of others; a key that both have stands once.
    pub fn with(mut self, others: Self) -> Self {
        for key in others.0 {
            if !self.0.iter().any(|known| known.hash == key.hash) {
                self.0.push(key);
            }
        }
        self
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where everybody is let in.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name of a key, if it is one of these. Which one it is, and how much of it is right, does not change how long this takes.
    pub(super) fn find(&self, presented: &[u8]) -> Option<Option<&str>> {
        let presented = hash(presented);
        let (mut found, mut at) = (Choice::from(0), 0u64);
        for (index, key) in (0u64..).zip(&self.0) {
            let equal = key.hash.ct_eq(&presented);
            at.conditional_assign(&index, equal);
            found |= equal;
        }
        bool::from(found).then(|| self.0[at as usize].name.as_deref())
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

fn hash(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_key_per_line_and_perhaps_its_name() {
        let keys = Keys::read("# keys of the team\n\n  sk-alice   Alice of sales \r\nsk-bob\n\t# more\nsk-#carol\n").unwrap();
        assert_eq!(keys.len(), 3);
        assert_eq!(keys.find(b"sk-alice"), Some(Some("Alice of sales")));
        assert_eq!((keys.find(b"sk-bob"), keys.find(b"sk-#carol")), (Some(None), Some(None)));
        for other in ["", "sk-alic", "sk-alice ", "SK-ALICE", "Alice of sales", "#", "# keys of the team"] {
            assert_eq!(keys.find(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_without_its_keys() {
        let error = |text: &str| Keys::read(text).unwrap_err().to_string();
        assert_eq!(error("a\nsch\u{fc}ssel\n"), "line 2: a key has visible ASCII characters only, and this one has others");
        assert_eq!(error("secret x\n\nsecret y"), "line 3: this is the key of line 1 again; each stands once");
        assert_eq!(Keys::read("# nothing\n\n").unwrap_err(), KeyError::Empty);
    }

    #[test]
    fn nothing_shows_a_key() {
        let keys = Keys::read("secret name").unwrap().with(Keys::read("secret\nother").unwrap());
        assert_eq!(format!("{keys:?}"), "2 keys");
        assert_eq!(keys.find(b"secret"), Some(Some("name")));
        assert!(keys.find(b"other").is_some());
    }
}

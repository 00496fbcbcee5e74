//! Where in the text of a JSON file a key and its value stand.
//!
//! The text was read before, so that it is JSON with every key once, apart from the bare words that Python writes for infinities.
//! Any other text gives no place, or one inside of it.

use std::ops::Range;

/// A key with its quotes, and its value; in bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The key.
    pub key: Range<usize>,
    /// The value.
    pub value: Range<usize>,
}

/// The place of a path of keys with dots between them, as [`Origin::Stated`](tenon_formats::Origin::Stated) has it. Keys may have dots
/// themselves.
pub fn find(text: &str, path: &str) -> Option<Place> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.space();
    scanner.object(path)
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Takes this byte, and the space after it.
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)?;
        self.space();
        Some(())
    }

    /// Looks for a path in the object that begins here. As deep as the path has dots, and no deeper.
    fn object(&mut self, path: &str) -> Option<Place> {
        self.take(b'{')?;
        loop {
            let key = self.string()?;
            // A key that is no JSON string equals no path.
            let name: String = serde_json::from_str(&self.text[key.clone()]).unwrap_or_default();
            self.space();
            self.take(b':')?;
            let start = self.at;
            if name == path {
                self.skip();
                return Some(Place { key, value: start..self.at });
            }
            let below = path.strip_prefix(&name).and_then(|rest| rest.strip_prefix('.'));
            if let Some(found) = below.filter(|_| self.peek() == Some(b'{')).and_then(|below| self.object(below)) {
                return Some(found);
            }
            self.at = start;
            self.skip();
            self.space();
            self.take(b',')?;
        }
    }

    fn string(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return None;
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                // Whatever it escapes is part of the string; a quote is one byte.
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(start..self.at)
    }

    /// Goes to the end of the value that begins here.
    fn skip(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    if self.string().is_none() {
                        self.at = self.text.len();
                    }
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    if depth == 0 {
                        return;
                    }
                    depth -= 1;
                    self.at += 1;
                }
                b',' if depth == 0 => return,
                byte if depth == 0 && byte.is_ascii_whitespace() => return,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
  "a": {"b": 1, "c": [2, {"b": 3}], "d\u0065": "x, \"}"},
  "b": Infinity , "a.c": true,
  "a.e": {"f": -1.5e-6}, "empty": {}
}"#;

    fn found(path: &str) -> Option<(&str, &str)> {
        find(TEXT, path).map(|place| (&TEXT[place.key], &TEXT[place.value]))
    }

    #[test]
    fn values_of_nested_keys_are_found() {
        assert_eq!(found("a.b"), Some(("\"b\"", "1")));
        assert_eq!(found("b"), Some(("\"b\"", "Infinity")));
        assert_eq!(found("a.de"), Some((r#""d\u0065""#, r#""x, \"}""#)));
        assert_eq!(found("a.c"), Some(("\"c\"", r#"[2, {"b": 3}]"#)));
        assert_eq!(found("a.e.f"), Some(("\"f\"", "-1.5e-6")));
        assert_eq!(found("a").map(|(_, value)| value.len()), Some(49));
        assert_eq!(found("empty"), Some(("\"empty\"", "{}")));
        for absent in ["", "c", "a.", "a.c.b", "empty.x", "a.b.c"] {
            assert_eq!(found(absent), None, "{absent}");
        }
    }

    #[test]
    fn no_text_is_too_strange() {
        for end in 0..TEXT.len() {
            for start in [0, 1, end / 2] {
                if let Some(place) = TEXT.get(start.min(end)..end).and_then(|text| find(text, "a.e.f")) {
                    assert!(place.key.end <= place.value.start && place.value.end <= end);
                }
            }
        }
        for text in ["{\"a", "{\"a\"", "{\"a\":", "{\"a\\", "[", "{\"é\\é\":1}", "{\"a\": \"x", "{\"a\":}", "{\"a\": \"\\"] {
            let _ = find(text, "a");
            let _ = find(text, "é");
        }
    }
}

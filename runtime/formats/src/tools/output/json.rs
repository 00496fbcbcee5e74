//! Whether characters, one after the other, are a JSON value: the scanner behind every parser whose arguments are JSON.
//!
//! It accepts what `serde_json` reads into a [`serde_json::Value`] and nothing else, so that a text that it has passed always
//! parses: no control character in a string, no lone surrogate, no number beyond an f64, no nesting beyond [`MAX_DEPTH`].

/// Arrays and objects within each other. Readers of the answer have limits of their own, which lie higher.
pub(crate) const MAX_DEPTH: usize = 100;

/// What a character does to what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It belongs to it, and more must come.
    More,
    /// It is the last of it.
    Done,
    /// What came before was all of it, and this character is read anew.
    DoneBefore,
    /// It cannot stand there. That many bytes before it are read anew with it, since they may begin something else.
    Bad(usize),
}

/// A JSON value that is being read. Whitespace before it is allowed.
#[derive(Clone, Debug)]
pub(crate) struct JsonScanner {
    /// What is open: `true` for an object, `false` for an array.
    open: Vec<bool>,
    state: State,
    /// The digits of the number that is being read.
    number: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A value, or `]` where the flag says that an array has just begun.
    Value {
        closes: bool,
    },
    /// A key, or `}` where the flag says that an object has just begun.
    Key {
        closes: bool,
    },
    Colon,
    /// A comma or the end of what is open.
    After,
    String(InString),
    Number(InNumber),
    /// The rest of `true`, `false` or `null`.
    Literal(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InString {
    is_key: bool,
    place: Place,
    /// The character before was the first half of a surrogate pair.
    high: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Text,
    Backslash,
    /// Hexadecimal digits that were read, and their value.
    Hex(u8, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InNumber {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl JsonScanner {
    pub(crate) fn new() -> Self {
        Self { open: Vec::new(), state: State::Value { closes: false }, number: String::new() }
    }

    /// Whether a whole text is one value, whitespace around it aside.
    pub(crate) fn is_value(text: &str) -> bool {
        let mut scanner = Self::new();
        let mut chars = text.trim_matches(is_space).chars();
        while let Some(c) = chars.next() {
            match scanner.push(c) {
                Step::More => {}
                Step::Done => return chars.next().is_none(),
                Step::DoneBefore | Step::Bad(_) => return false,
            }
        }
        scanner.ends()
    }

    /// Whether the value is complete if nothing follows: only a number does not say so itself.
    pub(crate) fn ends(&self) -> bool {
        self.open.is_empty() && matches!(self.state, State::Number(number) if number.is_complete()) && self.is_finite()
    }

    pub(crate) fn push(&mut self, c: char) -> Step {
        match self.state {
            State::Value { closes } => self.value(c, closes),
            State::Key { closes } => match c {
                _ if is_space(c) => Step::More,
                '"' => self.string(true),
                '}' if closes => self.close(),
                _ => Step::Bad(0),
            },
            State::Colon => match c {
                _ if is_space(c) => Step::More,
                ':' => self.to(State::Value { closes: false }),
                _ => Step::Bad(0),
            },
            State::After => self.after(c),
            State::String(string) => self.in_string(c, string),
            State::Number(number) => self.in_number(c, number),
            State::Literal(rest) => match rest.strip_prefix(c) {
                Some("") => self.ended(),
                Some(rest) => self.to(State::Literal(rest)),
                None => Step::Bad(0),
            },
        }
    }

    fn to(&mut self, state: State) -> Step {
        self.state = state;
        Step::More
    }

    fn value(&mut self, c: char, closes: bool) -> Step {
        let number = |number| State::Number(number);
        match c {
            _ if is_space(c) => Step::More,
            '{' | '[' if self.open.len() == MAX_DEPTH => Step::Bad(0),
            '{' => {
                self.open.push(true);
                self.to(State::Key { closes: true })
            }
            '[' => {
                self.open.push(false);
                self.to(State::Value { closes: true })
            }
            ']' if closes => self.close(),
            '"' => self.string(false),
            't' => self.to(State::Literal("rue")),
            'f' => self.to(State::Literal("alse")),
            'n' => self.to(State::Literal("ull")),
            '-' | '0'..='9' => {
                self.number.clear();
                self.number.push(c);
                self.to(number(match c {
                    '-' => InNumber::Minus,
                    '0' => InNumber::Zero,
                    _ => InNumber::Whole,
                }))
            }
            _ => Step::Bad(0),
        }
    }

    fn string(&mut self, is_key: bool) -> Step {
        self.to(State::String(InString { is_key, place: Place::Text, high: false }))
    }

    fn after(&mut self, c: char) -> Step {
        match (c, self.open.last()) {
            _ if is_space(c) => Step::More,
            (',', Some(true)) => self.to(State::Key { closes: false }),
            (',', Some(false)) => self.to(State::Value { closes: false }),
            ('}', Some(true)) | (']', Some(false)) => self.close(),
            _ => Step::Bad(0),
        }
    }

    /// An array or object is closed.
    fn close(&mut self) -> Step {
        self.open.pop();
        self.ended()
    }

    /// A value is complete.
    fn ended(&mut self) -> Step {
        self.state = State::After;
        if self.open.is_empty() { Step::Done } else { Step::More }
    }

    fn in_string(&mut self, c: char, string: InString) -> Step {
        let next = |place, high| State::String(InString { place, high, ..string });
        match (string.place, c) {
            (Place::Text, '\\') => self.to(next(Place::Backslash, string.high)),
            // What is no `\u` cannot follow the first half of a pair.
            (Place::Text, _) if string.high => Step::Bad(0),
            (Place::Text, '"') if string.is_key => self.to(State::Colon),
            (Place::Text, '"') => self.ended(),
            (Place::Text, '\0'..='\u{1F}') => Step::Bad(0),
            (Place::Text, _) => Step::More,
            (Place::Backslash, 'u') => self.to(next(Place::Hex(0, 0), string.high)),
            (Place::Backslash, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') if !string.high => {
                self.to(next(Place::Text, false))
            }
            (Place::Backslash, _) => Step::Bad(0),
            (Place::Hex(read, value), _) => {
                let Some(digit) = c.to_digit(16) else { return Step::Bad(0) };
                let value = value << 4 | digit;
                if read < 3 {
                    return self.to(next(Place::Hex(read + 1, value), string.high));
                }
                let (is_high, is_low) = ((0xD800..0xDC00).contains(&value), (0xDC00..0xE000).contains(&value));
                if is_low == string.high { self.to(next(Place::Text, is_high)) } else { Step::Bad(0) }
            }
        }
    }

    fn in_number(&mut self, c: char, number: InNumber) -> Step {
        use InNumber::{Exponent, ExponentDigits, ExponentSign, Fraction, Minus, Point, Whole, Zero};
        let next = match (number, c) {
            (Minus, '0') => Zero,
            (Minus, '1'..='9') | (Whole, '0'..='9') => Whole,
            (Zero | Whole, '.') => Point,
            (Point | Fraction, '0'..='9') => Fraction,
            (Zero | Whole | Fraction, 'e' | 'E') => Exponent,
            (Exponent, '+' | '-') => ExponentSign,
            (Exponent | ExponentSign | ExponentDigits, '0'..='9') => ExponentDigits,
            _ if !number.is_complete() || !self.is_finite() => return Step::Bad(0),
            _ if self.open.is_empty() => return Step::DoneBefore,
            _ => {
                self.state = State::After;
                return self.after(c);
            }
        };
        self.number.push(c);
        self.to(State::Number(next))
    }

    fn is_finite(&self) -> bool {
        self.number.parse::<f64>().is_ok_and(f64::is_finite)
    }
}

impl InNumber {
    fn is_complete(self) -> bool {
        matches!(self, Self::Zero | Self::Whole | Self::Fraction | Self::ExponentDigits)
    }
}

/// Whitespace as JSON has it.
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_what_serde_json_accepts_and_nothing_else() {
        for text in [
            "{}",
            "[]",
            "0",
            "-0",
            "1.0",
            "1e308",
            "-1.5E-7",
            "123456789012345678901234567890",
            "true",
            "false",
            "null",
            "\"\"",
            r#""\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t""#,
            r#"{"a": [1, {"b": null}], "a": 2}"#,
            " [ 1 , 2 ] ",
            "\"é\u{2028}\u{7f}\"",
            // Refused.
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{,}",
            "{\"a\":1,}",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "1e400",
            "-1e999",
            "--1",
            "tru",
            "nul",
            "nulll",
            "True",
            "'a'",
            "\"\n\"",
            "\"\t\"",
            r#""\ud800""#,
            r#""\ud800\n""#,
            r#""\udc00""#,
            r#""\ud800\ud800""#,
            r#""\x""#,
            r#""\u00g0""#,
            "[1 2]",
            "{\"a\" 1}",
            "{1: 2}",
            "[1}",
            "{\"a\": 1]",
            "1 2",
            "{}}",
            "NaN",
            "\u{a0}1",
            "[1e400]",
        ] {
            assert_eq!(JsonScanner::is_value(text), serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(JsonScanner::is_value(&nested(MAX_DEPTH)));
        assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_DEPTH)).is_ok());
        assert!(!JsonScanner::is_value(&nested(MAX_DEPTH + 1)));
    }
}

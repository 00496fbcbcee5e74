//! The value of a parameter that is written as text.

use super::call::Call;
use super::schema::{NULLS, Wanted};

/// Such a value. One line break at its beginning and one at its end are layout.
#[derive(Debug)]
pub(crate) struct Parameter {
    wanted: Wanted,
    /// Something came.
    has_begun: bool,
    /// A line break that may be the last character.
    newline: bool,
    /// A value that is told when it is complete.
    whole: String,
    /// The text is told as it comes, and its quote was.
    streams: bool,
}

impl Parameter {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self { wanted, has_begun: false, newline: false, whole: String::new(), streams: false }
    }

    pub(crate) fn push(&mut self, c: char, call: &mut Call<'_, '_>) {
        if !std::mem::replace(&mut self.has_begun, true) && c == '\n' {
            return;
        }
        if std::mem::replace(&mut self.newline, c == '\n') {
            self.text('\n', call);
        }
        if !self.newline {
            self.text(c, call);
        }
    }

    fn text(&mut self, c: char, call: &mut Call<'_, '_>) {
        if self.streams {
            return escaped(c, call);
        }
        self.whole.push(c);
        // Text streams as soon as it cannot be the word for nothing.
        self.streams = match self.wanted {
            Wanted::Text => true,
            Wanted::NullableText => !NULLS.iter().any(|null| null.starts_with(self.whole.trim()) || self.whole.trim() == *null),
            Wanted::Typed(_) | Wanted::Guess => false,
        };
        if self.streams {
            call.arguments("\"");
            self.whole.chars().for_each(|c| escaped(c, call));
            self.whole.clear();
        }
    }

    /// The closing tag came.
    pub(crate) fn end(&mut self, call: &mut Call<'_, '_>) {
        if self.streams {
            call.arguments("\"");
        } else {
            call.arguments(&self.wanted.value(&self.whole));
        }
    }
}

/// A character of a JSON string.
fn escaped(c: char, call: &mut Call<'_, '_>) {
    match c {
        '"' => call.arguments("\\\""),
        '\\' => call.arguments("\\\\"),
        '\n' => call.arguments("\\n"),
        '\r' => call.arguments("\\r"),
        '\t' => call.arguments("\\t"),
        '\0'..='\u{1F}' => call.arguments(&format!("\\u{:04x}", u32::from(c))),
        _ => call.argument_char(c),
    }
}

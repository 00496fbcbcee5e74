//! Names and texts out of files, as messages show them: on one line, in plain characters, and not longer than a reader bears.

use std::fmt::{self, Write};

/// Characters that are shown of a long text: so many of its beginning, and so many of its end.
const BEGINNING: usize = 160;
const END: usize = 60;

/// A text that a file holds, for a message. Characters that a terminal would act upon are escaped, and the middle of a long text
/// is left out.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(&'a str);

/// Wraps a text that a file holds, for a message.
pub fn shown(text: &str) -> Shown<'_> {
    Shown(text)
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(BEGINNING + END) {
            None => escape(f, self.0),
            Some(_) => {
                let head = self.0.char_indices().nth(BEGINNING).map_or(self.0.len(), |(at, _)| at);
                let tail = self.0.char_indices().rev().nth(END - 1).map_or(0, |(at, _)| at);
                escape(f, &self.0[..head])?;
                write!(f, "...({} bytes)...", tail - head)?;
                escape(f, &self.0[tail..])
            }
        }
    }
}

fn escape(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        match c {
            // Quotes and backslashes are harmless, and JSON in a message is full of them.
            '\'' | '"' | '\\' => f.write_char(c)?,
            _ => write!(f, "{}", c.escape_debug())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn what_a_terminal_would_act_upon_is_escaped() {
        assert_eq!(shown("blk.0.\"é\"\\w").to_string(), "blk.0.\"é\"\\w");
        assert_eq!(shown("a\n\u{1b}[2J\u{202e}b").to_string(), "a\\n\\u{1b}[2J\\u{202e}b");
    }

    #[test]
    fn the_middle_of_a_long_text_is_left_out() {
        let text = format!("{}{}{}", "a".repeat(160), "é".repeat(1000), "c".repeat(60));
        assert_eq!(shown(&text).to_string(), format!("{}...(2000 bytes)...{}", "a".repeat(160), "c".repeat(60)));
        assert_eq!(shown(&"a".repeat(220)).to_string(), "a".repeat(220));
    }
}

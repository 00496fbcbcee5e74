//! What a command says when it refuses its command line: the form of the compiler's diagnostics, for places that are in no file.

use std::fmt;
use std::ops::Range;

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its id, of which `tenon explain` has the page.
    pub id: &'static str,
    /// One line.
    pub message: String,
    /// The lines that it is about; the error stands in the first.
    pub places: Vec<Place>,
    /// Lines of a table, each with a line break at its end; may be empty.
    pub table: String,
    /// Facts.
    pub notes: Vec<String>,
    /// Ways out.
    pub helps: Vec<String>,
}

/// One line of text, and what is to be said about a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it stands.
    pub of: String,
    /// The line.
    pub line: String,
    /// The bytes that are marked; nothing is said without.
    pub mark: Option<Range<usize>>,
    /// What is said.
    pub label: String,
}

impl fmt::Display for Report {
    /// As the compiler renders a diagnostic, without the numbers that lines of files have; ends with a line break.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error[{}]: {}", self.id, self.message)?;
        for (i, place) in self.places.iter().enumerate() {
            writeln!(f, " {} {}\n  |\n  | {}", if i == 0 { "-->" } else { ":::" }, place.of, place.line)?;
            if let Some(mark) = &place.mark {
                let width = |range: Range<usize>| place.line.get(range).map_or(0, |text| text.chars().count());
                let sign = if i == 0 { "^" } else { "-" };
                let (before, marks) = (" ".repeat(width(0..mark.start)), sign.repeat(width(mark.clone()).max(1)));
                writeln!(f, "  | {before}{marks} {}", place.label)?;
            }
            if i + 1 == self.places.len() {
                writeln!(f, "  |")?;
            }
        }
        f.write_str(&self.table)?;
        for note in &self.notes {
            writeln!(f, "  = {note}")?;
        }
        for help in &self.helps {
            writeln!(f, "  = help: {help}")?;
        }
        writeln!(f, "  = explain: tenon explain {}", self.id)
    }
}

/// Refusals of one command line, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub Vec<Report>);

impl From<Report> for Refused {
    fn from(report: Report) -> Self {
        Self(vec![report])
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, report) in self.0.iter().enumerate() {
            write!(f, "{}{report}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

/// A command line as one would type it, so that a refusal can point into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    text: String,
    words: Vec<(String, Range<usize>)>,
}

impl CommandLine {
    /// Of the words that a program was started with, its own name first, whose folder is left out.
    pub fn new<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Self {
        let mut line = Self { text: String::new(), words: Vec::new() };
        for (i, word) in words.into_iter().enumerate() {
            let word = word.as_ref();
            let word = if i == 0 { word.rsplit('/').next().unwrap_or(word) } else { word };
            if i > 0 {
                line.text.push(' ');
            }
            let start = line.text.len();
            line.text.push_str(&quoted(word));
            line.words.push((word.to_owned(), start..line.text.len()));
        }
        line
    }

    /// The line with a flag and its value marked, as last given, since that counts.
    pub fn place(&self, flag: &str, label: impl Into<String>) -> Place {
        Place { of: "command line".to_owned(), line: self.text.clone(), mark: self.find(flag), label: label.into() }
    }

    fn find(&self, flag: &str) -> Option<Range<usize>> {
        self.words.iter().enumerate().rev().find_map(|(i, (word, range))| match word.strip_prefix(flag)? {
            "" => Some(range.start..self.words.get(i + 1).map_or(range.end, |(_, value)| value.end)),
            value => value.starts_with('=').then(|| range.clone()),
        })
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    // What moves the cursor would move the marks away from what they mark.
    let shown: String = word.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    format!("'{}'", shown.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_below_what_they_mark() {
        let line = CommandLine::new(["/usr/bin/p", "serve", "a b\n", "--n=3", "--n", "é", "--no"]);
        let report = Report {
            id: "some-id",
            message: "it is wrong".to_owned(),
            places: vec![
                line.place("--n", "this"),
                Place { of: "f.toml".to_owned(), line: "n = 2".to_owned(), mark: Some(0..5), label: "that".to_owned() },
            ],
            table: "  a table\n".to_owned(),
            notes: vec!["so it is".to_owned()],
            helps: vec!["do this".to_owned()],
        };
        let text = "error[some-id]: it is wrong\n --> command line\n  |\n  | p serve 'a b\u{fffd}' --n=3 --n é --no\n\
                    \x20 |                      ^^^^^ this\n ::: f.toml\n  |\n  | n = 2\n  | ----- that\n  |\n  a table\n  = so it is\n\
                    \x20 = help: do this\n  = explain: tenon explain some-id\n";
        assert_eq!(report.to_string(), text);
        assert_eq!(Refused(vec![report.clone(), report]).to_string(), format!("{text}\n{text}"));
        let marked = |flag| line.find(flag).map(|range| &line.text[range]);
        assert_eq!(marked("--no"), Some("--no"));
        assert_eq!(CommandLine::new(["p", "--n=3"]).find("--n"), Some(2..7));
        assert_eq!(marked("--x"), None);
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}

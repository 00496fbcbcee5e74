//! Cutting a text into words, within which bytes are merged.

mod names;
#[cfg(test)]
mod tests;

use std::ops::Range;

use regex::Regex;

pub(super) use names::PreTokenizer;

/// One pass over the pieces of the pass before.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Each match is a piece, and so is what lies between two matches.
    Isolate(&'static str),
    /// The same with a regex whose last alternative is `\s+`, and what happens to its matches.
    Words(&'static str, Spaces),
    /// Runs of `\p{N}` end a piece after one or two digits, so that the rest is groups of three, and after each of those.
    AfterThousands,
    /// Runs of ASCII digits begin a piece before each group of three, counted from their end.
    BeforeThousands,
}

/// How a run of whitespace before something else is cut. These are the lookaheads of the original regexes, which would otherwise
/// ask for an engine that backtracks: `\s+(?!\S)|\s+` leaves the last character to what follows, if the run has more than one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spaces {
    /// The last character is left.
    LeaveLast,
    /// The same for runs without a line break: others are matched by an alternative before (`\s*[\r\n]+`).
    LeaveLastOfLine,
    /// The last character is left, and the others are cut to powers of two, the largest first and 512 at most. Runs with line
    /// breaks are matched by an alternative before.
    PowersOfTwo,
}

/// The steps of a pre-tokenizer, compiled.
pub(super) struct Splitter(Vec<(Step, Option<Regex>)>);

impl Splitter {
    pub(super) fn new(pre: &PreTokenizer) -> Self {
        let compile = |&step: &Step| match step {
            Step::Isolate(regex) | Step::Words(regex, _) => {
                (step, Some(Regex::new(regex).expect("the table's regexes are valid")))
            }
            Step::AfterThousands | Step::BeforeThousands => (step, None),
        };
        Self(pre.steps.iter().map(compile).collect())
    }

    /// The words of a text: none is empty, and together they are the text.
    pub(super) fn words<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut ends = vec![text.len()];
        for (step, regex) in &self.0 {
            let mut finer = Ends { ends: Vec::with_capacity(2 * ends.len()) };
            for piece in ranges(&ends) {
                finer.cut(text, piece, *step, regex.as_ref());
            }
            ends = finer.ends;
        }
        ranges(&ends).map(|range| &text[range]).collect()
    }
}

fn ranges(ends: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends.iter().copied()).map(|(start, end)| start..end).filter(|range| !range.is_empty())
}

/// Where pieces end, in bytes of the text.
struct Ends {
    ends: Vec<usize>,
}

impl Ends {
    /// Cuts one piece of the text. A regex sees nothing around it.
    fn cut(&mut self, text: &str, piece: Range<usize>, step: Step, regex: Option<&Regex>) {
        let (base, piece) = (piece.start, &text[piece]);
        match (step, regex) {
            (Step::Words(_, spaces), Some(regex)) => {
                let mut at = 0;
                while let Some(found) = regex.find_at(piece, at) {
                    self.ends.push(base + found.start());
                    at = self.spaces(base, piece, found.range(), spaces);
                }
            }
            (_, Some(regex)) => {
                for found in regex.find_iter(piece) {
                    self.ends.extend([base + found.start(), base + found.end()]);
                }
            }
            (_, None) => {
                let after = step == Step::AfterThousands;
                for run in runs(piece, |c| if after { c.is_numeric() } else { c.is_ascii_digit() }) {
                    let digits: Vec<usize> = piece[run.clone()].char_indices().map(|(i, _)| base + run.start + i).collect();
                    let first = digits.len() % 3;
                    self.ends.extend(digits.iter().skip(first).step_by(3).skip(usize::from(after && first == 0)));
                    self.ends.extend(after.then_some(base + run.end));
                }
            }
        }
        self.ends.push(base + piece.len());
    }

    /// Cuts one match, and says where the next one is sought.
    fn spaces(&mut self, base: usize, piece: &str, found: Range<usize>, spaces: Spaces) -> usize {
        let run = &piece[found.clone()];
        let lines = spaces != Spaces::LeaveLast && run.contains(['\r', '\n']);
        if lines || !run.chars().all(char::is_whitespace) {
            self.ends.push(base + found.end);
            return found.end;
        }
        let last = run.char_indices().next_back().map_or(0, |(i, _)| i);
        // A single character that nothing else has matched is a piece, and so is a run at the end.
        let end = if last == 0 || found.end == piece.len() { found.end } else { found.start + last };
        if spaces == Spaces::PowersOfTwo {
            let starts: Vec<usize> = piece[found.start..end].char_indices().map(|(i, _)| base + found.start + i).collect();
            let mut done = 0;
            while done < starts.len() {
                self.ends.push(starts[done]);
                done += 1 << (starts.len() - done).ilog2().min(9);
            }
        }
        self.ends.push(base + end);
        end
    }
}

/// The longest stretches of characters of a kind.
fn runs(text: &str, is: impl Fn(char) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(&is)?;
        at = text[start..].find(|c| !is(c)).map_or(text.len(), |len| start + len);
        Some(start..at)
    })
}

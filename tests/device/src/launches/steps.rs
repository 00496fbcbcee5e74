//! The steps whose launches are compared: prompts, chunks, mixed batches, and single tokens in several buckets, each as often as a graph needs
//! to be launched, captured and replayed.

use tenon_compiler::launches::{Ending, Span, Step};

/// Which tokens of a sequence want logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// None.
    None,
    /// The last.
    Last,
    /// Every one.
    All,
}

/// A step over some sequences: which, and how many tokens of each.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What it is.
    pub name: String,
    /// Sequences by number, and tokens of each.
    pub spans: Vec<(usize, usize)>,
    /// Which tokens want logits.
    pub want: Want,
    /// What it ends with.
    pub ending: Ending,
}

/// Sequences of all steps.
pub const SEQUENCES: usize = 40;
/// Tokens for which each has room.
pub const TOKENS: usize = 96;
/// Tokens of a step.
pub const STEP_TOKENS: usize = 128;
/// Rows of logits of a step: not as many as tokens, so that both bound the buckets.
pub const LOGIT_ROWS: usize = 40;
/// The largest graph of a load with these limits.
pub const LARGEST_BUCKET: u64 = 40;
/// Sequences of one step whose contexts, a row for each of four heads, are more than the 2^20 rows that one pass has room for.
pub const MANY_CONTEXTS: usize = 600;
/// Launched, captured and replayed at once, and replayed: a step of single tokens as often as it takes, and twice more.
const TURNS: usize = 5;

/// Every step, in order: each goes on where the ones before left its sequences.
pub fn all() -> Vec<Planned> {
    let step = |name: &str, spans: &[(usize, usize)], want, ending| Planned {
        name: name.to_owned(),
        spans: spans.to_vec(),
        want,
        ending,
    };
    let mut steps = vec![
        step("a prompt of 40 tokens", &[(0, 40)], Want::Last, Ending::Logits),
        step("a chunk of 17, logits of all", &[(1, 17)], Want::All, Ending::Logits),
        step("the next chunk of 17, no logits", &[(1, 17)], Want::None, Ending::Logits),
        step("a chunk of 7", &[(2, 7)], Want::Last, Ending::Logits),
        step("the next chunk of 7, logits of all", &[(2, 7)], Want::All, Ending::Logits),
        step("a chunk of 3, no logits", &[(2, 3)], Want::None, Ending::Logits),
        step("two prompts, of 9 and of 33 tokens", &[(3, 9), (4, 33)], Want::Last, Ending::Logits),
        step("mixed, 7 rows", &[(0, 1), (1, 1), (5, 5)], Want::Last, Ending::Logits),
        step("mixed, 55 rows", &[(0, 1), (5, 20), (1, 1), (6, 33)], Want::Last, Ending::Logits),
        step("mixed, 55 rows, most likely tokens", &[(0, 1), (5, 20), (1, 1), (7, 33)], Want::Last, Ending::Greedy),
        step("mixed, 8 rows, drawn tokens", &[(0, 1), (8, 7)], Want::Last, Ending::Sampled),
        step("a prompt of 16 tokens", &[(9, 16)], Want::Last, Ending::Logits),
    ];
    let decode = |of: &'static str, sequences: usize, want, ending| {
        let spans: Vec<(usize, usize)> = (0..sequences).map(|sequence| (sequence, 1)).collect();
        (1..=TURNS).map(move |turn| Planned {
            name: format!("single tokens of {of}, turn {turn}"),
            spans: spans.clone(),
            want,
            ending,
        })
    };
    steps.extend(decode("1", 1, Want::Last, Ending::Logits));
    steps.extend(decode("3", 3, Want::Last, Ending::Logits));
    steps.extend(decode("8, no logits", 8, Want::None, Ending::Logits));
    steps.extend(decode("2, most likely", 2, Want::Last, Ending::Greedy));
    steps.extend(decode("2, drawn", 2, Want::Last, Ending::Sampled));
    steps.extend(decode("17", 17, Want::Last, Ending::Logits));
    // More than any bucket has rows.
    steps.extend(decode("40", SEQUENCES, Want::Last, Ending::Logits).take(2));
    // Other numbers of sequences in a bucket that was captured.
    steps.extend(decode("4, most likely", 4, Want::Last, Ending::Greedy).take(1));
    steps.extend(decode("32", 32, Want::Last, Ending::Logits).take(1));
    steps.push(step("a chunk of 12 after graphs", &[(2, 12)], Want::Last, Ending::Logits));
    steps
}

impl Planned {
    /// The step as the compiler takes it, where `done` says how many tokens of each sequence came before.
    pub fn step(&self, done: &[usize]) -> Step {
        let spans: Vec<Span> =
            self.spans.iter().map(|&(at, tokens)| Span { cached: done[at] as u64, tokens: tokens as u64 }).collect();
        let logit_rows = match self.want {
            Want::None => 0,
            Want::Last => spans.len() as u64,
            Want::All => spans.iter().map(|span| span.tokens).sum(),
        };
        Step { spans, logit_rows, ending: self.ending }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_finds_room_and_every_sort_of_step_is_there() {
        let mut done = [0; SEQUENCES];
        let (mut few, mut many, mut mixed, mut alone) = (0, 0, 0, 0);
        for planned in all() {
            let step = planned.step(&done);
            let tokens: u64 = step.spans.iter().map(|span| span.tokens).sum();
            assert!(tokens <= STEP_TOKENS as u64 && step.logit_rows <= LOGIT_ROWS as u64, "{}", planned.name);
            few += usize::from(tokens <= 16);
            many += usize::from(tokens > 16);
            let single = step.spans.iter().filter(|span| span.tokens == 1).count();
            mixed += usize::from(single > 0 && single < step.spans.len());
            alone += usize::from(single == step.spans.len());
            // What chooses tokens is asked for rows, and a sequence stands once in a step.
            assert!(step.ending == Ending::Logits || step.logit_rows > 0, "{}", planned.name);
            for (at, &(sequence, tokens)) in planned.spans.iter().enumerate() {
                assert!(planned.spans[..at].iter().all(|(other, _)| *other != sequence), "{}", planned.name);
                done[sequence] += tokens;
                assert!(done[sequence] <= TOKENS, "{}: {sequence}", planned.name);
            }
        }
        assert!(few >= 20 && many >= 10 && mixed >= 4 && alone >= 30, "{few} {many} {mixed} {alone}");
    }
}

//! Every parser: public reports, splits, round trips, noise.

mod behaviour;
mod cases;
mod fuzz;
mod roundtrip;
mod speed;

use serde_json::Value;

use super::*;
use crate::tools::marks;

/// Deltas of an output in pieces, with neighbours joined: what a client has in the end.
fn joined<'a>(format: &OutputFormat, pieces: impl IntoIterator<Item = &'a str>, ending: OutputEnd) -> Vec<Delta> {
    let mut parser = OutputParser::new(format.clone());
    let mut deltas = Vec::new();
    for piece in pieces {
        let mut more = Vec::new();
        parser.push(piece, &mut more);
        join(&mut deltas, more);
    }
    let mut more = Vec::new();
    parser.finish(ending, &mut more);
    join(&mut deltas, more);
    deltas
}

fn join(deltas: &mut Vec<Delta>, more: Vec<Delta>) {
    for delta in more {
        match (deltas.last_mut(), delta) {
            (Some(Delta::Content(text)), Delta::Content(more)) | (Some(Delta::Reasoning(text)), Delta::Reasoning(more)) => {
                text.push_str(&more);
            }
            (Some(Delta::CallArguments { index, text }), Delta::CallArguments { index: same, text: more }) if *index == same => {
                text.push_str(&more);
            }
            (_, delta) => deltas.push(delta),
        }
    }
}

/// The places where a text may be cut.
fn cuts(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.char_indices().map(|(at, _)| at)
}

/// Functions as the chat completions API declares them.
fn declared(tools: &Value) -> Arc<[Declared]> {
    let function = |tool: &Value| Declared {
        name: tool["function"]["name"].as_str().expect("a name").to_owned(),
        description: None,
        parameters: tool["function"].get("parameters").cloned(),
        strict: false,
    };
    tools.as_array().expect("tools").iter().map(function).collect()
}

/// SplitMix64: the same cases on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A text in pieces of up to `longest` characters.
    fn pieces<'a>(&mut self, text: &'a str, longest: usize) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let take = 1 + self.below(longest);
            let end = rest.char_indices().nth(take).map_or(rest.len(), |(at, _)| at);
            let (piece, more) = rest.split_at(end);
            pieces.push(piece);
            rest = more;
        }
        pieces
    }
}

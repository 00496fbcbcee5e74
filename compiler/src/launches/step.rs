//! The numbers of a step that launches depend on.

use super::{Deployment, Span, Step};
use crate::expr::Dim;
use crate::model::Maxima;
use crate::program::{Phase, Program};

/// Rows of the steps that are captured.
pub const BUCKETS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// A step over all its rows, or over those that want logits.
pub(super) struct Shape {
    pub rows: u64,
    pub logit_rows: u64,
    spans: Vec<Span>,
    sequences: u64,
    prefill_spans: u64,
    decode_spans: u64,
    span_tokens: u64,
    context: u64,
}

impl Shape {
    pub fn of(program: &Program<'_>, deployment: &Deployment<'_>, step: &Step) -> Result<Self, String> {
        let Step { spans, logit_rows, .. } = step;
        let tokens: u64 = spans.iter().map(|span| span.tokens).sum();
        if spans.is_empty() || spans.iter().any(|span| span.tokens == 0) {
            return Err("a step has sequences, and each of them tokens".to_owned());
        }
        let most = program.model.maxima(program.target);
        if tokens > most.step_tokens || spans.len() as u64 > most.sequences || *logit_rows > tokens {
            return Err(format!("{tokens} tokens of {} sequences with {logit_rows} rows of logits are no step", spans.len()));
        }
        if let Some(span) = spans.iter().find(|span| span.cached + span.tokens > most.context) {
            return Err(format!("{} tokens of a sequence, and the context is {}", span.cached + span.tokens, most.context));
        }
        let single = spans.iter().filter(|span| span.tokens == 1).count() as u64;
        let sequences = spans.len() as u64;
        if single == sequences
            && program.is_captured()
            && let Some(bucket) =
                BUCKETS.into_iter().find(|&rows| rows >= sequences).filter(|&rows| rows <= deployment.largest_bucket)
        {
            return Ok(Self {
                rows: bucket,
                logit_rows: bucket,
                spans: Vec::new(),
                sequences: bucket,
                prefill_spans: 0,
                decode_spans: bucket,
                span_tokens: 0,
                context: most.context,
            });
        }
        Ok(Self {
            rows: tokens,
            logit_rows: *logit_rows,
            spans: spans.clone(),
            sequences,
            prefill_spans: sequences - single,
            decode_spans: single,
            span_tokens: spans.iter().map(|span| span.tokens).filter(|&tokens| tokens > 1).max().unwrap_or(0),
            context: spans.iter().map(|span| span.cached + span.tokens).max().unwrap_or(0),
        })
    }

    /// The rows that want logits, in place of all.
    pub fn over_logit_rows(self) -> Self {
        Self { rows: self.logit_rows, ..self }
    }

    /// What a name of TEMPLATE.toml stands for. Pages and slots are those of the largest step: no grid may be empty for their sake.
    pub fn get(&self, name: &str, most: Maxima) -> Option<Dim> {
        let value = match name {
            "tokens" => self.rows,
            "logit_rows" => self.logit_rows,
            "sequences" => self.sequences,
            "context" => self.context,
            "prefill_spans" => self.prefill_spans,
            "decode_spans" => self.decode_spans,
            "span_tokens" => self.span_tokens,
            _ => return most.largest().get(name),
        };
        Some(Dim::Int(value))
    }

    /// In how many passes the contexts of a phase are expanded, with room for so many rows, each counted once for each head.
    pub fn passes(&self, phase: Phase, heads: u64, room: u64) -> u64 {
        let of_phase = |span: &&Span| (span.tokens == 1) == (phase == Phase::Decode);
        let contexts: Vec<u64> = self.spans.iter().filter(of_phase).map(|span| span.cached + span.tokens).collect();
        passes(&contexts, heads, room)
    }
}

/// Contexts are taken in order while their sum finds room; then their heads, as many together as find room.
pub(super) fn passes(contexts: &[u64], heads: u64, room: u64) -> u64 {
    let (mut passes, mut taken) = (0, 0);
    let rounds = |rows: u64| room.checked_div(rows).map_or(0, |together| heads.div_ceil(together.min(heads).max(1)));
    for &context in contexts {
        if taken > 0 && taken + context > room {
            passes += rounds(taken);
            taken = 0;
        }
        taken += context;
    }
    passes + rounds(taken)
}

//! What a request changes about the model's logits before a token is chosen from them.

use std::collections::BTreeMap;

use super::SamplingParams;
use crate::constraint::TokenSet;

/// Tokens that penalties look at, and room for a row of changed logits.
#[derive(Clone, Debug, Default)]
pub(super) struct Adjustments {
    /// How often the answer has a token; 0 for one of the prompt alone. Ordered, so that a row is changed in the order of memory.
    seen: BTreeMap<u32, u32>,
    room: Vec<f32>,
}

impl Adjustments {
    pub(super) fn new(params: &SamplingParams, prompt: &[u32]) -> Self {
        let mut adjustments = Self::default();
        if params.repetition_penalty != 1.0 {
            // Sorted, since a map of sorted entries is built at once.
            let mut tokens = prompt.to_vec();
            tokens.sort_unstable();
            tokens.dedup();
            adjustments.seen = tokens.into_iter().map(|token| (token, 0)).collect();
        }
        adjustments
    }

    pub(super) fn observe(&mut self, params: &SamplingParams, token: u32) {
        if params.counts_answer() || params.repetition_penalty != 1.0 {
            *self.seen.entry(token).or_default() += 1;
        }
    }

    /// The logits after penalties, bias and mask, in this order; `None` where nothing changes them.
    pub(super) fn apply(&mut self, params: &SamplingParams, logits: &[f32], allowed: Option<&TokenSet>) -> Option<&[f32]> {
        if params.is_unadjusted() && allowed.is_none() {
            return None;
        }
        let Self { seen, room } = self;
        room.clear();
        match allowed {
            None => room.extend_from_slice(logits),
            Some(allowed) => {
                room.resize(logits.len(), f32::NEG_INFINITY);
                let shown = allowed.len().min(logits.len());
                allowed.iter_set_entries(|id| {
                    if id < shown {
                        room[id] = logits[id];
                    }
                });
            }
        }
        for (&token, &count) in seen.iter() {
            let Some(logit) = room.get_mut(token as usize) else { continue };
            let penalty = params.repetition_penalty;
            *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
            if count > 0 {
                *logit -= params.presence_penalty + count as f32 * params.frequency_penalty;
            }
        }
        for &(token, bias) in params.logit_bias.iter().flat_map(|bias| bias.iter()) {
            if let Some(logit) = room.get_mut(token as usize) {
                *logit += bias;
            }
        }
        Some(room)
    }
}

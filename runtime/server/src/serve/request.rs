//! The one form that every route's request is brought into before anything is computed.

use serde_json::Value;
use tenon_core::model::SamplingDefaults;
use tenon_engine::{SamplingParams, random_seed};

/// What is to be generated, however it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GenerateRequest {
    /// What is continued.
    pub(super) prompt: Prompt,
    /// How tokens are chosen.
    pub(super) sampling: Sampling,
    /// Most tokens to generate; `None` is up to the end of the context.
    pub(super) max_tokens: Option<usize>,
    /// Texts that end the answer and are not part of it.
    pub(super) stop: Vec<String>,
    /// Whether each token comes with its log-probability, and beside it with those of how many most likely tokens.
    pub(super) logprobs: Option<usize>,
}

/// What is continued.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Prompt {
    /// A conversation, which the chat template renders.
    Chat(Chat),
    /// A text as it is.
    Text(String),
    /// Token ids as they are.
    Tokens(Vec<u32>),
}

/// A conversation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chat {
    /// In the form that chat templates read.
    pub(super) messages: Vec<Value>,
    /// What may be called.
    pub(super) tools: Tools,
}

/// Tools of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tools {
    /// As the API declares them.
    pub(super) declared: Vec<Value>,
    /// The answer must be a call.
    pub(super) call_forced: bool,
}

impl Prompt {
    /// The field of the body that it came from.
    pub(super) fn field(&self) -> &'static str {
        match self {
            Self::Chat(_) => "messages",
            Self::Text(_) | Self::Tokens(_) => "prompt",
        }
    }
}

/// Sampling parameters; what is not given is the spec's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sampling {
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) top_k: Option<u32>,
    pub(super) seed: Option<u64>,
}

impl Sampling {
    /// The engine's parameters.
    pub(super) fn resolve(self, spec: SamplingDefaults) -> SamplingParams {
        SamplingParams {
            temperature: self.temperature.map_or(spec.temperature, |t| t as f32),
            top_k: self.top_k.unwrap_or(spec.top_k),
            // The API's range includes 0: the fewest tokens whose mass reaches it are one, as for any tiny mass.
            top_p: self.top_p.map_or(spec.top_p, |p| (p as f32).max(f32::MIN_POSITIVE)),
            seed: self.seed.unwrap_or_else(random_seed),
            ..SamplingParams::GREEDY
        }
    }
}

#[cfg(test)]
mod tests {
    use tenon_engine::Sampler;

    use super::*;

    const SPEC: SamplingDefaults = SamplingDefaults { temperature: 0.6, top_p: 0.9, top_k: 20 };

    #[test]
    fn what_is_not_given_is_the_specs() {
        let spec = Sampling::default().resolve(SPEC);
        assert_eq!((spec.temperature, spec.top_p, spec.top_k), (0.6, 0.9, 20));
        let given = Sampling { temperature: Some(1.5), top_p: Some(0.5), top_k: Some(0), seed: Some(7) }.resolve(SPEC);
        assert_eq!(given, SamplingParams { temperature: 1.5, top_p: 0.5, top_k: 0, seed: 7, ..SamplingParams::GREEDY });
    }

    #[test]
    fn the_ends_of_the_ranges_can_be_sampled_with() {
        for (temperature, top_p) in [(0.0, 0.0), (1e-60, 1e-60), (1e-4, 0.0), (2.0, 0.0)] {
            let params = Sampling { temperature: Some(temperature), top_p: Some(top_p), ..Sampling::default() }.resolve(SPEC);
            assert_eq!(Sampler::new(params.clone(), &[]).unwrap().sample(&[0.0, 3.0, 2.9], None), Ok(1), "{params:?}");
        }
    }
}

//! The one form that every route's request is brought into before anything is computed.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tenon_core::model::SamplingDefaults;
use tenon_engine::{SamplingParams, random_seed};
use tenon_formats::tools::{Declared, ToolChoice};

pub(super) use tenon_formats::tools::grammar::OutputShape;

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
    /// Answers to the same prompt, at least one.
    pub(super) n: usize,
    /// What form the answer's text has.
    pub(super) output: OutputShape,
    /// The field of the body that says so, for errors.
    pub(super) output_field: &'static str,
    /// Time that the answer has; whatever there is of it then is the answer.
    pub(super) timeout: Option<Duration>,
}

impl GenerateRequest {
    /// One answer of any length and form, with what the model's spec says about the rest.
    pub(super) fn new(prompt: Prompt) -> Self {
        Self {
            prompt,
            sampling: Sampling::default(),
            max_tokens: None,
            stop: Vec::new(),
            logprobs: None,
            n: 1,
            output: OutputShape::Text,
            output_field: "response_format",
            timeout: None,
        }
    }
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
    /// Further variables of the chat template, as `chat_template_kwargs` gives them.
    pub(super) variables: Map<String, Value>,
    /// The prompt ends where the assistant's next message begins.
    pub(super) add_generation_prompt: bool,
    /// The prompt ends within the last message, which the answer continues.
    pub(super) continue_final_message: bool,
}

impl Chat {
    /// A conversation that the assistant answers, without tools.
    pub(super) fn new(messages: Vec<Value>) -> Self {
        Self {
            messages,
            tools: Tools::default(),
            variables: Map::new(),
            add_generation_prompt: true,
            continue_final_message: false,
        }
    }
}

/// Tools of a conversation. A request that wants no calls has none.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tools {
    /// As the chat completions API declares them, word for word, which is what chat templates are given.
    pub(super) declared: Vec<Value>,
    /// The same, read; in the same order.
    pub(super) functions: Arc<[Declared]>,
    /// Whether there must be a call.
    pub(super) choice: ToolChoice,
    /// Whether there may be several.
    pub(super) parallel: bool,
}

impl Default for Tools {
    fn default() -> Self {
        Self { declared: Vec::new(), functions: Arc::new([]), choice: ToolChoice::Auto, parallel: true }
    }
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
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sampling {
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) top_k: Option<u32>,
    pub(super) min_p: Option<f64>,
    pub(super) frequency_penalty: Option<f64>,
    pub(super) presence_penalty: Option<f64>,
    pub(super) repetition_penalty: Option<f64>,
    /// Added to the logits of these tokens, each named once.
    pub(super) logit_bias: Vec<(u32, f32)>,
    /// One seed for all answers of a request, each of which has its own stream of random numbers.
    pub(super) seed: Option<u64>,
}

impl Sampling {
    /// The engine's parameters.
    pub(super) fn resolve(&self, spec: SamplingDefaults) -> SamplingParams {
        let or = |given: Option<f64>, default: f32| given.map_or(default, |value| value as f32);
        SamplingParams {
            temperature: or(self.temperature, spec.temperature),
            top_k: self.top_k.unwrap_or(spec.top_k),
            // The API's range includes 0: the fewest tokens whose mass reaches it are one, as for any tiny mass.
            top_p: or(self.top_p, spec.top_p).max(f32::MIN_POSITIVE),
            min_p: or(self.min_p, 0.0),
            frequency_penalty: or(self.frequency_penalty, 0.0),
            presence_penalty: or(self.presence_penalty, 0.0),
            repetition_penalty: or(self.repetition_penalty, 1.0),
            logit_bias: (!self.logit_bias.is_empty()).then(|| Arc::from(self.logit_bias.as_slice())),
            seed: self.seed.unwrap_or_else(random_seed),
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
        let given = Sampling { temperature: Some(1.5), top_p: Some(0.5), top_k: Some(0), seed: Some(7), ..Sampling::default() }
            .resolve(SPEC);
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

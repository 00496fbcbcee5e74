//! Answers as the API's objects: whole, or in chunks.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tenon_engine::random_seed;
use tenon_formats::tools::Delta;

use super::logprobs;
use crate::serve::Service;
use crate::serve::answer::{Ending, TokenUsage, Told, Whole, WholeCall, WholeChoice};

/// What the ids of calls begin with.
const CALL: &str = "call_";

/// Which of the two routes answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completion,
}

/// What all objects of one answer share.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    route: Route,
    id: String,
    created: u64,
    model: String,
    fingerprint: String,
    /// Whether tokens are told.
    pub(super) logprobs: bool,
    /// Whether chunks have the key `usage`, which is null in all but the last.
    pub(super) usage: bool,
    /// The request names the function that is called.
    pub(super) is_named: bool,
}

impl Reply {
    /// An answer that begins now, under an id of its own.
    pub(super) fn new(route: Route, model: &str, fingerprint: &str, created: u64) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let prefix = match route {
            Route::Chat => "chatcmpl",
            Route::Completion => "cmpl",
        };
        let id = format!("{prefix}-{:016x}{:08x}", random_seed(), COUNT.fetch_add(1, Ordering::Relaxed));
        let (model, fingerprint) = (model.to_owned(), fingerprint.to_owned());
        Self { route, id, created, model, fingerprint, logprobs: false, usage: false, is_named: false }
    }

    /// The whole answer.
    pub(super) fn whole(&self, service: &Service, whole: &Whole) -> Value {
        let choices = (0..).zip(&whole.choices).map(|(index, choice)| self.choice(service, index, choice)).collect();
        let object = match self.route {
            Route::Chat => "chat.completion",
            Route::Completion => "text_completion",
        };
        let mut answer = self.object(object, choices);
        answer["usage"] = counts(whole.usage);
        answer
    }

    fn choice(&self, service: &Service, index: usize, choice: &WholeChoice) -> Value {
        let logprobs = self.logprobs(service, &choice.tokens);
        let finish = choice.ending.as_ref().map(|ending| self.finish_reason(ending));
        match self.route {
            Route::Chat => {
                json!({ "index": index, "message": message(service, choice), "logprobs": logprobs, "finish_reason": finish })
            }
            Route::Completion => {
                let text = choice.content.as_deref().unwrap_or_default();
                json!({ "index": index, "text": text, "logprobs": logprobs, "finish_reason": finish })
            }
        }
    }

    /// The chunk of a choice before anything that it says, where the route has one.
    pub(super) fn opening(&self, choice: usize) -> Option<Value> {
        match self.route {
            Route::Chat => Some(self.chunk(choice, json!({ "role": "assistant", "content": "" }), Value::Null, None)),
            Route::Completion => None,
        }
    }

    /// The chunks of a part, the tokens in the last of them.
    pub(super) fn chunks(&self, service: &Service, choice: usize, deltas: &[Delta], tokens: &[Told]) -> Vec<Value> {
        let mut said: Vec<Value> = deltas.iter().filter_map(|delta| self.delta(service, delta)).collect();
        if said.is_empty() && !tokens.is_empty() {
            said.push(match self.route {
                Route::Chat => json!({}),
                Route::Completion => json!(""),
            });
        }
        let last = said.len().saturating_sub(1);
        let with_tokens = |(i, said)| {
            let logprobs = if i == last { self.logprobs(service, tokens) } else { Value::Null };
            self.chunk(choice, said, logprobs, None)
        };
        said.into_iter().enumerate().map(with_tokens).collect()
    }

    fn delta(&self, service: &Service, delta: &Delta) -> Option<Value> {
        if self.route == Route::Completion {
            return if let Delta::Content(text) = delta { Some(json!(text)) } else { None };
        }
        let call = |call: Value| Some(json!({ "tool_calls": [call] }));
        match delta {
            Delta::Content(text) => Some(json!({ "content": text })),
            Delta::Reasoning(text) => Some(json!({ "reasoning_content": text })),
            Delta::CallBegin { index, name } => call(json!({
                "index": index,
                "id": service.call_id(CALL),
                "type": "function",
                "function": { "name": name, "arguments": "" },
            })),
            Delta::CallArguments { index, text } => call(json!({ "index": index, "function": { "arguments": text } })),
            // It shows in what follows.
            Delta::CallEnd { .. } => None,
        }
    }

    /// The last chunk of a choice.
    pub(super) fn closing(&self, choice: usize, ending: &Ending) -> Value {
        let delta = match self.route {
            Route::Chat => json!({}),
            Route::Completion => json!(""),
        };
        self.chunk(choice, delta, Value::Null, Some(ending))
    }

    /// The chunk with the usage.
    pub(super) fn usage(&self, usage: TokenUsage) -> Value {
        let mut chunk = self.object(self.chunk_object(), vec![]);
        chunk["usage"] = counts(usage);
        chunk
    }

    fn chunk(&self, index: usize, delta: Value, logprobs: Value, ending: Option<&Ending>) -> Value {
        let key = match self.route {
            Route::Chat => "delta",
            Route::Completion => "text",
        };
        let finish = ending.map(|ending| self.finish_reason(ending));
        let choice = json!({ "index": index, key: delta, "logprobs": logprobs, "finish_reason": finish });
        let mut chunk = self.object(self.chunk_object(), vec![choice]);
        if self.usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    fn chunk_object(&self) -> &'static str {
        match self.route {
            Route::Chat => "chat.completion.chunk",
            Route::Completion => "text_completion",
        }
    }

    fn object(&self, object: &str, choices: Vec<Value>) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
            "choices": choices,
        })
    }

    fn logprobs(&self, service: &Service, tokens: &[Told]) -> Value {
        let tokenizer = &service.served.tokenizer;
        match (self.logprobs, self.route) {
            (false, _) => Value::Null,
            (true, Route::Chat) => logprobs::chat(tokenizer, tokens),
            (true, Route::Completion) => logprobs::completion(tokenizer, tokens),
        }
    }

    /// A call that the request has named is no news: the API calls such an end `stop`.
    fn finish_reason(&self, ending: &Ending) -> &'static str {
        match ending {
            Ending::ToolCalls if !self.is_named => "tool_calls",
            Ending::Stop | Ending::StopSequence(_) | Ending::ToolCalls => "stop",
            Ending::Length => "length",
        }
    }
}

fn message(service: &Service, choice: &WholeChoice) -> Value {
    let mut message = json!({ "role": "assistant", "content": choice.content, "refusal": null });
    if choice.content.is_none() && choice.reasoning.is_none() && choice.calls.is_empty() {
        // An answer without a word is a text.
        message["content"] = json!("");
    }
    if let Some(reasoning) = &choice.reasoning {
        message["reasoning_content"] = json!(reasoning);
    }
    if !choice.calls.is_empty() {
        let call = |call: &WholeCall| {
            json!({
                "id": service.call_id(CALL),
                "type": "function",
                "function": { "name": call.name, "arguments": call.arguments },
            })
        };
        message["tool_calls"] = choice.calls.iter().map(call).collect();
    }
    message
}

fn counts(usage: TokenUsage) -> Value {
    let TokenUsage { prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens } = usage;
    json!({
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": { "cached_tokens": cached_tokens },
        "completion_tokens_details": { "reasoning_tokens": reasoning_tokens },
    })
}

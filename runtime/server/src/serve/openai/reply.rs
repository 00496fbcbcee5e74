//! Answers as the API's objects: whole, or in chunks.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tenon_engine::{Tokenizer, random_seed};
use tenon_formats::tools::Delta;

use super::logprobs;
use crate::serve::answer::{Ending, TokenUsage, Told, Whole, WholeChoice};

/// Which of the two routes answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) enum Route {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completion,
}

/// What all objects of one answer share.
#[derive(Clone, Debug)]
pub(in crate::serve) struct Reply {
    route: Route,
    id: String,
    created: u64,
    model: String,
    logprobs: bool,
    /// Whether chunks have the key `usage`, which is null in all but the last.
    usage: bool,
}

impl Reply {
    /// An answer that begins now, under an id of its own.
    pub(in crate::serve) fn new(route: Route, model: &str, created: u64, logprobs: bool, usage: bool) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let prefix = match route {
            Route::Chat => "chatcmpl",
            Route::Completion => "cmpl",
        };
        let id = format!("{prefix}-{:016x}{:08x}", random_seed(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self { route, id, created, model: model.to_owned(), logprobs, usage }
    }

    /// The whole answer.
    pub(in crate::serve) fn whole(&self, tokenizer: &Tokenizer, whole: &Whole) -> Value {
        let choices = (0..).zip(&whole.choices).map(|(index, choice)| self.choice(tokenizer, index, choice)).collect();
        let object = match self.route {
            Route::Chat => "chat.completion",
            Route::Completion => "text_completion",
        };
        let mut answer = self.object(object, choices);
        answer["usage"] = counts(whole.usage);
        answer
    }

    fn choice(&self, tokenizer: &Tokenizer, index: usize, choice: &WholeChoice) -> Value {
        let logprobs = self.logprobs(tokenizer, &choice.tokens);
        let finish = choice.ending.as_ref().map(finish_reason);
        let text = choice.content.as_deref().unwrap_or_default();
        match self.route {
            Route::Chat => json!({
                "index": index,
                "message": { "role": "assistant", "content": text, "refusal": null },
                "logprobs": logprobs,
                "finish_reason": finish,
            }),
            Route::Completion => json!({ "index": index, "text": text, "logprobs": logprobs, "finish_reason": finish }),
        }
    }

    /// The chunk before any text, where the route has one.
    pub(in crate::serve) fn opening(&self) -> Option<Value> {
        match self.route {
            Route::Chat => Some(self.chunk(json!({ "role": "assistant", "content": "" }), Value::Null, None)),
            Route::Completion => None,
        }
    }

    /// A chunk with more of the answer.
    pub(in crate::serve) fn text(&self, tokenizer: &Tokenizer, deltas: &[Delta], tokens: &[Told]) -> Value {
        let text: String =
            deltas.iter().filter_map(|delta| if let Delta::Content(text) = delta { Some(text.as_str()) } else { None }).collect();
        let delta = match self.route {
            Route::Chat => json!({ "content": text }),
            Route::Completion => json!(text),
        };
        self.chunk(delta, self.logprobs(tokenizer, tokens), None)
    }

    /// The last chunk with a choice.
    pub(in crate::serve) fn closing(&self, ending: &Ending) -> Value {
        let delta = match self.route {
            Route::Chat => json!({}),
            Route::Completion => json!(""),
        };
        self.chunk(delta, Value::Null, Some(ending))
    }

    /// The chunk with the usage.
    pub(in crate::serve) fn usage(&self, usage: TokenUsage) -> Value {
        let mut chunk = self.object(self.chunk_object(), vec![]);
        chunk["usage"] = counts(usage);
        chunk
    }

    fn chunk(&self, delta: Value, logprobs: Value, ending: Option<&Ending>) -> Value {
        let key = match self.route {
            Route::Chat => "delta",
            Route::Completion => "text",
        };
        let finish = ending.map(finish_reason);
        let choice = json!({ "index": 0, key: delta, "logprobs": logprobs, "finish_reason": finish });
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
        json!({ "id": self.id, "object": object, "created": self.created, "model": self.model, "choices": choices })
    }

    fn logprobs(&self, tokenizer: &Tokenizer, tokens: &[Told]) -> Value {
        match (self.logprobs, self.route) {
            (false, _) => Value::Null,
            (true, Route::Chat) => logprobs::chat(tokenizer, tokens),
            (true, Route::Completion) => logprobs::completion(tokenizer, tokens),
        }
    }
}

fn finish_reason(ending: &Ending) -> &'static str {
    match ending {
        Ending::Stop | Ending::StopSequence(_) => "stop",
        Ending::Length => "length",
        Ending::ToolCalls => "tool_calls",
    }
}

fn counts(usage: TokenUsage) -> Value {
    let TokenUsage { prompt_tokens, completion_tokens, .. } = usage;
    json!({
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    })
}

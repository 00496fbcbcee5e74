//! Answers as the API's objects: whole, or in chunks.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tenon_engine::{Tokenizer, Usage, random_seed};

use super::logprobs;
use crate::serve::answer::{Ending, Piece};

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
    pub(in crate::serve) fn whole(&self, tokenizer: &Tokenizer, piece: &Piece, ending: Ending, usage: Usage) -> Value {
        let logprobs = self.logprobs(tokenizer, piece);
        let finish = finish_reason(ending);
        let choice = match self.route {
            Route::Chat => json!({
                "index": 0,
                "message": { "role": "assistant", "content": piece.text, "refusal": null },
                "logprobs": logprobs,
                "finish_reason": finish,
            }),
            Route::Completion => json!({ "index": 0, "text": piece.text, "logprobs": logprobs, "finish_reason": finish }),
        };
        let object = match self.route {
            Route::Chat => "chat.completion",
            Route::Completion => "text_completion",
        };
        let mut whole = self.object(object, vec![choice]);
        whole["usage"] = counts(usage);
        whole
    }

    /// The chunk before any text, where the route has one.
    pub(in crate::serve) fn opening(&self) -> Option<Value> {
        match self.route {
            Route::Chat => Some(self.chunk(json!({ "role": "assistant", "content": "" }), Value::Null, None)),
            Route::Completion => None,
        }
    }

    /// A chunk with text.
    pub(in crate::serve) fn text(&self, tokenizer: &Tokenizer, piece: &Piece) -> Value {
        let delta = match self.route {
            Route::Chat => json!({ "content": piece.text }),
            Route::Completion => json!(piece.text),
        };
        self.chunk(delta, self.logprobs(tokenizer, piece), None)
    }

    /// The last chunk with a choice.
    pub(in crate::serve) fn closing(&self, ending: Ending) -> Value {
        let delta = match self.route {
            Route::Chat => json!({}),
            Route::Completion => json!(""),
        };
        self.chunk(delta, Value::Null, Some(ending))
    }

    /// The chunk with the usage.
    pub(in crate::serve) fn usage(&self, usage: Usage) -> Value {
        let mut chunk = self.object(self.chunk_object(), vec![]);
        chunk["usage"] = counts(usage);
        chunk
    }

    fn chunk(&self, delta: Value, logprobs: Value, ending: Option<Ending>) -> Value {
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

    fn logprobs(&self, tokenizer: &Tokenizer, piece: &Piece) -> Value {
        match (self.logprobs, self.route) {
            (false, _) => Value::Null,
            (true, Route::Chat) => logprobs::chat(tokenizer, &piece.tokens),
            (true, Route::Completion) => logprobs::completion(tokenizer, &piece.tokens),
        }
    }
}

fn finish_reason(ending: Ending) -> &'static str {
    match ending {
        Ending::Stop => "stop",
        Ending::Length => "length",
    }
}

fn counts(usage: Usage) -> Value {
    let Usage { prompt_tokens, completion_tokens, .. } = usage;
    json!({
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    })
}

//! Answers as the API's messages: deltas become content blocks, one after the other.

use serde_json::{Map, Value, json};
use tenon_formats::tools::Delta;

use crate::serve::answer::{Ending, TokenUsage};
use crate::serve::ids;

/// Something about the block that stands last. A block begins when the one before has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum BlockEvent {
    /// A block begins.
    Start(Block),
    /// More of its text, or of the JSON text of its input.
    More(String),
    /// It is over; `complete` is false for a call that was cut.
    Stop { complete: bool },
}

/// A content block that begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    Thinking,
    Text,
    ToolUse { id: String, name: String },
}

impl Block {
    /// The block as it begins, which is how a stream shows it.
    pub(super) fn object(&self) -> Value {
        match self {
            // Nothing is signed here: the model of the next request is this one.
            Self::Thinking => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            Self::Text => json!({ "type": "text", "text": "" }),
            Self::ToolUse { id, name } => json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
        }
    }

    /// What a stream sends as more of it.
    pub(super) fn delta(&self, text: &str) -> Value {
        match self {
            Self::Thinking => json!({ "type": "thinking_delta", "thinking": text }),
            Self::Text => json!({ "type": "text_delta", "text": text }),
            Self::ToolUse { .. } => json!({ "type": "input_json_delta", "partial_json": text }),
        }
    }
}

/// From deltas to blocks: the one way, for streams and for whole messages.
pub(super) struct Blocks {
    /// Makes the ids of calls.
    call_id: Box<dyn FnMut() -> String + Send>,
    /// Reasoning comes without its text.
    omit_thinking: bool,
    open: Option<Block>,
}

impl Blocks {
    pub(super) fn new(omit_thinking: bool, call_id: impl FnMut() -> String + Send + 'static) -> Self {
        Self { call_id: Box::new(call_id), omit_thinking, open: None }
    }

    /// What a delta adds.
    pub(super) fn push(&mut self, delta: Delta, tell: &mut impl FnMut(BlockEvent)) {
        match delta {
            Delta::Reasoning(text) => {
                self.begin(Block::Thinking, tell);
                if !self.omit_thinking {
                    tell(BlockEvent::More(text));
                }
            }
            Delta::Content(text) => {
                self.begin(Block::Text, tell);
                tell(BlockEvent::More(text));
            }
            Delta::CallBegin { name, .. } => {
                let id = (self.call_id)();
                self.begin(Block::ToolUse { id, name }, tell);
            }
            Delta::CallArguments { text, .. } => tell(BlockEvent::More(text)),
            Delta::CallEnd { .. } => self.end(true, tell),
        }
    }

    /// There are no more deltas.
    pub(super) fn finish(&mut self, tell: &mut impl FnMut(BlockEvent)) {
        self.end(false, tell);
    }

    fn begin(&mut self, block: Block, tell: &mut impl FnMut(BlockEvent)) {
        if self.open.as_ref() != Some(&block) {
            self.end(false, tell);
            tell(BlockEvent::Start(block.clone()));
            self.open = Some(block);
        }
    }

    fn end(&mut self, called: bool, tell: &mut impl FnMut(BlockEvent)) {
        if let Some(block) = self.open.take() {
            tell(BlockEvent::Stop { complete: called || !matches!(block, Block::ToolUse { .. }) });
        }
    }
}

/// Whole blocks, the sum of their events.
#[derive(Debug, Default)]
pub(super) struct Content {
    whole: Vec<Value>,
    open: Option<(Block, String)>,
}

impl Content {
    /// Adds an event.
    pub(super) fn add(&mut self, event: BlockEvent) {
        match event {
            BlockEvent::Start(block) => self.open = Some((block, String::new())),
            BlockEvent::More(more) => {
                if let Some((_, text)) = &mut self.open {
                    text.push_str(&more);
                }
            }
            // An input is an object. Half of one is none, and a client that ran the call with less would not notice.
            BlockEvent::Stop { complete: false } => self.open = None,
            BlockEvent::Stop { complete: true } => {
                self.whole.extend(self.open.take().and_then(|(block, text)| whole(&block, text)))
            }
        }
    }

    /// The blocks.
    pub(super) fn into_blocks(self) -> Vec<Value> {
        self.whole
    }
}

fn whole(block: &Block, text: String) -> Option<Value> {
    let mut object = block.object();
    match block {
        Block::Thinking => object["thinking"] = json!(text),
        Block::Text => object["text"] = json!(text),
        Block::ToolUse { .. } => object["input"] = Value::Object(serde_json::from_str::<Map<_, _>>(&text).ok()?),
    }
    Some(object)
}

/// What the objects of one answer share.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    id: String,
    model: String,
}

impl Reply {
    /// An answer that begins now, under an id of its own.
    pub(super) fn new(model: &str) -> Self {
        Self { id: ids::id("msg_"), model: model.to_owned() }
    }

    /// A message; without an ending, one that begins.
    pub(super) fn message(&self, content: Vec<Value>, ending: Option<&Ending>, usage: TokenUsage) -> Value {
        let mut message = json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
        });
        if let Some(message) = message.as_object_mut() {
            message.extend(stopped(ending));
            message.insert("usage".to_owned(), counts(usage));
        }
        message
    }
}

/// Why an answer is over, in two keys that are null until it is.
pub(super) fn stopped(ending: Option<&Ending>) -> Map<String, Value> {
    let (reason, sequence) = match ending {
        None => (None, None),
        Some(Ending::Stop) => (Some("end_turn"), None),
        Some(Ending::StopSequence(sequence)) => (Some("stop_sequence"), Some(sequence)),
        Some(Ending::Length) => (Some("max_tokens"), None),
        Some(Ending::ToolCalls) => (Some("tool_use"), None),
    };
    let keys = [("stop_reason", json!(reason)), ("stop_sequence", json!(sequence))];
    keys.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
}

/// Counts as the API has them: the tokens of the prompt are the sum of three, of which those read from the cache are one. Writing
/// to the cache costs nothing here, so that nothing is counted as written.
pub(super) fn counts(usage: TokenUsage) -> Value {
    let TokenUsage { prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens } = usage;
    json!({
        "input_tokens": prompt_tokens.saturating_sub(cached_tokens),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached_tokens,
        "output_tokens": completion_tokens,
        "output_tokens_details": { "thinking_tokens": reasoning_tokens },
    })
}

#[cfg(test)]
mod tests;

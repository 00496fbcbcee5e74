//! An answer as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::error;
use super::reply::{Block, BlockEvent, Blocks, Reply, counts, stopped};
use crate::serve::answer::{Answer, Ending, Part};

/// Events not sent yet, and where further ones come from.
struct Events {
    ready: VecDeque<Event>,
    reply: Reply,
    blocks: Blocks,
    /// The block that the next events are about, and its place.
    block: Option<Block>,
    index: usize,
    /// The message has begun.
    started: bool,
    ending: Option<Ending>,
    /// `None` once the answer is over.
    answer: Option<Answer>,
}

/// The response that sends `answer` while it is generated. The client's leaving drops it, which cancels the request.
pub(super) fn stream(reply: Reply, blocks: Blocks, answer: Answer) -> Response {
    let events = Events {
        ready: VecDeque::new(),
        reply,
        blocks,
        block: None,
        index: 0,
        started: false,
        ending: None,
        answer: Some(answer),
    };
    let stream = futures_util::stream::unfold(events, |mut events| async move {
        let event = events.next().await?;
        Some((Ok::<_, Infallible>(event), events))
    });
    Sse::new(stream).into_response()
}

impl Events {
    async fn next(&mut self) -> Option<Event> {
        while self.ready.is_empty() {
            let answer = self.answer.as_mut()?;
            let part = answer.next().await;
            // Not before the first part: only then is it known what of the prompt was cached.
            if !self.started && part.is_ok() {
                self.started = true;
                let message = self.reply.message(Vec::new(), None, answer.usage());
                self.send("message_start", json!({ "message": message }));
                self.ready.push_back(ping());
            }
            match part {
                Ok(Some(part)) => self.take(part),
                Ok(None) => self.answer = None,
                Err(error) => {
                    // The status is sent already. No end of the message is claimed after an error.
                    self.answer = None;
                    self.ready.push_back(event("error", &error::body(&error, None)));
                }
            }
        }
        self.ready.pop_front()
    }

    fn take(&mut self, part: Part) {
        let mut told = Vec::new();
        match part {
            Part::Delta { deltas, .. } => {
                for delta in deltas {
                    self.blocks.push(delta, &mut |event| told.push(event));
                }
            }
            Part::End { ending, .. } => {
                self.blocks.finish(&mut |event| told.push(event));
                self.ending = Some(ending);
            }
            Part::Usage(usage) => {
                let delta = stopped(self.ending.as_ref());
                self.send("message_delta", json!({ "delta": delta, "usage": counts(usage) }));
                self.send("message_stop", json!({}));
            }
        }
        told.into_iter().for_each(|event| self.tell(event));
    }

    fn tell(&mut self, event: BlockEvent) {
        let index = self.index;
        match event {
            BlockEvent::Start(block) => {
                self.send("content_block_start", json!({ "index": index, "content_block": block.object() }));
                self.block = Some(block);
            }
            BlockEvent::More(text) => {
                if let Some(delta) = self.block.as_ref().map(|block| block.delta(&text)) {
                    self.send("content_block_delta", json!({ "index": index, "delta": delta }));
                }
            }
            BlockEvent::Stop { .. } => {
                if self.block.take() == Some(Block::Thinking) {
                    let delta = json!({ "type": "signature_delta", "signature": "" });
                    self.send("content_block_delta", json!({ "index": index, "delta": delta }));
                }
                self.send("content_block_stop", json!({ "index": index }));
                self.index += 1;
            }
        }
    }

    /// An event has its name twice: in its line, and as the type of its object.
    fn send(&mut self, name: &str, rest: Value) {
        let mut object = json!({ "type": name });
        if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
            object.extend(rest);
        }
        self.ready.push_back(event(name, &object));
    }
}

/// An event that says nothing, which clients skip.
fn ping() -> Event {
    event("ping", &json!({ "type": "ping" }))
}

fn event(name: &str, object: &Value) -> Event {
    // JSON has its line breaks escaped, so it is one line.
    Event::default().event(name).data(object.to_string())
}

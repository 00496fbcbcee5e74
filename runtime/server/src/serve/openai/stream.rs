//! An answer as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::reply::Reply;
use crate::serve::Service;
use crate::serve::answer::{Answer, Part};

/// The text of the event after the last.
const DONE: &str = "[DONE]";

/// Events not sent yet, and where further ones come from.
struct Events {
    ready: VecDeque<Event>,
    reply: Reply,
    service: Arc<Service>,
    /// `None` once the answer is over.
    answer: Option<Answer>,
}

/// The response that sends `answer` while it is generated. The client's leaving drops it, which cancels the request.
pub(super) fn stream(service: Arc<Service>, reply: Reply, answer: Answer) -> Response {
    let ready = (0..answer.choices()).filter_map(|choice| reply.opening(choice)).map(|chunk| event(&chunk)).collect();
    let events = Events { ready, reply, service, answer: Some(answer) };
    let stream = futures_util::stream::unfold(events, |mut events| async move {
        let event = events.next().await?;
        Some((Ok::<_, Infallible>(event), events))
    });
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}

impl Events {
    async fn next(&mut self) -> Option<Event> {
        while self.ready.is_empty() {
            match self.answer.as_mut()?.next().await {
                Ok(Some(Part::Delta { choice, deltas, tokens })) => {
                    let chunks = self.reply.chunks(&self.service, choice, &deltas, &tokens);
                    self.ready.extend(chunks.iter().map(event));
                }
                Ok(Some(Part::End { choice, ending })) => self.ready.push_back(event(&self.reply.closing(choice, &ending))),
                Ok(Some(Part::Usage(usage))) => {
                    if self.reply.usage {
                        self.ready.push_back(event(&self.reply.usage(usage)));
                    }
                }
                Ok(None) => {
                    self.answer = None;
                    self.ready.push_back(Event::default().data(DONE));
                }
                Err(error) => {
                    // The status is sent already. Clients read an error object in place of a chunk; no end is claimed after it.
                    self.answer = None;
                    self.ready.push_back(event(&error.body()));
                }
            }
        }
        self.ready.pop_front()
    }
}

fn event(object: &Value) -> Event {
    // JSON has its line breaks escaped, so it is one line.
    Event::default().data(object.to_string())
}

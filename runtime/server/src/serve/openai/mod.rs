//! OpenAI's dialect: its request bodies into [`GenerateRequest`](super::request::GenerateRequest), answers into its objects.

mod chat;
mod completions;
mod logprobs;
mod messages;
mod params;
mod reply;
mod stream;
mod tools;

pub(super) use chat::{read as read_chat, read_to_render};
pub(super) use completions::read as read_completion;
pub(super) use reply::{Reply, Route};
pub(super) use stream::stream;

/// How an answer is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delivery {
    /// As server-sent events, while it is generated.
    pub(super) stream: bool,
    /// With a last event that has the usage.
    pub(super) include_usage: bool,
}

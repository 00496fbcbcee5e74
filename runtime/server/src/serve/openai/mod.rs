//! OpenAI's dialect: its request bodies into [`GenerateRequest`](super::request::GenerateRequest), answers into its objects.

mod chat;
mod completions;
mod format;
mod logprobs;
mod messages;
mod params;
mod reasoning;
mod reply;
mod routes;
mod stream;
mod tools;

pub(super) use chat::{conversation, read as read_chat};
pub(super) use completions::read_to_render as read_completion_to_render;
pub(super) use params::{model as read_model, timeout as read_timeout};
pub(super) use reasoning::kwargs as chat_template_kwargs;
pub(super) use routes::{chat_completions, completions, not_implemented};

/// How an answer is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delivery {
    /// As server-sent events, while it is generated.
    pub(super) stream: bool,
    /// With a last event that has the usage.
    pub(super) include_usage: bool,
}

//! A route that renders a template by itself: only `prompt` does, so that what is counted is what is generated from.

use tenon_formats::chat::{ChatTemplate, Conversation};

fn count(template: &ChatTemplate, conversation: &Conversation) -> usize {
    template.render(conversation).map_or(0, |text| text.len())
}

fn main() {}

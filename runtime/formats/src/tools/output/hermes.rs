//! `<tool_call>{"name": .., "arguments": {..}}</tool_call>`

use super::call::CallReader;
use super::calls::Format;
use super::named::{Keys, Named};
use super::place::Place;

#[derive(Debug)]
pub(crate) struct Hermes;

/// The tag already says that this is a call.
const KEYS: Keys = Keys { arguments: &["arguments"], are_optional: true, others: None };

impl Format for Hermes {
    fn openers(&self) -> &'static [&'static str] {
        &["<tool_call>"]
    }

    fn closers(&self) -> &'static [&'static str] {
        &["</tool_call>"]
    }

    fn opened(&self, _: &str) -> Box<dyn CallReader> {
        Box::new(Named::tagged(KEYS))
    }

    /// A second object within the tag.
    fn brace(&self, place: Place) -> Option<Box<dyn CallReader>> {
        (place == Place::AfterCall).then(|| Box::new(Named::opened(KEYS)) as Box<dyn CallReader>)
    }
}

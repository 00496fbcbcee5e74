//! Calls without tags: `{"name": .., "arguments": {..}}` and Llama's `{"name": .., "parameters": {..}}`.
//!
//! Nothing but its keys tells such a call from an answer in JSON, so an object with any other key is none, and neither is one
//! inside of another value or of a code block.

use super::call::{Call, CallReader};
use super::calls::Format;
use super::json::{JsonScanner, Step};
use super::named::{Keys, Named};
use super::place::Place;

/// A call stands at the beginning of a line.
#[derive(Debug)]
pub(crate) struct BareJson;

/// A call stands anywhere, since Llama writes it behind a sentence too, and may have a tag. Semicolons separate calls.
#[derive(Debug)]
pub(crate) struct Llama3Json;

const OTHERS: Option<&[&str]> = Some(&["id", "type"]);
const BARE: Keys = Keys { arguments: &["arguments"], are_optional: false, others: OTHERS };
const LLAMA: Keys = Keys { arguments: &["parameters", "arguments"], are_optional: false, others: OTHERS };

impl Format for BareJson {
    fn openers(&self) -> &'static [&'static str] {
        &[]
    }

    fn opened(&self, _: &str) -> Box<dyn CallReader> {
        Box::new(Named::tagged(BARE))
    }

    fn brace(&self, place: Place) -> Option<Box<dyn CallReader>> {
        matches!(place, Place::AfterCall | Place::LineStart).then(|| Box::new(Named::opened(BARE)) as Box<dyn CallReader>)
    }

    fn bracket(&self, place: Place) -> Option<Box<dyn CallReader>> {
        matches!(place, Place::AfterCall | Place::LineStart).then(|| Box::new(Array::opened()) as Box<dyn CallReader>)
    }
}

impl Format for Llama3Json {
    fn openers(&self) -> &'static [&'static str] {
        &["<|python_tag|>"]
    }

    fn opened(&self, _: &str) -> Box<dyn CallReader> {
        Box::new(Named::tagged(LLAMA))
    }

    fn brace(&self, place: Place) -> Option<Box<dyn CallReader>> {
        (place != Place::Code).then(|| Box::new(Named::opened(LLAMA)) as Box<dyn CallReader>)
    }

    fn bracket(&self, place: Place) -> Option<Box<dyn CallReader>> {
        (place != Place::Code).then(|| Box::new(Array::opened()) as Box<dyn CallReader>)
    }

    fn separator(&self) -> Option<char> {
        Some(';')
    }
}

/// An array in an answer: what it holds is no call.
#[derive(Debug)]
struct Array(JsonScanner);

impl Array {
    /// From behind its bracket.
    fn opened() -> Self {
        let mut scanner = JsonScanner::new();
        scanner.push('[');
        Self(scanner)
    }
}

impl CallReader for Array {
    fn push(&mut self, c: char, call: &mut Call<'_, '_>) -> Step {
        call.reject();
        self.0.push(c)
    }
}

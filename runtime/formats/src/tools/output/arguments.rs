//! The arguments of a call whose name is known: one JSON object.

use super::call::{Call, CallReader};
use super::json::{JsonScanner, Step, is_space};

/// Such an object, with whitespace before it.
#[derive(Debug)]
pub(crate) struct Arguments {
    name: String,
    /// `None` before the brace.
    scanner: Option<JsonScanner>,
}

impl Arguments {
    pub(crate) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), scanner: None }
    }
}

impl CallReader for Arguments {
    fn push(&mut self, c: char, call: &mut Call<'_, '_>) -> Step {
        let scanner = match &mut self.scanner {
            Some(scanner) => scanner,
            None if is_space(c) => return Step::More,
            None if c == '{' => {
                call.begin(&self.name);
                self.scanner.insert(JsonScanner::new())
            }
            None => return Step::Bad(0),
        };
        let step = scanner.push(c);
        if matches!(step, Step::More | Step::Done) {
            call.argument_char(c);
        }
        if step == Step::Done {
            call.end();
        }
        step
    }
}

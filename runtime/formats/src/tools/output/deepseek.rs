//! `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{..}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`, as of V3.1.

use super::arguments::Arguments;
use super::call::{Call, CallReader};
use super::calls::Format;
use super::json::{Step, is_space};
use super::tags::{Match, TagMatcher};

#[derive(Debug)]
pub(crate) struct Deepseek;

const CALLS: &str = "<｜tool▁calls▁begin｜>";
const CALL: &str = "<｜tool▁call▁begin｜>";

impl Format for Deepseek {
    fn openers(&self) -> &'static [&'static str] {
        &[CALLS, CALL]
    }

    fn closers(&self) -> &'static [&'static str] {
        &["<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"]
    }

    fn opened(&self, tag: &str) -> Box<dyn CallReader> {
        let state = if tag == CALLS { State::Calls } else { State::Name };
        Box::new(Reader { state, name: String::new(), tags: TagMatcher::default() })
    }
}

#[derive(Debug)]
struct Reader {
    state: State,
    name: String,
    tags: TagMatcher,
}

#[derive(Debug)]
enum State {
    /// Behind the tag of all calls.
    Calls,
    Name,
    Arguments(Arguments),
}

impl CallReader for Reader {
    fn push(&mut self, c: char, call: &mut Call<'_, '_>) -> Step {
        let name = &mut self.name;
        match &mut self.state {
            State::Calls if self.tags.is_empty() && is_space(c) => {}
            State::Calls => match self.tags.push(c, &[CALL], |c| name.push(c)) {
                Match::Tag(_) => self.state = State::Name,
                Match::Held if name.is_empty() => {}
                Match::Held => return Step::Bad(self.tags.before(c)),
            },
            State::Name => match self.tags.push(c, &["<｜tool▁sep｜>"], |c| name.push(c)) {
                Match::Tag(_) => self.state = State::Arguments(Arguments::of(name.trim())),
                Match::Held if call.progress.functions.may_begin(name.trim()) => {}
                Match::Held => return Step::Bad(self.tags.before(c)),
            },
            State::Arguments(arguments) => return arguments.push(c, call),
        }
        Step::More
    }
}

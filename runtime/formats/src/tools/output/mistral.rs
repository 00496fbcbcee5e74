//! `[TOOL_CALLS]f[ARGS]{..}`, with `[CALL_ID]` before the arguments in some versions, and the older `[TOOL_CALLS][{"name": ..}]`.

use super::arguments::Arguments;
use super::call::{Call, CallReader};
use super::calls::Format;
use super::json::{Step, is_space};
use super::named::{Keys, Named};
use super::tags::{Match, TagMatcher};

#[derive(Debug)]
pub(crate) struct Mistral;

const KEYS: Keys = Keys { arguments: &["arguments"], are_optional: true, others: None };

/// Characters that the id of a call may have.
const LONGEST_ID: usize = 64;

impl Format for Mistral {
    fn openers(&self) -> &'static [&'static str] {
        &["[TOOL_CALLS]"]
    }

    fn opened(&self, _: &str) -> Box<dyn CallReader> {
        Box::new(Reader { state: State::Start, name: String::new(), tags: TagMatcher::default() })
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
    Start,
    Name,
    /// An id, which the server replaces by its own.
    Id(String),
    Arguments(Arguments),
    /// One object instead of a list.
    Object(Named),
    /// The first element of a list, or another tag.
    List,
    Element(Named),
    /// A comma or the list's end.
    Between,
    /// Behind a comma.
    Next,
}

impl CallReader for Reader {
    fn push(&mut self, c: char, call: &mut Call<'_, '_>) -> Step {
        match &mut self.state {
            State::Start | State::List | State::Next if is_space(c) => Step::More,
            State::Start => match c {
                '[' => self.to(State::List),
                '{' => self.to(State::Object(Named::opened(KEYS))),
                _ => {
                    self.state = State::Name;
                    self.name(c, call)
                }
            },
            State::Name => self.name(c, call),
            State::Id(id) => {
                let found = self.tags.push(c, &["[ARGS]"], |c| id.push(c));
                match found {
                    Match::Tag(_) => {
                        let arguments = Arguments::of(self.name.trim_end());
                        self.to(State::Arguments(arguments))
                    }
                    Match::Held if id.len() > LONGEST_ID || !id.trim().bytes().all(|b| b.is_ascii_graphic()) => {
                        Step::Bad(self.tags.before(c))
                    }
                    Match::Held => Step::More,
                }
            }
            State::Arguments(arguments) => arguments.push(c, call),
            State::Object(object) => object.push(c, call),
            State::List | State::Next if c == '{' => self.to(State::Element(Named::opened(KEYS))),
            // What looked like a list may be the next tag.
            State::List => Step::Bad(1),
            State::Next => Step::Bad(0),
            State::Element(object) => match object.push(c, call) {
                Step::Done => self.to(State::Between),
                step => step,
            },
            State::Between => match c {
                ',' => self.to(State::Next),
                _ if is_space(c) => Step::More,
                ']' => {
                    call.layout();
                    Step::Done
                }
                _ => Step::Bad(0),
            },
        }
    }
}

impl Reader {
    fn to(&mut self, state: State) -> Step {
        self.state = state;
        Step::More
    }

    /// A character of the name, or of what ends it: a tag, or the arguments themselves.
    fn name(&mut self, c: char, call: &mut Call<'_, '_>) -> Step {
        if c == '{' && self.tags.is_empty() && !self.name.is_empty() {
            let mut arguments = Arguments::of(self.name.trim_end());
            let step = arguments.push(c, call);
            self.state = State::Arguments(arguments);
            return step;
        }
        let name = &mut self.name;
        match self.tags.push(c, &["[ARGS]", "[CALL_ID]"], |c| name.push(c)) {
            Match::Tag("[ARGS]") => {
                let arguments = Arguments::of(self.name.trim_end());
                self.to(State::Arguments(arguments))
            }
            Match::Tag(_) => self.to(State::Id(String::new())),
            Match::Held if call.progress.functions.may_begin(self.name.trim_end()) => Step::More,
            Match::Held => Step::Bad(self.tags.before(c)),
        }
    }
}

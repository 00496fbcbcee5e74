//! `<tool_call><function=f><parameter=k>v</parameter></function></tool_call>`, of which the outer tags are optional.

use super::call::{Call, CallReader};
use super::calls::Format;
use super::json::{Step, is_space};
use super::parameter::Parameter;
use super::schema::Wanted;
use super::tags::{Match, TagMatcher};

#[derive(Debug)]
pub(crate) struct Qwen3Coder;

const CALL: &str = "<tool_call>";
const CALL_END: &str = "</tool_call>";
const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";
/// Where a model forgot to end a parameter, the next one begins on a line of its own.
const NEXT_PARAMETER: &str = "\n<parameter=";

/// Characters that the name of a parameter may have.
const LONGEST_KEY: usize = 256;

impl Format for Qwen3Coder {
    fn openers(&self) -> &'static [&'static str] {
        &[CALL, FUNCTION]
    }

    fn closers(&self) -> &'static [&'static str] {
        &[CALL_END]
    }

    fn opened(&self, tag: &str) -> Box<dyn CallReader> {
        let state = if tag == CALL { State::Function } else { State::Name };
        Box::new(Reader { state, name: String::new(), key: String::new(), has_begun: false, tags: TagMatcher::default() })
    }
}

#[derive(Debug)]
struct Reader {
    state: State,
    name: String,
    key: String,
    /// The first parameter came, or the end.
    has_begun: bool,
    tags: TagMatcher,
}

#[derive(Debug)]
enum State {
    /// Behind the outer tag.
    Function,
    Name,
    /// A parameter or the end of the function.
    Between,
    Key,
    Value(Parameter),
    /// The end of the function in a parameter that has not ended, and what came since: data unless all ends here.
    Ending(Parameter, String),
}

impl CallReader for Reader {
    fn push(&mut self, c: char, call: &mut Call<'_, '_>) -> Step {
        let mut plain = String::new();
        match &mut self.state {
            State::Function | State::Between if self.tags.is_empty() && is_space(c) => {}
            State::Function => match self.tags.push(c, &[FUNCTION], |c| plain.push(c)) {
                Match::Tag(_) => self.state = State::Name,
                Match::Held if plain.is_empty() => {}
                Match::Held => return Step::Bad(self.tags.before(c)),
            },
            State::Name if c == '>' => self.state = State::Between,
            State::Name => {
                self.name.push(c);
                if !call.progress.functions.may_begin(&self.name) {
                    return Step::Bad(0);
                }
            }
            State::Between => match self.tags.push(c, &[PARAMETER, FUNCTION_END, CALL_END], |c| plain.push(c)) {
                Match::Tag(PARAMETER) => self.state = State::Key,
                Match::Tag(_) => return self.end(call),
                Match::Held if plain.is_empty() => {}
                Match::Held => return Step::Bad(self.tags.before(c)),
            },
            State::Key if c == '>' => self.begin_parameter(call),
            State::Key => {
                self.key.push(c);
                if c == '\n' || c == '<' || self.key.len() > LONGEST_KEY {
                    return Step::Bad(0);
                }
            }
            State::Value(_) => self.value(c, call),
            State::Ending(_, space) if self.tags.is_empty() && is_space(c) => space.push(c),
            State::Ending(..) => match self.tags.push(c, &[CALL_END], |c| plain.push(c)) {
                Match::Tag(_) => return self.end(call),
                Match::Held if plain.is_empty() => {}
                Match::Held => {
                    plain.push_str(&self.tags.take());
                    self.goes_on(call);
                    plain.chars().for_each(|c| self.value(c, call));
                }
            },
        }
        Step::More
    }

    /// What ends between two parameters lacks closing tags only.
    fn finish(&mut self, call: &mut Call<'_, '_>) {
        let is_between = matches!(self.state, State::Between) && self.has_begun && self.tags.is_empty();
        let is_ending = matches!(self.state, State::Ending(..)) && self.tags.is_empty();
        if is_between || is_ending {
            self.end(call);
        }
    }
}

impl Reader {
    fn begin(&mut self, call: &mut Call<'_, '_>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            call.begin(&self.name);
            call.arguments("{");
        } else {
            call.arguments(", ");
        }
    }

    fn begin_parameter(&mut self, call: &mut Call<'_, '_>) {
        self.begin(call);
        let key = std::mem::take(&mut self.key);
        call.arguments(&serde_json::Value::from(key.as_str()).to_string());
        call.arguments(": ");
        self.state = State::Value(Parameter::new(Wanted::of(call.progress.functions.get(&self.name), &key)));
    }

    /// A character of a value, or of the tag that ends it.
    fn value(&mut self, c: char, call: &mut Call<'_, '_>) {
        let State::Value(parameter) = &mut self.state else { return };
        match self.tags.push(c, &[PARAMETER_END, NEXT_PARAMETER, FUNCTION_END], |c| parameter.push(c, call)) {
            Match::Held => {}
            Match::Tag(FUNCTION_END) => {
                if let State::Value(parameter) = std::mem::replace(&mut self.state, State::Between) {
                    self.state = State::Ending(parameter, String::new());
                }
            }
            Match::Tag(tag) => {
                parameter.end(call);
                self.state = if tag == PARAMETER_END { State::Between } else { State::Key };
            }
        }
    }

    /// The end of a function was data.
    fn goes_on(&mut self, call: &mut Call<'_, '_>) {
        if let State::Ending(mut parameter, space) = std::mem::replace(&mut self.state, State::Between) {
            FUNCTION_END.chars().for_each(|c| parameter.push(c, call));
            self.state = State::Value(parameter);
            // A line break among it may begin a parameter's tag.
            space.chars().for_each(|c| self.value(c, call));
        }
    }

    fn end(&mut self, call: &mut Call<'_, '_>) -> Step {
        if let State::Ending(parameter, _) = &mut self.state {
            parameter.end(call);
        }
        if !self.has_begun {
            self.begin(call);
        }
        call.arguments("}");
        call.end();
        Step::Done
    }
}

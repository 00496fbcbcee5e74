//! `{"name": .., "arguments": {..}}`: a call as one object, its keys in any order.

use super::call::{Call, CallReader};
use super::json::{JsonScanner, Step, is_space};

/// Which objects are calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    /// The names that the arguments' key may have.
    pub(crate) arguments: &'static [&'static str],
    /// A call may lack arguments, or have `null` for them: it takes none.
    pub(crate) are_optional: bool,
    /// Keys beside those of the name and the arguments; `None` for any. An object with another one is no call.
    pub(crate) others: Option<&'static [&'static str]>,
}

/// Such an object.
#[derive(Debug)]
pub(crate) struct Named {
    keys: Keys,
    state: State,
    /// The text of a key or a name while it is read.
    text: String,
    name: Option<String>,
    has_arguments: bool,
    /// Arguments that came before the name.
    early: String,
}

#[derive(Debug)]
enum State {
    /// The opening brace, behind a tag.
    Brace,
    /// A key, or `}` where the flag says so.
    Key {
        closes: bool,
    },
    InKey(JsonScanner),
    Colon(Role),
    Value(Role),
    InValue(Role, JsonScanner),
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Name,
    Arguments,
    Other,
}

impl Named {
    /// From behind a tag.
    pub(crate) fn tagged(keys: Keys) -> Self {
        Self { state: State::Brace, ..Self::opened(keys) }
    }

    /// From behind its brace.
    pub(crate) fn opened(keys: Keys) -> Self {
        let state = State::Key { closes: true };
        Self { keys, state, text: String::new(), name: None, has_arguments: false, early: String::new() }
    }

    fn role(&mut self, call: &mut Call<'_, '_>) -> Role {
        let key: String = serde_json::from_str(&std::mem::take(&mut self.text)).unwrap_or_default();
        if key == "name" {
            Role::Name
        } else if self.keys.arguments.contains(&key.as_str()) {
            Role::Arguments
        } else {
            if self.keys.others.is_some_and(|others| !others.contains(&key.as_str())) {
                call.reject();
            }
            Role::Other
        }
    }

    /// What a value is taken for, by its first character. One that its key cannot have makes this no call, and so does a second one.
    fn begins(&mut self, role: Role, c: char, call: &mut Call<'_, '_>) -> Role {
        match role {
            Role::Name if c == '"' && self.name.is_none() => Role::Name,
            Role::Arguments if c == '{' && !self.has_arguments => {
                self.has_arguments = true;
                if let Some(name) = &self.name {
                    call.begin(name);
                }
                Role::Arguments
            }
            Role::Arguments if c == 'n' && self.keys.are_optional && !self.has_arguments => Role::Other,
            Role::Name | Role::Arguments => {
                call.reject();
                Role::Other
            }
            Role::Other => Role::Other,
        }
    }

    fn told(&mut self, role: Role, c: char, call: &mut Call<'_, '_>) {
        match role {
            Role::Name => self.text.push(c),
            Role::Arguments if self.name.is_some() => call.argument_char(c),
            Role::Arguments => self.early.push(c),
            Role::Other => {}
        }
    }

    fn value_ended(&mut self, role: Role, call: &mut Call<'_, '_>) {
        self.state = State::After;
        if role == Role::Name {
            let name: String = serde_json::from_str(&std::mem::take(&mut self.text)).unwrap_or_default();
            if !call.progress.functions.has(&name) {
                call.reject();
            } else if self.has_arguments {
                call.begin(&name);
                call.arguments(&std::mem::take(&mut self.early));
            }
            self.name = Some(name);
        }
    }

    fn close(&mut self, call: &mut Call<'_, '_>) -> Step {
        match &self.name {
            Some(_) if self.has_arguments => call.end(),
            Some(name) if self.keys.are_optional => {
                call.begin(name);
                call.arguments("{}");
                call.end();
            }
            _ => call.reject(),
        }
        Step::Done
    }
}

impl CallReader for Named {
    fn push(&mut self, c: char, call: &mut Call<'_, '_>) -> Step {
        match &mut self.state {
            State::Brace | State::Key { .. } | State::Colon(_) | State::Value(_) | State::After if is_space(c) => {}
            State::Brace if c == '{' => self.state = State::Key { closes: true },
            State::Brace => return Step::Bad(0),
            State::Key { closes } => match c {
                '"' => {
                    let mut scanner = JsonScanner::new();
                    scanner.push(c);
                    self.text.push(c);
                    self.state = State::InKey(scanner);
                }
                '}' if *closes => return self.close(call),
                _ => return Step::Bad(0),
            },
            State::InKey(scanner) => {
                let step = scanner.push(c);
                self.text.push(c);
                match step {
                    Step::Done => self.state = State::Colon(self.role(call)),
                    Step::More => {}
                    Step::DoneBefore | Step::Bad(_) => return Step::Bad(0),
                }
            }
            State::Colon(role) if c == ':' => self.state = State::Value(*role),
            State::Colon(_) => return Step::Bad(0),
            State::Value(role) => {
                let mut scanner = JsonScanner::new();
                if scanner.push(c) != Step::More {
                    return Step::Bad(0);
                }
                let role = *role;
                let role = self.begins(role, c, call);
                self.told(role, c, call);
                self.state = State::InValue(role, scanner);
            }
            State::InValue(role, scanner) => {
                let role = *role;
                match scanner.push(c) {
                    Step::More => self.told(role, c, call),
                    Step::Done => {
                        self.told(role, c, call);
                        self.value_ended(role, call);
                    }
                    // Behind a number.
                    Step::DoneBefore => {
                        self.state = State::After;
                        return self.push(c, call);
                    }
                    Step::Bad(_) => return Step::Bad(0),
                }
            }
            State::After => match c {
                ',' => self.state = State::Key { closes: false },
                '}' => return self.close(call),
                _ => return Step::Bad(0),
            },
        }
        Step::More
    }
}

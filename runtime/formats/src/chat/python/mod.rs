//! Python's values and what Jinja2 does with them, as functions, filters, tests and objects of minijinja.

mod arguments;
mod arithmetic;
mod compare;
mod containers;
mod filters;
mod format;
mod functions;
mod iterate;
mod json;
mod lookup;
mod markup;
mod methods;
mod strings;
mod tests;
pub(in crate::chat) mod text;

use minijinja::value::{Object, ObjectRepr, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State};

pub(in crate::chat) use containers::{from_json, list};

use containers::{Dict, Generator, Range, Sequence, View};

/// Everything that templates find in transformers' environment but for the clock and `raise_exception`.
pub(in crate::chat) fn install(environment: &mut Environment<'static>) {
    environment.set_formatter(text::write);
    functions::install(environment);
    filters::install(environment);
    tests::install(environment);
}

fn raise(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

fn undefined(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::UndefinedError, message.into())
}

/// The arguments as they were given, keywords last.
fn given(arguments: Rest<ValueOrKwargs>) -> Vec<Value> {
    arguments.0.into_iter().map(ValueOrKwargs::into_value).collect()
}

/// What a value is in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Undefined,
    None,
    Bool,
    Int,
    Float,
    Str,
    List,
    Tuple,
    Dict,
    Range,
    /// What `items()`, `keys()` and `values()` of a dict give.
    View,
    /// What filters such as `map` give: read once.
    Generator,
    /// A namespace, a macro, a method, ...
    Other,
}

fn kind(value: &Value) -> Kind {
    match value.kind() {
        ValueKind::Undefined => Kind::Undefined,
        ValueKind::None => Kind::None,
        ValueKind::Bool => Kind::Bool,
        ValueKind::Number if value.is_integer() => Kind::Int,
        ValueKind::Number => Kind::Float,
        ValueKind::String => Kind::Str,
        _ => object_kind(value),
    }
}

fn object_kind(value: &Value) -> Kind {
    let Some(object) = value.as_object() else { return Kind::Other };
    if let Some(sequence) = object.downcast_ref::<Sequence>() {
        if sequence.is_tuple { Kind::Tuple } else { Kind::List }
    } else if object.is::<Dict>() {
        Kind::Dict
    } else if object.is::<Range>() {
        Kind::Range
    } else if object.is::<View>() {
        Kind::View
    } else if object.is::<Generator>() {
        Kind::Generator
    } else if value.is_tuple() {
        Kind::Tuple
    } else if object.repr() == ObjectRepr::Seq {
        Kind::List
    } else {
        Kind::Other
    }
}

/// The name of the type, as Python's errors have it.
fn type_name(value: &Value) -> &'static str {
    match kind(value) {
        Kind::Undefined => "Undefined",
        Kind::None => "NoneType",
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::Str => "str",
        Kind::List => "list",
        Kind::Tuple => "tuple",
        Kind::Dict => "dict",
        Kind::Range => "range",
        Kind::View => "dict view",
        Kind::Generator => "generator",
        Kind::Other => "object",
    }
}

/// Pays for a result of that many bytes before it is made.
fn charge(state: &State, bytes: usize) -> Result<(), Error> {
    /// Far more than any prompt.
    const MOST: usize = 1 << 28;
    if bytes > MOST {
        return Err(raise("the result is too large"));
    }
    state.consume_fuel(bytes as u64 / 64 + 1)
}

/// A function that gets its arguments as they are.
struct Native {
    name: &'static str,
    call: fn(&mut State, &[Value]) -> Result<Value, Error>,
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<function {}>", self.name)
    }
}

impl Object for Native {
    fn repr(self: &std::sync::Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &std::sync::Arc<Self>, state: &mut State, args: &[Value]) -> Result<Value, Error> {
        (self.call)(state, args)
    }
}

//! Jinja2's tests.

use std::cmp::Ordering;

use minijinja::value::{Rest, Value, ValueOrKwargs};
use minijinja::{Environment, Error, State};

use super::arguments::Arguments;
use super::arithmetic::{Number, chain};
use super::compare::{contains, equal, order, same};
use super::containers::hashable;
use super::{Kind, given, iterate, kind, lookup, raise, strings, text};

type Test = fn(&mut State, &Value) -> Result<bool, Error>;
type Against = fn(&mut State, &Value, &Value) -> Result<bool, Error>;

const TESTS: &[(&str, Test)] = &[
    ("boolean", |_, v| Ok(kind(v) == Kind::Bool)),
    ("callable", |_, v| Ok(lookup::is_callable(v))),
    ("defined", |_, v| Ok(!v.is_undefined())),
    ("escaped", |_, v| Ok(v.is_safe())),
    ("even", |state, v| remainder(state, v, &Value::from(2)).map(|rest| rest == Value::from(0))),
    ("false", |_, v| Ok(kind(v) == Kind::Bool && !v.is_true())),
    ("filter", |state, v| {
        hashable(v)?;
        let name = text::str(state, v)?;
        Ok(!matches!(state.apply_filter(&name, &[]), Err(error) if error.kind() == minijinja::ErrorKind::UnknownFilter))
    }),
    ("float", |_, v| Ok(kind(v) == Kind::Float)),
    ("integer", |_, v| Ok(kind(v) == Kind::Int)),
    ("iterable", |_, v| Ok(!matches!(kind(v), Kind::None | Kind::Bool | Kind::Int | Kind::Float | Kind::Other))),
    ("lower", |state, v| strings::is_lower_or_upper(&text::str(state, v)?, false)),
    ("mapping", |_, v| Ok(kind(v) == Kind::Dict)),
    ("none", |_, v| Ok(v.is_none())),
    ("number", |_, v| Ok(Number::of(v).is_some())),
    ("odd", |state, v| remainder(state, v, &Value::from(2)).map(|rest| rest == Value::from(1))),
    ("sequence", |_, v| {
        Ok(matches!(kind(v), Kind::Undefined | Kind::Str | Kind::List | Kind::Tuple | Kind::Dict | Kind::Range)
            && iterate::length(v).is_some())
    }),
    ("string", |_, v| Ok(kind(v) == Kind::Str)),
    ("test", |state, v| {
        hashable(v)?;
        let name = text::str(state, v)?;
        Ok(TESTS.iter().any(|(known, _)| *known == name) || AGAINST.iter().any(|(known, _)| *known == name))
    }),
    ("true", |_, v| Ok(kind(v) == Kind::Bool && v.is_true())),
    ("undefined", |_, v| Ok(v.is_undefined())),
    ("upper", |state, v| strings::is_lower_or_upper(&text::str(state, v)?, true)),
];

const EQUAL: Against = |state, a, b| equal(state, a, b);
const UNEQUAL: Against = |state, a, b| equal(state, a, b).map(|equal| !equal);
const GREATER: Against = |state, a, b| order(state, a, b).map(|order| order == Some(Ordering::Greater));
const NOT_LESS: Against =
    |state, a, b| order(state, a, b).map(|order| matches!(order, Some(Ordering::Greater | Ordering::Equal)));
const LESS: Against = |state, a, b| order(state, a, b).map(|order| order == Some(Ordering::Less));
const NOT_GREATER: Against =
    |state, a, b| order(state, a, b).map(|order| matches!(order, Some(Ordering::Less | Ordering::Equal)));

const AGAINST: &[(&str, Against)] = &[
    ("divisibleby", |state, a, b| remainder(state, a, b).map(|rest| rest == Value::from(0))),
    ("in", |state, a, b| contains(state, a, b)),
    ("sameas", |state, a, b| is_same(state, a, b)),
    ("==", EQUAL),
    ("eq", EQUAL),
    ("equalto", EQUAL),
    ("!=", UNEQUAL),
    ("ne", UNEQUAL),
    (">", GREATER),
    ("gt", GREATER),
    ("greaterthan", GREATER),
    (">=", NOT_LESS),
    ("ge", NOT_LESS),
    ("<", LESS),
    ("lt", LESS),
    ("lessthan", LESS),
    ("<=", NOT_GREATER),
    ("le", NOT_GREATER),
];

pub(super) fn install(environment: &mut Environment<'static>) {
    for &(name, test) in TESTS {
        environment.add_test(name, move |state: &mut State, arguments: Rest<ValueOrKwargs>| {
            let arguments = Arguments::bind(name, &["value"], 1, &given(arguments))?;
            test(state, arguments.get(0).unwrap_or(&Value::UNDEFINED))
        });
    }
    for &(name, test) in AGAINST {
        environment.add_test(name, move |state: &mut State, arguments: Rest<ValueOrKwargs>| match given(arguments).as_slice() {
            [value, other] if !other.is_kwargs() => test(state, value, other),
            _ => Err(raise(format!("the test '{name}' takes one argument"))),
        });
    }
}

fn remainder(state: &mut State, value: &Value, divisor: &Value) -> Result<Value, Error> {
    chain(state, &[value.clone(), Value::from("%"), divisor.clone()])
}

/// `a is b`: of what a template can tell apart.
fn is_same(state: &State, left: &Value, right: &Value) -> Result<bool, Error> {
    match (kind(left), kind(right)) {
        (a, b) if a != b => Ok(false),
        (Kind::Undefined | Kind::None | Kind::Bool | Kind::Int | Kind::Str | Kind::Float, _) => equal(state, left, right),
        _ => Ok(same(left, right)),
    }
}

//! Methods of Python's types.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::arguments::{Arguments, integer};
use super::compare::equal;
use super::containers::{Dict, View, ViewOf, dict, hashable, list};
use super::{Kind, iterate, kind, raise, strings, type_name};

/// Those of a dict, and whether the immutable sandbox lets them be called.
const DICT: &[(&str, bool)] = &[
    ("clear", false),
    ("copy", true),
    ("fromkeys", true),
    ("get", true),
    ("items", true),
    ("keys", true),
    ("pop", false),
    ("popitem", false),
    ("setdefault", false),
    ("update", false),
    ("values", true),
];

const LIST: &[(&str, bool)] = &[
    ("append", false),
    ("clear", false),
    ("copy", true),
    ("count", true),
    ("extend", false),
    ("index", true),
    ("insert", false),
    ("pop", false),
    ("remove", false),
    ("reverse", false),
    ("sort", false),
];

const TUPLE: &[(&str, bool)] = &[("count", true), ("index", true)];

const FLOAT: &[(&str, bool)] = &[("is_integer", true)];

const INT: &[(&str, bool)] = &[("bit_length", true)];

/// Whether a value has a method, and whether it may be called.
pub(super) fn find(value: &Value, name: &str) -> Option<bool> {
    let table = match kind(value) {
        Kind::Str => return strings::METHODS.contains(&name).then_some(true),
        Kind::Dict => DICT,
        Kind::List => LIST,
        Kind::Tuple | Kind::Range => TUPLE,
        Kind::Float => FLOAT,
        Kind::Int | Kind::Bool => INT,
        _ => return None,
    };
    table.iter().find(|(known, _)| *known == name).map(|(_, is_safe)| *is_safe)
}

/// Calls a method that [`find`] finds.
pub(super) fn call(state: &mut State, receiver: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    match kind(receiver) {
        Kind::Str => strings::call(state, receiver, name, arguments),
        Kind::Dict => of_dict(state, receiver, name, arguments),
        Kind::List | Kind::Tuple | Kind::Range => of_sequence(state, receiver, name, arguments),
        _ => of_number(receiver, name, arguments),
    }
}

fn none(name: &str, arguments: &[Value]) -> Result<(), Error> {
    if arguments.is_empty() { Ok(()) } else { Err(raise(format!("{name}() takes no arguments ({} given)", arguments.len()))) }
}

fn of_dict(state: &mut State, receiver: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let Some(entries) = receiver.downcast_object_ref::<Dict>() else { return Err(raise("a dict is expected")) };
    let view = |of| {
        none(name, arguments)?;
        Ok(Value::from_object(View { dict: receiver.clone(), of }))
    };
    match name {
        "items" => view(ViewOf::Items),
        "keys" => view(ViewOf::Keys),
        "values" => view(ViewOf::Values),
        "get" => match arguments {
            [key, rest @ ..] if rest.len() < 2 && arguments.iter().all(|value| !value.is_kwargs()) => {
                hashable(key)?;
                let default = || rest.first().cloned().unwrap_or(Value::from(()));
                Ok(entries.get(key).cloned().unwrap_or_else(default))
            }
            _ => Err(raise("get expected 1 or 2 arguments")),
        },
        "copy" => {
            none(name, arguments)?;
            Ok(receiver.clone())
        }
        _ => {
            let (keys, value) = match arguments {
                [keys] => (keys, Value::from(())),
                [keys, value] => (keys, value.clone()),
                _ => return Err(raise("fromkeys expected 1 or 2 arguments")),
            };
            dict(iterate::items(state, keys)?.into_iter().map(|key| (key, value.clone())).collect())
        }
    }
}

fn of_sequence(state: &mut State, receiver: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let items = iterate::items(state, receiver)?;
    match name {
        "copy" => {
            none(name, arguments)?;
            list(items)
        }
        "count" => {
            let [wanted] = arguments else { return Err(raise("count() takes exactly one argument")) };
            let mut count = 0;
            for item in &items {
                count += usize::from(equal(state, item, wanted)?);
            }
            Ok(Value::from(count))
        }
        _ => {
            let (wanted, bounds) = match arguments {
                [wanted, bounds @ ..] if bounds.len() < 3 => (wanted, bounds),
                _ => return Err(raise("index expected 1 to 3 arguments")),
            };
            let bound = |at: usize, default: usize| -> Result<usize, Error> {
                let Some(value) = bounds.get(at) else { return Ok(default) };
                let value = integer(value).ok_or_else(|| raise("slice indices must be integers"))?;
                let value = if value < 0 { value.saturating_add(items.len() as i64) } else { value };
                Ok(usize::try_from(value).unwrap_or(0).min(items.len()))
            };
            let (from, to) = (bound(0, 0)?, bound(1, items.len())?);
            for (at, item) in items.iter().enumerate().take(to).skip(from) {
                if equal(state, item, wanted)? {
                    return Ok(Value::from(at));
                }
            }
            Err(raise(format!("the value is not in the {}", type_name(receiver))))
        }
    }
}

fn of_number(receiver: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    Arguments::bind("the method", &[], 0, arguments)?;
    if name == "is_integer" {
        return Ok(Value::from(f64::try_from(receiver.clone())?.fract() == 0.0));
    }
    let value = i128::try_from(receiver.clone())?;
    Ok(Value::from(128 - value.unsigned_abs().leading_zeros()))
}

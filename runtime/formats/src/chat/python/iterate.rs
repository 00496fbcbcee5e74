//! Going through a value.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::containers::{Dict, Generator, Sequence, View, list};
use super::{Kind, kind, raise, type_name};

/// `list(value)`. A generator is read by it.
///
/// # Errors
/// What cannot be gone through, and what a generator's computation raised.
pub(super) fn items(state: &State, value: &Value) -> Result<Vec<Value>, Error> {
    let items: Vec<Value> = match kind(value) {
        Kind::Undefined => Vec::new(),
        Kind::Str => value.as_str().unwrap_or_default().chars().map(character).collect(),
        Kind::None | Kind::Bool | Kind::Int | Kind::Float => {
            return Err(raise(format!("'{}' object is not iterable", type_name(value))));
        }
        _ => match value.as_object() {
            Some(object) if object.is::<Sequence>() => {
                object.downcast_ref::<Sequence>().map(|sequence| sequence.items.clone()).unwrap_or_default()
            }
            Some(object) if object.is::<Dict>() => object
                .downcast_ref()
                .map(|dict: &Dict| dict.entries.iter().map(|(key, _)| key.clone()).collect())
                .unwrap_or_default(),
            Some(object) if object.is::<View>() => object.downcast_ref::<View>().map_or(Ok(Vec::new()), View::items)?,
            Some(object) if object.is::<Generator>() => {
                object.downcast_ref::<Generator>().map(Generator::take).unwrap_or_default()
            }
            Some(_) if matches!(kind(value), Kind::List | Kind::Tuple | Kind::Range) => value.try_iter()?.collect(),
            _ => return Err(raise(format!("'{}' object is not iterable", type_name(value)))),
        },
    };
    state.consume_fuel(items.len() as u64)?;
    items.into_iter().map(checked).collect()
}

/// The two values of a pair.
pub(super) fn pair(state: &State, value: &Value) -> Result<(Value, Value), Error> {
    let [first, second] = <[Value; 2]>::try_from(items(state, value)?).map_err(|_| raise("pairs are expected"))?;
    Ok((first, second))
}

/// What a loop goes through: as it is where it can be, since loops ask for lengths and neighbours.
pub(super) fn looped(state: &State, value: &Value) -> Result<Value, Error> {
    match kind(value) {
        Kind::List | Kind::Tuple | Kind::Range => Ok(value.clone()),
        _ => list(items(state, value)?),
    }
}

fn character(c: char) -> Value {
    Value::from(c.encode_utf8(&mut [0; 4]) as &str)
}

/// The value, or the error that stands in its place.
pub(super) fn checked(value: Value) -> Result<Value, Error> {
    match value.kind() {
        minijinja::value::ValueKind::Invalid => match value.try_iter() {
            Err(error) => Err(error),
            Ok(_) => Err(raise("invalid value")),
        },
        _ => Ok(value),
    }
}

/// `len(value)`; `None` for what has none.
pub(super) fn length(value: &Value) -> Option<usize> {
    match kind(value) {
        Kind::Undefined => Some(0),
        Kind::Str => value.as_str().map(|text| text.chars().count()),
        Kind::View => value.downcast_object_ref::<View>().and_then(|view| view.dict.len()),
        Kind::List | Kind::Tuple | Kind::Dict | Kind::Range => value.len(),
        _ => None,
    }
}

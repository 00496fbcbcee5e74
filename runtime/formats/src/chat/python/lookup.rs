//! `value.name`, `value[key]`, slices and calls, as Jinja2's immutable sandbox looks them up.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value};
use minijinja::{Error, State};

use super::arguments::integer;
use super::containers::{Dict, Range, Sequence, list, tuple};
use super::{Kind, iterate, kind, markup, methods, raise, text, type_name, undefined};

/// A method that was looked up and not called yet.
pub(super) struct Method {
    pub(super) receiver: Value,
    pub(super) name: String,
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<built-in method {} of {} object>", self.name, type_name(&self.receiver))
    }
}

impl Object for Method {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State, args: &[Value]) -> Result<Value, Error> {
        methods::call(state, &self.receiver, &self.name, args)
    }
}

fn is_undefined(value: &Value, key: &str) -> Result<(), Error> {
    if value.is_undefined() { Err(undefined(format!("`{key}` is looked up in an undefined value"))) } else { Ok(()) }
}

/// `value.name`: the attribute before the item.
pub(super) fn attribute(value: &Value, name: &str) -> Result<Value, Error> {
    is_undefined(value, name)?;
    Ok(own_attribute(value, name).or_else(|| item_of(value, &Value::from(name))).unwrap_or_default())
}

/// `value[key]`: the item before the attribute.
pub(super) fn item(value: &Value, key: &Value) -> Result<Value, Error> {
    let shown = key.as_str().unwrap_or("an item");
    is_undefined(value, shown)?;
    let attribute = || key.as_str().and_then(|name| own_attribute(value, name));
    Ok(item_of(value, key).or_else(attribute).unwrap_or_default())
}

fn own_attribute(value: &Value, name: &str) -> Option<Value> {
    // What the sandbox does not let through is undefined.
    if name.starts_with("__") && kind(value) != Kind::Other {
        return Some(Value::UNDEFINED);
    }
    if let Some(is_safe) = methods::find(value, name) {
        let method = Method { receiver: value.clone(), name: name.to_owned() };
        return Some(if is_safe { Value::from_object(method) } else { Value::UNDEFINED });
    }
    match kind(value) {
        Kind::Tuple => match value.downcast_object_ref::<Sequence>() {
            Some(sequence) if sequence.is_group && name == "grouper" => sequence.items.first().cloned(),
            Some(sequence) if sequence.is_group && name == "list" => sequence.items.get(1).cloned(),
            _ => None,
        },
        Kind::Range => {
            let range = value.downcast_object_ref::<Range>()?;
            match name {
                "start" => Some(Value::from(range.start)),
                "stop" => Some(Value::from(range.stop)),
                "step" => Some(Value::from(range.step)),
                _ => None,
            }
        }
        Kind::Int | Kind::Bool => match name {
            "real" | "numerator" => integer(value).map(Value::from),
            "imag" => Some(Value::from(0)),
            "denominator" => Some(Value::from(1)),
            _ => None,
        },
        Kind::Float => match name {
            "real" => Some(value.clone()),
            "imag" => Some(Value::from(0.0)),
            _ => None,
        },
        Kind::Other => value.get_attr(name).ok().filter(|found| !found.is_undefined()),
        _ => None,
    }
}

fn item_of(value: &Value, key: &Value) -> Option<Value> {
    if kind(value) == Kind::Dict {
        let dict = value.downcast_object_ref::<Dict>()?;
        return super::containers::hashable(key).ok().and_then(|()| dict.get(key).cloned());
    }
    let at = integer(key)?;
    let place = |length: usize| {
        let at = if at < 0 { at.checked_add(i64::try_from(length).ok()?)? } else { at };
        usize::try_from(at).ok().filter(|&at| at < length)
    };
    match kind(value) {
        Kind::Str => {
            let text = value.as_str()?;
            let c = text.chars().nth(place(text.chars().count())?)?;
            Some(markup::like(value, c.to_string()))
        }
        Kind::List | Kind::Tuple => match value.downcast_object_ref::<Sequence>() {
            Some(sequence) => sequence.items.get(place(sequence.items.len())?).cloned(),
            None => value.get_item_by_index(place(value.len()?)?).ok(),
        },
        Kind::Range => {
            let range = value.downcast_object_ref::<Range>()?;
            range.get(place(range.length)?)
        }
        _ => None,
    }
}

/// `value[start:stop:step]`.
pub(super) fn slice(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let [value, bounds @ ..] = arguments else { return Err(raise("a slice of nothing")) };
    is_undefined(value, "a slice")?;
    if !matches!(kind(value), Kind::Str | Kind::List | Kind::Tuple | Kind::Range) {
        return Err(raise(format!("'{}' object cannot be sliced", type_name(value))));
    }
    let mut numbers = [None; 3];
    for (number, bound) in numbers.iter_mut().zip(bounds) {
        match integer(bound) {
            Some(value) => *number = Some(value),
            None if bound.is_none() => {}
            None => return Err(raise("slice indices must be integers or None")),
        }
    }
    let [start, stop, step] = numbers;
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(raise("slice step cannot be zero"));
    }
    if let Some(text) = value.as_str() {
        let chars: Vec<char> = text.chars().collect();
        state.consume_fuel(chars.len() as u64 / 64)?;
        let sliced = indices(chars.len(), start, stop, step).map(|at| chars[at]).collect();
        return Ok(markup::like(value, sliced));
    }
    if let Some(range) = value.downcast_object_ref::<Range>() {
        return range.slice(indices(range.length, start, stop, step), step).map(Value::from_object);
    }
    let items = iterate::items(state, value)?;
    let sliced = indices(items.len(), start, stop, step).map(|at| items[at].clone()).collect();
    if kind(value) == Kind::Tuple { tuple(sliced) } else { list(sliced) }
}

/// The places that a slice picks.
fn indices(length: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> impl Iterator<Item = usize> {
    let length = length as i128;
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let place = |bound: Option<i64>, default: i128| {
        bound.map_or(default, |bound| {
            let bound = i128::from(bound);
            (if bound < 0 { bound + length } else { bound }).clamp(low, high)
        })
    };
    let (start, stop) = if step > 0 { (place(start, low), place(stop, high)) } else { (place(start, high), place(stop, low)) };
    let step = i128::from(step);
    let mut at = start;
    std::iter::from_fn(move || {
        let found = if step > 0 { at < stop } else { at > stop };
        let here = usize::try_from(at).ok().filter(|_| found);
        at += step;
        here
    })
}

/// `value.name(...)`.
pub(super) fn call_method(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let [receiver, name, arguments @ ..] = arguments else { return Err(raise("a method of nothing")) };
    let name = name.as_str().unwrap_or_default();
    is_undefined(receiver, name)?;
    match methods::find(receiver, name) {
        Some(true) => return methods::call(state, receiver, name, arguments),
        Some(false) => {
            let kind = type_name(receiver);
            return Err(raise(format!("access to attribute '{name}' of '{kind}' object is unsafe")));
        }
        None if kind(receiver) == Kind::Other => return receiver.call_method(state, name, arguments),
        None => {}
    }
    let found = attribute(receiver, name)?;
    if found.is_undefined() {
        return Err(undefined(format!("'{} object' has no attribute '{name}'", type_name(receiver))));
    }
    call_value(state, &found, arguments)
}

/// `value(...)`.
pub(super) fn call(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let [function, arguments @ ..] = arguments else { return Err(raise("a call of nothing")) };
    call_value(state, function, arguments)
}

fn call_value(state: &mut State, function: &Value, arguments: &[Value]) -> Result<Value, Error> {
    match kind(function) {
        Kind::Undefined => Err(undefined("an undefined value is called")),
        Kind::Other => function.call(state, arguments),
        _ => Err(raise(format!("'{}' object is not callable", type_name(function)))),
    }
}

/// An attribute by the path that filters take: `a.b.0`, or a number.
pub(super) fn path(state: &State, value: &Value, path: &Value) -> Result<Value, Error> {
    let Some(name) = path.as_str() else { return item(value, path) };
    let mut found = value.clone();
    for part in name.split('.') {
        let key = match part.parse::<i64>() {
            Ok(index) if part.bytes().all(|b| b.is_ascii_digit()) => Value::from(index),
            _ => Value::from(part),
        };
        found = item(&found, &key)?;
    }
    state.consume_fuel(1)?;
    Ok(found)
}

/// Whether a value can be called.
pub(super) fn is_callable(value: &Value) -> bool {
    value.is_undefined()
        || kind(value) == Kind::Other && {
            let shown = format!("{value:?}");
            value.downcast_object_ref::<Method>().is_some()
                || value.downcast_object_ref::<super::Native>().is_some()
                || shown.starts_with("<macro")
                || value.as_object().is_some_and(|object| object.type_name().contains("Function"))
        }
}

/// What `__attr` and `__item` are given.
pub(super) fn get(by: fn(&Value, &Value) -> Result<Value, Error>, arguments: &[Value]) -> Result<Value, Error> {
    match arguments {
        [value, key] => by(value, key),
        _ => Err(raise("a lookup needs a value and a key")),
    }
}

/// [`attribute`] with a name that is a value.
pub(super) fn attribute_by_value(value: &Value, name: &Value) -> Result<Value, Error> {
    match name.as_str() {
        Some(name) => attribute(value, name),
        None => Err(raise(format!("attribute name must be string, not '{}'", type_name(name)))),
    }
}

/// The attribute alone, as the filter `attr` looks it up.
pub(super) fn only_attribute(state: &State, value: &Value, name: &Value) -> Result<Value, Error> {
    let name = text::str(state, name)?;
    is_undefined(value, &name)?;
    Ok(own_attribute(value, &name).unwrap_or_default())
}

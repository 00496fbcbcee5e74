//! Filters of numbers.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::Filter;
use crate::chat::python::arguments::Arguments;
use crate::chat::python::arithmetic::{Number, chain, int, negate};
use crate::chat::python::lookup::path;
use crate::chat::python::text::is_space;
use crate::chat::python::{Kind, iterate, kind, raise, type_name, undefined};

pub(super) const FILTERS: &[(&str, Filter)] =
    &[("abs", absolute), ("float", float), ("int", integer), ("round", round), ("sum", sum)];

fn absolute(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("abs", &["x"], 1, arguments)?;
    let value = arguments.or_none(0);
    match Number::of(&value) {
        Some(number) if number.float() < 0.0 => negate(state, &[value]),
        Some(Number::Int(value)) => Ok(int(value)),
        Some(Number::Float(value)) => Ok(Value::from(value.abs())),
        None if value.is_undefined() => Err(undefined("the absolute value of what is undefined")),
        None => Err(raise(format!("bad operand type for abs(): '{}'", type_name(&value)))),
    }
}

/// `float(value)`.
pub(super) fn to_float(_: &State, value: &Value) -> Result<f64, Error> {
    match value.as_str() {
        Some(text) => parse_float(text).ok_or_else(|| raise(format!("could not convert string to float: '{text}'"))),
        None if value.is_undefined() => Err(undefined("a number is made of what is undefined")),
        None => Number::of(value)
            .map(Number::float)
            .ok_or_else(|| raise(format!("float() argument must be a string or a real number, not '{}'", type_name(value)))),
    }
}

/// Digits with single underscores between them.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let is_fine = (0..bytes.len()).all(|at| bytes[at] != b'_' || (digit(at.checked_sub(1)) && digit(Some(at + 1))));
    is_fine.then(|| text.replace('_', ""))
}

fn parse_float(text: &str) -> Option<f64> {
    let text = without_underscores(text.trim_matches(is_space))?;
    let unsigned = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    let is_name = matches!(unsigned.as_str(), "inf" | "infinity" | "nan");
    let begins = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if is_name || begins { text.parse().ok() } else { None }
}

fn parse_int(text: &str, base: i64) -> Option<i128> {
    let text = without_underscores(text.trim_matches(is_space))?;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    let prefixed = |prefix: char| {
        let mut chars = digits.chars();
        (chars.next() == Some('0') && chars.next().is_some_and(|c| c.eq_ignore_ascii_case(&prefix))).then_some(chars.as_str())
    };
    let (base, digits) = match base {
        16 => (16, prefixed('x').unwrap_or(digits)),
        8 => (8, prefixed('o').unwrap_or(digits)),
        2 => (2, prefixed('b').unwrap_or(digits)),
        0 => [('x', 16), ('o', 8), ('b', 2)]
            .into_iter()
            .find_map(|(prefix, base)| prefixed(prefix).map(|digits| (base, digits)))
            .unwrap_or((10, digits)),
        base => (u32::try_from(base).ok().filter(|base| (2..=36).contains(base))?, digits),
    };
    let value = i128::from_str_radix(Some(digits).filter(|digits| !digits.starts_with(['+', '-']))?, base).ok()?;
    Some(if negative { -value } else { value })
}

fn truncated(value: f64) -> Option<Value> {
    value.is_finite().then(|| int(value.trunc() as i128))
}

fn integer(_: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("int", &["value", "default", "base"], 1, arguments)?;
    let value = arguments.or_none(0);
    if value.is_undefined() {
        return Err(undefined("a number is made of what is undefined"));
    }
    let base = arguments.integer(2, 10)?;
    let default = arguments.get(1).cloned().unwrap_or(Value::from(0));
    Ok(match value.as_str() {
        Some(text) => parse_int(text, base).map(int).or_else(|| truncated(parse_float(text)?)).unwrap_or(default),
        None => match Number::of(&value) {
            Some(Number::Int(value)) => int(value),
            Some(Number::Float(value)) if value.is_infinite() => return Err(raise("cannot convert float infinity to integer")),
            Some(Number::Float(value)) => truncated(value).unwrap_or(default),
            None => default,
        },
    })
}

fn float(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("float", &["value", "default"], 1, arguments)?;
    let value = arguments.or_none(0);
    match to_float(state, &value) {
        Ok(value) => Ok(Value::from(value)),
        Err(error) if value.is_undefined() => Err(error),
        Err(_) => Ok(arguments.get(1).cloned().unwrap_or(Value::from(0.0))),
    }
}

fn round(_: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("round", &["value", "precision", "method"], 1, arguments)?;
    let value = arguments.or_none(0);
    let method = arguments.get(2).map_or(Some("common"), Value::as_str).unwrap_or_default();
    if !matches!(method, "common" | "ceil" | "floor") {
        return Err(raise("method must be common, ceil or floor"));
    }
    let precision = arguments.integer(1, 0)?.clamp(-400, 400) as i32;
    let Some(number) = Number::of(&value) else {
        return Err(raise(format!("type {} doesn't define __round__ method", type_name(&value))));
    };
    let scale = 10_f64.powi(precision);
    match (method, number) {
        ("common", Number::Int(value)) if precision >= 0 => Ok(int(value)),
        ("common", Number::Int(value)) => {
            let unit = 10_i128.checked_pow(precision.unsigned_abs()).unwrap_or(i128::MAX);
            let (low, rest) = (value.div_euclid(unit), value.rem_euclid(unit));
            let up = rest > unit / 2 || (rest == unit / 2 && unit % 2 == 0 && low % 2 != 0);
            Ok((low + i128::from(up)).checked_mul(unit).map_or(Value::from(0), int))
        }
        ("common", Number::Float(value)) => Ok(Value::from(half_even(value, precision))),
        (method, number) => {
            let scaled = number.float() * scale;
            let whole = if method == "ceil" { scaled.ceil() } else { scaled.floor() };
            Ok(Value::from(whole / scale))
        }
    }
}

/// `round(value, precision)`: of the decimal expansion, ties to even.
fn half_even(value: f64, precision: i32) -> f64 {
    if !value.is_finite() || precision > 300 {
        return value;
    }
    match usize::try_from(precision) {
        // Rust's formatting rounds the exact value, ties to even.
        Ok(digits) => format!("{value:.digits$}").parse().unwrap_or(value),
        Err(_) => {
            let scale = 10_f64.powi(-precision);
            (value / scale).round_ties_even() * scale
        }
    }
}

fn sum(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("sum", &["iterable", "attribute", "start"], 1, arguments)?;
    let attribute = arguments.or_none(1);
    let mut total = arguments.get(2).cloned().unwrap_or(Value::from(0));
    if kind(&total) == Kind::Str {
        return Err(raise("sum() can't sum strings [use ''.join(seq) instead]"));
    }
    for item in iterate::items(state, &arguments.or_none(0))? {
        let item = if attribute.is_none() { item } else { path(state, &item, &attribute)? };
        total = chain(state, &[total, Value::from("+"), item])?;
    }
    Ok(total)
}

//! `+ - * / // % ** ~` and signs.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::arguments::integer;
use super::containers::{list, tuple};
use super::{Kind, charge, format, iterate, kind, markup, raise, text, type_name, undefined};

#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub(super) fn of(value: &Value) -> Option<Self> {
        match kind(value) {
            Kind::Bool => Some(Self::Int(i128::from(value.is_true()))),
            Kind::Int => i128::try_from(value.clone()).ok().map(Self::Int),
            Kind::Float => f64::try_from(value.clone()).ok().map(Self::Float),
            _ => None,
        }
    }

    pub(super) fn float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// An int, as small as it can be said.
pub(super) fn int(value: i128) -> Value {
    i64::try_from(value).map_or_else(|_| Value::from(value), Value::from)
}

/// `a + b - c`: operands with the operators between them.
pub(super) fn chain(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let Some((first, rest)) = arguments.split_first() else { return Err(raise("an operator without operands")) };
    let mut left = first.clone();
    for pair in rest.chunks_exact(2) {
        left = binary(state, &left, pair[0].as_str().unwrap_or_default(), &pair[1])?;
    }
    Ok(left)
}

fn binary(state: &State, left: &Value, operator: &str, right: &Value) -> Result<Value, Error> {
    for side in [left, right] {
        // `'%s' % x` prints what is undefined.
        if side.is_undefined() && !(operator == "%" && kind(left) == Kind::Str) {
            return Err(undefined(format!("an operand of `{operator}` is undefined")));
        }
    }
    let result = match operator {
        "+" => add(state, left, right)?,
        "*" => multiply(state, left, right)?,
        "%" if kind(left) == Kind::Str => Some(format::percent(state, left, right)?),
        _ => None,
    };
    if let Some(result) = result {
        return Ok(result);
    }
    let (Some(a), Some(b)) = (Number::of(left), Number::of(right)) else {
        let (left, right) = (type_name(left), type_name(right));
        return Err(raise(format!("unsupported operand type(s) for {operator}: '{left}' and '{right}'")));
    };
    numbers(a, operator, b)
}

fn numbers(a: Number, operator: &str, b: Number) -> Result<Value, Error> {
    let large = || raise(format!("the result of `{operator}` is too large"));
    let by_zero = || raise("division by zero");
    let is_zero = b.float() == 0.0;
    if let (Number::Int(a), Number::Int(b)) = (a, b) {
        return match operator {
            "+" => a.checked_add(b),
            "-" => a.checked_sub(b),
            "*" => a.checked_mul(b),
            "/" | "//" | "%" if is_zero => return Err(by_zero()),
            "/" => return Ok(Value::from(a as f64 / b as f64)),
            "//" => a.checked_div_euclid(b).map(|quotient| if b < 0 && a.rem_euclid(b) != 0 { quotient - 1 } else { quotient }),
            "%" => a.checked_rem_euclid(b).map(|rest| if b < 0 && rest != 0 { rest + b } else { rest }),
            _ if b < 0 && a == 0 => return Err(raise("0.0 cannot be raised to a negative power")),
            _ if b < 0 => return Ok(Value::from((a as f64).powf(b as f64))),
            _ => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        }
        .map(int)
        .ok_or_else(large);
    }
    let (a, b) = (a.float(), b.float());
    let result = match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" | "//" | "%" if is_zero => return Err(by_zero()),
        "/" => a / b,
        "//" => floored(a, b).0,
        "%" => floored(a, b).1,
        _ if a == 0.0 && b < 0.0 => return Err(raise("0.0 cannot be raised to a negative power")),
        _ if a < 0.0 && b.fract() != 0.0 && b.is_finite() => return Err(raise("the power is a complex number")),
        _ => {
            let power = a.powf(b);
            if power.is_infinite() && a.is_finite() && b.is_finite() {
                return Err(raise("Numerical result out of range"));
            }
            power
        }
    };
    Ok(Value::from(result))
}

/// Python's `divmod` of floats.
fn floored(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    let floor = quotient.floor();
    let whole = if quotient == 0.0 {
        0.0_f64.copysign(a / b)
    } else if quotient - floor > 0.5 {
        floor + 1.0
    } else {
        floor
    };
    (whole, rest)
}

fn add(state: &State, left: &Value, right: &Value) -> Result<Option<Value>, Error> {
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        charge(state, a.len() + b.len())?;
        if left.is_safe() || right.is_safe() {
            return Ok(Some(Value::from_safe_string(markup::escape(left, a) + &markup::escape(right, b))));
        }
        return Ok(Some(Value::from([a, b].concat())));
    }
    let make = match (kind(left), kind(right)) {
        (Kind::List, Kind::List) => list,
        (Kind::Tuple, Kind::Tuple) => tuple,
        (Kind::Str, _) => {
            return Err(raise(format!("can only concatenate str (not \"{}\") to str", type_name(right))));
        }
        (Kind::List, _) => {
            return Err(raise(format!("can only concatenate list (not \"{}\") to list", type_name(right))));
        }
        _ => return Ok(None),
    };
    let mut items = iterate::items(state, left)?;
    items.extend(iterate::items(state, right)?);
    make(items).map(Some)
}

fn multiply(state: &State, left: &Value, right: &Value) -> Result<Option<Value>, Error> {
    let is_repeated = |value: &Value| matches!(kind(value), Kind::Str | Kind::List | Kind::Tuple);
    let (value, times) = match (is_repeated(left), is_repeated(right)) {
        (true, false) => (left, right),
        (false, true) => (right, left),
        _ => return Ok(None),
    };
    let Some(times) = integer(times) else {
        return Err(raise(format!("can't multiply sequence by non-int of type '{}'", type_name(times))));
    };
    let times = usize::try_from(times).unwrap_or(0);
    if let Some(text) = value.as_str() {
        charge(state, text.len().saturating_mul(times))?;
        let repeated = text.repeat(times);
        return Ok(Some(if value.is_safe() { Value::from_safe_string(repeated) } else { Value::from(repeated) }));
    }
    let items = iterate::items(state, value)?;
    charge(state, items.len().saturating_mul(times).saturating_mul(size_of::<Value>()))?;
    let repeated = items.iter().cycle().take(items.len() * times).cloned().collect();
    if kind(value) == Kind::List { list(repeated) } else { tuple(repeated) }.map(Some)
}

pub(super) fn negate(_: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    match sign_operand("-", arguments)? {
        Number::Int(value) => value.checked_neg().map(int).ok_or_else(|| raise("the result of `-` is too large")),
        Number::Float(value) => Ok(Value::from(-value)),
    }
}

pub(super) fn plus(_: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    Ok(match sign_operand("+", arguments)? {
        Number::Int(value) => int(value),
        Number::Float(value) => Value::from(value),
    })
}

fn sign_operand(sign: &str, arguments: &[Value]) -> Result<Number, Error> {
    let operand = arguments.first().cloned().unwrap_or_default();
    if operand.is_undefined() {
        return Err(undefined(format!("the operand of `{sign}` is undefined")));
    }
    Number::of(&operand).ok_or_else(|| raise(format!("bad operand type for unary {sign}: '{}'", type_name(&operand))))
}

/// `a ~ b ~ c`: everything as it prints.
pub(super) fn concat(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let mut out = String::new();
    for value in arguments {
        match value.as_str() {
            Some(text) => {
                charge(state, text.len())?;
                out.push_str(text);
            }
            None => out.push_str(&text::str(state, value)?),
        }
    }
    charge(state, out.len())?;
    Ok(Value::from(out))
}

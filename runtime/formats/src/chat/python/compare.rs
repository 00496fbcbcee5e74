//! `== != < <= > >= in`.

use std::cmp::Ordering;
use std::sync::Arc;

use minijinja::value::Value;
use minijinja::{Error, State};

use super::arithmetic::Number;
use super::containers::{Dict, Generator, Range, Sequence, View, hashable};
use super::{Kind, iterate, kind, raise, type_name, undefined};

/// `a == b`.
pub(super) fn equal(state: &State, left: &Value, right: &Value) -> Result<bool, Error> {
    state.consume_fuel(1)?;
    match (kind(left), kind(right)) {
        (Kind::List, Kind::List) | (Kind::Tuple, Kind::Tuple) => {
            let (left, right) = (iterate::items(state, left)?, iterate::items(state, right)?);
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.iter().zip(&right) {
                if !equal(state, left, right)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Kind::Dict, Kind::Dict) => {
            let dicts = left.downcast_object_ref::<Dict>().zip(right.downcast_object_ref::<Dict>());
            let Some((left, right)) = dicts.filter(|(left, right)| left.entries.len() == right.entries.len()) else {
                return Ok(false);
            };
            for (key, value) in &left.entries {
                match right.get(key) {
                    Some(other) if equal(state, value, other)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Kind::Range, Kind::Range) => Ok(iterate::items(state, left)? == iterate::items(state, right)?),
        (Kind::Bool | Kind::Int | Kind::Float, Kind::Bool | Kind::Int | Kind::Float) => {
            Ok(ordering_of_numbers(left, right) == Some(Ordering::Equal))
        }
        (a, b) if a != b => Ok(false),
        (Kind::Undefined | Kind::None, _) => Ok(true),
        (Kind::Str, _) => Ok(left.as_str() == right.as_str()),
        _ => Ok(same(left, right)),
    }
}

/// `a is b` for objects.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    fn is<T: 'static>(left: &Value, right: &Value) -> Option<bool> {
        Some(Arc::ptr_eq(&left.downcast_object::<T>()?, &right.downcast_object::<T>()?))
    }
    is::<Sequence>(left, right)
        .or_else(|| is::<Dict>(left, right))
        .or_else(|| is::<Generator>(left, right))
        .or_else(|| is::<View>(left, right))
        .or_else(|| is::<Range>(left, right))
        .unwrap_or_else(|| left == right)
}

fn ordering_of_numbers(left: &Value, right: &Value) -> Option<Ordering> {
    match (Number::of(left)?, Number::of(right)?) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        // What a float cannot tell apart is told by minijinja, which compares exactly.
        (a, b) if a.float().is_nan() || b.float().is_nan() => None,
        (Number::Int(a), Number::Float(_)) => Some(super::arithmetic::int(a).cmp(right)),
        (Number::Float(_), Number::Int(b)) => Some(left.cmp(&super::arithmetic::int(b))),
    }
}

/// The order of two values; `None` where there is none, as with NaN.
///
/// # Errors
/// Types that have no order, and undefined values.
pub(super) fn order(state: &State, left: &Value, right: &Value) -> Result<Option<Ordering>, Error> {
    state.consume_fuel(1)?;
    match (kind(left), kind(right)) {
        (Kind::Undefined, _) | (_, Kind::Undefined) => Err(undefined("an undefined value has no order")),
        (Kind::Str, Kind::Str) => Ok(Some(left.as_str().cmp(&right.as_str()))),
        (Kind::Bool | Kind::Int | Kind::Float, Kind::Bool | Kind::Int | Kind::Float) => Ok(ordering_of_numbers(left, right)),
        (Kind::List, Kind::List) | (Kind::Tuple, Kind::Tuple) => {
            let (left, right) = (iterate::items(state, left)?, iterate::items(state, right)?);
            for (left, right) in left.iter().zip(&right) {
                if !equal(state, left, right)? {
                    return order(state, left, right);
                }
            }
            Ok(Some(left.len().cmp(&right.len())))
        }
        _ => {
            let (left, right) = (type_name(left), type_name(right));
            Err(raise(format!("'<' not supported between instances of '{left}' and '{right}'")))
        }
    }
}

/// `item in container`.
pub(super) fn contains(state: &State, item: &Value, container: &Value) -> Result<bool, Error> {
    match kind(container) {
        Kind::Str => match (item.as_str(), container.as_str()) {
            (Some(item), Some(container)) => {
                state.consume_fuel(container.len() as u64 / 64)?;
                Ok(container.contains(item))
            }
            _ => Err(raise(format!("'in <string>' requires string as left operand, not {}", type_name(item)))),
        },
        Kind::Dict => {
            hashable(item)?;
            Ok(container.downcast_object_ref::<Dict>().is_some_and(|dict| dict.get(item).is_some()))
        }
        Kind::None | Kind::Bool | Kind::Int | Kind::Float | Kind::Other => {
            Err(raise(format!("argument of type '{}' is not iterable", type_name(container))))
        }
        _ => {
            for other in iterate::items(state, container)? {
                if equal(state, item, &other)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

fn pair(arguments: &[Value]) -> Result<(&Value, &Value), Error> {
    match arguments {
        [left, right] => Ok((left, right)),
        _ => Err(raise("a comparison needs two operands")),
    }
}

macro_rules! comparisons {
    ($($name:ident: $left:ident, $right:ident, $state:ident => $result:expr;)*) => {$(
        pub(super) fn $name($state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
            let ($left, $right) = pair(arguments)?;
            Ok(Value::from($result))
        }
    )*};
}

comparisons! {
    eq: a, b, state => equal(state, a, b)?;
    ne: a, b, state => !equal(state, a, b)?;
    lt: a, b, state => order(state, a, b)? == Some(Ordering::Less);
    le: a, b, state => matches!(order(state, a, b)?, Some(Ordering::Less | Ordering::Equal));
    gt: a, b, state => order(state, a, b)? == Some(Ordering::Greater);
    ge: a, b, state => matches!(order(state, a, b)?, Some(Ordering::Greater | Ordering::Equal));
    is_in: a, b, state => contains(state, a, b)?;
    not_in: a, b, state => !contains(state, a, b)?;
}

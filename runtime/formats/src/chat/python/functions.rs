//! What templates call by name, and what [`rewrite`](crate::chat::jinja) makes calls of.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Enumerator, Object, ObjectRepr, Value, ValueOrKwargs};
use minijinja::{Environment, Error, State};

use super::arguments::{Arguments, integer, split};
use super::containers::{Dict, Range, dict, held, list, tuple};
use super::{Native, arithmetic, compare, iterate, lookup, raise, text, type_name};

const FUNCTIONS: &[Native] = &[
    Native { name: "__chain", call: arithmetic::chain },
    Native { name: "__neg", call: arithmetic::negate },
    Native { name: "__pos", call: arithmetic::plus },
    Native { name: "__concat", call: arithmetic::concat },
    Native { name: "__infinity", call: |_, _| Ok(Value::from(f64::INFINITY)) },
    Native { name: "__eq", call: compare::eq },
    Native { name: "__ne", call: compare::ne },
    Native { name: "__lt", call: compare::lt },
    Native { name: "__le", call: compare::le },
    Native { name: "__gt", call: compare::gt },
    Native { name: "__ge", call: compare::ge },
    Native { name: "__in", call: compare::is_in },
    Native { name: "__notin", call: compare::not_in },
    Native { name: "__attr", call: |_, arguments| lookup::get(lookup::attribute_by_value, arguments) },
    Native { name: "__item", call: |_, arguments| lookup::get(lookup::item, arguments) },
    Native { name: "__slice", call: lookup::slice },
    Native { name: "__method", call: lookup::call_method },
    Native { name: "__call", call: lookup::call },
    Native { name: "__iter", call: |state, arguments| iterate::looped(state, arguments.first().unwrap_or(&Value::UNDEFINED)) },
    Native { name: "__held", call: |_, arguments| held(arguments.first().unwrap_or(&Value::UNDEFINED)) },
    Native { name: "__list", call: |_, arguments| list(arguments.to_vec()) },
    Native { name: "__tuple", call: |_, arguments| tuple(arguments.to_vec()) },
    Native {
        name: "__dict",
        call: |_, arguments| dict(arguments.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()),
    },
    Native { name: "__load", call: no_loader },
    Native { name: "range", call: range },
    Native { name: "dict", call: make_dict },
    Native { name: "namespace", call: namespace },
    Native {
        name: "cycler",
        call: |_, arguments| Ok(Value::from_object(Cycler { items: arguments.to_vec(), at: AtomicUsize::new(0) })),
    },
    Native { name: "joiner", call: joiner },
];

pub(super) fn install(environment: &mut Environment<'static>) {
    for &Native { name, call } in FUNCTIONS {
        environment.add_global(name, Value::from_object(Native { name, call }));
    }
}

fn no_loader(_: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let statement = arguments.first().and_then(Value::as_str).unwrap_or_default();
    Err(raise(format!("`{statement}` needs another template, and a chat template stands alone")))
}

fn range(_: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let numbers: Option<Vec<i64>> = arguments.iter().map(integer).collect();
    let range = match numbers.as_deref() {
        Some([stop]) => Range::new(0, *stop, 1),
        Some([start, stop]) => Range::new(*start, *stop, 1),
        Some([start, stop, step]) => Range::new(*start, *stop, *step),
        Some(_) => Err(raise("range expected 1 to 3 arguments")),
        None => {
            let other = arguments.iter().find(|value| integer(value).is_none()).map_or("nothing", type_name);
            Err(raise(format!("'{other}' object cannot be interpreted as an integer")))
        }
    };
    range.map(Value::from_object)
}

/// The pairs that `dict` and `namespace` are given.
fn pairs(state: &State, arguments: &[Value]) -> Result<Vec<(Value, Value)>, Error> {
    let (positional, keywords) = split(arguments);
    let mut pairs = match positional {
        [] => Vec::new(),
        [value] => match value.downcast_object_ref::<Dict>() {
            Some(dict) => dict.entries.clone(),
            None => iterate::items(state, value)?.iter().map(|item| iterate::pair(state, item)).collect::<Result<_, _>>()?,
        },
        _ => return Err(raise("dict expected at most 1 argument")),
    };
    pairs.extend(keywords.into_iter().map(|(name, value)| (Value::from(name), value)));
    Ok(pairs)
}

fn make_dict(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    dict(pairs(state, arguments)?)
}

/// minijinja's own, since only that can be assigned to.
fn namespace(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let pairs = pairs(state, arguments)?;
    let mut named = Vec::new();
    for (name, value) in &pairs {
        named.push((text::str(state, name)?, held(value)?));
    }
    minijinja::functions::namespace(Some(ValueOrKwargs::from(Value::from_pairs(named))))
}

/// `cycler(...)`.
struct Cycler {
    items: Vec<Value>,
    at: AtomicUsize,
}

/// `joiner(...)`: nothing at first, then its text.
struct Joiner {
    text: Value,
    used: AtomicUsize,
}

fn joiner(_: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("joiner", &["sep"], 0, arguments)?;
    let text = arguments.get(0).cloned().unwrap_or(Value::from(", "));
    Ok(Value::from_object(Joiner { text, used: AtomicUsize::new(0) }))
}

impl fmt::Debug for Cycler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<Cycler>")
    }
}

impl fmt::Debug for Joiner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<Joiner>")
    }
}

impl Cycler {
    fn current(&self) -> Value {
        let at = self.at.load(Ordering::Relaxed) % self.items.len().max(1);
        self.items.get(at).cloned().unwrap_or_default()
    }
}

impl Object for Cycler {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str() == Some("current")).then(|| self.current())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn call_method(self: &Arc<Self>, _: &mut State, name: &str, _: &[Value]) -> Result<Value, Error> {
        match name {
            "next" => {
                let current = self.current();
                self.at.fetch_add(1, Ordering::Relaxed);
                Ok(current)
            }
            "reset" => {
                self.at.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(raise(format!("a cycler has no method '{name}'"))),
        }
    }
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State, _: &[Value]) -> Result<Value, Error> {
        let first = self.used.swap(1, Ordering::Relaxed) == 0;
        Ok(if first { Value::from("") } else { self.text.clone() })
    }
}

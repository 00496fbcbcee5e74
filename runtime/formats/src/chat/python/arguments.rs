//! Arguments bound to parameters, as Python binds them.

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use super::{Kind, kind, raise, text, type_name};

/// The arguments of one call by the position of their parameters.
pub(super) struct Arguments {
    function: &'static str,
    names: &'static [&'static str],
    values: Vec<Option<Value>>,
}

/// Positional arguments, and those with keywords.
pub(super) fn split(arguments: &[Value]) -> (&[Value], Vec<(String, Value)>) {
    let Some((last, rest)) = arguments.split_last().filter(|(last, _)| last.is_kwargs()) else {
        return (arguments, Vec::new());
    };
    let pairs = Kwargs::try_from(last.clone()).map(|kwargs| {
        let pairs = kwargs.args().filter_map(|name| Some((name.to_owned(), kwargs.peek(name).ok()?)));
        pairs.collect()
    });
    (rest, pairs.unwrap_or_default())
}

impl Arguments {
    /// Binds arguments to the parameters of these names.
    ///
    /// # Errors
    /// Too many, unknown or double ones, and fewer than `required`.
    pub(super) fn bind(
        function: &'static str,
        names: &'static [&'static str],
        required: usize,
        arguments: &[Value],
    ) -> Result<Self, Error> {
        let (positional, keywords) = split(arguments);
        if positional.len() > names.len() {
            return Err(raise(format!("{function}() takes {} arguments, and {} were given", names.len(), positional.len())));
        }
        let mut values: Vec<_> = positional.iter().cloned().map(Some).collect();
        values.resize(names.len(), None);
        for (name, value) in keywords {
            let at = names.iter().position(|known| *known == name);
            let slot = at
                .map(|at| &mut values[at])
                .ok_or_else(|| raise(format!("{function}() got an unexpected keyword argument '{name}'")))?;
            if slot.replace(value).is_some() {
                return Err(raise(format!("{function}() got multiple values for argument '{name}'")));
            }
        }
        if let Some(missing) = values[..required].iter().position(Option::is_none) {
            return Err(raise(format!("{function}() is missing the argument '{}'", names[missing])));
        }
        Ok(Self { function, names, values })
    }

    /// The value, if it was given.
    pub(super) fn get(&self, at: usize) -> Option<&Value> {
        self.values[at].as_ref()
    }

    /// The value, or none.
    pub(super) fn or_none(&self, at: usize) -> Value {
        self.get(at).cloned().unwrap_or(Value::from(()))
    }

    fn wrong(&self, at: usize, what: &str) -> Error {
        let given = self.get(at).map_or("nothing", type_name);
        raise(format!("{}(): '{}' must be {what}, not {given}", self.function, self.names[at]))
    }

    /// A string.
    pub(super) fn string(&self, at: usize) -> Result<&str, Error> {
        self.get(at).and_then(Value::as_str).ok_or_else(|| self.wrong(at, "str"))
    }

    /// A string, or none.
    pub(super) fn optional_string(&self, at: usize) -> Result<Option<&str>, Error> {
        match self.get(at) {
            Some(value) if !value.is_none() => self.string(at).map(Some),
            _ => Ok(None),
        }
    }

    /// The string that a value prints as, or this one.
    pub(super) fn soft_string(&self, state: &State, at: usize, default: &str) -> Result<String, Error> {
        self.get(at).map_or_else(|| Ok(default.to_owned()), |value| text::str(state, value))
    }

    /// An integer, or this one.
    pub(super) fn integer(&self, at: usize, default: i64) -> Result<i64, Error> {
        let Some(value) = self.get(at) else { return Ok(default) };
        integer(value).ok_or_else(|| self.wrong(at, "int"))
    }

    /// Whether a value is true, or this.
    pub(super) fn truth(&self, at: usize, default: bool) -> bool {
        self.get(at).map_or(default, Value::is_true)
    }
}

/// The value of an int or a bool; far ones are cut.
pub(super) fn integer(value: &Value) -> Option<i64> {
    match kind(value) {
        Kind::Bool => Some(i64::from(value.is_true())),
        Kind::Int => Some(value.as_i64().unwrap_or(if *value > Value::from(0) { i64::MAX } else { i64::MIN })),
        _ => None,
    }
}

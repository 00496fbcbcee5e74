//! Settings in a file.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Failure;

/// What a key says, as texts that its flag takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Values {
    pub(super) texts: Vec<String>,
    pub(super) list: bool,
}

/// The keys of a TOML file.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, Values>, Failure> {
    let place = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("--config {place}: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error| format!("{place}: {error}"))?;
    let values = |(key, value): (String, toml::Value)| match values(value) {
        Ok(values) => Ok((key, values)),
        Err(what) => {
            Err(format!("{place}: `{key}` is {what}, and must be a text, a number, true or false, or a list of texts").into())
        }
    };
    table.into_iter().map(values).collect()
}

fn values(value: toml::Value) -> Result<Values, &'static str> {
    match value {
        toml::Value::Array(list) => Ok(Values { texts: list.into_iter().map(one).collect::<Result<_, _>>()?, list: true }),
        other => Ok(Values { texts: vec![one(other)?], list: false }),
    }
}

fn one(value: toml::Value) -> Result<String, &'static str> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(truth) => Ok(truth.to_string()),
        toml::Value::Datetime(_) => Err("a date"),
        toml::Value::Array(_) => Err("a list in a list"),
        toml::Value::Table(_) => Err("a table"),
    }
}

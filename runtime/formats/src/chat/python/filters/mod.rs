//! Jinja2's filters.

mod numbers;
mod sequences;
mod texts;

use minijinja::value::{Rest, Value, ValueOrKwargs};
use minijinja::{Environment, Error, State};

use super::{given, json};

type Filter = fn(&mut State, &[Value]) -> Result<Value, Error>;

pub(super) fn install(environment: &mut Environment<'static>) {
    let tables = [texts::FILTERS, sequences::FILTERS, numbers::FILTERS, &[("tojson", json::tojson as Filter)]];
    for &(name, filter) in tables.into_iter().flatten() {
        environment.add_filter(name, move |state: &mut State, arguments: Rest<ValueOrKwargs>| filter(state, &given(arguments)));
    }
}

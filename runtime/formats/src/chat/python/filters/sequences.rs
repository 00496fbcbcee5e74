//! Filters of sequences and mappings.

use std::cmp::Ordering;
use std::collections::HashSet;

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, ErrorKind, State};

use super::Filter;
use crate::chat::python::arguments::{Arguments, split};
use crate::chat::python::compare::{equal, order};
use crate::chat::python::containers::{Dict, Generator, generator, group, hashable, list, tuple};
use crate::chat::python::lookup::{only_attribute, path};
use crate::chat::python::{Kind, charge, iterate, kind, markup, raise, text, type_name};

pub(super) const FILTERS: &[(&str, Filter)] = &[
    ("attr", attr),
    ("batch", batch),
    ("count", length),
    ("d", default),
    ("default", default),
    ("dictsort", dict_sort),
    ("first", first),
    ("groupby", group_by),
    ("items", items),
    ("join", join),
    ("last", last),
    ("length", length),
    ("list", to_list),
    ("map", map),
    ("max", |state, arguments| extreme(state, "max", Ordering::Greater, arguments)),
    ("min", |state, arguments| extreme(state, "min", Ordering::Less, arguments)),
    ("reject", |state, arguments| select(state, arguments, false, false)),
    ("rejectattr", |state, arguments| select(state, arguments, true, false)),
    ("reverse", reverse),
    ("select", |state, arguments| select(state, arguments, false, true)),
    ("selectattr", |state, arguments| select(state, arguments, true, true)),
    ("slice", slices),
    ("sort", sort),
    ("unique", unique),
];

fn attr(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("attr", &["obj", "name"], 2, arguments)?;
    only_attribute(state, &arguments.or_none(0), &arguments.or_none(1))
}

fn default(_: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("default", &["value", "default_value", "boolean"], 1, arguments)?;
    let value = arguments.or_none(0);
    let replaces = value.is_undefined() || (arguments.truth(2, false) && !value.is_true());
    Ok(if replaces { arguments.get(1).cloned().unwrap_or(Value::from("")) } else { value })
}

fn length(_: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = Arguments::bind("length", &["obj"], 1, arguments)?.or_none(0);
    let length = iterate::length(&value);
    length.map(Value::from).ok_or_else(|| raise(format!("object of type '{}' has no len()", type_name(&value))))
}

fn to_list(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    list(iterate::items(state, &Arguments::bind("list", &["value"], 1, arguments)?.or_none(0))?)
}

fn first(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = Arguments::bind("first", &["seq"], 1, arguments)?.or_none(0);
    if let Some(generator) = value.downcast_object_ref::<Generator>() {
        return generator.next().map_or(Ok(Value::UNDEFINED), iterate::checked);
    }
    Ok(iterate::items(state, &value)?.into_iter().next().unwrap_or_default())
}

fn last(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = Arguments::bind("last", &["seq"], 1, arguments)?.or_none(0);
    match kind(&value) {
        Kind::Generator => Err(raise(format!("'{}' object is not reversible", type_name(&value)))),
        _ => Ok(iterate::items(state, &value)?.pop().unwrap_or_default()),
    }
}

fn items(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = Arguments::bind("items", &["value"], 1, arguments)?.or_none(0);
    if value.is_undefined() {
        return generator(std::iter::empty());
    }
    let Some(dict) = value.downcast_object_ref::<Dict>() else {
        return generator(std::iter::once(Err(raise("Can only get item pairs from a mapping."))));
    };
    state.consume_fuel(dict.entries.len() as u64)?;
    generator(dict.entries.iter().map(|(key, value)| tuple(vec![key.clone(), value.clone()])))
}

/// By an attribute if one is given, and whatever its case.
fn key(state: &State, item: &Value, attribute: &Value, case_sensitive: bool, absent: Option<&Value>) -> Result<Value, Error> {
    let found = if attribute.is_none() { item.clone() } else { path(state, item, attribute)? };
    let found = if found.is_undefined() { absent.cloned().unwrap_or(found) } else { found };
    match found.as_str().filter(|_| !case_sensitive) {
        Some(text) => Ok(Value::from(text.to_lowercase())),
        None => Ok(found),
    }
}

/// Sorts by keys, stably; reversed, equal ones keep their order too.
fn sorted(state: &State, mut keyed: Vec<(Value, Value)>, reverse: bool) -> Result<Vec<Value>, Error> {
    let mut failed = None;
    state.consume_fuel(keyed.len() as u64)?;
    keyed.sort_by(|(a, _), (b, _)| {
        if failed.is_some() {
            return Ordering::Equal;
        }
        let ordering = order(state, a, b).unwrap_or_else(|error| {
            failed = Some(error);
            None
        });
        let ordering = ordering.unwrap_or(Ordering::Equal);
        if reverse { ordering.reverse() } else { ordering }
    });
    failed.map_or_else(|| Ok(keyed.into_iter().map(|(_, value)| value).collect()), Err)
}

fn sort(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("sort", &["value", "reverse", "case_sensitive", "attribute"], 1, arguments)?;
    let (case_sensitive, attribute) = (arguments.truth(2, false), arguments.or_none(3));
    let mut keyed = Vec::new();
    for item in iterate::items(state, &arguments.or_none(0))? {
        let parts = match attribute.as_str() {
            Some(text) => text.split(',').map(Value::from).collect(),
            None => vec![attribute.clone()],
        };
        let keys: Result<_, _> = parts.iter().map(|part| key(state, &item, part, case_sensitive, None)).collect();
        keyed.push((list(keys?)?, item));
    }
    list(sorted(state, keyed, arguments.truth(1, false))?)
}

fn dict_sort(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("dictsort", &["value", "case_sensitive", "by", "reverse"], 1, arguments)?;
    let value = arguments.or_none(0);
    let by_value = match arguments.get(2).map_or(Some("key"), Value::as_str) {
        Some("key") => false,
        Some("value") => true,
        _ => return Err(raise("You can only sort by either \"key\" or \"value\"")),
    };
    let Some(dict) = value.downcast_object_ref::<Dict>() else {
        return Err(raise(format!("'{} object' has no attribute 'items'", type_name(&value))));
    };
    let mut keyed = Vec::new();
    for (name, value) in &dict.entries {
        let by = if by_value { value } else { name };
        let by = key(state, by, &Value::from(()), arguments.truth(1, false), None)?;
        keyed.push((by, tuple(vec![name.clone(), value.clone()])?));
    }
    list(sorted(state, keyed, arguments.truth(3, false))?)
}

fn unique(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("unique", &["value", "case_sensitive", "attribute"], 1, arguments)?;
    let (case_sensitive, attribute) = (arguments.truth(1, false), arguments.or_none(2));
    let mut seen = HashSet::new();
    let mut step = |item: Value| {
        let key = key(state, &item, &attribute, case_sensitive, None)?;
        hashable(&key)?;
        Ok(seen.insert(key).then_some(item))
    };
    lazily(state, &arguments.or_none(0), &mut step)
}

/// A generator of what a step keeps of each item. What it raises is raised where the generator is read.
fn lazily(state: &State, value: &Value, step: &mut dyn FnMut(Value) -> Result<Option<Value>, Error>) -> Result<Value, Error> {
    match iterate::items(state, value) {
        Ok(items) => generator(items.into_iter().filter_map(|item| step(item).transpose())),
        Err(error) => generator(std::iter::once(Err(error))),
    }
}

fn extreme(state: &mut State, name: &'static str, wanted: Ordering, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind(name, &["value", "case_sensitive", "attribute"], 1, arguments)?;
    let (case_sensitive, attribute) = (arguments.truth(1, false), arguments.or_none(2));
    let mut best: Option<(Value, Value)> = None;
    for item in iterate::items(state, &arguments.or_none(0))? {
        let by = key(state, &item, &attribute, case_sensitive, None)?;
        let is_better = match &best {
            Some((found, _)) => order(state, &by, found)? == Some(wanted),
            None => true,
        };
        if is_better {
            best = Some((by, item));
        }
    }
    Ok(best.map(|(_, item)| item).unwrap_or_default())
}

fn join(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("join", &["value", "d", "attribute"], 1, arguments)?;
    let (between, attribute) = (arguments.soft_string(state, 1, "")?, arguments.or_none(2));
    let mut out = String::new();
    for (i, item) in iterate::items(state, &arguments.or_none(0))?.iter().enumerate() {
        out.push_str(if i > 0 { &between } else { "" });
        let item = if attribute.is_none() { item.clone() } else { path(state, item, &attribute)? };
        let shown = text::str(state, &item)?;
        charge(state, shown.len() + between.len())?;
        out.push_str(&shown);
    }
    Ok(Value::from(out))
}

fn group_by(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("groupby", &["value", "attribute", "default", "case_sensitive"], 2, arguments)?;
    let (attribute, case_sensitive) = (arguments.or_none(1), arguments.truth(3, false));
    let absent = arguments.get(2).filter(|value| !value.is_none());
    let mut keyed = Vec::new();
    for item in iterate::items(state, &arguments.or_none(0))? {
        keyed.push((key(state, &item, &attribute, case_sensitive, absent)?, item));
    }
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for item in sorted(state, keyed, false)? {
        let by = key(state, &item, &attribute, case_sensitive, absent)?;
        match groups.last_mut() {
            Some((last, items)) if equal(state, last, &by)? => items.push(item),
            _ => groups.push((by, vec![item])),
        }
    }
    let named = groups.into_iter().map(|(_, items)| group(key(state, &items[0], &attribute, true, absent)?, items));
    list(named.collect::<Result<_, _>>()?)
}

fn reverse(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = Arguments::bind("reverse", &["value"], 1, arguments)?.or_none(0);
    if let Some(source) = value.as_str() {
        return Ok(markup::like(&value, source.chars().rev().collect()));
    }
    let mut items = iterate::items(state, &value)?;
    items.reverse();
    match kind(&value) {
        // Reversed as a list, since it cannot be reversed as it is.
        Kind::Generator | Kind::Undefined => list(items),
        _ => generator(items.into_iter().map(Ok)),
    }
}

fn batch(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("batch", &["value", "linecount", "fill_with"], 2, arguments)?;
    let width = arguments.integer(1, 0)?;
    let (items, fill) = (iterate::items(state, &arguments.or_none(0))?, arguments.or_none(2));
    let Some(width) = usize::try_from(width).ok().filter(|width| *width > 0) else {
        return Err(raise("batch() needs a line count of at least 1"));
    };
    charge(state, if fill.is_none() { 0 } else { width.saturating_mul(size_of::<Value>()) })?;
    generator(items.chunks(width).map(|line| {
        let mut line = line.to_vec();
        if !fill.is_none() {
            line.resize(width, fill.clone());
        }
        list(line)
    }))
}

fn slices(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("slice", &["value", "slices", "fill_with"], 2, arguments)?;
    let (items, fill) = (iterate::items(state, &arguments.or_none(0))?, arguments.or_none(2));
    let Some(count) = usize::try_from(arguments.integer(1, 0)?).ok().filter(|count| *count > 0) else {
        return Err(raise("slice() needs at least 1 slice"));
    };
    charge(state, count.saturating_mul(size_of::<Value>()))?;
    let (each, extra) = (items.len() / count, items.len() % count);
    generator((0..count).map(|number| {
        let start = number * each + number.min(extra);
        let mut slice = items[start..start + each + usize::from(number < extra)].to_vec();
        if !fill.is_none() && number >= extra {
            slice.push(fill.clone());
        }
        list(slice)
    }))
}

fn keywords(pairs: Vec<(String, Value)>) -> Option<Value> {
    (!pairs.is_empty()).then(|| Value::from(pairs.into_iter().collect::<Kwargs>()))
}

fn map(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let (positional, mut named) = split(arguments);
    let [value, positional @ ..] = positional else { return Err(raise("map() is missing the argument 'value'")) };
    if !value.is_true() {
        return generator(std::iter::empty());
    }
    let attribute = named.iter().position(|(name, _)| name == "attribute").filter(|_| positional.is_empty());
    if let Some(at) = attribute {
        let attribute = named.remove(at).1;
        let default = named.iter().position(|(name, _)| name == "default").map(|at| named.remove(at).1);
        if let Some((name, _)) = named.first() {
            return Err(raise(format!("Unexpected keyword argument '{name}'")));
        }
        let state = &*state;
        return lazily(state, value, &mut |item| {
            key(state, &item, &attribute, true, default.as_ref().filter(|default| !default.is_none())).map(Some)
        });
    }
    let Some((filter, positional)) = positional.split_first() else { return Err(raise("map requires a filter argument")) };
    let filter = filter.as_str().ok_or_else(|| raise("map() needs the name of a filter"))?;
    let rest: Vec<Value> = positional.iter().cloned().chain(keywords(named)).collect();
    each(state, value, |state, item| {
        let arguments: Vec<Value> = std::iter::once(item).chain(rest.iter().cloned()).collect();
        let missing = |error: Error| match error.kind() {
            ErrorKind::UnknownFilter => raise(format!("No filter named '{filter}'.")),
            _ => error,
        };
        state.apply_filter(filter, &arguments).map(Some).map_err(missing)
    })
}

/// [`lazily`] with filters and tests, which need the state.
fn each(
    state: &mut State,
    value: &Value,
    mut step: impl FnMut(&mut State, Value) -> Result<Option<Value>, Error>,
) -> Result<Value, Error> {
    let items = match iterate::items(state, value) {
        Ok(items) => items,
        Err(error) => return generator(std::iter::once(Err(error))),
    };
    let mut out = Vec::new();
    for item in items {
        match step(state, item) {
            Ok(kept) => out.extend(kept.map(Ok)),
            Err(error) => {
                out.push(Err(error));
                break;
            }
        }
    }
    generator(out.into_iter())
}

fn select(state: &mut State, arguments: &[Value], by_attribute: bool, keeps: bool) -> Result<Value, Error> {
    let (positional, named) = split(arguments);
    let [value, positional @ ..] = positional else { return Err(raise("select() is missing the argument 'value'")) };
    if !value.is_true() {
        return generator(std::iter::empty());
    }
    let (attribute, positional) = match positional.split_first() {
        Some((attribute, rest)) if by_attribute => (Some(attribute), rest),
        None if by_attribute => return Err(raise("Missing parameter for attribute name")),
        _ => (None, positional),
    };
    let test = positional.first().map(|test| test.as_str().ok_or_else(|| raise("the name of a test must be a text")));
    let test = test.transpose()?;
    let rest: Vec<Value> = positional.iter().skip(1).cloned().chain(keywords(named)).collect();
    each(state, value, |state, item| {
        let tested = attribute.map_or_else(|| Ok(item.clone()), |attribute| path(state, &item, attribute))?;
        let holds = match test {
            None => tested.is_true(),
            Some(test) => {
                let arguments: Vec<Value> = std::iter::once(tested).chain(rest.iter().cloned()).collect();
                let missing = |error: Error| match error.kind() {
                    ErrorKind::UnknownTest => raise(format!("No test named '{test}'.")),
                    _ => error,
                };
                state.perform_test(test, &arguments).map_err(missing)?
            }
        };
        Ok((holds == keeps).then_some(item))
    })
}

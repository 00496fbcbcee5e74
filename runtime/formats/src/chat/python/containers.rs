//! Lists, tuples, dicts, ranges, views and generators.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Error;
use minijinja::value::{Enumerator, Object, ObjectRepr, Value};

use super::{Kind, kind, raise};

/// How deep containers nest at most, so that walking and dropping them is safe.
const DEPTH: u32 = 200;

/// What a namespace counts as within containers: it may stand in a list, and in no other namespace.
const NAMESPACE: u32 = 100;

/// A list or a tuple.
pub(super) struct Sequence {
    pub(super) items: Vec<Value>,
    pub(super) is_tuple: bool,
    /// A pair of `groupby`, whose parts have names.
    pub(super) is_group: bool,
    depth: u32,
}

/// A dict, in the order of its insertions.
pub(super) struct Dict {
    pub(super) entries: Vec<(Value, Value)>,
    places: HashMap<Value, usize>,
    depth: u32,
}

/// What `range` gives.
pub(super) struct Range {
    pub(super) start: i64,
    pub(super) stop: i64,
    pub(super) step: i64,
    pub(super) length: usize,
}

/// What a view of a dict shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewOf {
    Keys,
    Values,
    Items,
}

/// `keys()`, `values()` or `items()` of a dict.
pub(super) struct View {
    pub(super) dict: Value,
    pub(super) of: ViewOf,
}

/// What can be read once. Its values are computed when it is made; reading it is what Python does later.
pub(super) struct Generator {
    items: Mutex<Vec<Value>>,
    depth: u32,
}

fn depth_of(value: &Value) -> u32 {
    let Some(object) = value.as_object() else { return 0 };
    if let Some(sequence) = object.downcast_ref::<Sequence>() {
        sequence.depth
    } else if let Some(dict) = object.downcast_ref::<Dict>() {
        dict.depth
    } else if let Some(generator) = object.downcast_ref::<Generator>() {
        generator.depth
    } else if let Some(view) = object.downcast_ref::<View>() {
        depth_of(&view.dict) + 1
    } else if let Some(method) = object.downcast_ref::<super::lookup::Method>() {
        depth_of(&method.receiver) + 1
    } else if object.is::<Range>() {
        0
    } else {
        NAMESPACE
    }
}

fn depth_around<'a>(items: impl Iterator<Item = &'a Value>) -> Result<u32, Error> {
    let depth = items.map(depth_of).max().unwrap_or(0) + 1;
    if depth > DEPTH { Err(raise("containers nest too deep")) } else { Ok(depth) }
}

/// The value as a namespace may hold it.
pub(super) fn held(value: &Value) -> Result<Value, Error> {
    if depth_of(value) >= NAMESPACE && kind(value) != Kind::Other {
        return Err(raise("a namespace cannot hold containers that nest that deep"));
    }
    if value.as_object().is_some_and(|object| object.type_name().ends_with("::Namespace")) {
        return Err(raise("a namespace cannot hold another namespace"));
    }
    Ok(value.clone())
}

pub(in crate::chat) fn list(items: Vec<Value>) -> Result<Value, Error> {
    let depth = depth_around(items.iter())?;
    Ok(Value::from_object(Sequence { items, is_tuple: false, is_group: false, depth }))
}

pub(super) fn tuple(items: Vec<Value>) -> Result<Value, Error> {
    let depth = depth_around(items.iter())?;
    Ok(Value::from_object(Sequence { items, is_tuple: true, is_group: false, depth }))
}

/// A pair of `groupby`.
pub(super) fn group(grouper: Value, items: Vec<Value>) -> Result<Value, Error> {
    let items = vec![grouper, list(items)?];
    let depth = depth_around(items.iter())?;
    Ok(Value::from_object(Sequence { items, is_tuple: true, is_group: true, depth }))
}

/// A dict of pairs, of which later ones replace earlier ones with the same key.
///
/// # Errors
/// Keys that cannot be hashed.
pub(super) fn dict(pairs: Vec<(Value, Value)>) -> Result<Value, Error> {
    let mut entries: Vec<(Value, Value)> = Vec::with_capacity(pairs.len());
    let mut places = HashMap::with_capacity(pairs.len());
    for (key, value) in pairs {
        hashable(&key)?;
        match places.get(&key) {
            Some(&at) => {
                let entry: &mut (Value, Value) = &mut entries[at];
                entry.1 = value;
            }
            None => {
                places.insert(key.clone(), entries.len());
                entries.push((key, value));
            }
        }
    }
    let depth = depth_around(entries.iter().map(|(_, value)| value))?;
    Ok(Value::from_object(Dict { entries, places, depth }))
}

/// A generator of what is computed already; an error is raised where reading comes to it.
pub(super) fn generator(items: impl Iterator<Item = Result<Value, Error>>) -> Result<Value, Error> {
    let mut all = Vec::new();
    for item in items {
        let failed = item.is_err();
        all.push(item.unwrap_or_else(Value::from));
        if failed {
            break;
        }
    }
    let depth = depth_around(all.iter())?;
    Ok(Value::from_object(Generator { items: Mutex::new(all), depth }))
}

/// Whether a value can be a key.
pub(super) fn hashable(key: &Value) -> Result<(), Error> {
    match kind(key) {
        Kind::List | Kind::Dict | Kind::View => Err(raise(format!("unhashable type: '{}'", super::type_name(key)))),
        Kind::Tuple if depth_of(key) > 4 => Err(raise("a tuple nests too deep to be a key")),
        Kind::Tuple => key.try_iter()?.try_for_each(|item| hashable(&item)),
        _ => Ok(()),
    }
}

/// What a request holds, as values of a template. JSON is not deep enough to fail.
pub(in crate::chat) fn from_json(value: &serde_json::Value) -> Result<Value, Error> {
    Ok(match value {
        serde_json::Value::Null => Value::from(()),
        serde_json::Value::Bool(value) => Value::from(*value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::from(value),
            (None, Some(value)) => Value::from(value),
            _ => Value::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(items) => list(items.iter().map(from_json).collect::<Result<_, _>>()?)?,
        serde_json::Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| Ok((Value::from(key.as_str()), from_json(value)?)));
            dict(pairs.collect::<Result<_, Error>>()?)?
        }
    })
}

impl Dict {
    pub(super) fn get(&self, key: &Value) -> Option<&Value> {
        self.places.get(key).map(|&at| &self.entries[at].1)
    }
}

impl Range {
    /// # Errors
    /// A step of 0, and more numbers than the sandbox allows.
    pub(super) fn new(start: i64, stop: i64, step: i64) -> Result<Self, Error> {
        const MOST: usize = 100_000;
        if step == 0 {
            return Err(raise("range() arg 3 must not be zero"));
        }
        let (start_wide, stop_wide, step_wide) = (i128::from(start), i128::from(stop), i128::from(step));
        let span = if step > 0 { stop_wide - start_wide } else { start_wide - stop_wide };
        let length = if span > 0 { (span + step_wide.abs() - 1) / step_wide.abs() } else { 0 };
        match usize::try_from(length) {
            Ok(length) if length <= MOST => Ok(Self { start, stop, step, length }),
            _ => Err(raise(format!("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({MOST})."))),
        }
    }

    /// The range of the numbers at these places.
    pub(super) fn slice(&self, places: impl Iterator<Item = usize>, step: i64) -> Result<Self, Error> {
        let by = self.step.saturating_mul(step);
        let places: Vec<usize> = places.collect();
        let at = |place: usize| self.start + self.step * place as i64;
        match (places.first(), places.last()) {
            (Some(&first), Some(&last)) => {
                let past = at(last).saturating_add(by);
                // Python ends where the range ends, which is nearer if the last step leads past it.
                let stop = if by > 0 { past.min(at(self.length).max(at(last) + 1)) } else { past };
                Self::new(at(first), stop, by)
            }
            _ => Self::new(self.start, self.start, by),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<Value> {
        (at < self.length).then(|| Value::from(self.start + self.step * at as i64))
    }
}

impl View {
    /// What it shows, as a list.
    pub(super) fn list(&self) -> Result<Value, Error> {
        list(self.items()?)
    }

    pub(super) fn items(&self) -> Result<Vec<Value>, Error> {
        let dict = self.dict.downcast_object_ref::<Dict>();
        let entries = dict.map_or(&[][..], |dict| dict.entries.as_slice());
        entries
            .iter()
            .map(|(key, value)| match self.of {
                ViewOf::Keys => Ok(key.clone()),
                ViewOf::Values => Ok(value.clone()),
                ViewOf::Items => tuple(vec![key.clone(), value.clone()]),
            })
            .collect()
    }
}

impl Generator {
    /// Everything that was not read yet.
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.items.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next value.
    pub(super) fn next(&self) -> Option<Value> {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        if items.is_empty() { None } else { Some(items.remove(0)) }
    }
}

macro_rules! debug_as {
    ($($type:ident),*) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!("<", stringify!($type), ">"))
            }
        }
    )*};
}

debug_as!(Sequence, Dict, Range, View, Generator);

impl Object for Sequence {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.items.get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.items.len())
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get(key).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.entries.iter().map(|(key, _)| key.clone()).collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.entries.len())
    }
}

impl Object for Range {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get(key.as_usize()?)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.length)
    }
}

impl Object for View {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items().unwrap_or_default())
    }
}

impl Object for Generator {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.take())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        None
    }

    /// Like every object of Python that says nothing else.
    fn is_true(self: &Arc<Self>) -> bool {
        true
    }
}

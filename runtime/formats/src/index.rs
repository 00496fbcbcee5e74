//! `model.safetensors.index.json`: which shard holds which tensor.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::json::{JsonError, duplicate};
use crate::shown::shown;

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Not JSON of this form, or a tensor is listed twice.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// No `weight_map`.
    #[error("`weight_map`, an object from tensor names to file names, is missing")]
    NoWeightMap,
    /// A shard outside the checkpoint's directory.
    #[error(
        "`weight_map`: tensor `{}` is in `{}`, and a shard is a file name in the index's own directory",
        shown(tensor),
        shown(shard)
    )]
    Outside {
        /// The tensor.
        tensor: String,
        /// The path in the index.
        shard: String,
    },
}

/// A parsed index. With an index, only the files that it names are part of the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Names of the shards, sorted.
    pub shards: Vec<String>,
    /// Tensor name to position in `shards`.
    pub tensors: BTreeMap<String, usize>,
}

/// Reads an index. `metadata` is not read: `total_size` is informative, and wrong in public checkpoints with tied weights.
pub fn read(text: &[u8]) -> Result<Index, IndexError> {
    let Root(map) = serde_json::from_slice(text).map_err(JsonError::from)?;
    let WeightMap { shards, mut tensors } = map.ok_or(IndexError::NoWeightMap)?;
    if let Some(outside) = shards.keys().find(|shard| !is_file_name(shard)) {
        let of = |(_, shard): &(&String, &usize)| **shard == shards[outside];
        let tensor = tensors.iter().find(of).map(|(tensor, _)| tensor.clone()).unwrap_or_default();
        return Err(IndexError::Outside { tensor, shard: outside.clone() });
    }
    // From the order of appearance to that of the names.
    let mut position = vec![0; shards.len()];
    let sorted = shards.into_iter().enumerate().map(|(sorted, (name, appeared))| {
        position[appeared] = sorted;
        name
    });
    let shards = sorted.collect();
    tensors.values_mut().for_each(|shard| *shard = position[*shard]);
    Ok(Index { shards, tensors })
}

/// True for a name that cannot lead out of a directory, on any system.
fn is_file_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', ':', '\0'])
}

/// The index's object; of its keys only `weight_map` is read.
struct Root(Option<WeightMap>);

/// Tensors, and shards numbered as they appeared: an index of a thousand tensors names few files.
struct WeightMap {
    shards: BTreeMap<String, usize>,
    tensors: BTreeMap<String, usize>,
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(RootVisitor)
    }
}

struct RootVisitor;

impl<'de> Visitor<'de> for RootVisitor {
    type Value = Root;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `weight_map`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Root, A::Error> {
        let mut map = None;
        while let Some(key) = from.next_key::<String>()? {
            if key != "weight_map" {
                from.next_value::<IgnoredAny>()?;
            } else if map.replace(from.next_value()?).is_some() {
                return Err(duplicate("key", &key));
            }
        }
        Ok(Root(map))
    }
}

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(WeightMapVisitor)
    }
}

struct WeightMapVisitor;

impl<'de> Visitor<'de> for WeightMapVisitor {
    type Value = WeightMap;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`weight_map` to be an object from tensor names to file names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<WeightMap, A::Error> {
        let mut map = WeightMap { shards: BTreeMap::new(), tensors: BTreeMap::new() };
        while let Some(tensor) = from.next_key::<String>()? {
            let shard: String = from
                .next_value()
                .map_err(|e| A::Error::custom(format_args!("`weight_map`: tensor `{}`: {e}", shown(&tensor))))?;
            let next = map.shards.len();
            let shard = *map.shards.entry(shard).or_insert(next);
            match map.tensors.entry(tensor) {
                Entry::Vacant(entry) => _ = entry.insert(shard),
                Entry::Occupied(entry) => return Err(duplicate("tensor", entry.key())),
            }
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn shards_are_sorted_and_listed_once() {
        let index = read(br#"{"metadata": {"total_size": 1}, "weight_map": {"b": "s2", "a": "s1", "c": "s1"}}"#).unwrap();
        assert_eq!(index.shards, ["s1", "s2"]);
        assert_eq!(index.tensors, [("a".into(), 0), ("b".into(), 1), ("c".into(), 0)].into());
    }

    #[test]
    fn what_is_not_an_index_is_refused() {
        assert_eq!(message("{}"), "`weight_map`, an object from tensor names to file names, is missing");
        assert_eq!(message("[]"), "invalid type: sequence, expected an object with `weight_map` at line 1 column 0");
        let value = message(r#"{"weight_map": {"a": 1}}"#);
        assert_eq!(value, "`weight_map`: tensor `a`: invalid type: integer `1`, expected a string at line 1 column 22");
        let map = message(r#"{"weight_map": null}"#);
        assert!(map.starts_with("invalid type: null, expected `weight_map` to be an object from tensor names"), "{map}");
        assert!(message(r#"{"weight_map": {"a": "s1", "a": "s2"}}"#).starts_with("duplicate tensor `a`"));
        assert!(message(r#"{"weight_map": {}, "weight_map": {}}"#).starts_with("duplicate key `weight_map`"));
    }

    #[test]
    fn shards_do_not_lead_out_of_the_folder() {
        for path in ["../s", "/etc/s", "a/b", "..", "", "c:s", "a\\\\b", "a\\u0000b"] {
            let text = format!(r#"{{"weight_map": {{"v": "fine", "w": "{path}"}}}}"#);
            assert!(message(&text).contains("tensor `w` is in `"), "{path}");
        }
    }

    #[test]
    fn what_is_not_read_may_be_anything() {
        let text = format!(r#"{{"metadata": {}{}, "weight_map": {{"a": "s"}}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(read(text.as_bytes()).unwrap().shards, ["s"]);
    }

    #[test]
    fn every_truncation_is_an_error() {
        let text = br#"{"weight_map": {"b": "s2", "a": "s1"}}"#;
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_err(), "{end}");
        }
    }
}

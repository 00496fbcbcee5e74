//! `model.safetensors.index.json`: which shard holds which tensor.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::json::{self, JsonError};

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Not JSON, or a tensor is listed twice.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// No `weight_map` object.
    #[error("`weight_map`, an object from tensor names to file names, is missing")]
    NoWeightMap,
    /// A tensor without a file name.
    #[error("`weight_map`: tensor `{tensor}` has {found} where a file name belongs")]
    NotAFile {
        /// The tensor.
        tensor: String,
        /// What stands there.
        found: Value,
    },
    /// A shard outside the checkpoint's directory.
    #[error("`weight_map`: tensor `{tensor}` is in `{shard}`, and a shard is a file name in the index's own directory")]
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
    let root = json::parse(text)?;
    let Some(map) = root.get("weight_map").and_then(Value::as_object) else { return Err(IndexError::NoWeightMap) };
    let mut placed = Vec::with_capacity(map.len());
    for (tensor, shard) in map {
        let Value::String(shard) = shard else {
            return Err(IndexError::NotAFile { tensor: tensor.clone(), found: shard.clone() });
        };
        if !is_file_name(shard) {
            return Err(IndexError::Outside { tensor: tensor.clone(), shard: shard.clone() });
        }
        placed.push((tensor.clone(), shard));
    }
    let mut shards: Vec<String> = placed.iter().map(|(_, shard)| (*shard).clone()).collect();
    shards.sort_unstable();
    shards.dedup();
    let tensors = placed
        .into_iter()
        .map(|(tensor, shard)| (tensor, shards.binary_search(shard).expect("every shard was collected")))
        .collect();
    Ok(Index { shards, tensors })
}

/// True for a name that cannot lead out of a directory, on any system.
fn is_file_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', ':', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_sorted_and_listed_once() {
        let index = read(br#"{"metadata": {"total_size": 1}, "weight_map": {"b": "s2", "a": "s1", "c": "s1"}}"#).unwrap();
        assert_eq!(index.shards, ["s1", "s2"]);
        assert_eq!(index.tensors, [("a".into(), 0), ("b".into(), 1), ("c".into(), 0)].into());
    }

    #[test]
    fn what_is_not_an_index_is_refused() {
        let message = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(message("{}"), "`weight_map`, an object from tensor names to file names, is missing");
        assert_eq!(message(r#"{"weight_map": {"a": 1}}"#), "`weight_map`: tensor `a` has 1 where a file name belongs");
        assert!(message(r#"{"weight_map": {"a": "s1", "a": "s2"}}"#).starts_with("duplicate key `a`"));
        for path in ["../s", "/etc/s", "a/b", "..", "", "c:s", "a\\\\b"] {
            let text = format!(r#"{{"weight_map": {{"w": "{path}"}}}}"#);
            assert!(message(&text).contains("tensor `w`"), "{path}");
        }
    }

    #[test]
    fn every_truncation_is_an_error() {
        let text = br#"{"weight_map": {"b": "s2", "a": "s1"}}"#;
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_err(), "{end}");
        }
    }
}

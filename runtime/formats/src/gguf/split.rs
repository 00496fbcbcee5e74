//! GGUF files that are one of several: which part a file is, what the others are called, and all of them as one.
//!
//! As llama.cpp's `gguf-split` writes them: the first part holds the metadata, each part a part of the tensors, and three keys say
//! which part it is of how many, and how many tensors all of them hold.

use std::collections::HashMap;

use super::{ALIGNMENT_KEY, Gguf, Value};
use crate::shown::shown;

const NO: &str = "split.no";
const COUNT: &str = "split.count";
const TENSORS: &str = "split.tensors.count";

/// What a file says about the split that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Which part it is, from 0.
    pub no: u64,
    /// How many parts there are, at least 2.
    pub count: u64,
    /// How many tensors all parts hold.
    pub tensors: u64,
}

/// Why a file is no part of the split that its first part announces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// A key that is there and no number.
    #[error("metadata `{key}` is {}, and it must be a count", shown(found))]
    NoCount {
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
    },
    /// A key that a part must have.
    #[error("metadata `{key}` is missing, and a part of a split file has it")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A number that says something else than the first part.
    #[error(
        "metadata `{key}` is {found}, and for part {part} it must be {wanted}: the file belongs to another model, or was renamed"
    )]
    Different {
        /// The key.
        key: &'static str,
        /// Which part, from 1.
        part: u64,
        /// Its value.
        found: u64,
        /// What the first part makes it.
        wanted: u64,
    },
    /// Metadata that is not that of the first part.
    #[error("metadata `{}` is not what it is in the first part: the file belongs to another model", shown(key))]
    Metadata {
        /// The key.
        key: String,
    },
    /// A tensor that an earlier part holds.
    #[error("tensor `{}` is a duplicate: part {other} holds it too", shown(name))]
    DuplicateTensor {
        /// The name.
        name: String,
        /// The earlier part, from 1.
        other: usize,
    },
    /// Too many tensors, or too few.
    #[error("metadata `split.tensors.count` is {wanted}, and there are {found} tensors: a part belongs to another model")]
    Total {
        /// Tensors that are there.
        found: usize,
        /// Tensors that should be.
        wanted: u64,
    },
}

impl Gguf {
    /// Which part of a split this file is; `None` for a file that is whole.
    ///
    /// # Errors
    /// When the keys are there in part, or contradict each other or the file.
    pub fn split(&self) -> Result<Option<Split>, SplitError> {
        let (no, count, tensors) = (self.number(NO)?, self.number(COUNT)?, self.number(TENSORS)?);
        let Some(count) = count else { return Ok(None) };
        if count < 2 {
            // 0 is what merging leaves behind.
            return match tensors {
                Some(wanted) if wanted != self.tensors.len() as u64 => {
                    Err(SplitError::Total { found: self.tensors.len(), wanted })
                }
                _ => Ok(None),
            };
        }
        let no = no.ok_or(SplitError::Missing { key: NO })?;
        let tensors = tensors.ok_or(SplitError::Missing { key: TENSORS })?;
        Ok(Some(Split { no, count, tensors }))
    }

    fn number(&self, key: &'static str) -> Result<Option<u64>, SplitError> {
        let Some(value) = self.metadata.get(key) else { return Ok(None) };
        match value.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err(SplitError::NoCount { key, found: value.brief() }),
        }
    }
}

/// Checks that `part` is part `no` (from 0) of the split that begins with `first`.
///
/// A part of another model with the same number of parts and tensors, and without metadata, cannot be told apart here; its
/// tensors are then compared with the plan like all others.
///
/// # Errors
/// When it is not, and in which way.
pub fn check_part(first: &Gguf, split: Split, part: &Gguf, no: u64) -> Result<(), SplitError> {
    for (key, wanted) in [(NO, no), (COUNT, split.count), (TENSORS, split.tensors)] {
        let found = part.number(key)?.ok_or(SplitError::Missing { key })?;
        if found != wanted {
            return Err(SplitError::Different { key, part: no + 1, found, wanted });
        }
    }
    let is_own = |key: &str| key == NO || key == ALIGNMENT_KEY;
    let differs = |(key, value): &(&String, &Value)| !is_own(key) && first.metadata.get(*key) != Some(value);
    match part.metadata.iter().find(differs) {
        Some((key, _)) => Err(SplitError::Metadata { key: key.clone() }),
        None => Ok(()),
    }
}

/// All parts as one: the metadata of the first, and the tensors of all, by name. [`TensorEntry::file`](crate::TensorEntry::file) is
/// the number of the part.
///
/// # Errors
/// With the number of a part (from 0) when it holds what an earlier one does, and of the first when the total is another one.
///
/// # Panics
/// Without parts.
pub fn join(parts: Vec<Gguf>, split: Split) -> Result<Gguf, (usize, SplitError)> {
    let mut parts = parts.into_iter().enumerate();
    let (_, mut whole) = parts.next().expect("a split has parts");
    for (no, part) in parts {
        whole.tensors.extend(part.tensors.into_iter().map(|tensor| crate::TensorEntry { file: no, ..tensor }));
    }
    let mut holders = HashMap::with_capacity(whole.tensors.len());
    for tensor in &whole.tensors {
        if let Some(other) = holders.insert(tensor.name.as_str(), tensor.file) {
            return Err((tensor.file, SplitError::DuplicateTensor { name: tensor.name.clone(), other: other + 1 }));
        }
    }
    let found = whole.tensors.len();
    if found as u64 != split.tensors {
        return Err((0, SplitError::Total { found, wanted: split.tensors }));
    }
    whole.tensors.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(whole)
}

/// The name of a part's file: `model-00002-of-00003.gguf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartName<'a> {
    /// What stands before the numbers.
    pub prefix: &'a str,
    /// Which part it is, from 0.
    pub no: u64,
    /// How many parts there are.
    pub count: u64,
    /// What stands behind the numbers.
    pub extension: &'a str,
}

impl<'a> PartName<'a> {
    /// Takes a file name apart; `None` for one that is not a part's.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (stem, extension) = name.split_at_checked(name.len().checked_sub(".gguf".len())?)?;
        let (rest, count) = stem.rsplit_once("-of-")?;
        let (prefix, number) = rest.rsplit_once('-')?;
        let parsed = Self { prefix, no: number.parse::<u64>().ok()?.checked_sub(1)?, count: count.parse().ok()?, extension };
        // Only as the numbers are written by `of`, so that the names of the other parts are theirs.
        let is_one = extension.eq_ignore_ascii_case(".gguf") && parsed.no < parsed.count && parsed.of(parsed.no) == name;
        is_one.then_some(parsed)
    }

    /// The name of part `no`, from 0.
    pub fn of(&self, no: u64) -> String {
        let Self { prefix, count, extension, .. } = self;
        format!("{prefix}-{:05}-of-{count:05}{extension}", no + 1)
    }

    /// True for names of one split.
    pub fn is_beside(&self, other: &Self) -> bool {
        (self.prefix, self.count, self.extension) == (other.prefix, other.count, other.extension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{self, Tensor};

    /// Part `no` of two: `metadata` and one tensor.
    fn part(no: u16, metadata: &[(&str, Value)], tensor: &str) -> Gguf {
        let mut all = vec![(NO, Value::U16(no)), (COUNT, Value::U16(2)), (TENSORS, Value::I32(2))];
        for (key, value) in metadata {
            all.retain(|(k, _)| k != key);
            all.push((key, value.clone()));
        }
        Gguf::read(&write::gguf(&all, &[Tensor::f32(tensor, &[1], &[0.0])])).unwrap()
    }

    fn first() -> Gguf {
        part(0, &[("general.architecture", Value::String("llama".into()))], "b")
    }

    const SPLIT: Split = Split { no: 0, count: 2, tensors: 2 };

    #[test]
    fn parts_become_one() {
        let (first, second) = (first(), part(1, &[], "a"));
        assert_eq!(first.split(), Ok(Some(SPLIT)));
        assert_eq!(check_part(&first, SPLIT, &second, 1), Ok(()));
        let whole = join(vec![first.clone(), second], SPLIT).unwrap();
        assert_eq!(whole.metadata, first.metadata);
        let placed: Vec<_> = whole.tensors.iter().map(|t| (t.name.as_str(), t.file)).collect();
        assert_eq!(placed, [("a", 1), ("b", 0)]);
    }

    #[test]
    fn a_part_may_have_its_own_alignment() {
        let second = part(1, &[("general.alignment", Value::U32(64))], "a");
        assert_eq!(check_part(&first(), SPLIT, &second, 1), Ok(()));
    }

    #[test]
    fn parts_of_other_models() {
        let problem =
            |metadata: &[(&str, Value)]| check_part(&first(), SPLIT, &part(1, metadata, "a"), 1).unwrap_err().to_string();
        let ending = "the file belongs to another model, or was renamed";
        assert_eq!(problem(&[(NO, Value::U16(0))]), format!("metadata `split.no` is 0, and for part 2 it must be 1: {ending}"));
        assert_eq!(
            problem(&[(COUNT, Value::U16(3))]),
            format!("metadata `split.count` is 3, and for part 2 it must be 2: {ending}")
        );
        assert_eq!(
            problem(&[(TENSORS, Value::I32(9))]),
            format!("metadata `split.tensors.count` is 9, and for part 2 it must be 2: {ending}")
        );
        assert_eq!(
            problem(&[("general.architecture", Value::String("qwen3".into()))]),
            "metadata `general.architecture` is not what it is in the first part: the file belongs to another model"
        );
        assert!(problem(&[("qwen3.block_count", Value::U32(1))]).starts_with("metadata `qwen3.block_count` is not what"));
        let plain = Gguf::read(&write::gguf(&[], &[])).unwrap();
        let missing = check_part(&first(), SPLIT, &plain, 1).unwrap_err().to_string();
        assert_eq!(missing, "metadata `split.no` is missing, and a part of a split file has it");
    }

    #[test]
    fn totals() {
        let twice = join(vec![first(), part(1, &[], "b")], SPLIT).unwrap_err();
        assert_eq!((twice.0, twice.1.to_string().as_str()), (1, "tensor `b` is a duplicate: part 1 holds it too"));
        let total = join(vec![first()], SPLIT).unwrap_err().1.to_string();
        assert_eq!(total, "metadata `split.tensors.count` is 2, and there are 1 tensors: a part belongs to another model");
    }

    #[test]
    fn whole_files_may_have_the_keys() {
        let of = |count: Value, tensors: u32| part(0, &[(COUNT, count), (TENSORS, Value::U32(tensors))], "a").split();
        assert_eq!(of(Value::U16(0), 1), Ok(None));
        assert_eq!(of(Value::U16(1), 1), Ok(None));
        assert_eq!(of(Value::U16(0), 2), Err(SplitError::Total { found: 1, wanted: 2 }));
        let message = of(Value::String("x".repeat(10_000)), 1).unwrap_err().to_string();
        assert!(message.starts_with("metadata `split.count` is String(\"xxx") && message.len() < 400, "{message}");
        let message = of(Value::I32(-2), 1).unwrap_err().to_string();
        assert_eq!(message, "metadata `split.count` is I32(-2), and it must be a count");
        let huge = of(Value::U64(1 << 63), 1);
        assert_eq!(huge, Ok(Some(Split { no: 0, count: 1 << 63, tensors: 1 })));
    }

    #[test]
    fn names() {
        let name = PartName::parse("a-b-00001-of-00003.GGUF").unwrap();
        assert_eq!((name.prefix, name.no, name.count, name.of(2)), ("a-b", 0, 3, "a-b-00003-of-00003.GGUF".into()));
        assert_eq!(PartName::parse("m-100000-of-100001.gguf").unwrap().no, 99_999);
        for other in [
            "model.gguf",
            "m-1-of-3.gguf",
            "m-00000-of-00003.gguf",
            "m-00004-of-00003.gguf",
            "m-00001-of-00003.bin",
            "-of-.gguf",
            "m-+0001-of-00003.gguf",
            "m-000001-of-00003.gguf",
            "m-00001-of-18446744073709551616.gguf",
            "",
            "é.gguf",
            "aéguf",
        ] {
            assert_eq!(PartName::parse(other), None, "{other}");
        }
    }
}

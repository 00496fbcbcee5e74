//! The comparison of an open checkpoint with a plan, by the rules of [`tenon_formats::expect`]: every difference at once.

use tenon_formats::expect::tensors::stored::{self, MatrixNeed, Stored};
use tenon_formats::expect::tensors::{self, Need, TensorCheck};
use tenon_formats::expect::{self, ConfigContract};

use super::error::Mismatch;
use super::{Checkpoint, LoadError, StorageFormat};

/// Compares everything that the checkpoint says with everything that the plan needs.
pub(super) fn compare(
    checkpoint: &Checkpoint,
    tensors: &[TensorCheck<'_>],
    config: &ConfigContract<'_>,
) -> Result<(), LoadError> {
    let mut differences: Vec<String> = expect::compare(checkpoint.config(), config).iter().map(ToString::to_string).collect();
    differences.extend(tensors::compare(checkpoint.by_name(), tensors).iter().map(ToString::to_string));
    refuse(checkpoint, differences)
}

/// Compares one tensor, for a loader whose table does not list it.
pub(super) fn compare_one(checkpoint: &Checkpoint, name: &str, need: &Need<'_>) -> Result<(), LoadError> {
    let problems = tensors::compare_one(checkpoint.tensor(name), need);
    refuse(checkpoint, problems.into_iter().map(|problem| format!("{name}{problem}")).collect())
}

/// Compares the tensors of one matrix, and says how it is stored.
pub(super) fn compare_matrix(
    checkpoint: &Checkpoint,
    name: &str,
    need: &MatrixNeed,
    accept: &[StorageFormat],
) -> Result<Stored, LoadError> {
    let found = stored::find(checkpoint.by_name(), name, need, accept);
    refuse(checkpoint, found.differences.iter().map(|(ending, problem)| format!("{}{problem}", ending.of(name))).collect())?;
    Ok(found.stored.expect("a matrix without differences was found"))
}

fn refuse(checkpoint: &Checkpoint, differences: Vec<String>) -> Result<(), LoadError> {
    if differences.is_empty() {
        return Ok(());
    }
    Err(LoadError::Mismatch(Mismatch { path: checkpoint.path().to_owned(), differences }))
}

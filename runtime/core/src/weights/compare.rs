//! The comparison of an open checkpoint with a plan, by the rules of [`tenon_formats::expect`]: every difference at once.

use std::collections::BTreeSet;

use tenon_formats::expect::tensors::stored::{self, MatrixNeed, Stored};
use tenon_formats::expect::tensors::{self, Need, TensorCheck};
use tenon_formats::expect::{self, ConfigContract};

use super::error::Mismatch;
use super::{Checkpoint, LoadError, PlannedTensor, StorageFormat};

/// Compares everything that the checkpoint says with everything that the plan needs.
pub(super) fn compare(checkpoint: &Checkpoint, tensors: &[PlannedTensor], config: &ConfigContract<'_>) -> Result<(), LoadError> {
    let config = expect::compare(checkpoint.config(), config);
    let checks: Vec<TensorCheck<'_>> = tensors.iter().filter_map(PlannedTensor::compared).collect();
    let tensors = tensors::compare(checkpoint.by_name(), &checks);
    let of_config = config.iter().map(|difference| (difference.id(), difference.to_string()));
    let of_tensors = tensors.iter().map(|difference| (difference.problem.id(), difference.to_string()));
    refuse(checkpoint, of_config.chain(of_tensors))
}

/// Compares one tensor, for a loader whose table does not list it.
pub(super) fn compare_one(checkpoint: &Checkpoint, name: &str, need: &Need<'_>) -> Result<(), LoadError> {
    let problems = tensors::compare_one(checkpoint.tensor(name), need);
    refuse(checkpoint, problems.iter().map(|problem| (problem.id(), format!("{name}{problem}"))))
}

/// Compares the tensors of one matrix, and says how it is stored.
pub(super) fn compare_matrix(
    checkpoint: &Checkpoint,
    name: &str,
    need: &MatrixNeed,
    accept: &[StorageFormat],
) -> Result<Stored, LoadError> {
    let found = stored::find(checkpoint.by_name(), name, need, accept);
    let difference = |(ending, problem): &stored::Difference| (problem.id(), format!("{}{problem}", ending.of(name)));
    refuse(checkpoint, found.differences.iter().map(difference))?;
    Ok(found.stored.expect("a matrix without differences was found"))
}

/// Refuses a checkpoint with differences, each with the id of its page.
fn refuse(checkpoint: &Checkpoint, found: impl Iterator<Item = (&'static str, String)>) -> Result<(), LoadError> {
    let (ids, differences): (BTreeSet<&'static str>, Vec<String>) = found.unzip();
    if differences.is_empty() {
        return Ok(());
    }
    let ids = ids.into_iter().collect();
    Err(LoadError::Mismatch(Mismatch { path: checkpoint.path().to_owned(), differences, ids }))
}

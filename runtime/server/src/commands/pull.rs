//! `pull`: fetches the weights of a model.

use tenon_core::model::ModelEntry;

use crate::cli::PullArgs;
use crate::home::Home;
use crate::{Failure, load, pull};

/// Tries the sources of the spec in order, or the one that a flag names.
pub fn run(args: &PullArgs, models: &[&'static ModelEntry]) -> Result<(), Failure> {
    let info = load::entry(models, &args.name)?.info;
    pull::pull(info, args.source, &Home::find()?)
}

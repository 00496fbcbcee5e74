//! Which part of Tenon reports an id, and the text that it prints for a case.

use tenon_compiler::diagnostic::{Format, Id};

use crate::case::{Case, check};
use crate::{frozen, load};

/// Who reports a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// `tenon check`: the compiler, from specs and templates.
    Check,
    /// `tenon build --frozen`: the compiler, from what it emits and what is there.
    Frozen,
    /// The runtime, from a compiled model and a checkpoint.
    Load,
}

impl Stage {
    /// Of an id.
    pub fn of(id: Id) -> Self {
        match id {
            Id::GeneratedStale => Self::Frozen,
            Id::CheckpointMismatch | Id::ConfigKeyUnbound => Self::Load,
            _ => Self::Check,
        }
    }
}

/// The case's own id is among those reported, and the text is that of `expected.txt`.
pub fn run(case: &Case) -> Result<(), String> {
    let text = match Stage::of(case.id) {
        Stage::Check => {
            let sources = case.files().sources();
            let found = check(&sources);
            let text = found.render(&sources, Format::Human, false);
            if !found.sorted().iter().any(|d| d.id == case.id) {
                return Err(format!("{} is not reported\n{text}", case.id));
            }
            text
        }
        Stage::Frozen => frozen::text(case)?,
        Stage::Load => load::text(case)?,
    };
    case.compare(&text)
}

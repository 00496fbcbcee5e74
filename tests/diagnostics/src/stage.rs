//! Which part of Tenon reports an id.

use tenon_compiler::diagnostic::Id;

/// Who reports a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// `tenon check`: the compiler, from specs and templates.
    Check,
    /// `tenon build`: the compiler, from models that have no other error.
    Build,
    /// `tenon build --frozen`: the compiler, from what it emits and what is there.
    Frozen,
    /// A command that deploys a model, `tenon plan` or `tenon-server serve`: from its spec and the flags.
    Deploy,
    /// `tenon check --checkpoint`, and the runtime when it loads the checkpoint: `loading_cases` of the package of the goldens.
    Load,
}

impl Stage {
    /// Of an id; where it is found in a checkpoint too, the case says so, see [`Case::stage`](crate::case::Case::stage).
    pub fn of(id: Id) -> Self {
        match id {
            Id::TargetNotEmitted => Self::Build,
            Id::GeneratedStale => Self::Frozen,
            Id::MemoryDoesNotFit | Id::OverrideRefused => Self::Deploy,
            Id::CheckpointMismatch | Id::ConfigKeyUnbound => Self::Load,
            _ => Self::Check,
        }
    }
}

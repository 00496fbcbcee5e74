//! Checkpoints: mapped files, what a plan needs of them, and loading only what fits.
//!
//! [`Checkpoint::open`] reads headers and config, [`Loader::new`] compares all of it with the generated tables and refuses with
//! every difference at once, and only then are weights packed.

mod checkpoint;
mod compare;
mod error;
mod experts;
mod files;
mod finite;
mod held;
mod load_matrix;
mod loader;
mod spec;

pub use tenon_formats::expect::tensors::{GatedExpertNames, PlainExpertNames};
pub use tenon_formats::expect::{ConfigContract, ConfigKey, Expected, IgnoredKey};
pub use tenon_formats::{CanonicalConfig, Gguf, StorageFormat, TensorEntry, TensorFormat};

pub use self::checkpoint::{Checkpoint, CheckpointKind, MappedTensor};
pub use self::error::LoadError;
pub use self::experts::{GatedExpertsSpec, PlainExpertsSpec};
pub use self::finite::NotFinite;
pub use self::held::CheckpointNeeds;
#[cfg(feature = "cuda")]
pub(crate) use self::load_matrix::{ExpertMatrix, ExpertRole};
pub use self::loader::Loader;
#[cfg(feature = "cuda")]
pub(crate) use self::loader::unpackable;
pub use self::spec::{
    BiasSpec, ConvSpec, DecaySpec, EmbeddingSpec, LatentUpSpec, LinearSpec, NormSpec, PlannedTensor, VectorSpec,
};
pub use crate::linear::{RowOrder, Segment};

#[cfg(test)]
mod tests;

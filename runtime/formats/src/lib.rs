//! What model files say: safetensors and GGUF headers, configs, storage formats, chat templates, tool formats. Pure functions over bytes; no IO.
//!
//! Every reader treats its input as hostile: counts and offsets are checked before they are used, nothing is allocated on the
//! word of a length field, and what contradicts the format is an error that names the tensor or key.

#[cfg(feature = "chat")]
pub mod chat;
pub mod config;
pub mod expect;
pub mod gguf;
pub mod index;
pub mod json;
pub mod memory;
pub mod overrides;
pub mod planes;
pub mod report;
pub mod safetensors;
pub mod shown;
pub mod storage;
pub mod tensor;
pub mod tools;
#[cfg(any(test, feature = "write"))]
pub mod write;

pub use config::{CanonicalConfig, ConfigValue, Origin};
pub use expect::{ConfigContract, ConfigKey, ConfigMismatch, Expected, IgnoredKey};
pub use gguf::Gguf;
pub use storage::StorageFormat;
pub use tensor::{TensorEntry, TensorFormat};

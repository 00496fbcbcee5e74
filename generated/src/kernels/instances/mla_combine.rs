//! Instances of `mla_combine`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// mistral-small-4, mistral-small-4-nvfp4.
pub const MLA_COMBINE_KLR256: Instance = instance!(
    "mla_combine_klr256", [number("kv_lora_rank", 256)], 0
);
/// deepseek-v3.
pub const MLA_COMBINE_KLR512: Instance = instance!(
    "mla_combine_klr512", [number("kv_lora_rank", 512)], 0
);
/// bard-mla.
pub const MLA_COMBINE_KLR64: Instance = instance!(
    "mla_combine_klr64", [number("kv_lora_rank", 64)], 0
);

//! Instances of `expert_tiles`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// mistral-small-4, mistral-small-4-nvfp4.
pub const EXPERT_TILES_E128: Instance = instance!(
    "expert_tiles_e128", [number("experts", 128)], 16384
);
/// deepseek-v3, qwen3.5-122b-a10b.
pub const EXPERT_TILES_E256: Instance = instance!(
    "expert_tiles_e256", [number("experts", 256)], 32768
);
/// gpt-oss-20b.
pub const EXPERT_TILES_E32: Instance = instance!(
    "expert_tiles_e32", [number("experts", 32)], 4096
);
/// bard-mla.
pub const EXPERT_TILES_E4: Instance = instance!(
    "expert_tiles_e4", [number("experts", 4)], 512
);
/// nemotron-3-super-120b-a12b.
pub const EXPERT_TILES_E512: Instance = instance!(
    "expert_tiles_e512", [number("experts", 512)], 65536
);

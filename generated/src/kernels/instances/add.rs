//! Instances of `add`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const ADD: Instance = instance!("add", [], 0);

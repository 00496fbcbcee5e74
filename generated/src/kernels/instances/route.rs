//! Instances of `route`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// mistral-small-4, mistral-small-4-nvfp4.
pub const ROUTE_E128: Instance = instance!("route_e128", [number("experts", 128)], 0);
/// deepseek-v3, qwen3.5-122b-a10b.
pub const ROUTE_E256: Instance = instance!("route_e256", [number("experts", 256)], 0);
/// gpt-oss-20b.
pub const ROUTE_E32: Instance = instance!("route_e32", [number("experts", 32)], 0);
/// bard-mla.
pub const ROUTE_E4: Instance = instance!("route_e4", [number("experts", 4)], 0);
/// nemotron-3-super-120b-a12b.
pub const ROUTE_E512: Instance = instance!("route_e512", [number("experts", 512)], 0);

//! Instances of `mamba2_scan`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// nemotron-3-super-120b-a12b.
pub const MAMBA2_SCAN_HD64_S128_C64: Instance = instance!(
    "mamba2_scan_hd64_s128_c64", [number("head_dim", 64), number("state", 128),
    number("chunk", 64)], 178176
);

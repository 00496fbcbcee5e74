//! The harness of the goldens: models compiled from `tests/golden/`, their references, and errors as NUMERICS.md defines them.

pub mod contract;
pub mod pairwise;
pub mod reference;
pub mod run;
pub mod weights;

/// The golden models, compiled by this crate's build script.
#[allow(missing_docs, reason = "generated")]
#[rustfmt::skip]
pub mod golden {
    include!(concat!(env!("OUT_DIR"), "/golden.rs"));
}

//! What runs on a GPU: every kernel instance against a sequential reference in double precision, and its speed.

pub mod cpu;
pub mod goals;
pub mod goldens;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod instance;
pub mod judge;
#[cfg(feature = "cuda")]
pub mod launch;
#[cfg(feature = "cuda")]
pub mod launched;
pub mod launches;
pub mod mutants;
mod parallel;
pub mod report;
pub mod results;
pub mod sanitize;
pub mod table;
pub mod template;

pub use parallel::part;

/// The reference of one template.
#[derive(Clone, Copy)]
pub struct Reference {
    /// The folder under `kernel-templates/`.
    pub template: &'static str,
    /// Inputs, and what must come out.
    pub cases: fn(&tenon_device_cases::Params) -> Vec<tenon_device_cases::Case>,
    /// Sizes at which the speed is stated.
    pub bench: fn(&tenon_device_cases::Params) -> Vec<tenon_device_cases::Bench>,
}

#[allow(clippy::duplicate_mod, reason = "references of kernels that belong together share their arithmetic")]
mod references {
    use super::Reference;
    include!(concat!(env!("OUT_DIR"), "/references.rs"));
}
pub use references::REFERENCES;

//! Faults that are put into kernels: the cases of a template are as good as the faults that they catch.
//!
//! Written mutants stand in the `mutants.toml` of a template; automatic ones are made of its text. Each is compiled in a folder of its
//! own and run in a process of its own, which is this binary again. Nothing is edited in place.

mod automatic;
mod build;
mod change;
mod choose;
#[cfg(feature = "cuda")]
mod device;
mod harness;
mod process;
mod report;
mod self_test;
mod verdict;
mod written;

use std::path::PathBuf;

pub use automatic::automatic;
pub use change::{Change, Mutant, Origin};
pub use choose::choose;
#[cfg(feature = "cuda")]
pub use device::child;
pub use harness::mutants;
pub use verdict::{How, Verdict};
pub use written::written;

/// What `mutants` is asked for.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// The folder of the templates.
    #[arg(long, default_value = "kernel-templates")]
    pub templates: PathBuf,
    /// The instances of which the smallest are mutated.
    #[arg(long, default_value = "tests/device/instances.toml")]
    pub instances: PathBuf,
    /// Only templates with these names.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// One of n equal parts of the templates, such as 1/4.
    #[arg(long)]
    pub shard: Option<String>,
    /// Where machine code is kept between runs.
    #[arg(long, default_value = "target/tenon-cubins")]
    pub cache: PathBuf,
    /// Where each mutant gets a folder. Those that are not caught are left there.
    #[arg(long, default_value = "target/tenon-mutants")]
    pub folder: PathBuf,
    /// Where the results go as JSON.
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Automatic mutants of a template, at most.
    #[arg(long, default_value_t = 12)]
    pub automatic: usize,
    /// Processes that share the device.
    #[arg(long, default_value_t = 4)]
    pub at_once: usize,
    /// Seconds on the device after which a mutant counts as caught.
    #[arg(long, default_value_t = 20.0)]
    pub timeout: f64,
    /// The share of automatic mutants that may survive.
    #[arg(long, default_value_t = 1.0)]
    pub survivors: f64,
    /// Compiles everything, and runs nothing: needs no device, and fills the cache.
    #[arg(long)]
    pub compile_only: bool,
}

/// What a process of one mutant is asked for.
#[derive(clap::Args, Clone, Debug)]
pub struct ChildOptions {
    /// The folder of the templates.
    #[arg(long)]
    pub templates: PathBuf,
    /// As of [`Options`].
    #[arg(long)]
    pub instances: PathBuf,
    /// Whose cases to run.
    #[arg(long)]
    pub template: String,
    /// Which instance it is.
    #[arg(long)]
    pub instance: String,
    /// Its machine code.
    #[arg(long)]
    pub cubin: PathBuf,
    /// Where the result goes as JSON.
    #[arg(long)]
    pub result: PathBuf,
    /// What its manifest says, where that is not what the parameters say.
    #[arg(long, value_delimiter = ',')]
    pub manifest: Vec<u32>,
    /// How often each case runs: a race does not show every time.
    #[arg(long, default_value_t = 1)]
    pub repeat: usize,
}

//! Faults that are put into kernels: the cases of a template are as good as the faults that they catch.
//!
//! Written mutants stand in the `mutants.toml` of a template; automatic ones are made of its text. Each is compiled in a folder of its
//! own, and nothing is edited in place. They run in processes beside this one, which are this binary again. To open a device takes longer
//! than to judge a mutant, so a process judges one after the other, under two rules: where a mutant is found to be wrong, the kernel as it is
//! must be right in the same process at once; and where a process that judged others before crashes, does not end, or has a kernel that is
//! wrong as it is, the mutant is judged again in a process of its own.

mod automatic;
mod build;
mod change;
mod choose;
#[cfg(feature = "cuda")]
mod device;
mod goldens;
mod harness;
mod parallel;
mod plan;
mod process;
mod report;
mod sanitize;
mod self_test;
mod verdict;
mod written;

use std::path::PathBuf;

pub use automatic::automatic;
pub use build::differs;
pub use change::{Change, Mutant, Origin};
pub use choose::choose;
#[cfg(feature = "cuda")]
pub use device::worker;
pub use harness::mutants;
pub use verdict::{Gate, How, Kill, Verdict};
pub use written::{Survivor, survivors, written};

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
    /// Where the results go as JSON, anew after each mutant.
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Automatic mutants of a template, at most.
    #[arg(long, default_value_t = 6)]
    pub automatic: usize,
    /// Processes that share the device.
    #[arg(long, default_value_t = 6)]
    pub at_once: usize,
    /// Seconds on the device after which a mutant counts as caught.
    #[arg(long, default_value_t = 10.0)]
    pub timeout: f64,
    /// Seconds after which no mutant is begun: those that are left fail.
    #[arg(long, default_value_t = f64::INFINITY)]
    pub seconds: f64,
    /// NVIDIA's compute-sanitizer.
    #[arg(long, default_value = "compute-sanitizer")]
    pub sanitizer: PathBuf,
    /// Compiles everything, and runs nothing: needs no device, and fills the cache.
    #[arg(long)]
    pub compile_only: bool,
}

/// What a process of mutants is asked for. Its tasks come line by line, as JSON.
#[derive(clap::Args, Clone, Debug)]
pub struct WorkerOptions {
    /// The folder of the templates.
    #[arg(long)]
    pub templates: PathBuf,
    /// As of [`Options`].
    #[arg(long)]
    pub instances: PathBuf,
    /// A sanitizer watches, and judges: the CPU's kernels are not asked.
    #[arg(long)]
    pub sanitized: bool,
}

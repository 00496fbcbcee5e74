//! Kernels under the tools of compute-sanitizer: the smallest instances of every template, in the release build and with assertions.
//!
//! The tools run processes of this binary, each over some instances. That the run would have seen a fault is shown by faults that are
//! planted in kernels and run in the same way: one that its tool does not report fails the run, and so does a tool under which fewer
//! kernels were launched than should have been.

#[cfg(any(test, feature = "cuda"))]
mod cases;
#[cfg(feature = "cuda")]
mod child;
mod harness;
mod log;
mod plan;
mod planted;
mod process;
mod report;
mod settings;
mod tool;

use std::path::PathBuf;

#[cfg(feature = "cuda")]
pub use child::child;
pub use harness::{sanitize, suite};
pub use tool::{Build, Tool};

/// Instances of a template that are run, where nothing else is said.
const MOST_INSTANCES: usize = 1;

/// What `sanitize` is asked for.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// The folder of the templates.
    #[arg(long, default_value = "kernel-templates")]
    pub templates: PathBuf,
    /// The instances of which the smallest are run.
    #[arg(long, default_value = "tests/device/instances.toml")]
    pub instances: PathBuf,
    /// What kernels read of their outputs, and the planted faults.
    #[arg(long, default_value = "tests/device/sanitize.toml")]
    pub settings: PathBuf,
    /// Only templates with these names.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// One of n equal parts of the templates, such as 1/4.
    #[arg(long)]
    pub shard: Option<String>,
    /// Only these tools.
    #[arg(long, value_delimiter = ',')]
    pub tools: Vec<Tool>,
    /// Instances of a template, at most: the smallest, and then those with values of parameters that are new.
    #[arg(long, default_value_t = MOST_INSTANCES)]
    pub most_instances: usize,
    /// Cases of an instance, at most: the smallest.
    #[arg(long, default_value_t = 3)]
    pub most_cases: usize,
    /// Where machine code is kept between runs.
    #[arg(long, default_value = "target/tenon-cubins")]
    pub cache: PathBuf,
    /// Where each process gets a folder. Those of failures are left there.
    #[arg(long, default_value = "target/tenon-sanitize")]
    pub folder: PathBuf,
    /// Where the results go as JSON.
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// The program.
    #[arg(long, default_value = "compute-sanitizer")]
    pub sanitizer: PathBuf,
    /// Instances of a process.
    #[arg(long, default_value_t = 13)]
    pub of_process: usize,
    /// Processes that share the device; as many as there are processors where it is not said.
    #[arg(long)]
    pub at_once: Option<usize>,
    /// Seconds after which a process is ended.
    #[arg(long, default_value_t = 120.0)]
    pub timeout: f64,
    /// Seconds after which no process starts, and none goes on: what has not run by then fails.
    #[arg(long)]
    pub seconds: Option<f64>,
    /// Compiles everything, and runs nothing: needs no device, and fills the cache.
    #[arg(long)]
    pub compile_only: bool,
}

/// What a process under a tool is asked for.
#[derive(clap::Args, Clone, Debug)]
pub struct ChildOptions {
    /// What to run.
    #[arg(long)]
    pub plan: PathBuf,
    /// Where the lines go.
    #[arg(long)]
    pub result: PathBuf,
    /// So many units of the plan were run before.
    #[arg(long, default_value_t = 0)]
    pub skip: usize,
}

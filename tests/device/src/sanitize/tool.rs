//! The tools of compute-sanitizer, and the builds that they look at.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// Accesses outside of allocations, and misaligned ones.
    Memcheck,
    /// Threads that touch the same shared memory without a barrier between them.
    Racecheck,
    /// Barriers that not all of their threads reach.
    Synccheck,
    /// Reads of device memory that nobody has written.
    Initcheck,
}

impl Tool {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Memcheck, Self::Racecheck, Self::Synccheck, Self::Initcheck];

    /// As the command line of compute-sanitizer has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Racecheck => "racecheck",
            Self::Synccheck => "synccheck",
            Self::Initcheck => "initcheck",
        }
    }

    /// What it is asked beside its name.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            // Allocations stand apart, so that what leaves one does not land in the next. Errors of the driver the process tells itself.
            Self::Memcheck => &["--padding", "65536", "--report-api-errors", "no"],
            // Warnings too: a hazard between threads of a warp is one, and no kernel here counts on warps running in step.
            Self::Racecheck => {
                &["--racecheck-report", "analysis", "--racecheck-detect-level", "warn", "--racecheck-num-workers", "2"]
            }
            Self::Synccheck => &[],
            // What the host reads back may have been left as it was.
            Self::Initcheck => &["--check-api-memory-access", "no"],
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How an instance is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Build {
    /// As models have it.
    Release,
    /// With the assertions of `include/contract.cuh`.
    DeviceAsserts,
}

impl Build {
    /// Both, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Release, Self::DeviceAsserts];

    /// As reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::DeviceAsserts => "device-asserts",
        }
    }

    /// What nvcc is given.
    pub fn defines(self) -> &'static [&'static str] {
        match self {
            Self::Release => &[],
            Self::DeviceAsserts => &["TENON_DEVICE_ASSERTS"],
        }
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

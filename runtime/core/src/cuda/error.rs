//! `CudaError`: what a device refused, and which call said so.

/// What a device, its driver or its libraries refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CudaError {
    /// No driver.
    #[error("this machine has no CUDA driver: libcuda was not found")]
    NoDriver,
    /// A library of CUDA that is not installed.
    #[error("{library} was not found: install CUDA's libraries of version 13, or add their folder to LD_LIBRARY_PATH")]
    NoLibrary {
        /// Its name.
        library: &'static str,
    },
    /// The driver is older than what the kernels were compiled with.
    #[error("the driver is for CUDA {}, and the kernels were compiled for {}: update the driver", version(*found), version(*needed))]
    Driver {
        /// As the driver counts: 13000 is 13.0.
        found: i32,
        /// What is needed.
        needed: i32,
    },
    /// No such device.
    #[error("there is no device {ordinal}: this machine has {count}")]
    NoDevice {
        /// What was asked for.
        ordinal: usize,
        /// What there is.
        count: usize,
    },
    /// A device of another architecture than the kernels'.
    #[error("the kernels were compiled for {target}, and {device} is of compute capability {}.{}", capability.0, capability.1)]
    Target {
        /// What the kernels are for.
        target: &'static str,
        /// The name of the device.
        device: String,
        /// Its compute capability.
        capability: (u32, u32),
    },
    /// A call of the driver that failed.
    #[error("{call}: {name} ({code}): {text}")]
    Call {
        /// The function.
        call: &'static str,
        /// What it returned.
        code: u32,
        /// The name of that.
        name: String,
        /// What the driver says about it.
        text: String,
    },
    /// A call of cuBLASLt that failed.
    #[error("{call}: {status}")]
    Gemm {
        /// The function.
        call: &'static str,
        /// What it returned.
        status: String,
    },
    /// cuBLASLt has no way to compute a product.
    #[error("cuBLASLt has no algorithm for a product of [{rows}, {inputs}] by [{outputs}, {inputs}] within its workspace")]
    NoAlgorithm {
        /// Rows of activations.
        rows: usize,
        /// Rows of the weight.
        outputs: usize,
        /// Elements of a row.
        inputs: usize,
    },
    /// The memory does not suffice.
    #[error("the device has no room for {asked} bytes: {free} of {total} are free")]
    OutOfMemory {
        /// Bytes asked for.
        asked: usize,
        /// Free bytes.
        free: usize,
        /// All bytes.
        total: usize,
    },
    /// An instance that is not the one that the plan was compiled with.
    #[error("kernel {instance}: {problem}: the compiled kernels and the plan are of different builds; build again")]
    Manifest {
        /// The instance.
        instance: String,
        /// In what way they differ.
        problem: String,
    },
    /// More shared memory than a block can have.
    #[error("kernel {instance} asks for {asked} bytes of shared memory per block, and the device has {limit}")]
    SharedMemory {
        /// The instance.
        instance: String,
        /// What it asks for.
        asked: usize,
        /// What there is.
        limit: usize,
    },
    /// A launch that the device cannot make.
    #[error("kernel {instance}: {problem}")]
    Launch {
        /// The instance.
        instance: String,
        /// What is wrong.
        problem: String,
    },
    /// A kernel that was compiled without a counter of its launches.
    #[error("kernel {instance} does not count its launches: build with the feature count-launches")]
    NotCounted {
        /// The instance.
        instance: String,
    },
    /// A kernel of which the device has no module.
    #[error("kernel {instance} is not loaded on this device")]
    NotLoaded {
        /// The instance.
        instance: String,
    },
    /// A value that a kernel met and that breaks a contract.
    #[error("the step met {}: its results are not used, and caches that it wrote may be wrong", broken(*bits))]
    Contract {
        /// The error word.
        bits: u32,
    },
}

/// What the bits of the error word mean, in the order of `step.cuh`.
const BROKEN: [&str; 7] = [
    "a token id outside the vocabulary",
    "a page outside the cache",
    "a state slot outside the pool",
    "a row outside the step",
    "an expert that does not exist",
    "a number that is not finite",
    "a rate of decay that is not below 0",
];

fn broken(bits: u32) -> String {
    let known = BROKEN.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, what)| (*what).to_owned());
    let unknown = bits >> BROKEN.len() << BROKEN.len();
    let unknown = (unknown != 0).then(|| format!("unknown bits {unknown:#x}"));
    known.chain(unknown).collect::<Vec<_>>().join(", ")
}

fn version(number: i32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_is_wrong() {
        let error = CudaError::Driver { found: 12_080, needed: 13_000 };
        assert_eq!(error.to_string(), "the driver is for CUDA 12.8, and the kernels were compiled for 13.0: update the driver");
        let error = CudaError::Contract { bits: 0b10_0010 };
        assert_eq!(
            error.to_string(),
            "the step met a page outside the cache, a number that is not finite: its results are not used, and caches that it \
             wrote may be wrong"
        );
        assert_eq!(broken(0x81), "a token id outside the vocabulary, unknown bits 0x80");
    }
}

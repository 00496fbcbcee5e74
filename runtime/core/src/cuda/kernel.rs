//! `Kernel`: an instance that is loaded, and how it is launched.

use std::sync::Arc;

use super::driver::{Argument, Function, LaunchShape};
use super::manifest::{self, Parameter};
use super::{Arg, CudaError, Device};

/// An instance as it was compiled: generated code has one for each that its plan launches.
#[derive(Clone, Copy)]
pub struct Instance {
    /// Its name, which is that of its entry.
    pub name: &'static str,
    /// The compiled code.
    pub cubin: &'static [u8],
    /// What the plan has for its parameters, in the order of TEMPLATE.toml.
    pub manifest: &'static [Parameter],
    /// Most bytes of dynamic shared memory that a launch of the plan asks for.
    pub shared_bytes: usize,
}

impl Instance {
    /// Compares the numbers that were compiled into it with the plan's. Loading does so.
    ///
    /// # Errors
    /// The first that differs, with its parameter and both.
    pub fn compare(&self, compiled: &[u32]) -> Result<(), CudaError> {
        manifest::compare(self.name, self.manifest, compiled)
    }
}

/// An [`Instance`] by its name, the parameters that the plan has for it, and bytes of shared memory: `instance!("rms_norm_f32_d576",
/// [name("x_dtype", "f32"), number("dim", 576)], 0)`. The build script of the crate has put its machine code into `OUT_DIR/sm_90a/`.
#[macro_export]
macro_rules! instance {
    ($name:literal, [$($kind:ident($param:literal, $value:literal)),*], $shared_bytes:literal) => {
        $crate::cuda::Instance {
            name: $name,
            cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/", $name, ".cubin")),
            manifest: &[$($crate::cuda::Parameter::$kind($param, $value)),*],
            shared_bytes: $shared_bytes,
        }
    };
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Instance({}, {} bytes)", self.name, self.cubin.len())
    }
}

/// How often and with what a kernel runs.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Blocks in each direction. Where one is 0 there is nothing to do, and nothing is launched.
    pub grid: [usize; 3],
    /// Threads of a block in each direction.
    pub block: [usize; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: usize,
    /// Its blocks may start before the kernel before it has ended: it waits for that itself.
    pub overlaps: bool,
}

/// A kernel on a device.
pub struct Kernel {
    name: &'static str,
    shared_bytes: usize,
    function: Function,
}

impl Kernel {
    /// Loads an instance, and compares what it was compiled for with the plan.
    ///
    /// # Errors
    /// When the device cannot run it, or it is not what the plan says.
    pub fn load(device: &Arc<Device>, instance: &Instance) -> Result<Self, CudaError> {
        let Instance { name, cubin, shared_bytes, .. } = *instance;
        let limit = device.shared_memory();
        if shared_bytes > limit {
            return Err(CudaError::SharedMemory { instance: name.to_owned(), asked: shared_bytes, limit });
        }
        let [manifest, counter] = ["manifest", "launches"].map(|what| format!("{name}_{what}"));
        let (function, compiled) = Function::load(device.context(), cubin, name, &manifest, &counter)?;
        instance.compare(&compiled)?;
        function.allow_shared(shared_bytes as u32)?;
        Ok(Self { name, shared_bytes, function })
    }

    /// The name of the instance.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Launches the kernel after everything that was launched before.
    ///
    /// What its arguments mean is between the caller and the kernel: generated wrappers and the instance come from one TEMPLATE.toml.
    /// Number and sizes are compared with what the compiled kernel says of its parameters.
    ///
    /// # Errors
    /// When the arguments are not those of the kernel, the launch is larger than a device allows, or the device refuses.
    pub fn launch(&self, launch: Launch, args: &[Arg<'_>]) -> Result<(), CudaError> {
        let refuse = |problem| CudaError::Launch { instance: self.name.to_owned(), problem };
        fits(self.function.parameters(), args).map_err(refuse)?;
        let Some(shape) = shape(launch, self.shared_bytes).map_err(refuse)? else { return Ok(()) };
        let mut values = [Argument::null(); MOST_ARGS];
        for (value, arg) in values.iter_mut().zip(args) {
            *value = arg.value();
        }
        self.function.launch(shape, &mut values[..args.len()])
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel({})", self.name)
    }
}

/// More than any template has.
const MOST_ARGS: usize = 48;

/// Compares arguments with the sizes of a kernel's parameters.
fn fits(parameters: &[usize], args: &[Arg<'_>]) -> Result<(), String> {
    if args.len() != parameters.len() || args.len() > MOST_ARGS {
        return Err(format!("{} arguments for {} parameters", args.len(), parameters.len()));
    }
    for (index, (&bytes, arg)) in parameters.iter().zip(args).enumerate() {
        if arg.bytes() != bytes {
            return Err(format!("argument {index} has {} bytes, and the parameter {bytes}", arg.bytes()));
        }
    }
    Ok(())
}

/// The launch in the device's numbers; `None` where there is nothing to launch.
fn shape(launch: Launch, most_shared: usize) -> Result<Option<LaunchShape>, String> {
    const MOST_BLOCKS: [usize; 3] = [(1 << 31) - 1, 65_535, 65_535];
    const MOST_THREADS: usize = 1024;
    let Launch { grid, block, shared_bytes, overlaps } = launch;
    if grid.contains(&0) {
        return Ok(None);
    }
    if grid.iter().zip(MOST_BLOCKS).any(|(&blocks, most)| blocks > most) {
        return Err(format!("a grid of {grid:?} blocks is larger than {MOST_BLOCKS:?}"));
    }
    let threads = block.iter().try_fold(1usize, |all, &threads| all.checked_mul(threads)).unwrap_or(usize::MAX);
    if threads == 0 || threads > MOST_THREADS || block[2] > 64 {
        return Err(format!("a block of {block:?} threads is empty or larger than {MOST_THREADS}"));
    }
    if shared_bytes > most_shared {
        return Err(format!("{shared_bytes} bytes of shared memory, and it was loaded for {most_shared}"));
    }
    let small = |numbers: [usize; 3]| numbers.map(|n| n as u32);
    Ok(Some(LaunchShape { grid: small(grid), block: small(block), shared_bytes: shared_bytes as u32, overlaps }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAUNCH: Launch = Launch { grid: [7, 2, 1], block: [256, 1, 1], shared_bytes: 1024, overlaps: true };

    #[test]
    fn a_launch_is_checked_against_the_device() {
        let some = shape(LAUNCH, 1024).unwrap().unwrap();
        assert_eq!((some.grid, some.block, some.shared_bytes, some.overlaps), ([7, 2, 1], [256, 1, 1], 1024, true));
        assert!(shape(Launch { grid: [7, 0, 1], ..LAUNCH }, 1024).unwrap().is_none(), "nothing to do");
        let error = |launch| shape(launch, 1024).unwrap_err();
        assert_eq!(
            error(Launch { grid: [1, 65_536, 1], ..LAUNCH }),
            "a grid of [1, 65536, 1] blocks is larger than [2147483647, 65535, 65535]"
        );
        assert_eq!(error(Launch { block: [512, 4, 1], ..LAUNCH }), "a block of [512, 4, 1] threads is empty or larger than 1024");
        assert_eq!(error(Launch { block: [0, 1, 1], ..LAUNCH }), "a block of [0, 1, 1] threads is empty or larger than 1024");
        assert_eq!(error(Launch { shared_bytes: 1025, ..LAUNCH }), "1025 bytes of shared memory, and it was loaded for 1024");
    }

    #[test]
    fn arguments_have_the_sizes_of_the_parameters() {
        let args = [Arg::null(), Arg::int(1), Arg::float(1.0)];
        assert_eq!(fits(&[8, 4, 4], &args), Ok(()));
        assert_eq!(fits(&[8, 4], &args), Err("3 arguments for 2 parameters".to_owned()));
        assert_eq!(fits(&[8, 8, 4], &args), Err("argument 1 has 4 bytes, and the parameter 8".to_owned()));
    }
}

//! Where a model runs: on the CPU, or on a GPU where the program was built for one.

use std::sync::Arc;

#[cfg(feature = "cuda")]
use tenon_core::cuda::Device;
use tenon_core::dtype::KvDtypeName;
#[cfg(feature = "cuda")]
use tenon_core::memory::KvNeed;
use tenon_core::memory::{Budget, Needs, Settings, machine};
#[cfg(feature = "cuda")]
use tenon_core::model::OnDevice;
use tenon_core::model::{Load, LoadOptions, Model, ModelEntry};
use tenon_core::weights::{Checkpoint, LoadError};

use crate::Failure;
use crate::cli::{LoadArgs, Target};

/// Tokens of a prompt per step on a GPU: enough rows that matrix products are bound by arithmetic.
#[cfg(feature = "cuda")]
const DEVICE_CHUNK: u64 = 2048;

/// Where a model runs.
#[derive(Clone, Debug)]
pub enum Place {
    /// On this machine's processors, with what kept a program that was built for a GPU, too, from taking one.
    Cpu(Load, Option<String>),
    /// On a GPU.
    #[cfg(feature = "cuda")]
    Device(OnDevice, Arc<Device>),
}

impl Place {
    /// What flags ask for. Without `--target`, a GPU where there is one that this program and the model were compiled for.
    ///
    /// # Errors
    /// A target for which the program or the model was not compiled, and a GPU that is not there.
    pub fn choose(entry: &ModelEntry, args: &LoadArgs) -> Result<Self, Failure> {
        let name = entry.info.name;
        let cpu = |why_not_gpu: Option<String>| match entry.cpu {
            Some(load) => Ok(Self::Cpu(load, why_not_gpu)),
            None => Err(format!("{name} is not compiled for the CPU: its spec does not list that target").into()),
        };
        match args.target {
            Some(Target::Cpu) if args.device.is_some() => Err("--device names a GPU, and --target is cpu".into()),
            Some(Target::Cpu) => cpu(None),
            #[cfg(not(feature = "cuda"))]
            Some(Target::Sm90a) => Err(NO_CUDA.into()),
            #[cfg(not(feature = "cuda"))]
            None if args.device.is_some() => Err(NO_CUDA.into()),
            #[cfg(not(feature = "cuda"))]
            None => cpu(None),
            #[cfg(feature = "cuda")]
            Some(Target::Sm90a) => Self::on_device(entry, args),
            #[cfg(feature = "cuda")]
            None => {
                let why = match (entry.sm_90a, Device::count()) {
                    (Some(_), Ok(1..)) => return Self::on_device(entry, args),
                    _ if args.device.is_some() => return Self::on_device(entry, args),
                    (None, _) => "its spec does not list sm_90a".to_owned(),
                    (_, Ok(0)) => "there is no GPU".to_owned(),
                    (_, Err(e)) => e.to_string(),
                };
                cpu(Some(why))
            }
        }
    }

    #[cfg(feature = "cuda")]
    fn on_device(entry: &ModelEntry, args: &LoadArgs) -> Result<Self, Failure> {
        let Some(on) = entry.sm_90a else {
            let name = entry.info.name;
            return Err(format!("{name} is not compiled for sm_90a: its spec does not list that target").into());
        };
        let device =
            Device::open(args.device.unwrap_or(0)).map_err(|e| format!("{e}; `--target cpu` runs it on the processors"))?;
        device.require("sm_90a", (9, 0))?;
        Ok(Self::Device(on, device))
    }

    /// Why it is the CPU although nobody asked for that and the program was built for a GPU, too.
    pub fn why_not_gpu(&self) -> Option<&str> {
        match self {
            Self::Cpu(_, why) => why.as_deref(),
            #[cfg(feature = "cuda")]
            Self::Device(..) => None,
        }
    }

    /// Its name, as `--target` takes it, and what runs it.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu(..) => "cpu".to_owned(),
            #[cfg(feature = "cuda")]
            Self::Device(_, device) => format!("sm_90a ({})", device.name()),
        }
    }

    /// Bytes per second that it can move: what its threads read together, or what a copy within the GPU reads and writes.
    ///
    /// # Errors
    /// No such number of threads; no room on the GPU for what is copied.
    pub fn bandwidth(&self, threads: usize) -> Result<f64, Failure> {
        match self {
            Self::Cpu(..) => crate::commands::read_bandwidth(threads),
            #[cfg(feature = "cuda")]
            Self::Device(_, device) => Ok(device.copy_rate()?),
        }
    }

    /// Whether it is a GPU.
    pub fn is_device(&self) -> bool {
        !matches!(self, Self::Cpu(..))
    }

    /// Cache dtypes for which the model was compiled there, the default first.
    pub fn kv_cache_dtypes(&self, entry: &ModelEntry) -> &'static [KvDtypeName] {
        match self {
            Self::Cpu(..) => entry.info.kv_cache_dtypes,
            #[cfg(feature = "cuda")]
            Self::Device(on, _) => on.kv_cache_dtypes,
        }
    }

    /// Most sequences for which the model was compiled there; any number on the CPU.
    pub fn max_sequences(&self) -> Option<u64> {
        match self {
            Self::Cpu(..) => None,
            #[cfg(feature = "cuda")]
            Self::Device(on, _) => Some(on.max_sequences as u64),
        }
    }

    /// Room for so many sequences of `context` tokens, with prompts in steps of [`Self::chunk`].
    pub fn settings(&self, context: u64, sequences: u64) -> Settings {
        Settings { chunk: self.chunk(), ..Settings::new(context, sequences, 1) }
    }

    /// Tokens of a prompt per step, unless something else is asked for.
    fn chunk(&self) -> u64 {
        match self {
            Self::Cpu(..) => tenon_core::memory::CHUNK,
            #[cfg(feature = "cuda")]
            Self::Device(..) => DEVICE_CHUNK,
        }
    }

    /// What the model needs there with the weights of this checkpoint. Of a GPU, weights, caches and states are exact, and activations
    /// are counted as the CPU keeps them, in f32, which is more than they take.
    ///
    /// # Errors
    /// When the checkpoint differs from the plan.
    pub fn needs(&self, entry: &ModelEntry, checkpoint: &Checkpoint) -> Result<Needs, LoadError> {
        let needs = entry.needs(checkpoint)?;
        match self {
            Self::Cpu(..) => Ok(needs),
            #[cfg(feature = "cuda")]
            Self::Device(on, _) => {
                let bytes = |dtype: &KvDtypeName| entry.info.kv_bytes_per_token(*dtype) as u64;
                let kv = |dtype: &KvDtypeName| KvNeed { dtype: dtype.as_str(), bytes_per_token: bytes(dtype) };
                let kv = on.kv_cache_dtypes.iter().map(kv).collect();
                Ok(Needs { weights: entry.checkpoint.held_on_device(checkpoint)?, kv, ..needs })
            }
        }
    }

    /// The memory that it may take: what the flag allows, else what is free there.
    ///
    /// # Errors
    /// A GPU that does not say.
    pub fn budget(&self, flag: Option<u64>) -> Result<Option<Budget>, Failure> {
        if let Some(bytes) = flag {
            return Ok(Some(Budget { bytes, from: "--memory".to_owned() }));
        }
        match self {
            Self::Cpu(..) => Ok(machine::available(|path| std::fs::read_to_string(path).ok())),
            #[cfg(feature = "cuda")]
            Self::Device(_, device) => {
                let (free, _) = device.memory_info()?;
                Ok(Some(Budget { bytes: free as u64, from: format!("free on {}", device.name()) }))
            }
        }
    }

    /// Loads it.
    ///
    /// # Errors
    /// As the model's loader.
    pub fn load(&self, checkpoint: &Arc<Checkpoint>, options: &LoadOptions) -> Result<Box<dyn Model>, LoadError> {
        match self {
            Self::Cpu(load, _) => load(checkpoint, options),
            #[cfg(feature = "cuda")]
            Self::Device(on, device) => {
                device.on_progress(Some(crate::progress::uploads()));
                let model = (on.load)(checkpoint, device, options);
                device.on_progress(None);
                model
            }
        }
    }
}

#[cfg(not(feature = "cuda"))]
const NO_CUDA: &str =
    "this program was built for the CPU alone; for a GPU, build it with\n\n    cargo build --release --features cuda";

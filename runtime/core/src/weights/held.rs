//! How many bytes the weights of a checkpoint will take once they are loaded, from its headers alone.

use tenon_formats::StorageFormat;
use tenon_formats::expect::ConfigContract;
use tenon_formats::expect::tensors::stored::{Lies, MatrixNeed, Stored};
use tenon_formats::expect::tensors::{ExpertsNeed, Need, TensorNeed, in_expert, in_layer};
use tenon_formats::memory::{HeldWeights, packed_bytes};

use super::compare::{compare, compare_matrix};
use super::spec::PlannedTensor;
use super::{Checkpoint, CheckpointKind, LoadError};
use crate::linear::source::FP8_BLOCK;

/// How a tensor is kept once it is loaded.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held {
    /// Where the file is mapped.
    Mapped,
    /// So many outputs in tiles, in the stored format. A part of a stored tensor has fewer outputs than that has rows.
    Packed { outputs: usize },
    /// Row by row, as [`LatentUp`](crate::linear::LatentUp) keeps them.
    Latent,
    /// So many f32.
    Floats(usize),
    /// The matrices of experts, packed, and their biases.
    Experts,
    /// Not at all.
    Nothing,
}

/// What a model needs of a checkpoint: which sort, which tensors, which config.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointNeeds {
    /// How it names and stores its tensors.
    pub kind: CheckpointKind,
    /// Every tensor, and a second entry for one that is kept twice.
    pub tensors: &'static [PlannedTensor],
    /// What its config must say.
    pub config: &'static ConfigContract<'static>,
}

impl CheckpointNeeds {
    /// The bytes that its weights will take, by format and in the order in which formats first come. Only headers are read.
    ///
    /// # Errors
    /// When the checkpoint is of another sort, or differs from the plan: all differences, as at load.
    pub fn held(&self, checkpoint: &Checkpoint) -> Result<Vec<HeldWeights>, LoadError> {
        self.sum(checkpoint, On::Host)
    }

    /// The same for a device: rows in planes, the embedding among them, whose memory a head that is tied to it shares.
    ///
    /// # Errors
    /// As [`Self::held`].
    pub fn held_on_device(&self, checkpoint: &Checkpoint) -> Result<Vec<HeldWeights>, LoadError> {
        self.sum(checkpoint, On::Device)
    }

    fn sum(&self, checkpoint: &Checkpoint, on: On) -> Result<Vec<HeldWeights>, LoadError> {
        checkpoint.require(self.kind)?;
        compare(checkpoint, self.tensors, self.config)?;
        let mut sums = Sums { checkpoint, on, held: Vec::new() };
        for tensor in self.tensors {
            match tensor.check.layers {
                None => sums.tensor(tensor, tensor.check.name)?,
                Some(layers) => {
                    for &layer in layers {
                        sums.layer(tensor, layer)?;
                    }
                }
            }
        }
        Ok(sums.held)
    }
}

/// Where weights are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Host,
    Device,
}

struct Sums<'a> {
    checkpoint: &'a Checkpoint,
    on: On,
    held: Vec<HeldWeights>,
}

impl Sums<'_> {
    fn add(&mut self, format: StorageFormat, mapped: bool, bytes: u64) {
        match self.held.iter_mut().find(|held| held.format == format && held.mapped == mapped) {
            Some(held) => held.bytes += bytes,
            None => self.held.push(HeldWeights { format, mapped, bytes }),
        }
    }

    fn layer(&mut self, tensor: &PlannedTensor, layer: usize) -> Result<(), LoadError> {
        match &tensor.check.need {
            Need::Experts(need) => self.experts(need, layer),
            _ => self.tensor(tensor, &in_layer(tensor.check.name, layer)),
        }
    }

    fn tensor(&mut self, tensor: &PlannedTensor, name: &str) -> Result<(), LoadError> {
        let need = &tensor.check.need;
        match tensor.held {
            Held::Nothing | Held::Experts => Ok(()),
            Held::Floats(count) => {
                self.add(StorageFormat::F32, false, 4 * count as u64);
                Ok(())
            }
            Held::Packed { .. } if self.on == On::Device && tensor.is_again => Ok(()),
            Held::Mapped if self.on == On::Device => {
                let Need::Table { shape: [rows, inputs], .. } = *need else { return Ok(()) };
                if let Some(format) = self.checkpoint.tensor(name).and_then(|t| t.format.known()) {
                    self.add(format, false, in_planes(format, rows, inputs));
                }
                Ok(())
            }
            Held::Mapped => {
                if let Some((tensor, format)) = self.checkpoint.tensor(name).and_then(|t| Some((t, t.format.known()?))) {
                    self.add(format, true, tensor.range.end - tensor.range.start);
                }
                Ok(())
            }
            Held::Packed { outputs } => {
                let on = self.on;
                self.matrix(need, name, |stored, need| on.packed(stored, outputs, need.inputs))
            }
            Held::Latent if self.on == On::Device => {
                self.matrix(need, name, |_, need| (StorageFormat::Bf16, 2 * (need.rows * need.inputs) as u64))
            }
            Held::Latent => self.matrix(need, name, latent),
        }
    }

    fn matrix(
        &mut self,
        need: &Need<'_>,
        name: &str,
        bytes: impl Fn(&Stored, &MatrixNeed) -> (StorageFormat, u64),
    ) -> Result<(), LoadError> {
        let Need::Matrix { shape: [rows, inputs], accept } = *need else { return Ok(()) };
        let need = MatrixNeed { stack: None, rows, inputs, lies: Lies::Rows };
        let (format, bytes) = bytes(&compare_matrix(self.checkpoint, name, &need, accept)?, &need);
        self.add(format, false, bytes);
        Ok(())
    }

    fn experts(&mut self, experts: &ExpertsNeed<'_>, layer: usize) -> Result<(), LoadError> {
        for tensor in experts.tensors() {
            let need = match tensor.need {
                TensorNeed::Biases([count, len]) => {
                    self.add(StorageFormat::F32, false, 4 * (count * len) as u64);
                    continue;
                }
                TensorNeed::Matrix(need) => need,
            };
            let name = in_expert(&in_layer(tensor.template, layer), tensor.expert);
            let stored = compare_matrix(self.checkpoint, &name, &need, experts.accept)?;
            let parts = tensor.parts;
            let (format, bytes) = self.on.packed(&stored, need.rows / parts, need.inputs);
            // A matrix of a stack has a factor there.
            let factor = if self.on == On::Device { size_of::<f32>() as u64 } else { 0 };
            self.add(format, false, (bytes + factor) * (parts * need.stack.unwrap_or(1)) as u64);
        }
        Ok(())
    }
}

fn format_of(stored: &Stored) -> StorageFormat {
    match *stored {
        Stored::Whole(format) => format,
        Stored::Fp8 { .. } | Stored::Fp8Blocks { .. } => StorageFormat::Fp8E4m3,
        Stored::Nvfp4 { .. } => StorageFormat::Nvfp4,
        Stored::Mxfp4 { .. } => StorageFormat::Mxfp4,
    }
}

impl On {
    fn packed(self, stored: &Stored, outputs: usize, inputs: usize) -> (StorageFormat, u64) {
        match self {
            Self::Host => packed(stored, outputs, inputs),
            Self::Device => (format_of(stored), in_planes(format_of(stored), outputs, inputs)),
        }
    }
}

/// Bytes of a matrix in planes, with the table of scales of fp8.
fn in_planes(format: StorageFormat, outputs: usize, inputs: usize) -> u64 {
    let scales = outputs.div_ceil(FP8_BLOCK) * inputs.div_ceil(FP8_BLOCK) * size_of::<f32>();
    let beside = if format == StorageFormat::Fp8E4m3 { scales } else { 0 };
    // A matrix that fits has rows of whole blocks; one that does not is refused when it is loaded.
    format.planes_row_bytes(inputs).map_or(0, |row| (row * outputs + beside) as u64)
}

fn packed(stored: &Stored, outputs: usize, inputs: usize) -> (StorageFormat, u64) {
    let (format, scaled) = (format_of(stored), matches!(stored, Stored::Fp8Blocks { .. }));
    // A matrix that fits has rows of whole blocks; one that does not is refused when it is packed.
    (format, packed_bytes(format, outputs, inputs, scaled).unwrap_or(0))
}

fn latent(stored: &Stored, need: &MatrixNeed) -> (StorageFormat, u64) {
    let (rows, inputs) = (need.rows, need.inputs);
    let elements = (rows * inputs) as u64;
    match format_of(stored) {
        // Held in bf16, which has room for an element times the scale of its block.
        StorageFormat::Nvfp4 => (StorageFormat::Bf16, 2 * elements),
        StorageFormat::Fp8E4m3 => {
            let scales = rows.div_ceil(FP8_BLOCK) * inputs.div_ceil(FP8_BLOCK);
            (StorageFormat::Fp8E4m3, elements + 4 * scales as u64)
        }
        format => (format, format.row_bytes(inputs).map_or(0, |row| (row * rows) as u64)),
    }
}

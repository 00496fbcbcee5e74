//! Loading matrices and experts, whose scales may stand in other tensors.

use tenon_formats::StorageFormat;
use tenon_formats::expect::tensors::stored::{Ending, Lies, MatrixNeed, Stored};
use tenon_formats::expect::tensors::{ExpertsNeed, Need, in_expert, in_layer};

use super::compare::compare_matrix;
use super::experts::{GatedExpertsSpec, PlainExpertsSpec};
use super::loader::unpackable;
use super::{Checkpoint, GatedExpertNames, LoadError, Loader, PlainExpertNames, finite};
use crate::cpu::Cpu;
use crate::linear::PackError;
use crate::linear::decode::decode_row;
use crate::linear::packed::Packed;
use crate::linear::source::Source;
use crate::moe::{Biases, Experts, GatedExperts, PlainExperts};

/// The tensors of a matrix, or of a stack of them, which are what they should be.
pub(crate) struct StoredMatrix<'a> {
    checkpoint: &'a Checkpoint,
    name: String,
    need: MatrixNeed,
    stored: Stored,
}

impl<'a> StoredMatrix<'a> {
    fn bytes(&self, ending: Ending) -> &'a [u8] {
        let tensor = self.checkpoint.tensor(&ending.of(&self.name)).expect("it was compared");
        self.checkpoint.data(tensor)
    }

    /// The part of a tensor that belongs to matrix `at` of the stack.
    fn part(&self, ending: Ending, at: usize) -> &'a [u8] {
        let bytes = self.bytes(ending);
        let part = bytes.len() / self.need.stack.unwrap_or(1);
        &bytes[at * part..][..part]
    }

    /// The numbers of bytes of a tensor of scales.
    fn floats(&self, ending: Ending, bytes: &[u8]) -> Vec<f32> {
        let format = self.checkpoint.tensor(&ending.of(&self.name)).and_then(|t| t.format.known()).expect("it was compared");
        let mut values = vec![0.0; bytes.len() / format.block_bytes()];
        decode_row(format, bytes, &mut values);
        values
    }

    /// The scale of matrix `at` of the stack, which may be one for all.
    fn factor(&self, ending: Ending, at: usize) -> f32 {
        let all = self.floats(ending, self.bytes(ending));
        if all.len() == 1 { all[0] } else { all[at] }
    }

    /// The source of matrix `at` of the stack, handed to `pack`.
    pub(crate) fn with<T>(&self, at: usize, pack: impl FnOnce(&Source<'_>) -> Result<T, PackError>) -> Result<T, LoadError> {
        let MatrixNeed { rows, inputs, lies, .. } = self.need;
        let factor = |ending| self.factor(ending, at);
        let source = match self.stored {
            Stored::Whole(format) if lies == Lies::Columns => {
                Source::of_columns(format, self.part(Ending::Same, at), rows, inputs)
            }
            Stored::Whole(format) => Source::of_rows(format, self.part(Ending::Same, at), rows, inputs),
            Stored::Fp8 { scale } => Source::fp8(self.part(Ending::Same, at), factor(scale), rows, inputs),
            Stored::Fp8Blocks { scales } => {
                Source::fp8_blocks(self.part(Ending::Same, at), self.floats(scales, self.part(scales, at)), rows, inputs)
            }
            Stored::Nvfp4 { data, scales, scale, divide } => {
                let factor = if divide { 1.0 / factor(scale) } else { factor(scale) };
                Source::nvfp4(self.part(data, at), self.part(scales, at), factor, rows, inputs)
            }
            Stored::Mxfp4 { data, scales } => Source::mxfp4(self.part(data, at), self.part(scales, at), rows, inputs),
        };
        let unpackable = |problem| LoadError::Pack { tensor: self.name.clone(), problem };
        source.and_then(|source| pack(&source)).map_err(unpackable)
    }

    /// Reads the tensors once, for what is no number.
    fn check_finite(&self, cpu: &Cpu) -> Result<(), LoadError> {
        let check = |ending: Ending| {
            let name = ending.of(&self.name);
            let tensor = self.checkpoint.tensor(&name).expect("it was compared");
            match tensor.format.known() {
                Some(format) => finite::check(cpu, &name, &tensor.shape, format, self.checkpoint.data(tensor)),
                None => Ok(()),
            }
        };
        match self.stored {
            Stored::Whole(_) => check(Ending::Same),
            Stored::Fp8 { scale: scales } | Stored::Fp8Blocks { scales } => {
                check(Ending::Same)?;
                check(scales)
            }
            Stored::Nvfp4 { scales, scale, divide, .. } => {
                check(scales)?;
                check(scale)?;
                let divisors = if divide { self.floats(scale, self.bytes(scale)) } else { Vec::new() };
                let Some(column) = divisors.iter().position(|x| !(1.0 / x).is_finite()) else { return Ok(()) };
                let format = StorageFormat::F32;
                let problem = super::NotFinite { format, row: 0, column, what: "a divisor of 0" };
                Err(LoadError::NotFinite { tensor: scale.of(&self.name), problem })
            }
            Stored::Mxfp4 { scales, .. } => {
                let name = scales.of(&self.name);
                let tensor = self.checkpoint.tensor(&name).expect("it was compared");
                finite::check_powers(&name, &tensor.shape, self.checkpoint.data(tensor))
            }
        }
    }
}

impl Loader<'_> {
    /// The tensors of a matrix, compared and checked for what is no number.
    pub(crate) fn matrix(&self, name: &str, need: MatrixNeed, accept: &[StorageFormat]) -> Result<StoredMatrix<'_>, LoadError> {
        let stored = compare_matrix(self.checkpoint, name, &need, accept)?;
        let matrix = StoredMatrix { checkpoint: self.checkpoint, name: name.to_owned(), need, stored };
        matrix.check_finite(self.cpu)?;
        Ok(matrix)
    }

    /// The experts of a layer, repacked.
    ///
    /// # Errors
    /// As [`Loader::linear`].
    pub fn gated_experts<const E: usize, const H: usize, const I: usize>(
        &self,
        spec: &GatedExpertsSpec<E, H, I>,
        layer: usize,
    ) -> Result<GatedExperts<E, H, I>, LoadError> {
        let mut experts = Experts { gate: Vec::new(), up: Vec::new(), down: Vec::new(), biases: None };
        experts.biases = self.gated_matrices(spec, layer, |matrix| experts_take(self.cpu, &mut experts, &matrix))?;
        Ok(GatedExperts::new(experts))
    }

    /// The experts of a layer, repacked.
    ///
    /// # Errors
    /// As [`Loader::linear`].
    pub fn plain_experts<const E: usize, const H: usize, const I: usize>(
        &self,
        spec: &PlainExpertsSpec<E, H, I>,
        layer: usize,
    ) -> Result<PlainExperts<E, H, I>, LoadError> {
        let mut experts = Experts { gate: Vec::new(), up: Vec::new(), down: Vec::new(), biases: None };
        self.plain_matrices(spec, layer, |matrix| experts_take(self.cpu, &mut experts, &matrix))?;
        Ok(PlainExperts::new(experts))
    }

    /// Hands every matrix of a layer's experts to `take`, those of a role in the order of experts, and returns their biases.
    pub(crate) fn gated_matrices<const E: usize, const H: usize, const I: usize>(
        &self,
        spec: &GatedExpertsSpec<E, H, I>,
        layer: usize,
        mut take: impl FnMut(ExpertMatrix<'_>) -> Result<(), LoadError>,
    ) -> Result<Option<Biases>, LoadError> {
        use ExpertRole::{Down, Gate, Up};
        let need = spec.need();
        let from = ExpertLoader { loader: self, need: &need, layer };
        let mut biases = None;
        match spec.names() {
            GatedExpertNames::Each { gate, up, down } => {
                from.each(Gate, gate, I, H, &mut take)?;
                from.each(Up, up, I, H, &mut take)?;
                from.each(Down, down, H, I, &mut take)?;
            }
            GatedExpertNames::Stacked { gate_up, down } => {
                let stack = from.stack(gate_up, 2 * I, H, Lies::Rows)?;
                from.rows(Gate, &stack, I, &|row| row, &mut take)?;
                from.rows(Up, &stack, I, &|row| I + row, &mut take)?;
                from.rows(Down, &from.stack(down, H, I, Lies::Rows)?, H, &|row| row, &mut take)?;
            }
            GatedExpertNames::Transposed { gate_up, gate_up_bias, down, down_bias } => {
                let stack = from.stack(gate_up, 2 * I, H, Lies::Columns)?;
                from.rows(Gate, &stack, I, &|row| 2 * row, &mut take)?;
                from.rows(Up, &stack, I, &|row| 2 * row + 1, &mut take)?;
                let both = from.biases(gate_up_bias, 2 * I)?;
                biases = Some(Biases {
                    gate: both.iter().copied().step_by(2).collect(),
                    up: both.iter().copied().skip(1).step_by(2).collect(),
                    down: from.biases(down_bias, H)?,
                });
                from.rows(Down, &from.stack(down, H, I, Lies::Columns)?, H, &|row| row, &mut take)?;
            }
        }
        Ok(biases)
    }

    /// The same for experts without gates, which have no biases.
    pub(crate) fn plain_matrices<const E: usize, const H: usize, const I: usize>(
        &self,
        spec: &PlainExpertsSpec<E, H, I>,
        layer: usize,
        mut take: impl FnMut(ExpertMatrix<'_>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        use ExpertRole::{Down, Up};
        let need = spec.need();
        let from = ExpertLoader { loader: self, need: &need, layer };
        match spec.names() {
            PlainExpertNames::Each { up, down } => {
                from.each(Up, up, I, H, &mut take)?;
                from.each(Down, down, H, I, &mut take)
            }
            PlainExpertNames::Stacked { up, down } => {
                let (up, down) = (from.stack(up, I, H, Lies::Rows)?, from.stack(down, H, I, Lies::Rows)?);
                from.rows(Up, &up, I, &|row| row, &mut take)?;
                from.rows(Down, &down, H, &|row| row, &mut take)
            }
        }
    }
}

/// Which of an expert's matrices one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpertRole {
    /// `[I, H]`
    Gate,
    /// `[I, H]`
    Up,
    /// `[H, I]`
    Down,
}

/// A matrix of one expert, to be packed.
pub(crate) struct ExpertMatrix<'a> {
    pub(crate) role: ExpertRole,
    /// Only a device has a place for each.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "the CPU takes them in their order"))]
    pub(crate) expert: usize,
    pub(crate) source: &'a Source<'a>,
    pub(crate) outputs: usize,
    /// The row of `source` that holds an output.
    pub(crate) row: &'a (dyn Fn(usize) -> usize + Sync),
}

/// Packs a matrix for the CPU.
fn experts_take(cpu: &Cpu, experts: &mut Experts, matrix: &ExpertMatrix<'_>) -> Result<(), LoadError> {
    let packed = Packed::rows(cpu, matrix.source, matrix.outputs, matrix.row);
    match matrix.role {
        ExpertRole::Gate => experts.gate.push(packed),
        ExpertRole::Up => experts.up.push(packed),
        ExpertRole::Down => experts.down.push(packed),
    }
    Ok(())
}

/// Takes a matrix of an expert.
type Take<'a> = &'a mut dyn FnMut(ExpertMatrix<'_>) -> Result<(), LoadError>;

/// Loads the experts of one layer.
struct ExpertLoader<'a> {
    loader: &'a Loader<'a>,
    need: &'a ExpertsNeed<'static>,
    layer: usize,
}

impl<'a> ExpertLoader<'a> {
    /// A matrix of each expert, in tensors of their own.
    fn each(&self, role: ExpertRole, template: &str, rows: usize, inputs: usize, take: Take<'_>) -> Result<(), LoadError> {
        for expert in 0..self.need.experts {
            let name = in_expert(&in_layer(template, self.layer), Some(expert));
            let need = MatrixNeed { stack: None, rows, inputs, lies: Lies::Rows };
            let matrix = self.loader.matrix(&name, need, self.need.accept)?;
            matrix.with(0, |source| Ok(take(ExpertMatrix { role, expert, source, outputs: rows, row: &|row| row })))??;
        }
        Ok(())
    }

    /// The tensor with a matrix of every expert.
    fn stack(&self, template: &str, rows: usize, inputs: usize, lies: Lies) -> Result<StoredMatrix<'a>, LoadError> {
        let need = MatrixNeed { stack: Some(self.need.experts), rows, inputs, lies };
        self.loader.matrix(&in_layer(template, self.layer), need, self.need.accept)
    }

    /// Some rows of each matrix in a stack.
    fn rows(
        &self,
        role: ExpertRole,
        stack: &StoredMatrix<'_>,
        outputs: usize,
        row: &(dyn Fn(usize) -> usize + Sync),
        take: Take<'_>,
    ) -> Result<(), LoadError> {
        for expert in 0..self.need.experts {
            stack.with(expert, |source| Ok(take(ExpertMatrix { role, expert, source, outputs, row })))??;
        }
        Ok(())
    }

    /// `[experts, len]`
    fn biases(&self, template: &str, len: usize) -> Result<Vec<f32>, LoadError> {
        let need = Need::Biases { shape: [self.need.experts, len], accept: self.need.accept };
        let tensor = self.loader.find(in_layer(template, self.layer), need)?;
        let mut values = vec![0.0; self.need.experts * len];
        let expected = tensor.format().row_bytes(values.len());
        if expected != Some(tensor.bytes().len()) {
            return Err(unpackable(&tensor, PackError::Vector { format: tensor.format() }));
        }
        decode_row(tensor.format(), tensor.bytes(), &mut values);
        Ok(values)
    }
}

//! The tensors that a matrix is stored in: itself, and the scales that some formats keep in tensors of their own.

use super::{TensorProblem, Tensors};
use crate::storage::{FP8_BLOCK, StorageFormat};
use crate::tensor::{TensorEntry, TensorFormat};

/// A matrix, or a stack of matrices, that a plan needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixNeed {
    /// How many stand in one tensor, where they are a stack.
    pub stack: Option<usize>,
    /// Outputs, with those rows of the stored tensor that another weight takes.
    pub rows: usize,
    /// Inputs.
    pub inputs: usize,
    /// Which way round it is stored.
    pub lies: Lies,
}

/// Which way round a matrix lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lies {
    /// `[rows, inputs]`
    Rows,
    /// `[inputs, rows]`, and `[rows, inputs]` in mxfp4.
    Columns,
}

/// Where a matrix was found: the tensors' names are those of the matrix with other endings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// One tensor, with all scales in its blocks.
    Whole(StorageFormat),
    /// fp8 with one scale, or one for each of a stack.
    Fp8 {
        /// The tensor of the scale.
        scale: Ending,
    },
    /// fp8 with a scale per block.
    Fp8Blocks {
        /// The tensor of the scales.
        scales: Ending,
    },
    /// nvfp4.
    Nvfp4 {
        /// The elements.
        data: Ending,
        /// The scales of blocks.
        scales: Ending,
        /// The scale of the tensor, or one for each of a stack.
        scale: Ending,
        /// Elements are divided by that one, and not multiplied.
        divide: bool,
    },
    /// mxfp4 in two tensors.
    Mxfp4 {
        /// The elements.
        data: Ending,
        /// The scales of blocks.
        scales: Ending,
    },
}

/// How a companion's name follows from that of its matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The matrix itself.
    Same,
    /// The name and this.
    Plus(&'static str),
    /// The name with this instead of its last part.
    Instead(&'static str),
}

impl Ending {
    /// The companion's name.
    pub fn of(self, name: &str) -> String {
        match self {
            Self::Same => name.to_owned(),
            Self::Plus(ending) => format!("{name}{ending}"),
            Self::Instead(ending) => format!("{}{ending}", &name[..name.rfind('.').map_or(0, |dot| dot + 1)]),
        }
    }
}

/// Something wrong with a matrix: with which of its tensors, and what.
pub type Difference = (Ending, TensorProblem);

/// What [`find`] found out.
#[derive(Clone, Debug)]
pub struct Found {
    /// How it is stored, where a way was recognised. It fits when there are no differences.
    pub stored: Option<Stored>,
    /// What is wrong with it.
    pub differences: Vec<Difference>,
    /// Companions that are read, or need not be: scales of activations.
    pub companions: Vec<Ending>,
}

const SCALE: Ending = Ending::Plus("_scale");
const SCALE_2: Ending = Ending::Plus("_scale_2");
const SCALE_INV: Ending = Ending::Plus("_scale_inv");
const PACKED: Ending = Ending::Plus("_packed");
const GLOBAL_SCALE: Ending = Ending::Plus("_global_scale");
const BLOCKS: Ending = Ending::Plus("_blocks");
const SCALES: Ending = Ending::Plus("_scales");
const QSCALE: Ending = Ending::Instead("qscale_weight");
/// As [`SCALE`] and [`SCALE_2`] where the matrix has no `weight` at the end of its name.
const WEIGHT_SCALE: Ending = Ending::Plus("_weight_scale");
const WEIGHT_SCALE_2: Ending = Ending::Plus("_weight_scale_2");
/// Scales of activations, which stay in f32 here.
const OF_ACTIVATIONS: [Ending; 7] = [
    Ending::Instead("input_scale"),
    Ending::Instead("input_global_scale"),
    Ending::Instead("activation_scale"),
    Ending::Instead("qscale_act"),
    Ending::Plus("_input_scale"),
    Ending::Plus("_input_global_scale"),
    Ending::Plus("_activation_scale"),
];
/// Everything that may stand beside a matrix.
const ENDINGS: [Ending; 10] =
    [SCALE, SCALE_2, SCALE_INV, WEIGHT_SCALE, WEIGHT_SCALE_2, PACKED, GLOBAL_SCALE, BLOCKS, SCALES, QSCALE];

/// Looks for the tensors of a matrix, and compares them with what it must be.
pub fn find(tensors: Tensors<'_>, name: &str, need: &MatrixNeed, accept: &[StorageFormat]) -> Found {
    use StorageFormat::{Fp8E4m3, Mxfp4, Nvfp4};
    let tensor = |ending: Ending| tensors.get(&ending.of(name));
    let accepts = |format| accept.contains(&format);
    let Some(main) = tensor(Ending::Same) else {
        if need.lies == Lies::Rows && accepts(Nvfp4) && tensor(PACKED).is_some() {
            return nvfp4(&tensor, need, [PACKED, SCALE, GLOBAL_SCALE], true);
        }
        if need.stack.is_some() && accepts(Mxfp4) && tensor(BLOCKS).is_some() {
            return mxfp4(&tensor, need);
        }
        // One in a format that the spec does not accept is there, under another name.
        let other = [(PACKED, Nvfp4), (BLOCKS, Mxfp4)].into_iter().find(|(ending, _)| tensor(*ending).is_some());
        let difference = match other {
            Some((ending, format)) => (ending, not_accepted(TensorFormat::Known(format), accept)),
            None => (Ending::Same, TensorProblem::Missing),
        };
        return Found {
            stored: None,
            differences: vec![difference],
            companions: ENDINGS.into_iter().chain(OF_ACTIVATIONS).collect(),
        };
    };
    if is_u8(main) && accepts(Nvfp4) && need.lies == Lies::Rows {
        let apart = tensor(WEIGHT_SCALE_2).is_some() || tensor(WEIGHT_SCALE).is_some();
        let [scales, scale] = if apart { [WEIGHT_SCALE, WEIGHT_SCALE_2] } else { [SCALE, SCALE_2] };
        return nvfp4(&tensor, need, [Ending::Same, scales, scale], false);
    }
    let mut found = Found {
        stored: None,
        differences: compare(Ending::Same, Some(main), &need.shape(), |_| true, ""),
        companions: Vec::new(),
    };
    let format = main.format.known().filter(|&format| accepts(format));
    let Some(format) = format.filter(|format| need.lies == Lies::Rows || !format.is_quantised()) else {
        let problem = if need.lies == Lies::Columns && (format.is_some() || is_u8(main)) {
            // Whether blocks lie along rows or columns, files of such tensors do not say.
            TensorProblem::Transposed { found: main.format.clone() }
        } else {
            not_accepted(main.format.clone(), accept)
        };
        found.differences.push((Ending::Same, problem));
        found.companions.extend(ENDINGS.into_iter().chain(OF_ACTIVATIONS));
        return found;
    };
    match format {
        Fp8E4m3 => fp8(&tensor, need, &mut found),
        // Nobody stores one tensor of these blocks but GGUF, whose readers know no other way.
        _ => found.stored = Some(Stored::Whole(format)),
    }
    // Scales that nothing reads would mean that the matrix is not what it seems.
    for ending in ENDINGS {
        if tensor(ending).is_some() && !found.companions.contains(&ending) && ending != PACKED && ending != BLOCKS {
            found.differences.push((ending, TensorProblem::StrayScale { of: format }));
            found.companions.push(ending);
        }
    }
    found
}

fn fp8<'a>(tensor: &impl Fn(Ending) -> Option<&'a TensorEntry>, need: &MatrixNeed, found: &mut Found) {
    let across = [need.rows.div_ceil(FP8_BLOCK), need.inputs.div_ceil(FP8_BLOCK)];
    let blocks: Vec<usize> = need.stack.into_iter().chain(across).collect();
    found.companions.extend(OF_ACTIVATIONS);
    // Some checkpoints give the scale of a whole tensor the name that others have for those of blocks: its shape says which it is.
    let Some(scale) = [SCALE_INV, SCALE, QSCALE].into_iter().find(|&ending| tensor(ending).is_some()) else {
        found.companions.push(SCALE_INV);
        found.differences.push((SCALE_INV, TensorProblem::MissingScale));
        return;
    };
    found.companions.push(scale);
    let is_blocks = scale == SCALE_INV && tensor(scale).is_some_and(|t| t.shape == blocks);
    found.stored = Some(if is_blocks { Stored::Fp8Blocks { scales: scale } } else { Stored::Fp8 { scale } });
    let others = if scale == SCALE_INV { vec![blocks] } else { Vec::new() };
    found.differences.extend(compare_scale(scale, tensor(scale), need, others));
}

/// `data`, `scales` of blocks and the `scale` of it all.
fn nvfp4<'a>(
    tensor: &impl Fn(Ending) -> Option<&'a TensorEntry>,
    need: &MatrixNeed,
    [data, scales, scale]: [Ending; 3],
    divide: bool,
) -> Found {
    let mut differences = Vec::new();
    if need.inputs.is_multiple_of(16) {
        let shape = |last| need.stack.into_iter().chain([need.rows, last]).collect::<Vec<_>>();
        differences.extend(compare(data, tensor(data), &shape(need.inputs / 2), is_u8, "u8"));
        let is_fp8 = |t: &TensorEntry| t.format.known() == Some(StorageFormat::Fp8E4m3);
        differences.extend(compare(scales, tensor(scales), &shape(need.inputs / 16), is_fp8, "fp8_e4m3"));
    } else {
        differences.push((data, not_whole(StorageFormat::Nvfp4, need.inputs)));
    }
    differences.extend(compare_scale(scale, tensor(scale), need, Vec::new()));
    let stored = Some(Stored::Nvfp4 { data, scales, scale, divide });
    Found { stored, differences, companions: [data, scales, scale].into_iter().chain(OF_ACTIVATIONS).collect() }
}

fn mxfp4<'a>(tensor: &impl Fn(Ending) -> Option<&'a TensorEntry>, need: &MatrixNeed) -> Found {
    let mut differences = Vec::new();
    if need.inputs.is_multiple_of(32) {
        let scales: Vec<usize> = need.stack.into_iter().chain([need.rows, need.inputs / 32]).collect();
        let data = [&scales[..], &[16]].concat();
        differences.extend(compare(BLOCKS, tensor(BLOCKS), &data, is_u8, "u8"));
        differences.extend(compare(SCALES, tensor(SCALES), &scales, is_u8, "u8"));
    } else {
        differences.push((BLOCKS, not_whole(StorageFormat::Mxfp4, need.inputs)));
    }
    Found { stored: Some(Stored::Mxfp4 { data: BLOCKS, scales: SCALES }), differences, companions: vec![BLOCKS, SCALES] }
}

fn not_whole(format: StorageFormat, inputs: usize) -> TensorProblem {
    TensorProblem::NotWhole { format, inputs }
}

fn not_accepted(found: TensorFormat, accept: &[StorageFormat]) -> TensorProblem {
    TensorProblem::NotAccepted { found, accepted: accept.to_vec() }
}

fn is_u8(tensor: &TensorEntry) -> bool {
    tensor.format == TensorFormat::Other("u8".to_owned())
}

fn is_float(tensor: &TensorEntry) -> bool {
    tensor.format.known().is_some_and(|format| !format.is_quantised())
}

/// A scale for all, `[]` or `[1]`, or one for each of a stack, `[E]` to `[E, 1, 1]`; or one of the other shapes.
fn compare_scale(ending: Ending, found: Option<&TensorEntry>, need: &MatrixNeed, others: Vec<Vec<usize>>) -> Vec<Difference> {
    const FLOATS: &str = "f32, f16 or bf16";
    let (mut shapes, mut listed) = (others.clone(), others);
    for count in need.stack.into_iter().filter(|&experts| experts > 1).chain([1]) {
        shapes.extend([vec![count], vec![count, 1], vec![count, 1, 1]]);
        listed.push(if count == 1 { Vec::new() } else { vec![count] });
    }
    shapes.push(Vec::new());
    let Some(tensor) = found else { return compare(ending, None, &[], is_float, FLOATS) };
    let mut differences = compare(ending, found, &tensor.shape, is_float, FLOATS);
    if !shapes.contains(&tensor.shape) {
        differences.insert(0, (ending, TensorProblem::Shape { needed: listed, found: tensor.shape.clone() }));
    }
    differences
}

fn compare(
    ending: Ending,
    found: Option<&TensorEntry>,
    shape: &[usize],
    fits: impl Fn(&TensorEntry) -> bool,
    formats: &'static str,
) -> Vec<Difference> {
    let Some(found) = found else { return vec![(ending, TensorProblem::Missing)] };
    let mut differences = Vec::new();
    if found.shape != shape {
        differences.push((ending, TensorProblem::Shape { needed: vec![shape.to_vec()], found: found.shape.clone() }));
    }
    if !fits(found) {
        differences.push((ending, TensorProblem::Must { be: formats, found: found.format.clone() }));
    }
    differences
}

impl MatrixNeed {
    /// The shape of the tensor, where it is one.
    fn shape(&self) -> Vec<usize> {
        let &Self { stack, rows, inputs, lies } = self;
        let matrix = if lies == Lies::Rows { [rows, inputs] } else { [inputs, rows] };
        stack.into_iter().chain(matrix).collect()
    }
}

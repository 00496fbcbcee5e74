//! What may be wrong with a tensor, and how the loader says it.

use std::fmt;

use super::Place;
use crate::shown::shown;
use crate::storage::StorageFormat;
use crate::tensor::TensorFormat;

/// One difference between a plan and a checkpoint's tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorDifference {
    /// The tensor; `{layer}` and `{expert}` stand for numbers.
    pub name: String,
    /// The name of the entry of the plan that asks for it, which differs where this is a scale beside a matrix. `None` for a
    /// tensor that no entry asks for.
    pub of: Option<String>,
    /// The layers, sorted; none where the name has no `{layer}`.
    pub layers: Vec<usize>,
    /// The experts, sorted; none where the name has no `{expert}`.
    pub experts: Vec<usize>,
    /// What is wrong.
    pub problem: TensorProblem,
}

/// What is wrong with a tensor. Its text follows the tensor's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TensorProblem {
    /// The plan needs it, and it is not there.
    Missing,
    /// The scale of an fp8 matrix is not there, under either of its names.
    MissingScale,
    /// The plan does not need it.
    LeftOver,
    /// It has another shape than one of these.
    Shape {
        /// Shapes that it may have.
        needed: Vec<Vec<usize>>,
        /// The one that it has.
        found: Vec<usize>,
    },
    /// It is stored in a format that the spec does not accept.
    NotAccepted {
        /// The format that it has.
        found: TensorFormat,
        /// Those that it may have.
        accepted: Vec<StorageFormat>,
    },
    /// It lies transposed in blocks, and nothing says along which side those lie.
    Transposed {
        /// The format that it has.
        found: TensorFormat,
    },
    /// A part of a matrix in several tensors that has another format than that part has.
    Must {
        /// What it must be.
        be: &'static str,
        /// The format that it has.
        found: TensorFormat,
    },
    /// A scale beside a matrix that needs none, which is then not what it seems.
    StrayScale {
        /// The format of the matrix.
        of: StorageFormat,
    },
    /// Rows that are no whole number of blocks.
    NotWhole {
        /// The format.
        format: StorageFormat,
        /// Elements of a row.
        inputs: usize,
    },
}

impl TensorDifference {
    /// Where it is, in words: the name, and its layers and experts where there are several.
    pub fn place(&self) -> String {
        let (layers, experts) = (self.layers.as_slice(), self.experts.as_slice());
        if layers.len() <= 1 && experts.len() <= 1 {
            let place = Place { layer: layers.first().copied(), expert: experts.first().copied() };
            return shown(&place.name(&self.name)).to_string();
        }
        let of = |kind, numbers: &[usize]| (!numbers.is_empty()).then(|| format!("{kind} {}", ranges(numbers)));
        let numbers: Vec<String> = [of("layers", layers), of("experts", experts)].into_iter().flatten().collect();
        format!("{} ({})", shown(&self.name), numbers.join(", "))
    }
}

impl TensorProblem {
    /// The id of the page that explains it: `tenon explain ID`.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::NotAccepted { .. } => "weight-format-unsupported",
            _ => "checkpoint-mismatch",
        }
    }
}

impl fmt::Display for TensorDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place(), self.problem)
    }
}

impl fmt::Display for TensorProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str(" is missing"),
            Self::MissingScale => f.write_str(" is missing, and so is one that ends in _scale: fp8_e4m3 needs either"),
            Self::LeftOver => f.write_str(" is in the checkpoint and not in the plan"),
            Self::Shape { needed, found } => {
                let needed: Vec<String> = needed.iter().map(|shape| format!("{shape:?}")).collect();
                write!(f, ": the spec needs {}, the checkpoint has {found:?}", needed.join(" or "))
            }
            Self::NotAccepted { found, accepted } => write!(f, " is {found}, and the spec accepts {}", listed(accepted)),
            Self::Transposed { found } => write!(
                f,
                " is {found} and lies transposed, and so only f32, f16 and bf16 are read, and _blocks with _scales in mxfp4"
            ),
            Self::Must { be, found } => write!(f, " is {found}, and it must be {be}"),
            Self::StrayScale { of } => write!(f, " is there, and the matrix beside it is {of}, which has no such scale"),
            Self::NotWhole { format, inputs } => write!(
                f,
                ": {format} stores blocks of {}, and rows of {inputs} are not a whole number of them",
                format.block_len()
            ),
        }
    }
}

/// `0..3, 5, 7..9` (ends excluded) for sorted numbers.
pub fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{}..{}", run[0], run[run.len() - 1] + 1),
    });
    runs.collect::<Vec<_>>().join(", ")
}

fn listed(formats: &[StorageFormat]) -> String {
    if formats.is_empty() {
        return "nothing that a norm or a bias may be".to_owned();
    }
    formats.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_written_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2]), "0..3");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0..3, 5, 7..9");
    }
}

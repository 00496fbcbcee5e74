//! The tensors of experts: what they are called, and what each must be.

use super::stored::{Lies, MatrixNeed};
use crate::storage::StorageFormat;

/// How a checkpoint names and stores `E` experts with gates, of hidden size `H` and intermediate size `I`. `{layer}` and `{expert}` stand for numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatedExpertNames<'a> {
    /// Tensors of their own.
    Each {
        /// `[I, H]`
        gate: &'a str,
        /// `[I, H]`
        up: &'a str,
        /// `[H, I]`
        down: &'a str,
    },
    /// All experts in one tensor.
    Stacked {
        /// `[E, 2 I, H]`, the gates of an expert before its ups.
        gate_up: &'a str,
        /// `[E, H, I]`
        down: &'a str,
    },
    /// All experts in one tensor, as gpt-oss has them: transposed, with biases, gates and ups alternating. In mxfp4 they are not
    /// transposed: `gate_up` with `_blocks` is `[E, 2 I, H / 32, 16]` and with `_scales` `[E, 2 I, H / 32]`.
    Transposed {
        /// `[E, H, 2 I]`
        gate_up: &'a str,
        /// `[E, 2 I]`
        gate_up_bias: &'a str,
        /// `[E, I, H]`
        down: &'a str,
        /// `[E, H]`
        down_bias: &'a str,
    },
}

/// How a checkpoint names and stores `E` experts without gates, of hidden size `H` and intermediate size `I`. `{layer}` and `{expert}` stand for numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainExpertNames<'a> {
    /// Tensors of their own.
    Each {
        /// `[I, H]`
        up: &'a str,
        /// `[H, I]`
        down: &'a str,
    },
    /// All experts in one tensor.
    Stacked {
        /// `[E, I, H]`
        up: &'a str,
        /// `[E, H, I]`
        down: &'a str,
    },
}

/// What the tensors of experts must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertsNeed<'a> {
    /// `E`
    pub experts: usize,
    /// `H`
    pub hidden: usize,
    /// `I`
    pub inner: usize,
    /// How they are called and stored.
    pub names: ExpertNames<'a>,
    /// Formats of the matrices.
    pub accept: &'a [StorageFormat],
}

/// How a checkpoint names and stores experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpertNames<'a> {
    /// With gates.
    Gated(GatedExpertNames<'a>),
    /// Without.
    Plain(PlainExpertNames<'a>),
}

/// One matrix, stack of matrices, or table of biases that experts need.
pub(super) struct ExpertTensor<'a> {
    /// With its placeholders.
    pub(super) template: &'a str,
    pub(super) expert: Option<usize>,
    pub(super) need: TensorNeed,
}

pub(super) enum TensorNeed {
    Matrix(MatrixNeed),
    /// `[E, len]`, not quantised.
    Biases([usize; 2]),
}

impl<'a> ExpertsNeed<'a> {
    /// Every tensor of a layer.
    pub(super) fn tensors(&self) -> Vec<ExpertTensor<'a>> {
        let &Self { experts, hidden, inner, names, .. } = self;
        let stacked = |template, rows, inputs, lies| ExpertTensor {
            template,
            expert: None,
            need: TensorNeed::Matrix(MatrixNeed { stack: Some(experts), rows, inputs, lies }),
        };
        let biases = |template, len| ExpertTensor { template, expert: None, need: TensorNeed::Biases([experts, len]) };
        let each = |matrices: &[(&'a str, usize, usize)]| {
            let of = |expert| matrices.iter().map(move |&(template, rows, inputs)| (expert, template, rows, inputs));
            let tensor = |(expert, template, rows, inputs)| ExpertTensor {
                template,
                expert: Some(expert),
                need: TensorNeed::Matrix(MatrixNeed { stack: None, rows, inputs, lies: Lies::Rows }),
            };
            (0..experts).flat_map(of).map(tensor).collect()
        };
        match names {
            ExpertNames::Gated(GatedExpertNames::Each { gate, up, down }) => {
                each(&[(gate, inner, hidden), (up, inner, hidden), (down, hidden, inner)])
            }
            ExpertNames::Plain(PlainExpertNames::Each { up, down }) => each(&[(up, inner, hidden), (down, hidden, inner)]),
            ExpertNames::Gated(GatedExpertNames::Stacked { gate_up, down }) => {
                vec![stacked(gate_up, 2 * inner, hidden, Lies::Rows), stacked(down, hidden, inner, Lies::Rows)]
            }
            ExpertNames::Plain(PlainExpertNames::Stacked { up, down }) => {
                vec![stacked(up, inner, hidden, Lies::Rows), stacked(down, hidden, inner, Lies::Rows)]
            }
            ExpertNames::Gated(GatedExpertNames::Transposed { gate_up, gate_up_bias, down, down_bias }) => vec![
                stacked(gate_up, 2 * inner, hidden, Lies::Columns),
                biases(gate_up_bias, 2 * inner),
                stacked(down, hidden, inner, Lies::Columns),
                biases(down_bias, hidden),
            ],
        }
    }
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertTensor<'a> {
    /// Its name, with its placeholders.
    pub template: &'a str,
    /// The number of the expert, where it has tensors of its own.
    pub expert: Option<usize>,
    /// What it must be.
    pub need: TensorNeed,
    /// Matrices that its rows are divided into: 2 where gates and ups are stored together.
    pub parts: usize,
}

/// What one tensor of experts must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorNeed {
    /// A matrix, or a stack of them.
    Matrix(MatrixNeed),
    /// `[E, len]`, not quantised.
    Biases([usize; 2]),
}

impl<'a> ExpertsNeed<'a> {
    /// Every tensor of a layer.
    pub fn tensors(&self) -> Vec<ExpertTensor<'a>> {
        let &Self { experts, hidden, inner, names, .. } = self;
        let of_stack = |template, parts, rows, inputs, lies| ExpertTensor {
            template,
            expert: None,
            need: TensorNeed::Matrix(MatrixNeed { stack: Some(experts), rows, inputs, lies }),
            parts,
        };
        let stacked = |template, rows, inputs, lies| of_stack(template, 1, rows, inputs, lies);
        let gate_and_up = |template, lies| of_stack(template, 2, 2 * inner, hidden, lies);
        let biases = |template, len| ExpertTensor { template, expert: None, need: TensorNeed::Biases([experts, len]), parts: 1 };
        let each = |matrices: &[(&'a str, usize, usize)]| {
            let of = |expert| matrices.iter().map(move |&(template, rows, inputs)| (expert, template, rows, inputs));
            let tensor = |(expert, template, rows, inputs)| ExpertTensor {
                template,
                expert: Some(expert),
                need: TensorNeed::Matrix(MatrixNeed { stack: None, rows, inputs, lies: Lies::Rows }),
                parts: 1,
            };
            (0..experts).flat_map(of).map(tensor).collect()
        };
        match names {
            ExpertNames::Gated(GatedExpertNames::Each { gate, up, down }) => {
                each(&[(gate, inner, hidden), (up, inner, hidden), (down, hidden, inner)])
            }
            ExpertNames::Plain(PlainExpertNames::Each { up, down }) => each(&[(up, inner, hidden), (down, hidden, inner)]),
            ExpertNames::Gated(GatedExpertNames::Stacked { gate_up, down }) => {
                vec![gate_and_up(gate_up, Lies::Rows), stacked(down, hidden, inner, Lies::Rows)]
            }
            ExpertNames::Plain(PlainExpertNames::Stacked { up, down }) => {
                vec![stacked(up, inner, hidden, Lies::Rows), stacked(down, hidden, inner, Lies::Rows)]
            }
            ExpertNames::Gated(GatedExpertNames::Transposed { gate_up, gate_up_bias, down, down_bias }) => vec![
                gate_and_up(gate_up, Lies::Columns),
                biases(gate_up_bias, 2 * inner),
                stacked(down, hidden, inner, Lies::Columns),
                biases(down_bias, hidden),
            ],
        }
    }
}

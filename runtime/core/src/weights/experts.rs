//! What generated code says about the tensors of experts, as constants.

use tenon_formats::StorageFormat;

use super::held::Held;
use super::spec::{Need, TensorCheck};
use super::stored::{Lies, MatrixNeed};

/// The tensors of `E` experts that compute `down(act(gate x) * up x)`, with hidden size `H` and intermediate size `I`.
#[derive(Clone, Copy, Debug)]
pub struct GatedExpertsSpec<const E: usize, const H: usize, const I: usize> {
    names: GatedExpertNames,
    accept: &'static [StorageFormat],
}

/// The tensors of `E` experts that compute `down(act(up x))`, with hidden size `H` and intermediate size `I`.
#[derive(Clone, Copy, Debug)]
pub struct PlainExpertsSpec<const E: usize, const H: usize, const I: usize> {
    names: PlainExpertNames,
    accept: &'static [StorageFormat],
}

/// How a checkpoint names and stores experts with gates. `{layer}` and `{expert}` stand for numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatedExpertNames {
    /// Tensors of their own.
    Each {
        /// `[I, H]`
        gate: &'static str,
        /// `[I, H]`
        up: &'static str,
        /// `[H, I]`
        down: &'static str,
    },
    /// All experts in one tensor.
    Stacked {
        /// `[E, 2 I, H]`, the gates of an expert before its ups.
        gate_up: &'static str,
        /// `[E, H, I]`
        down: &'static str,
    },
    /// All experts in one tensor, as gpt-oss has them: transposed, with biases, gates and ups alternating. In mxfp4 they are not
    /// transposed: `gate_up` with `_blocks` is `[E, 2 I, H / 32, 16]` and with `_scales` `[E, 2 I, H / 32]`.
    Transposed {
        /// `[E, H, 2 I]`
        gate_up: &'static str,
        /// `[E, 2 I]`
        gate_up_bias: &'static str,
        /// `[E, I, H]`
        down: &'static str,
        /// `[E, H]`
        down_bias: &'static str,
    },
}

/// How a checkpoint names and stores experts without gates. `{layer}` and `{expert}` stand for numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainExpertNames {
    /// Tensors of their own.
    Each {
        /// `[I, H]`
        up: &'static str,
        /// `[H, I]`
        down: &'static str,
    },
    /// All experts in one tensor.
    Stacked {
        /// `[E, I, H]`
        up: &'static str,
        /// `[E, H, I]`
        down: &'static str,
    },
}

/// What the tensors of experts must be.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpertsNeed {
    pub(super) experts: usize,
    pub(super) hidden: usize,
    pub(super) inner: usize,
    pub(super) names: ExpertNames,
    pub(super) accept: &'static [StorageFormat],
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ExpertNames {
    Gated(GatedExpertNames),
    Plain(PlainExpertNames),
}

/// One matrix, or stack of matrices, that experts need.
pub(super) struct ExpertTensor {
    /// With its placeholders.
    pub(super) template: &'static str,
    pub(super) expert: Option<usize>,
    pub(super) need: TensorNeed,
    /// Matrices that its rows are divided into: 2 where gates and ups are stored together.
    pub(super) parts: usize,
}

pub(super) enum TensorNeed {
    Matrix(MatrixNeed),
    /// `[E, len]`, not quantised.
    Biases([usize; 2]),
}

impl ExpertsNeed {
    /// Every tensor of a layer.
    pub(super) fn tensors(&self) -> Vec<ExpertTensor> {
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
        let each = |matrices: &[(&'static str, usize, usize)]| {
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

/// The parts that both specs share.
macro_rules! specs {
    ($($spec:ident($names:ident) is $variant:ident;)+) => {$(
        impl<const E: usize, const H: usize, const I: usize> $spec<E, H, I> {
            /// Experts under these names, in one of these formats.
            pub const fn new(names: $names, accept: &'static [StorageFormat]) -> Self {
                Self { names, accept }
            }

            pub(super) const fn names(&self) -> $names {
                self.names
            }

            pub(super) const fn need(&self) -> ExpertsNeed {
                let names = ExpertNames::$variant(self.names);
                ExpertsNeed { experts: E, hidden: H, inner: I, names, accept: self.accept }
            }

            /// The table entry of the experts of these layers, which stands for all their tensors.
            pub const fn per_layer(&self, layers: &'static [usize]) -> TensorCheck {
                // The names are in the need; this one is for the reader of a table.
                TensorCheck {
                    name: "experts",
                    layers: Some(layers),
                    need: Need::Experts(self.need()),
                    held: Held::Experts,
                    compared: true,
                }
            }
        }
    )+};
}
specs! {
    GatedExpertsSpec(GatedExpertNames) is Gated;
    PlainExpertsSpec(PlainExpertNames) is Plain;
}

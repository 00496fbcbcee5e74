//! What generated code says about the tensors of experts, as constants.

use tenon_formats::StorageFormat;
use tenon_formats::expect::tensors::{ExpertNames, ExpertsNeed, Need};

use super::held::Held;
use super::spec::PlannedTensor;
use super::{GatedExpertNames, PlainExpertNames};

/// The tensors of `E` experts that compute `down(act(gate x) * up x)`, with hidden size `H` and intermediate size `I`.
#[derive(Clone, Copy, Debug)]
pub struct GatedExpertsSpec<const E: usize, const H: usize, const I: usize> {
    names: GatedExpertNames<'static>,
    accept: &'static [StorageFormat],
}

/// The tensors of `E` experts that compute `down(act(up x))`, with hidden size `H` and intermediate size `I`.
#[derive(Clone, Copy, Debug)]
pub struct PlainExpertsSpec<const E: usize, const H: usize, const I: usize> {
    names: PlainExpertNames<'static>,
    accept: &'static [StorageFormat],
}

/// The parts that both specs share.
macro_rules! specs {
    ($($spec:ident($names:ident) is $variant:ident;)+) => {$(
        impl<const E: usize, const H: usize, const I: usize> $spec<E, H, I> {
            /// Experts under these names, in one of these formats.
            pub const fn new(names: $names<'static>, accept: &'static [StorageFormat]) -> Self {
                Self { names, accept }
            }

            pub(super) const fn names(&self) -> $names<'static> {
                self.names
            }

            pub(super) const fn need(&self) -> ExpertsNeed<'static> {
                let names = ExpertNames::$variant(self.names);
                ExpertsNeed { experts: E, hidden: H, inner: I, names, accept: self.accept }
            }

            /// The table entry of the experts of these layers, which stands for all their tensors.
            pub const fn per_layer(&self, layers: &'static [usize]) -> PlannedTensor {
                // The names are in the need; this one is for the reader of a table.
                PlannedTensor::new("experts", Some(layers), Need::Experts(self.need()), Held::Experts)
            }
        }
    )+};
}
specs! {
    GatedExpertsSpec(GatedExpertNames) is Gated;
    PlainExpertsSpec(PlainExpertNames) is Plain;
}

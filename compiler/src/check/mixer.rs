//! Mixers: whichever kind, with its cache and its rotation.

mod cache;
mod gqa;
mod mla;
mod recurrent;
mod rope;

use crate::diagnostic::Diagnostics;
use crate::model::Mixer;
use crate::spec::{MixerSpec, ModelSpec};

pub use cache::shared_dtype;

/// Checks a mixer that `layers` layers use.
pub fn mixer(spec: &ModelSpec, mixer: &MixerSpec, layers: usize, diags: &mut Diagnostics) -> Option<Mixer> {
    match mixer {
        MixerSpec::Gqa(gqa) => gqa::check(spec, gqa, layers, diags).map(Mixer::Gqa),
        MixerSpec::Mla(mla) => mla::check(spec, mla, layers, diags).map(Mixer::Mla),
        MixerSpec::Mamba2(mamba2) => recurrent::mamba2(mamba2, diags).map(Mixer::Mamba2),
        MixerSpec::GatedDeltaNet(net) => recurrent::gated_delta_net(net, diags).map(Mixer::GatedDeltaNet),
    }
}

#[cfg(test)]
mod tests;

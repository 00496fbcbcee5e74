//! The root of the crate of models: one module per model, each behind a cfg, and the list of those compiled in.

use quote::quote;

use super::text::{blank, ident, rust};
use crate::program::Program;

/// `src/lib.rs`
pub fn root(models: &[Vec<Program<'_>>]) -> String {
    let space = blank();
    let modules = models.iter().map(|programs| {
        let model = programs[0].model;
        let (module, name) = (ident(&model.module()), model.module());
        let doc = format!(" {}: {} parameters.", model.name, crate::diagnostic::thousands(programs[0].parameters()));
        quote! {
            #space
            #[doc = #doc]
            #[cfg(tenon_model = #name)]
            #[rustfmt::skip]
            pub mod #module;
        }
    });
    let entries = models.iter().map(|programs| {
        let (module, name) = (ident(&programs[0].model.module()), programs[0].model.module());
        quote!(#[cfg(tenon_model = #name)] &#module::ENTRY,)
    });
    let launches = models.iter().flatten().any(|program| program.target.launches());
    let kernels = launches.then(|| {
        quote! {
            #space
            /// The kernels that models launch on a GPU.
            #[cfg(feature = "cuda")]
            #[rustfmt::skip]
            pub mod kernels;
        }
    });
    rust(
        &[
            "Every model under model-specs/, compiled.",
            "Generated from the specs; edit the TOMLs there, then `cargo build`. `TENON_MODELS=a,b` limits which are compiled in.",
        ],
        quote! {
            use tenon_core::model::ModelEntry;
            #kernels
            #(#modules)*
            #space
            /// The models that are compiled in, in the order of their names.
            pub const MODELS: &[&ModelEntry] = &[#(#entries)*];
        },
    )
}

//! What the models of a crate share: wrappers of templates, the table of instances, the products of weights and rows, and CUDA text.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::quote;

use super::instance::{Instance, Param, cuda, instances};
use super::wrapper::Wrapper;
use crate::emit::File;
use crate::emit::text::{blank, constant, ident, int, rust};
use crate::program::{DeviceOp, OpKind, Program};
use crate::spec::TemplateSpec;

/// The second line of what comes from several templates.
const FROM_TEMPLATES: &str = "Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.";

/// The files of all templates that these programs use, relative to the crate's folder.
pub fn files(models: &[Vec<Program<'_>>]) -> Vec<File> {
    let wrappers = wrappers(models);
    if wrappers.is_empty() {
        return Vec::new();
    }
    let instances = instances(models);
    let file = |path: String, text: String| File { path, text };
    let mut files = vec![
        file("src/kernels/mod.rs".to_owned(), root(&wrappers)),
        file("src/kernels/instances/mod.rs".to_owned(), tables(&instances)),
        file("src/kernels/matmul.rs".to_owned(), matmul(&wrappers)),
    ];
    for template in templates(&instances) {
        files.push(file(format!("src/kernels/instances/{template}.rs"), table(template, &instances)));
    }
    files.extend(wrappers.values().map(|w| file(format!("src/kernels/{}.rs", w.template.name), w.file())));
    files.extend(instances.values().map(|i| file(format!("kernels/sm_90a/{}.cu", i.name), cuda(i))));
    files
}

/// The wrapper of every template that these programs use, by its name.
fn wrappers<'p>(models: &[Vec<Program<'p>>]) -> BTreeMap<&'p str, Wrapper<'p>> {
    let mut found: BTreeMap<&str, (&TemplateSpec, &DeviceOp)> = BTreeMap::new();
    for program in models.iter().flatten() {
        for op in program.ops.iter() {
            let OpKind::Device(kind) = &op.kind else { continue };
            let kernel = program.model.kernel(program.target, &op.requirement(&program.model.checkpoint.accept));
            if let Some(template) = &kernel.device {
                found.entry(&template.0.name).or_insert((&template.0, kind));
            }
        }
    }
    found.into_iter().map(|(name, (template, op))| (name, Wrapper::new(template, op))).collect()
}

fn root(wrappers: &BTreeMap<&str, Wrapper<'_>>) -> String {
    let modules = wrappers.values().map(|wrapper| {
        let (module, doc) = (ident(&wrapper.template.name), format!(" {}.", wrapper.template.about));
        quote!(#[doc = #doc] pub mod #module;)
    });
    let uses = wrappers.values().map(|wrapper| {
        let (module, ty) = (ident(&wrapper.template.name), wrapper.type_name());
        quote!(pub use #module::#ty;)
    });
    let space = blank();
    rust(
        &["The kernels that the models of this crate launch on a GPU, each with typed arguments.", FROM_TEMPLATES],
        quote! {
            #(#modules)*
            /// Every instance, as it was compiled.
            pub mod instances;
            /// Products of weights and rows.
            pub mod matmul;
            #space
            #(#uses)*
            pub use matmul::Matmul;
        },
    )
}

/// The templates of instances, in the order of their names.
fn templates<'i>(instances: &'i BTreeMap<String, Instance<'_>>) -> BTreeSet<&'i str> {
    instances.values().map(|instance| instance.template.name.as_str()).collect()
}

fn tables(instances: &BTreeMap<String, Instance<'_>>) -> String {
    let modules: Vec<_> = templates(instances).into_iter().map(ident).collect();
    let space = blank();
    rust(
        &["Every instance of a kernel that a model of this crate launches, with the models that do.", FROM_TEMPLATES],
        quote! {
            #(mod #modules;)*
            #space
            #(pub use #modules::*;)*
        },
    )
}

/// The instances of one template, a line each.
fn table(template: &str, instances: &BTreeMap<String, Instance<'_>>) -> String {
    let space = blank();
    let entries = instances.values().filter(|instance| instance.template.name == template).map(|instance| {
        let (constant, name) = (constant(&instance.name), &instance.name);
        let models: Vec<&str> = instance.models.iter().map(String::as_str).collect();
        let doc = format!(" {}.", models.join(", "));
        let shared = int(instance.shared_bytes as usize);
        let manifest = instance.params.iter().map(|(param, value)| match value {
            Param::Number(number) => {
                let number = int(*number as usize);
                quote!(number(#param, #number))
            }
            Param::Name(text) => quote!(name(#param, #text)),
        });
        quote! {
            #[doc = #doc]
            pub const #constant: Instance = instance!(#name, [#(#manifest),*], #shared);
        }
    });
    let what =
        format!("Instances of `{template}`, with the models that launch them: parameters, and bytes of shared memory at most.");
    rust(
        &[&what, FROM_TEMPLATES],
        quote! {
            use tenon_core::cuda::Instance;
            use tenon_core::instance;
            #space
            #(#entries)*
        },
    )
}

fn matmul(wrappers: &BTreeMap<&str, Wrapper<'_>>) -> String {
    let has = |name: &str| wrappers.contains_key(name);
    let space = blank();
    let (dequantises, gates) = (has("dequantise"), has("linear_gated") && has("act_mul"));
    let types = ["Linear", "Dequantise", "LinearGated", "ActMul"]
        .into_iter()
        .filter(|ty| match *ty {
            "Linear" => true,
            "Dequantise" => dequantises,
            _ => gates,
        })
        .map(ident);
    let (field, parameter, init) = match dequantises {
        true => (
            quote!(dequantise: Option<Dequantise>, matrix: DeviceWorkspace<Bf16>,),
            quote!(, dequantise: Option<Dequantise>, matrix: DeviceWorkspace<Bf16>),
            quote!(, dequantise, matrix),
        ),
        false => (quote!(), quote!(), quote!()),
    };
    let bytes = if dequantises { quote!(self.gemm.bytes() + self.matrix.bytes()) } else { quote!(self.gemm.bytes()) };
    let as_bf16 = match dequantises {
        true => quote! {
            let Self { dequantise, matrix, gemm, .. } = self;
            let bf16 = match (weight.as_bf16(), dequantise) {
                (Some(stored), _) => stored,
                (None, Some(dequantise)) => {
                    dequantise.launch(run, weight, matrix)?;
                    GemmWeight::dequantised(matrix)
                }
                (None, None) => unreachable!("a plan that accepts other formats dequantises them"),
            };
        },
        false => quote! {
            let gemm = &mut self.gemm;
            let bf16 = weight.as_bf16().expect("the plan accepts bf16 alone");
        },
    };
    let method = |doc: &str, name: &str, element: TokenStream, mode: usize, gemm: &str| {
        let (name, mode, gemm) = (ident(name), int(mode), ident(gemm));
        quote! {
            #[doc = #doc]
            pub fn #name<const OUT: usize, const IN: usize>(
                &mut self,
                run: &Run<'_>,
                weight: &DeviceLinear<OUT, IN>,
                x: &DeviceRows<Bf16, IN>,
                y: &mut DeviceRows<#element, OUT>,
            ) -> Result<(), CudaError> {
                if run.is_few() {
                    return self.linear.launch(run, weight, x, y, #mode);
                }
                #as_bf16
                gemm.#gemm(bf16, x, y, run.rows())
            }
        }
    };
    let store = method(" y = W x, rounded to bf16.", "store", quote!(Bf16), 0, "store");
    let store_f32 = method(" y = W x in f32.", "store_f32", quote!(F32), 1, "store_f32");
    let add = method(" y += W x in f32.", "add", quote!(F32), 2, "add");
    let gated = gates.then(|| {
        quote! {
            #space
            /// y = act(W_gate x) * (W_up x): one launch for few rows, where both weights have the same format.
            #[allow(clippy::too_many_arguments, reason = "two products and what joins them")]
            pub fn gated<const OUT: usize, const IN: usize>(
                &mut self,
                run: &Run<'_>,
                together: &LinearGated,
                act: &ActMul,
                gate: &DeviceLinear<OUT, IN>,
                up: &DeviceLinear<OUT, IN>,
                x: &DeviceRows<Bf16, IN>,
                y: &mut DeviceRows<Bf16, OUT>,
                beside: &mut DeviceRows<Bf16, OUT>,
            ) -> Result<(), CudaError> {
                if run.is_few() && gate.format() == up.format() {
                    return together.launch(run, gate, up, x, y);
                }
                self.store(run, gate, x, y)?;
                self.store(run, up, x, beside)?;
                act.launch(run, y, beside)
            }
        }
    });
    let runtime = ["Bf16", "CudaError", "DeviceLinear", "DeviceRows", "DeviceWorkspace", "F32", "Gemm", "GemmWeight", "Run"];
    let body = quote! {
        /// Products of weights and rows: a kernel that reads the weights once for few rows, the matrix library for more.
        #[derive(Debug)]
        pub struct Matmul {
            linear: Linear,
            gemm: Gemm,
            #field
        }
        #space
        impl Matmul {
            /// Of these kernels, and of a workspace for the largest weight that is not stored as bf16.
            pub fn new(linear: Linear, gemm: Gemm #parameter) -> Self {
                Self { linear, gemm #init }
            }
            #space
            /// Bytes held.
            pub fn bytes(&self) -> usize {
                #bytes
            }
            #space
            #store
            #space
            #store_f32
            #space
            #add
            #gated
        }
    };
    let mut imports = crate::emit::imports::Imports::of(&body);
    let runtime = imports.take("tenon_core::cuda", runtime);
    rust(
        &["Products of weights and rows on sm_90a.", FROM_TEMPLATES],
        quote!(#runtime #space use super::{#(#types),*}; #space #body),
    )
}

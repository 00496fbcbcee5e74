//! `sm_90a_weights.rs` of a model: its weights, as they are kept on the device.

use proc_macro2::TokenStream;
use quote::quote;

use crate::architecture::Role;
use crate::emit::imports::Imports;
use crate::emit::text::{blank, constant, edit_line, ident, int, rust, type_name};
use crate::emit::weights::{checkpoint_kind, kind_type, spec_name};
use crate::lower;
use crate::program::{Program, Tensor, TensorShape};

/// The text of `sm_90a_weights.rs`.
pub fn file(program: &Program<'_>) -> String {
    let blocks = (0..program.model.kinds.len()).map(|kind| block(program, kind));
    let all = all(program);
    let body = quote!(#(#blocks)* #all);
    let mut imports = Imports::of(&body);
    let space = blank();
    let std = imports.take("std::sync", ["Arc"]);
    let runtime: Vec<TokenStream> = [
        ("tenon_core::cpu", &["Cpu"][..]),
        (
            "tenon_core::cuda",
            &[
                "Device",
                "DeviceConv",
                "DeviceEmbedding",
                "DeviceExperts",
                "DeviceLatentUp",
                "DeviceLinear",
                "DeviceLoader",
                "DeviceVector",
            ],
        ),
        ("tenon_core::weights", &["Checkpoint", "CheckpointKind", "LoadError"]),
    ]
    .into_iter()
    .filter_map(|(path, names)| imports.take(path, names.iter().copied()))
    .collect();
    let specs: Vec<String> = program.tensors.iter().map(|t| spec_name(program, t).to_string()).collect();
    let layers: Vec<String> = program.groups.iter().map(|g| constant(&format!("{}_layers", g.field)).to_string()).collect();
    let layers = imports.take("super::layers", layers.iter().map(String::as_str));
    let tensors = imports.take("super::tensors", specs.iter().map(String::as_str).chain(["TENSORS"]));
    let header = format!("{} on sm_90a: its weights, as they are kept there.", program.model.name);
    rust(
        &[&header, &edit_line(&program.model.folder)],
        quote!(#std #space #(#runtime)* #space use super::CONFIG; #layers #tensors #space #body),
    )
}

/// The type of a field.
fn ty(shape: TensorShape) -> TokenStream {
    let of = |name: &str, dims: &[usize]| {
        let (name, dims) = (ident(name), dims.iter().map(|dim| int(*dim)));
        quote!(#name<#(#dims),*>)
    };
    match shape {
        TensorShape::Embedding { vocab, dim } => of("DeviceEmbedding", &[vocab, dim]),
        TensorShape::Linear { out, input } => of("DeviceLinear", &[out, input]),
        TensorShape::Norm { dim } | TensorShape::Bias { dim } | TensorShape::Vector { dim } | TensorShape::Decay { dim } => {
            of("DeviceVector", &[dim])
        }
        TensorShape::Conv { dim, kernel } => of("DeviceConv", &[dim, kernel]),
        TensorShape::LatentUp { heads, nope, v, rank } => of("DeviceLatentUp", &[heads, nope, v, rank]),
        TensorShape::GatedExperts(e) | TensorShape::PlainExperts(e) => of("DeviceExperts", &[e.experts, e.hidden, e.inner]),
    }
}

fn load(program: &Program<'_>, tensor: &Tensor, layer: &TokenStream) -> TokenStream {
    let (name, spec) = (ident(tensor.role.field()), spec_name(program, tensor));
    let method = match tensor.shape {
        TensorShape::Embedding { .. } => return quote!(#name: from.embedding(&#spec)?,),
        TensorShape::Linear { .. } => "linear",
        TensorShape::Norm { .. } => "norm",
        TensorShape::Bias { .. } => "bias",
        TensorShape::Vector { .. } => "vector",
        TensorShape::Decay { .. } => "decay",
        TensorShape::Conv { .. } => "conv",
        TensorShape::LatentUp { .. } => "latent_up",
        TensorShape::GatedExperts(_) => "gated_experts",
        TensorShape::PlainExperts(_) => "plain_experts",
    };
    let method = ident(method);
    quote!(#name: from.#method(&#spec, #layer)?,)
}

/// The largest of the products' weights that are not stored as bf16.
fn matrix_elements(tensors: &[&Tensor], own: impl Fn(&proc_macro2::Ident) -> TokenStream) -> Vec<TokenStream> {
    let products = tensors.iter().filter(|t| matches!(t.shape, TensorShape::Linear { .. }));
    products
        .map(|t| {
            let weight = own(&ident(t.role.field()));
            quote!(#weight.elements_to_dequantise())
        })
        .collect()
}

fn block(program: &Program<'_>, kind: usize) -> TokenStream {
    let name = type_name(&lower::field_name(&program.model.kinds[kind].name));
    let space = blank();
    let tensors: Vec<&Tensor> = program.tensors.iter().filter(|t| t.kind == Some(kind)).collect();
    let fields = tensors.iter().map(|t| {
        let (name, ty) = (ident(t.role.field()), ty(t.shape));
        quote!(pub #name: #ty,)
    });
    let names: Vec<_> = tensors.iter().map(|t| ident(t.role.field())).collect();
    let loads = tensors.iter().map(|t| load(program, t, &quote!(layer)));
    let doc = format!(" Weights of one layer of kind `{}`.", program.model.kinds[kind].name);
    let elements = matrix_elements(&tensors, |name| quote!(self.#name));
    let elements = if elements.is_empty() { quote!(0) } else { quote!([#(#elements),*].into_iter().max().unwrap_or(0)) };
    quote! {
        #space
        #[doc = #doc]
        #[derive(Debug)]
        #[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
        pub struct #name {
            #(#fields)*
        }
        #space
        impl #name {
            fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
                Ok(Self { #(#loads)* })
            }
            #space
            /// Bytes held.
            pub fn bytes(&self) -> usize {
                #(self.#names.bytes())+*
            }
            #space
            fn matrix_elements(&self) -> usize {
                #elements
            }
        }
    }
}

fn all(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let global: Vec<&Tensor> = program.tensors.iter().filter(|t| t.kind.is_none()).collect();
    let fields = global.iter().map(|t| {
        let (name, ty) = (ident(t.role.field()), ty(t.shape));
        quote!(pub #name: #ty,)
    });
    let group_fields = program.groups.iter().map(|g| {
        let (name, kind, count) = (ident(&g.field), kind_type(program.model, g), int(g.layers.len()));
        quote!(pub #name: Box<[#kind; #count]>,)
    });
    let group_loads = program.groups.iter().map(|g| {
        let (name, kind) = (ident(&g.field), kind_type(program.model, g));
        let layers = constant(&format!("{}_layers", g.field));
        quote!(#name: from.layers(&#layers, #kind::load)?,)
    });
    let tied = |t: &Tensor| t.shared && t.role == Role::LmHead;
    let zero = quote!(0);
    let embedding = global.iter().find(|t| t.role == Role::EmbedTokens).map(|t| {
        let spec = spec_name(program, t);
        quote!(let embed_tokens = from.embedding(&#spec)?;)
    });
    let loads = global.iter().map(|t| {
        let name = ident(t.role.field());
        match t.role {
            Role::EmbedTokens => TokenStream::new(),
            _ if tied(t) => quote!(#name: embed_tokens.tied(),),
            _ => load(program, t, &zero),
        }
    });
    // A tied head is the embedding's memory.
    let held: Vec<_> = global.iter().filter(|t| !tied(t)).map(|t| ident(t.role.field())).collect();
    let group_sums = program.groups.iter().map(|g| {
        let (name, kind) = (ident(&g.field), kind_type(program.model, g));
        quote!(+ self.#name.iter().map(#kind::bytes).sum::<usize>())
    });
    let head = matrix_elements(&global, |name| quote!(self.#name));
    let of_layers = program.groups.iter().map(|g| {
        let (name, kind) = (ident(&g.field), kind_type(program.model, g));
        quote!(self.#name.iter().map(#kind::matrix_elements).max().unwrap_or(0))
    });
    let kind = checkpoint_kind(program.model);
    quote! {
        #space
        /// All weights.
        #[derive(Debug)]
        #[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
        pub struct Weights {
            #(#fields)*
            #(#group_fields)*
        }
        #space
        impl Weights {
            /// Compares the checkpoint with the spec, everything at once, then loads it onto the device.
            pub fn load(checkpoint: &Arc<Checkpoint>, cpu: &Cpu, device: &Arc<Device>) -> Result<Self, LoadError> {
                checkpoint.require(CheckpointKind::#kind)?;
                let from = DeviceLoader::new(checkpoint, cpu, device, &TENSORS, &CONFIG)?;
                #embedding
                Ok(Self {
                    #(#group_loads)*
                    #(#loads)*
                    embed_tokens,
                })
            }
            #space
            /// Bytes held.
            pub fn bytes(&self) -> usize {
                #(self.#held.bytes())+* #(#group_sums)*
            }
            #space
            /// Elements of the largest weight that a product of many rows needs as bf16 and that is stored otherwise.
            pub fn matrix_elements(&self) -> usize {
                [#(#head,)* #(#of_layers),*].into_iter().max().unwrap_or(0)
            }
        }
    }
}

//! `layers.rs`, `tensors.rs` and `weights.rs` of a model: which layers are what, the tensors of its checkpoint as typed constants, and
//! the structs that hold them.

use proc_macro2::TokenStream;
use quote::quote;

use super::imports::Imports;
use super::text::{blank, constant, edit_line, ident, int, rust, type_name};
use crate::architecture::Role;
use crate::lower;
use crate::model::{CheckpointFormat, ExpertLayout, Model};
use crate::program::{ExpertDims, Group, Program, Rows, Schedule, Tensor, TensorShape};

/// What `weights.rs` may import from the runtime.
const RUNTIME: [(&str, &[&str]); 5] = [
    ("tenon_core::cpu", &["Cpu"]),
    ("tenon_core::layers", &["layer_range"]),
    ("tenon_core::linear", &["Bias", "Conv", "Decay", "Embedding", "LatentUp", "Linear", "Norm", "Vector"]),
    ("tenon_core::moe", &["GatedExperts", "PlainExperts"]),
    (
        "tenon_core::weights",
        &[
            "BiasSpec",
            "Checkpoint",
            "CheckpointKind",
            "ConvSpec",
            "DecaySpec",
            "EmbeddingSpec",
            "GatedExpertNames",
            "GatedExpertsSpec",
            "LatentUpSpec",
            "LinearSpec",
            "LoadError",
            "Loader",
            "NormSpec",
            "PlainExpertNames",
            "PlainExpertsSpec",
            "PlannedTensor",
            "RowOrder",
            "Segment",
            "StorageFormat",
            "VectorSpec",
        ],
    ),
];

/// The text of `tensors.rs`.
pub fn tensors(program: &Program<'_>) -> String {
    let space = blank();
    let accept = program.model.checkpoint.accept.iter().map(|f| ident(f.variant()));
    let specs = program.tensors.iter().filter(|t| has_spec(t)).map(|t| spec(program, t));
    let checks: Vec<TokenStream> = checks(program);
    let count = int(checks.len());
    let body = quote! {
        /// Storage formats that a tensor may have.
        pub const ACCEPT: &[StorageFormat] = &[#(StorageFormat::#accept),*];
        #space
        #(#specs)*
        #space
        /// Every tensor that the checkpoint must hold, and how it is kept.
        pub const TENSORS: [PlannedTensor; #count] = [#(#checks),*];
    };
    let mut imports = Imports::of(&body);
    let layers = layer_names(program, &mut imports);
    let header = format!("{}: the tensors of its checkpoint.", program.model.name);
    file(program, &header, imports, layers, body)
}

/// The text of `layers.rs`.
pub fn layers(program: &Program<'_>) -> String {
    let layers = program.groups.iter().map(layer_list);
    let pattern = pattern(program);
    let body = quote!(#(#layers)* #pattern);
    let header = format!("{}: which layers are what.", program.model.name);
    file(program, &header, Imports::of(&body), None, body)
}

/// Imports the lists of layers.
fn layer_names(program: &Program<'_>, imports: &mut Imports) -> Option<TokenStream> {
    let names: Vec<String> = program.groups.iter().map(|g| constant(&format!("{}_layers", g.field)).to_string()).collect();
    imports.take("super::layers", names.iter().map(String::as_str))
}

/// The text of `weights.rs`.
pub fn weights(program: &Program<'_>) -> String {
    let blocks = (0..program.model.kinds.len()).map(|kind| block(program, kind));
    let all = all(program);
    let body = quote!(#(#blocks)* #all);
    let mut imports = Imports::of(&body);
    let specs = program.tensors.iter().filter(|t| has_spec(t)).map(|t| spec_name(program, t).to_string());
    let names: Vec<String> = specs.chain(["TENSORS".to_owned()]).collect();
    let layers = layer_names(program, &mut imports);
    let tensors = imports.take("super::tensors", names.iter().map(String::as_str));
    let own = quote!(use super::CONFIG; #layers #tensors);
    let header = format!("{}: its weights, as they are kept.", program.model.name);
    file(program, &header, imports, Some(own), body)
}

/// A tensor has a constant of its own unless it is another's; a tied head has one all the same, as another view of the embedding.
fn has_spec(tensor: &Tensor) -> bool {
    !tensor.shared || tensor.role == Role::LmHead
}

fn file(program: &Program<'_>, header: &str, mut imports: Imports, own: Option<TokenStream>, body: TokenStream) -> String {
    let space = blank();
    let std = imports.take("std::sync", ["Arc"]).map(|arc| quote!(#arc #space));
    let runtime: Vec<TokenStream> =
        RUNTIME.iter().filter_map(|(path, names)| imports.take(path, names.iter().copied())).collect();
    let own = own.map(|own| quote!(#own #space));
    rust(&[header, &edit_line(&program.model.folder)], quote!(#std #(#runtime)* #space #own #body))
}

/// The constant that names a tensor. Two kinds of block each have their own.
pub fn spec_name(program: &Program<'_>, tensor: &Tensor) -> proc_macro2::Ident {
    match tensor.kind {
        Some(kind) if program.model.kinds.len() > 1 => {
            constant(&format!("{}_{}", lower::field_name(&program.model.kinds[kind].name), tensor.role.field()))
        }
        _ => constant(tensor.role.field()),
    }
}

fn spec(program: &Program<'_>, tensor: &Tensor) -> TokenStream {
    let name = spec_name(program, tensor);
    let (spec, _, dims) = types(tensor.shape);
    let in_file = match tensor.shape {
        TensorShape::GatedExperts(dims) => expert_names("GatedExpertNames", true, dims, &tensor.names),
        TensorShape::PlainExperts(dims) => expert_names("PlainExpertNames", false, dims, &tensor.names),
        _ => {
            let name = &tensor.names[0];
            quote!(#name)
        }
    };
    let order = match &tensor.rows {
        Rows::Stored => None,
        Rows::RopePairs { heads, rotary_dim } => {
            let (rotary_dim, heads) = (int(*rotary_dim), int(*heads));
            Some(quote!(.rows(RowOrder::RopePairs { heads: #heads, rotary_dim: #rotary_dim })))
        }
        Rows::Parts(segments) => {
            let segments = segments.iter().map(|s| {
                let [groups, group_rows, first, rows] = [s.groups, s.group_rows, s.first, s.rows].map(int);
                quote!(Segment { groups: #groups, group_rows: #group_rows, first: #first, rows: #rows })
            });
            Some(quote!(.rows(RowOrder::Parts(&[#(#segments),*]))))
        }
    };
    let plus_one = tensor.plus_one.then(|| quote!(.plus_one()));
    quote!(pub(super) const #name: #spec<#dims> = #spec::new(#in_file, ACCEPT)#order #plus_one;)
}

/// The names of all tensors of a layer's experts.
fn expert_names(ty: &str, gated: bool, dims: ExpertDims, names: &[String]) -> TokenStream {
    let ty = ident(ty);
    let (variant, fields): (&str, &[&str]) = match (dims.layout, gated) {
        (ExpertLayout::Each, true) => ("Each", &["gate", "up", "down"]),
        (ExpertLayout::Each, false) => ("Each", &["up", "down"]),
        (ExpertLayout::Stacked, true) => ("Stacked", &["gate_up", "down"]),
        (ExpertLayout::Stacked, false) => ("Stacked", &["up", "down"]),
        (ExpertLayout::Transposed, _) => ("Transposed", &["gate_up", "gate_up_bias", "down", "down_bias"]),
    };
    let (variant, fields) = (ident(variant), fields.iter().map(|f| ident(f)));
    quote!(#ty::#variant { #(#fields: #names),* })
}

/// The types of a tensor's constant and of its field, and their dimensions.
fn types(shape: TensorShape) -> (proc_macro2::Ident, proc_macro2::Ident, TokenStream) {
    let of = |held: &str, dims: &[usize]| {
        let dims = dims.iter().map(|d| int(*d));
        (ident(&format!("{held}Spec")), ident(held), quote!(#(#dims),*))
    };
    match shape {
        TensorShape::Embedding { vocab, dim } => of("Embedding", &[vocab, dim]),
        TensorShape::Linear { out, input } => of("Linear", &[out, input]),
        TensorShape::Norm { dim } => of("Norm", &[dim]),
        TensorShape::Bias { dim } => of("Bias", &[dim]),
        TensorShape::Vector { dim } => of("Vector", &[dim]),
        TensorShape::Decay { dim } => of("Decay", &[dim]),
        TensorShape::Conv { dim, kernel } => of("Conv", &[dim, kernel]),
        TensorShape::LatentUp { heads, nope, v, rank } => of("LatentUp", &[heads, nope, v, rank]),
        TensorShape::GatedExperts(e) => of("GatedExperts", &[e.experts, e.hidden, e.inner]),
        TensorShape::PlainExperts(e) => of("PlainExperts", &[e.experts, e.hidden, e.inner]),
    }
}

/// Whether the layers of a group follow one another.
fn is_range(group: &Group) -> bool {
    group.layers.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

fn layer_list(group: &Group) -> TokenStream {
    let (name, count) = (constant(&format!("{}_layers", group.field)), int(group.layers.len()));
    let first = group.layers[0];
    let doc = format!(" Layers that are `{}`.", group.field);
    if is_range(group) {
        let first = int(first);
        quote! {
            #[doc = #doc]
            pub const #name: [usize; #count] = layer_range(#first);
        }
    } else {
        let layers = group.layers.iter().map(|l| int(*l));
        quote! {
            #[doc = #doc]
            pub const #name: [usize; #count] = [#(#layers),*];
        }
    }
}

fn pattern(program: &Program<'_>) -> TokenStream {
    let Schedule::Pattern(pattern) = &program.schedule else { return TokenStream::new() };
    let (variants, count) = (program.groups.iter().map(|g| type_name(&g.field)), int(pattern.len()));
    let entries = pattern.iter().map(|(group, index)| {
        let (kind, index) = (type_name(&program.groups[*group].field), int(*index));
        quote!((Kind::#kind, #index))
    });
    let docs = program.groups.iter().map(|g| format!(" `{}`", g.field));
    let space = blank();
    quote! {
        #space
        /// What a layer is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            #(#[doc = #docs] #variants,)*
        }
        /// For each layer, what it is and its index among its kind.
        pub const PATTERN: [(Kind, usize); #count] = [#(#entries),*];
    }
}

fn checks(program: &Program<'_>) -> Vec<TokenStream> {
    let mut checks = Vec::new();
    for tensor in program.tensors.iter().filter(|t| !t.shared) {
        let name = spec_name(program, tensor);
        match tensor.kind {
            None => checks.push(quote!(#name.once())),
            Some(kind) => checks.extend(program.groups.iter().filter(|g| g.kind == kind).map(|group| {
                let layers = constant(&format!("{}_layers", group.field));
                quote!(#name.per_layer(&#layers))
            })),
        }
    }
    // A tied head is packed beside the embedding: its tensor is compared once and kept twice.
    let tied = program.tensors.iter().filter(|t| t.shared && t.role == Role::LmHead);
    checks.extend(tied.map(|t| {
        let name = spec_name(program, t);
        quote!(#name.tied())
    }));
    let ignored = program.model.checkpoint.ignore.iter();
    checks.extend(ignored.map(|(name, reason)| quote!(PlannedTensor::ignored(#name, #reason))));
    checks
}

/// The struct of one kind of block, and how it is loaded.
fn block(program: &Program<'_>, kind: usize) -> TokenStream {
    let name = type_name(&lower::field_name(&program.model.kinds[kind].name));
    let space = blank();
    let tensors: Vec<&Tensor> = program.tensors.iter().filter(|t| t.kind == Some(kind)).collect();
    let fields = tensors.iter().map(|t| field(t));
    let names: Vec<_> = tensors.iter().map(|t| ident(t.role.field())).collect();
    let loads = tensors.iter().map(|t| load(program, t, &quote!(layer)));
    let doc = format!(" Weights of one layer of kind `{}`.", program.model.kinds[kind].name);
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
            fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
                Ok(Self { #(#loads)* })
            }
            #space
            /// Bytes held.
            pub fn bytes(&self) -> usize {
                #(self.#names.bytes())+*
            }
        }
    }
}

fn field(tensor: &Tensor) -> TokenStream {
    let (name, (_, held, dims)) = (ident(tensor.role.field()), types(tensor.shape));
    quote!(pub #name: #held<#dims>,)
}

fn load(program: &Program<'_>, tensor: &Tensor, layer: &TokenStream) -> TokenStream {
    let (name, spec) = (ident(tensor.role.field()), spec_name(program, tensor));
    let method = ident(match tensor.shape {
        TensorShape::Embedding { .. } => unreachable!("the embedding stands outside the layers"),
        TensorShape::Linear { .. } => "linear",
        TensorShape::Norm { .. } => "norm",
        TensorShape::Bias { .. } => "bias",
        TensorShape::Vector { .. } => "vector",
        TensorShape::Decay { .. } => "decay",
        TensorShape::Conv { .. } => "conv",
        TensorShape::LatentUp { .. } => "latent_up",
        TensorShape::GatedExperts(_) => "gated_experts",
        TensorShape::PlainExperts(_) => "plain_experts",
    });
    quote!(#name: from.#method(&#spec, #layer)?,)
}

/// The struct of all weights.
fn all(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let global: Vec<&Tensor> = program.tensors.iter().filter(|t| t.kind.is_none()).collect();
    let (embed, rest): (Vec<&Tensor>, Vec<&Tensor>) = global.into_iter().partition(|t| t.role == Role::EmbedTokens);
    let fields = embed.iter().map(|t| field(t));
    let rest_fields = rest.iter().map(|t| field(t));
    let group_fields = program.groups.iter().map(|g| {
        let (name, kind, count) = (ident(&g.field), kind_type(program.model, g), int(g.layers.len()));
        quote!(pub #name: Box<[#kind; #count]>,)
    });
    let group_loads = program.groups.iter().map(|g| {
        let (name, kind) = (ident(&g.field), kind_type(program.model, g));
        let layers = constant(&format!("{}_layers", g.field));
        quote!(#name: from.layers(&#layers, #kind::load)?,)
    });
    let zero = quote!(0);
    let loads = embed.iter().map(|t| {
        let (name, spec) = (ident(t.role.field()), spec_name(program, t));
        quote!(#name: from.embedding(&#spec)?,)
    });
    let rest_loads = rest.iter().map(|t| load(program, t, &zero));
    let global_names: Vec<_> = embed.iter().chain(&rest).map(|t| ident(t.role.field())).collect();
    let group_sums = program.groups.iter().map(|g| {
        let (name, kind) = (ident(&g.field), kind_type(program.model, g));
        quote!(+ self.#name.iter().map(#kind::bytes).sum::<usize>())
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
            #(#rest_fields)*
        }
        #space
        impl Weights {
            /// Compares the checkpoint with the spec, everything at once, then loads it.
            pub fn load(checkpoint: &Arc<Checkpoint>, cpu: &Cpu) -> Result<Self, LoadError> {
                checkpoint.require(CheckpointKind::#kind)?;
                let from = Loader::new(checkpoint, cpu, &TENSORS, &CONFIG)?;
                Ok(Self {
                    #(#loads)*
                    #(#group_loads)*
                    #(#rest_loads)*
                })
            }
            #space
            /// Bytes held.
            pub fn bytes(&self) -> usize {
                #(self.#global_names.bytes())+* #(#group_sums)*
            }
        }
    }
}

/// The sort of the model's checkpoint: a variant of `CheckpointKind`.
pub fn checkpoint_kind(model: &Model) -> proc_macro2::Ident {
    ident(match model.checkpoint.format {
        CheckpointFormat::Hf => "Hf",
        CheckpointFormat::Gguf => "Gguf",
        CheckpointFormat::Mistral => "Mistral",
    })
}

/// The struct of a group's layers.
pub fn kind_type(model: &Model, group: &Group) -> proc_macro2::Ident {
    type_name(&lower::field_name(&model.kinds[group.kind].name))
}

//! `cpu.rs` of a model: one step on the CPU as straight-line calls, a function per kind of block.

mod call;
mod memory;
mod step;

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use self::call::call;
use super::imports::Imports;
use super::text::{blank, constant, edit_line, ident, int, rust, type_name};
use super::weights::kind_type;
use crate::lower;
use crate::model::{Kernel, KvDtype, Target};
use crate::program::{CacheDtype, Op, Program};

/// What generated code may import from the runtime, beside the functions of kernels.
const RUNTIME: [(&str, &[&str]); 13] = [
    ("tenon_core::batch", &["Batch", "BatchLimits", "SnapshotId", "StateSlot"]),
    ("tenon_core::cache", &["LatentCache", "PagedKv"]),
    (CPU, &["Absorbed", "Cpu", "Expanded"]),
    ("tenon_core::dtype", &["Bf16", "F32", "Fp8E4m3", "KvDtype", "KvDtypeName"]),
    ("tenon_core::layers", &["each_layer", "per_layer"]),
    ("tenon_core::linear", &["Int8Rows"]),
    ("tenon_core::memory", &["Room", "Workspace"]),
    ("tenon_core::model", &["LoadOptions", "Logits", "Memory", "Model", "ModelInfo", "StateError", "StepError"]),
    ("tenon_core::moe", &["ExpertRows", "Gelu", "GeluTanh", "Relu2", "Routes", "Silu"]),
    ("tenon_core::rope", &["Halves", "Interleaved", "RopeAngles"]),
    ("tenon_core::rows", &["Rows"]),
    ("tenon_core::state", &["DeltaState", "Mamba2State"]),
    ("tenon_core::weights", &["Checkpoint", "LoadError"]),
];
const CPU: &str = "tenon_core::cpu";

/// The text of `cpu.rs`.
pub fn cpu(program: &Program<'_>) -> String {
    let model = program.model;
    let tiles = tiles(program);
    let blocks = (0..model.kinds.len()).map(|kind| block(program, kind));
    let (step, load) = (step::step(program), step::load(program));
    let body = quote!(#tiles #(#blocks)* #step #load);
    let header = format!("{} on the CPU: one step over a batch, layer by layer.", model.name);
    file(program, &header, &["Caches", "Scratch", "WORKSPACE"], body)
}

/// The text of `cpu_memory.rs`.
pub fn memory(program: &Program<'_>) -> String {
    let (caches, scratch, believed) = (memory::caches(program), memory::scratch(program), memory::state_bytes(program));
    let workspace = memory::workspace(program);
    let what = if program.is_recurrent() { "caches, recurrent states and activations" } else { "caches and activations" };
    let header = format!("{} on the CPU: {what}.", program.model.name);
    file(program, &header, &[], quote!(#caches #scratch #workspace #believed))
}

fn file(program: &Program<'_>, header: &str, memory: &[&str], body: TokenStream) -> String {
    let (model, space) = (program.model, blank());
    let mut imports = Imports::of(&body);
    let functions = functions(program);
    let runtime: Vec<TokenStream> = RUNTIME
        .iter()
        .filter_map(|(path, names)| {
            let functions = functions.iter().map(String::as_str).filter(|_| *path == CPU);
            imports.take(path, names.iter().copied().chain(functions))
        })
        .collect();
    let kinds: BTreeSet<String> = program.groups.iter().map(|g| kind_type(model, g).to_string()).collect();
    let own = [
        imports.take("super::cpu_memory", memory.iter().copied()),
        imports.take("super::layers", ["Kind", "PATTERN"]),
        imports.take("super::weights", kinds.iter().map(String::as_str).chain(["Weights"])),
        imports.constants("super"),
    ];
    let own = own.into_iter().flatten();
    let std =
        [imports.take("std::borrow", ["Cow"]), imports.take("std::marker", ["PhantomData"]), imports.take("std::sync", ["Arc"])];
    let std: Vec<TokenStream> = std.into_iter().flatten().collect();
    let std = (!std.is_empty()).then(|| quote!(#(#std)* #space));
    rust(&[header, &edit_line(&model.folder)], quote!(#std #(#runtime)* #space #(#own)* #space #body))
}

/// Last segments of the free functions that the selected kernels name.
fn functions(program: &Program<'_>) -> BTreeSet<String> {
    let free = |op: &Op| kernel(program, op).rust.strip_prefix("tenon_core::cpu::").map(str::to_owned);
    program.ops.iter().filter_map(free).collect()
}

/// Whether any layer has a cache of the dtype that is chosen at load.
fn generic_cache(program: &Program<'_>) -> bool {
    program.groups.iter().any(|g| g.cache == CacheDtype::Chosen)
}

fn kernel<'p>(program: &Program<'p>, op: &Op) -> &'p Kernel {
    program.model.kernel(Target::Cpu, &op.requirement(&program.model.checkpoint.accept))
}

fn function(program: &Program<'_>, op: &Op) -> proc_macro2::Ident {
    let path = &kernel(program, op).rust;
    ident(path.rsplit("::").next().expect("check wants a path"))
}

fn dtype_type(dtype: KvDtype) -> &'static str {
    match dtype {
        KvDtype::F32 => "F32",
        KvDtype::Bf16 => "Bf16",
        KvDtype::Fp8E4m3 => "Fp8E4m3",
    }
}

/// Tuned parameters of the kernels, as constants. One op may be tuned once for the whole target.
fn tiles(program: &Program<'_>) -> TokenStream {
    let mut seen = BTreeSet::new();
    let mut items = TokenStream::new();
    for op in program.ops.iter() {
        let requirement = op.requirement(&program.model.checkpoint.accept);
        for (param, value) in &kernel(program, op).tuned {
            let name = tile_const(program, requirement.op, param, *value);
            if seen.insert(name.to_string()) {
                let (value, doc) =
                    (int(*value as usize), format!(" `{param}` of `{}`; KERNEL.toml tunes it.", kernel(program, op).template));
                items.extend(quote!(#[doc = #doc] const #name: usize = #value;));
            }
        }
    }
    items
}

/// `TILE`, or `LINEAR_TILE` where another op has a parameter of this name and another value.
fn tile_const(program: &Program<'_>, op: &str, param: &str, value: u64) -> proc_macro2::Ident {
    let shared = program.ops.iter().any(|other| {
        let requirement = other.requirement(&program.model.checkpoint.accept);
        requirement.op != op && kernel(program, other).tuned.iter().any(|(name, other)| name == param && *other != value)
    });
    if shared { constant(&format!("{op}_{param}")) } else { constant(param) }
}

/// The turbofish of tuned parameters.
fn tuned(program: &Program<'_>, op: &Op) -> Vec<proc_macro2::Ident> {
    let requirement = op.requirement(&program.model.checkpoint.accept);
    kernel(program, op).tuned.iter().map(|(param, value)| tile_const(program, requirement.op, param, *value)).collect()
}

/// The function of one kind of block.
fn block(program: &Program<'_>, kind: usize) -> TokenStream {
    let model = program.model;
    let space = blank();
    let block = &model.kinds[kind];
    let name = ident(&lower::field_name(&block.name));
    let ty = type_name(&lower::field_name(&block.name));
    let calls = program.ops.kinds[kind].iter().map(|op| call(program, op, &quote!(w)));
    let layers: Vec<usize> = (0..model.pattern.len()).filter(|l| model.pattern[*l] == kind).collect();
    let parts: Vec<String> = [block.mixer.as_ref().map(|(n, _)| n.clone()), block.ffn.as_ref().map(|(n, _)| n.clone())]
        .into_iter()
        .flatten()
        .collect();
    let doc = format!(" {}: {}.", which(&layers, model.pattern.len()), parts.join(", then "));
    let Some((_, mixer)) = &block.mixer else {
        return quote! {
            #space
            #[doc = #doc]
            fn #name(w: &#ty, s: &mut Scratch, cpu: &Cpu) {
                #(#calls)*
            }
        };
    };
    let cache = memory::cache_type(mixer, &ident("D"));
    let (generics, cache) = if mixer.is_recurrent() {
        (quote!(), quote!(state: &mut #cache))
    } else {
        (quote!(<D: KvDtype>), quote!(kv: &mut #cache))
    };
    quote! {
        #space
        #[doc = #doc]
        fn #name #generics(w: &#ty, #cache, s: &mut Scratch, batch: &Batch, cpu: &Cpu) {
            #(#calls)*
        }
    }
}

/// `Layers 0..30`, or where they are many stretches, how many they are.
pub fn which(layers: &[usize], all: usize) -> String {
    let text = ranges(layers);
    if text.matches(',').count() < 8 { format!("Layers {text}") } else { format!("{} of {all} layers", layers.len()) }
}

/// `0..30`, or `0..5, 6..11, 12`
fn ranges(layers: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &layer in layers {
        match parts.last_mut() {
            Some((_, end)) if *end == layer => *end += 1,
            _ => parts.push((layer, layer + 1)),
        }
    }
    let text: Vec<String> =
        parts.iter().map(|(from, to)| if to - from == 1 { from.to_string() } else { format!("{from}..{to}") }).collect();
    text.join(", ")
}

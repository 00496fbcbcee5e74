//! `sm_90a_memory.rs` of a model: caches, recurrent states and activations on the device.

use proc_macro2::TokenStream;
use quote::quote;

use super::kernels::{Field, field_of};
use super::numbers::product;
use crate::binding::{Binding, Element};
use crate::emit::imports::Imports;
use crate::emit::text::{blank, constant, edit_line, ident, int, rust};
use crate::lower;
use crate::model::{GatedDeltaNet, Mixer, ParamSet};
use crate::program::{CacheDtype, Dtype, Group, OpKind, Operand, Program, RowsOf, When, angles_field};

/// The type of what a mixer keeps between steps, with a cache of dtype `dtype`.
pub fn cache_type(mixer: &Mixer, dtype: &proc_macro2::Ident) -> TokenStream {
    match mixer {
        Mixer::Gqa(gqa) => {
            let (kv_heads, head_dim) = (int(gqa.kv_heads), int(gqa.head_dim));
            quote!(DevicePagedKv<#dtype, #kv_heads, #head_dim>)
        }
        Mixer::Mla(mla) => {
            let (rank, rope) = (int(mla.kv_lora_rank), int(mla.rope_dim));
            quote!(DeviceLatentCache<#dtype, #rank, #rope>)
        }
        Mixer::Mamba2(m) => {
            let dims = [m.heads, m.head_dim, m.state, m.conv_dim(), m.conv_kernel].map(int);
            quote!(DeviceMamba2State<#(#dims),*>)
        }
        Mixer::GatedDeltaNet(delta) => {
            let GatedDeltaNet { key_dim, value_heads, value_dim, conv_kernel, .. } = *delta;
            let dims = [value_heads, key_dim, value_dim, delta.conv_dim(), conv_kernel].map(int);
            quote!(DeviceDeltaState<#(#dims),*>)
        }
    }
}

/// The name of that type without its dimensions.
fn cache_name(mixer: &Mixer) -> proc_macro2::Ident {
    ident(match mixer {
        Mixer::Gqa(_) => "DevicePagedKv",
        Mixer::Mla(_) => "DeviceLatentCache",
        Mixer::Mamba2(_) => "DeviceMamba2State",
        Mixer::GatedDeltaNet(_) => "DeviceDeltaState",
    })
}

/// The text of `sm_90a_memory.rs`.
pub fn file(program: &Program<'_>, fields: &[Field<'_>]) -> String {
    let (caches, scratch, plan) = (caches(program), scratch(program, fields), plan(program));
    let body = quote!(#plan #caches #scratch);
    let mut imports = Imports::of(&body);
    let std = [imports.take("std::marker", ["PhantomData"]), imports.take("std::sync", ["Arc"])].into_iter().flatten();
    let runtime: Vec<TokenStream> = [
        ("tenon_core::batch", &["BatchLimits", "SnapshotId", "StateSlot"][..]),
        (
            "tenon_core::cuda",
            &[
                "BUSY_BLOCKS",
                "Bf16",
                "CudaError",
                "Device",
                "DeviceAngles",
                "DeviceDeltaState",
                "DeviceElement",
                "DeviceLatentCache",
                "DeviceMamba2State",
                "DevicePagedKv",
                "DeviceRows",
                "DeviceWorkspace",
                "F32",
                "FEW_ROWS",
                "I32",
                "PlanMaxima",
                "U32",
                "U8",
            ],
        ),
        ("tenon_core::dtype", &["Fp8E4m3", "KvDtype"]),
        ("tenon_core::layers", &["try_per_layer"]),
        ("tenon_core::rope", &["Halves", "Interleaved"]),
    ]
    .into_iter()
    .filter_map(|(path, names)| imports.take(path, names.iter().copied()))
    .collect();
    // Its own.
    let defined = ["EXPANDED_ROWS", "PLAN"];
    let _ = imports.take("self", defined);
    let own = imports.constants("super");
    let space = blank();
    let what = if program.is_recurrent() { "caches, recurrent states and activations" } else { "caches and activations" };
    let header = format!("{} on sm_90a: {what}.", program.model.name);
    rust(&[&header, &edit_line(&program.model.folder)], quote!(#(#std)* #space #(#runtime)* #space #own #space #body))
}

/// The largest step for which launches and indices were proven.
fn plan(program: &Program<'_>) -> TokenStream {
    let maxima = program.model.maxima(program.target);
    let [tokens, sequences, context, page_size, pages] =
        [maxima.step_tokens, maxima.sequences, maxima.context, maxima.page_size, maxima.pages].map(|n| int(n as usize));
    let expands = program.ops.iter().any(|op| matches!(&op.kind, OpKind::Device(op) if op.op == "mla_expand"));
    let rows = int(lower::expanded_rows(program.model));
    let expanded = expands.then(|| {
        quote! {
            /// Rows of contexts, counted once for each head, whose keys and values are expanded together.
            pub const EXPANDED_ROWS: usize = #rows;
        }
    });
    quote! {
        /// The largest step for which launches and indices were proven; limits beyond it are refused.
        pub const PLAN: PlanMaxima = PlanMaxima {
            step_tokens: #tokens,
            sequences: #sequences,
            context: #context,
            page_size: #page_size,
            pages: #pages,
        };
        #expanded
    }
}

fn caches(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let held: Vec<(&Group, &Mixer)> =
        program.groups.iter().filter_map(|g| program.model.kinds[g.kind].mixer.as_ref().map(|(_, mixer)| (g, mixer))).collect();
    let fields = held.iter().map(|(group, mixer)| {
        let (name, count) = (ident(&group.field), int(group.layers.len()));
        let dtype = match group.cache {
            CacheDtype::Fixed(dtype) => ident(super::dtype_type(dtype)),
            _ => ident("D"),
        };
        let ty = cache_type(mixer, &dtype);
        quote!(pub #name: Box<[#ty; #count]>,)
    });
    let inits = held.iter().map(|(group, mixer)| {
        let (name, ty) = (ident(&group.field), cache_name(mixer));
        match mixer.is_recurrent() {
            false => quote!(#name: try_per_layer(|| #ty::new(device, limits.pages, limits.page_size))?,),
            true => quote!(#name: try_per_layer(|| #ty::new(device, limits.state_slots, snapshots))?,),
        }
    });
    let sum = |method: &str, recurrent: bool| {
        let method = ident(method);
        let sums: Vec<TokenStream> = held
            .iter()
            .filter(|(_, mixer)| mixer.is_recurrent() == recurrent)
            .map(|(group, mixer)| {
                let (name, ty) = (ident(&group.field), cache_name(mixer));
                quote!(self.#name.iter().map(#ty::#method).sum::<usize>())
            })
            .collect();
        if sums.is_empty() { quote!(0) } else { quote!(#(#sums)+*) }
    };
    let recurrent = program.is_recurrent();
    let (bytes, state, snapshot_bytes) = (sum("bytes", false), sum("bytes", true), sum("snapshot_bytes", true));
    let names: Vec<_> = held.iter().filter(|(_, m)| m.is_recurrent()).map(|(g, _)| ident(&g.field)).collect();
    let of_state = recurrent.then(|| {
        quote! {
            #space
            pub fn state_bytes(&self) -> usize {
                #state
            }
            #space
            pub fn snapshot_bytes(&self) -> usize {
                #snapshot_bytes
            }
            #space
            pub fn save(&mut self, slot: StateSlot, snapshot: SnapshotId) -> Result<(), CudaError> {
                #(self.#names.iter_mut().try_for_each(|layer| layer.save(slot, snapshot))?;)*
                Ok(())
            }
            #space
            pub fn restore(&mut self, snapshot: SnapshotId, slot: StateSlot) -> Result<(), CudaError> {
                #(self.#names.iter_mut().try_for_each(|layer| layer.restore(snapshot, slot))?;)*
                Ok(())
            }
        }
    });
    let generic = program.groups.iter().any(|g| g.cache == CacheDtype::Chosen);
    let (unused_field, unused_init) = match generic {
        true => (quote!(), quote!()),
        false => (quote!(dtype: PhantomData<fn() -> D>,), quote!(dtype: PhantomData,)),
    };
    let doc = if recurrent { " The KV cache or the recurrent state of every layer." } else { " The KV cache of every layer." };
    let snapshots = recurrent.then(|| quote!(, snapshots: usize));
    let limits = if held.is_empty() {
        quote!(_: &Arc<Device>, _: &BatchLimits)
    } else {
        quote!(device: &Arc<Device>, limits: &BatchLimits)
    };
    quote! {
        #space
        #[doc = #doc]
        pub struct Caches<D: KvDtype + DeviceElement> {
            #(#fields)*
            #unused_field
        }
        #space
        impl<D: KvDtype + DeviceElement> Caches<D> {
            pub fn new(#limits #snapshots) -> Result<Self, CudaError> {
                Ok(Self { #(#inits)* #unused_init })
            }
            #space
            pub fn bytes(&self) -> usize {
                #bytes
            }
            #of_state
        }
    }
}

fn element(dtype: Dtype) -> proc_macro2::Ident {
    ident(match dtype {
        Dtype::F32 => "F32",
        Dtype::Bf16 => "Bf16",
        Dtype::I32 => "I32",
        Dtype::Int8 => unreachable!("rows of int8 are the CPU's"),
    })
}

/// Memory that kernels work in: its field, its elements, and how many in the largest step.
struct Work {
    field: &'static str,
    element: proc_macro2::Ident,
    elements: Vec<String>,
    tokens: Vec<TokenStream>,
}

fn works(program: &Program<'_>, fields: &[Field<'_>]) -> Vec<Work> {
    let mut found: Vec<Work> = Vec::new();
    for op in program.ops.iter() {
        let OpKind::Device(kind) = &op.kind else { continue };
        let requirement = op.requirement(&program.model.checkpoint.accept);
        let field = field_of(fields, program, &requirement);
        let names = |name: &str| size(name, &requirement.params, &field.kernel.kernel.tuned, kind.when);
        for (arg, binding) in &field.wrapper.args {
            let (Binding::Workspace { element, shape, .. }, Some(Operand::Work(work))) = (binding, kind.operand(&arg.name.value))
            else {
                continue;
            };
            // The weights say how large a matrix must be.
            if *work == "matrix" {
                continue;
            }
            let element = ident(match element {
                Element::F32 => "F32",
                Element::Bf16 => "Bf16",
                Element::I32 => "I32",
                Element::U32 => "U32",
                Element::U8 => "U8",
                Element::Named(param) => match requirement.params.iter().find(|(name, _)| name == param) {
                    Some((_, ParamSet::Names(names))) if names[..] == ["bf16"] => "Bf16",
                    _ => "F32",
                },
                Element::Any => "F32",
            });
            let tokens = product(shape, &names);
            let text = tokens.to_string();
            match found.iter_mut().find(|known| known.field == *work) {
                Some(known) if known.elements.contains(&text) => {}
                Some(known) => {
                    known.elements.push(text);
                    known.tokens.push(tokens);
                }
                None => found.push(Work { field: work, element, elements: vec![text], tokens: vec![tokens] }),
            }
        }
    }
    found
}

/// A name of a shape in the largest step under the limits of a load.
fn size(name: &str, params: &[(&str, ParamSet)], tuned: &[(String, u64)], when: When) -> TokenStream {
    match name {
        "tokens" if when == When::Few => return quote!(tokens.min(FEW_ROWS)),
        "tokens" | "span_tokens" => return quote!(tokens),
        "logit_rows" => return quote!(limits.max_logit_rows),
        // Spans and the parts of their contexts are together no more than these.
        "decode_spans" => return quote!(spans.max(BUSY_BLOCKS)),
        "sequences" | "prefill_spans" => return quote!(spans),
        "context_rows" => return quote!(EXPANDED_ROWS),
        "kv_splits" | "heads_of_pass" | "spans_of_pass" => return quote!(1),
        _ => {}
    }
    if let Some(dtype) = name.strip_prefix("sizeof(").and_then(|rest| rest.strip_suffix(')')) {
        let names = params.iter().find_map(|(param, set)| match set {
            ParamSet::Names(names) if *param == dtype => Some(names),
            _ => None,
        });
        let bytes = names.into_iter().flatten().map(|name| if *name == "f32" { 4 } else { 2 }).max().unwrap_or(1);
        let bytes = int(bytes);
        return quote!(#bytes);
    }
    let of_op = params.iter().find_map(|(param, set)| match set {
        ParamSet::Int(value) if *param == name => Some(*value),
        _ => None,
    });
    let value = of_op.or_else(|| tuned.iter().find(|(param, _)| param == name).map(|(_, value)| *value)).unwrap_or(1);
    let value = int(value as usize);
    quote!(#value)
}

fn scratch(program: &Program<'_>, kernels: &[Field<'_>]) -> TokenStream {
    let space = blank();
    let mut names = Vec::new();
    let (mut fields, mut inits) = (Vec::new(), Vec::new());
    for b in &program.buffers {
        let (name, element, width) = (ident(&b.field), element(b.dtype), int(b.buf.width));
        fields.push(quote!(pub #name: DeviceRows<#element, #width>,));
        inits.push(match b.buf.rows {
            RowsOf::Tokens => quote!(#name: DeviceRows::new(device, tokens)?,),
            RowsOf::LogitRows => quote!(#name: DeviceRows::new(device, limits.max_logit_rows)?,),
        });
        names.push(name);
    }
    let ropes = lower::ropes(program.model);
    for (mixer, rope) in &ropes {
        let (name, rotary) = (ident(&angles_field(&ropes, rope)), int(rope.rotary_dim));
        let layout = ident(if rope.interleaved { "Interleaved" } else { "Halves" });
        let of = constant(&lower::mixer_constant(program.model, mixer, "rope"));
        fields.push(quote!(pub #name: DeviceAngles<#rotary, #layout>,));
        inits.push(quote!(#name: DeviceAngles::new(device, &#of, tokens)?,));
        names.push(name);
    }
    for work in works(program, kernels) {
        let (name, element) = (ident(work.field), &work.element);
        let elements = work.tokens.into_iter().reduce(|a, b| quote!((#a).max(#b)));
        fields.push(quote!(pub #name: DeviceWorkspace<#element>,));
        inits.push(quote!(#name: DeviceWorkspace::new(device, #elements)?,));
        names.push(name);
    }
    let inits = quote!(#(#inits)*);
    let spans = inits.to_string().contains("spans").then(|| quote!(let spans = tokens.min(PLAN.sequences);));
    quote! {
        #space
        /// Activations of one step, and what its kernels work in.
        pub struct Scratch {
            #(#fields)*
        }
        #space
        impl Scratch {
            pub fn new(device: &Arc<Device>, limits: &BatchLimits) -> Result<Self, CudaError> {
                let tokens = limits.max_tokens;
                #spans
                Ok(Self { #inits })
            }
            #space
            pub fn bytes(&self) -> usize {
                #(self.#names.bytes())+*
            }
        }
    }
}

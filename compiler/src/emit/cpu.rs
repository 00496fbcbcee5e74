//! `cpu.rs` of a model: one step on the CPU as straight-line calls, a function per kind of block.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::constants::common_dtypes;
use super::text::{blank, comment, constant, edit_line, ident, int, rust, trail};
use super::weights::kind_type;
use crate::lower;
use crate::model::{Kernel, KvDtype, Mixer, Target};
use crate::program::{Buf, CacheDtype, Group, Op, OpKind, Program, RowsOf, Schedule, angles_field};

/// The text of `cpu.rs`.
pub fn cpu(program: &Program<'_>) -> String {
    let model = program.model;
    let space = blank();
    let functions = functions(program);
    let kind_types: BTreeSet<_> = program.groups.iter().map(|g| kind_type(model, g).to_string()).collect();
    let kind_types = kind_types.iter().map(|name| ident(name));
    let pattern_types = match program.schedule {
        Schedule::Pattern(_) => quote!(Kind, PATTERN,),
        Schedule::Sequential => quote!(),
    };
    let constants = constants_used(program);
    let blocks = (0..model.kinds.len()).map(|kind| block(program, kind));
    let (scratch, caches, load, step) = (scratch(program), caches(program), load(program), step(program));
    let tiles = tiles(program);
    let dtype_types = dtype_types(program);
    let per_layer = match program.schedule {
        Schedule::Sequential => quote!(each_layer, per_layer),
        Schedule::Pattern(_) => quote!(per_layer),
    };
    let layouts = super::constants::layouts(model);
    let header = format!("{} on the CPU: one step over a batch, layer by layer.", model.name);
    rust(
        &[&header, &edit_line(&model.folder)],
        quote! {
            use std::sync::Arc;
            #space
            use tenon_core::batch::{Batch, BatchLimits};
            use tenon_core::cache::PagedKv;
            use tenon_core::cpu::{Cpu, #(#functions),*};
            use tenon_core::dtype::{#(#dtype_types,)* KvDtype, KvDtypeName};
            use tenon_core::layers::{#per_layer};
            use tenon_core::model::{LoadOptions, Logits, Memory, Model, ModelInfo, StepError};
            use tenon_core::rope::{#(#layouts,)* RopeAngles};
            use tenon_core::rows::Rows;
            use tenon_core::weights::{Checkpoint, LoadError};
            #space
            use super::weights::{#(#kind_types,)* #pattern_types Weights};
            use super::{#(#constants),*};
            #space
            #tiles
            #(#blocks)*
            #step
            #caches
            #scratch
            #load
        },
    )
}

/// Last segments of the free functions that the selected kernels name.
fn functions(program: &Program<'_>) -> Vec<proc_macro2::Ident> {
    let mut names = BTreeSet::new();
    for op in program.ops.iter() {
        let path = &kernel(program, op).rust;
        if let Some(name) = path.strip_prefix("tenon_core::cpu::") {
            names.insert(name.to_owned());
        }
    }
    names.iter().map(|n| ident(n)).collect()
}

fn kernel<'p>(program: &Program<'p>, op: &Op) -> &'p Kernel {
    program.model.kernel(Target::Cpu, &op.requirement(&program.model.checkpoint.accept))
}

fn function(program: &Program<'_>, op: &Op) -> proc_macro2::Ident {
    let path = &kernel(program, op).rust;
    ident(path.rsplit("::").next().expect("check wants a path"))
}

fn constants_used(program: &Program<'_>) -> Vec<proc_macro2::Ident> {
    let mut names = BTreeSet::from(["INFO", "MAX_POSITION_EMBEDDINGS", "RMS_NORM_EPS", "VOCAB_SIZE"].map(str::to_owned));
    for op in program.ops.iter() {
        match &op.kind {
            OpKind::Attention { scale, window, .. } => {
                names.insert(scale.clone());
                names.extend(window.as_ref().map(|(_, name)| name.clone()));
            }
            OpKind::Scale { .. } => {
                names.insert("EMBEDDING_SCALE".to_owned());
            }
            _ => {}
        }
    }
    names.extend(lower::ropes(program.model).iter().map(|(name, _)| lower::mixer_constant(program.model, name, "rope")));
    names.iter().map(|n| ident(n)).collect()
}

fn dtype_types(program: &Program<'_>) -> Vec<proc_macro2::Ident> {
    let mut dtypes: BTreeSet<KvDtype> = common_dtypes(program.model).into_iter().collect();
    dtypes.extend(program.groups.iter().filter_map(|g| match g.cache {
        CacheDtype::Fixed(dtype) => Some(dtype),
        CacheDtype::Chosen | CacheDtype::None => None,
    }));
    let mut names: Vec<&str> = dtypes.into_iter().map(dtype_type).collect();
    names.sort_unstable();
    names.into_iter().map(ident).collect()
}

fn dtype_type(dtype: KvDtype) -> &'static str {
    match dtype {
        KvDtype::F32 => "F32",
        KvDtype::Bf16 => "Bf16",
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
    let ty = super::text::type_name(&lower::field_name(&block.name));
    let calls = program.ops.kinds[kind].iter().map(|op| call(program, op, &quote!(w)));
    let layers: Vec<usize> = (0..model.pattern.len()).filter(|l| model.pattern[*l] == kind).collect();
    let parts: Vec<String> = [block.mixer.as_ref().map(|(n, _)| n.clone()), block.ffn.as_ref().map(|(n, _)| n.clone())]
        .into_iter()
        .flatten()
        .collect();
    let doc = format!(" Layers {}: {}.", ranges(&layers), parts.join(", then "));
    match &block.mixer {
        Some((_, Mixer::Gqa(gqa))) => {
            let (kv_heads, head_dim) = (int(gqa.kv_heads), int(gqa.head_dim));
            quote! {
                #space
                #[doc = #doc]
                fn #name<D: KvDtype>(w: &#ty, kv: &mut PagedKv<D, #kv_heads, #head_dim>, s: &mut Scratch, batch: &Batch, cpu: &Cpu) {
                    #(#calls)*
                }
            }
        }
        None => quote! {
            #space
            #[doc = #doc]
            fn #name(w: &#ty, s: &mut Scratch, cpu: &Cpu) {
                #(#calls)*
            }
        },
    }
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

/// One op as a statement with its shape.
fn call(program: &Program<'_>, op: &Op, weights: &TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    if let Some(heading) = &op.heading {
        out.extend(blank());
        out.extend(comment(&format!("-- {heading}")));
    }
    let function = function(program, op);
    let buffer = |buf: &Buf| ident(program.field(buf));
    let read = |i: usize| buffer(&op.reads[i]);
    let write = |i: usize| buffer(&op.writes[i]);
    let weight = |role: &crate::architecture::Role| ident(role.field());
    let tuned = tuned(program, op);
    let (statement, shape) = match &op.kind {
        OpKind::Embedding { weight: role, dim, .. } => {
            let (w, x) = (weight(role), write(0));
            (quote!(#weights.#w.#function(cpu, batch, &mut s.#x);), format!("[tokens, {dim}]"))
        }
        OpKind::Scale { dim } => {
            let x = write(0);
            (quote!(#function(&mut s.#x, EMBEDDING_SCALE);), format!("[tokens, {dim}]"))
        }
        OpKind::RopeAngles { rope, rotary_dim } => {
            let angles = ident(rope);
            (quote!(s.#angles.#function(batch);), format!("cosines and sines, [tokens, {}] each", rotary_dim / 2))
        }
        OpKind::RmsNorm { weight: role, dim } => {
            let (w, from, to) = (weight(role), read(0), write(0));
            (quote!(#function(cpu, &s.#from, &#weights.#w, RMS_NORM_EPS, &mut s.#to);), rows_shape(&op.writes[0], *dim))
        }
        OpKind::RmsNormAdd { weight: role, dim } => {
            let (w, from, to) = (weight(role), read(0), write(0));
            let shape = format!("{} += [tokens, {dim}]", op.writes[0].name);
            (quote!(#function(cpu, &s.#from, &#weights.#w, RMS_NORM_EPS, &mut s.#to);), shape)
        }
        OpKind::HeadNorm { weight: role, head_dim, dim } => {
            let (w, x) = (weight(role), write(0));
            (
                quote!(#function(cpu, &mut s.#x, &#weights.#w, RMS_NORM_EPS);),
                format!("each of {} heads of {head_dim}", dim / head_dim),
            )
        }
        OpKind::Linear { weight: role, out, accumulate, .. } => {
            let (w, from, to) = (weight(role), read(0), write(0));
            let method = if *accumulate { ident(&format!("{function}_add")) } else { function };
            let shape = rows_shape(&op.writes[0], *out);
            (
                quote!(#weights.#w.#method::<#(#tuned),*>(cpu, &s.#from, &mut s.#to);),
                if *accumulate { format!("{} += {shape}", op.writes[0].name) } else { shape },
            )
        }
        OpKind::AddBias { weight: role, dim } => {
            let (w, x) = (weight(role), write(0));
            (quote!(#function(&mut s.#x, &#weights.#w);), format!("+= [{dim}]"))
        }
        OpKind::Rope { rope, head_dim, rotary_dim, dim, .. } => {
            let (angles, x, hd) = (ident(rope), write(0), int(*head_dim));
            (
                quote!(#function::<#hd, _, _, _>(cpu, &mut s.#x, &s.#angles);),
                format!("{rotary_dim} of {head_dim}, {} heads", dim / head_dim),
            )
        }
        OpKind::KvAppend { kv_heads, head_dim, .. } => {
            let (k, v) = (read(0), read(1));
            (quote!(kv.#function(cpu, &s.#k, &s.#v, batch);), format!("2 x [{kv_heads}, {head_dim}] per token"))
        }
        OpKind::Attention { heads, head_dim, scale, window, .. } => {
            let window = window.as_ref().map(|(_, name)| ident(name)).map(|name| quote!(#name,));
            let (q, to, scale, heads_lit) = (read(0), write(0), ident(scale), int(*heads));
            (
                quote!(#function::<#(#tuned,)* #heads_lit, _, _, _, _>(cpu, &s.#q, kv, #scale, #window batch, &mut s.#to);),
                format!("[tokens, {heads} x {head_dim}]"),
            )
        }
        OpKind::ActMul { act, dim } => {
            let (gate, up) = (write(0), read(0));
            let act = if *act == crate::model::Activation::Silu { "silu" } else { "gelu" };
            (quote!(#function(cpu, &mut s.#gate, &s.#up);), format!("{act}(gate) * up, [tokens, {dim}]"))
        }
        OpKind::GatherLogitRows { dim } => {
            let (from, to) = (read(0), write(0));
            (quote!(#function(&s.#from, batch, &mut s.#to);), format!("[logit rows, {dim}]"))
        }
    };
    out.extend(statement);
    out.extend(trail(&shape));
    out
}

fn rows_shape(buf: &Buf, width: usize) -> String {
    match buf.rows {
        RowsOf::Tokens => format!("[tokens, {width}]"),
        RowsOf::LogitRows => format!("[logit rows, {width}]"),
    }
}

/// The step: prologue, layers in their order, epilogue.
fn step(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let prologue = program.ops.prologue.iter().map(|op| call(program, op, &quote!(w)));
    let epilogue = program.ops.epilogue.iter().map(|op| call(program, op, &quote!(w)));
    let logits = ident(program.field(&program.ops.epilogue.last().expect("the head is an op").writes[0]));
    let layers = layers(program);
    quote! {
        #space
        impl<D: KvDtype> Model for OnCpu<D> {
            fn info(&self) -> &'static ModelInfo {
                &INFO
            }
            #space
            fn limits(&self) -> BatchLimits {
                self.limits
            }
            #space
            fn memory(&self) -> Memory {
                self.memory
            }
            #space
            fn step(&mut self, batch: &Batch, logits: &mut Logits) -> Result<(), StepError> {
                StepError::check(&self.limits, batch)?;
                let Self { weights: w, caches, scratch: s, cpu, .. } = self;
                #(#prologue)*
                #layers
                #(#epilogue)*
                logits.write(&s.#logits);
                Ok(())
            }
        }
    }
}

fn layers(program: &Program<'_>) -> TokenStream {
    let call = |group: &Group, weights: TokenStream, cache: TokenStream| {
        let function = ident(&lower::field_name(&program.model.kinds[group.kind].name));
        match group.cache {
            CacheDtype::None => quote!(#function(#weights, s, cpu)),
            CacheDtype::Chosen | CacheDtype::Fixed(_) => quote!(#function(#weights, #cache, s, batch, cpu)),
        }
    };
    match &program.schedule {
        Schedule::Sequential => {
            let loops = program.groups.iter().map(|group| {
                let field = ident(&group.field);
                let body = call(group, quote!(w), quote!(kv));
                match group.cache {
                    CacheDtype::None => quote!(for w in w.#field.iter() { #body; }),
                    _ => quote!(each_layer(&w.#field, &mut caches.#field, |w, kv| #body);),
                }
            });
            quote!(#(#loops)*)
        }
        Schedule::Pattern(_) => {
            let arms = program.groups.iter().map(|group| {
                let (variant, field) = (super::text::type_name(&group.field), ident(&group.field));
                let body = call(group, quote!(&w.#field[i]), quote!(&mut caches.#field[i]));
                quote!(Kind::#variant => #body,)
            });
            quote! {
                for (kind, i) in PATTERN {
                    match kind { #(#arms)* }
                }
            }
        }
    }
}

fn caches(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let cached: Vec<&Group> = program.groups.iter().filter(|g| g.cache != CacheDtype::None).collect();
    let names: Vec<_> = cached.iter().map(|g| ident(&g.field)).collect();
    let fields = cached.iter().map(|group| {
        let (name, count) = (ident(&group.field), int(group.layers.len()));
        let Some((_, Mixer::Gqa(gqa))) = &program.model.kinds[group.kind].mixer else {
            unreachable!("a group with a cache has a mixer")
        };
        let (kv_heads, head_dim) = (int(gqa.kv_heads), int(gqa.head_dim));
        let dtype = match group.cache {
            CacheDtype::Fixed(dtype) => ident(dtype_type(dtype)),
            _ => ident("D"),
        };
        quote!(#name: Box<[PagedKv<#dtype, #kv_heads, #head_dim>; #count]>,)
    });
    quote! {
        #space
        /// The KV cache of every layer.
        struct Caches<D: KvDtype> {
            #(#fields)*
        }
        #space
        impl<D: KvDtype> Caches<D> {
            fn new(pages: usize, page_size: usize) -> Self {
                Self { #(#names: per_layer(|| PagedKv::new(pages, page_size)),)* }
            }
            #space
            fn bytes(&self) -> usize {
                #(self.#names.iter().map(PagedKv::bytes).sum::<usize>())+*
            }
        }
    }
}

fn scratch(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let fields = program.buffers.iter().map(|b| {
        let (name, width) = (ident(&b.field), int(b.buf.width));
        quote!(#name: Rows<f32, #width>,)
    });
    let inits = program.buffers.iter().map(|b| {
        let name = ident(&b.field);
        match b.buf.rows {
            RowsOf::Tokens => quote!(#name: Rows::with_capacity(limits.max_tokens),),
            RowsOf::LogitRows => quote!(#name: Rows::with_capacity(limits.max_logit_rows),),
        }
    });
    let ropes = lower::ropes(program.model);
    let angles: Vec<_> = ropes
        .iter()
        .map(|(name, rope)| {
            (ident(&angles_field(&ropes, rope)), ident(&lower::mixer_constant(program.model, name, "rope")), rope)
        })
        .collect();
    let angle_fields = angles.iter().map(|(field, _, rope)| {
        let rotary = int(rope.rotary_dim);
        let layout = ident(if rope.interleaved { "Interleaved" } else { "Halves" });
        quote!(#field: RopeAngles<#rotary, #layout>,)
    });
    let angle_inits = angles.iter().map(|(field, rope, _)| quote!(#field: RopeAngles::new(&#rope, limits.max_tokens),));
    let names: Vec<_> = program.buffers.iter().map(|b| ident(&b.field)).collect();
    quote! {
        #space
        /// Activations of one step.
        struct Scratch {
            #(#fields)*
            #(#angle_fields)*
        }
        #space
        impl Scratch {
            fn new(limits: &BatchLimits) -> Self {
                Self { #(#inits)* #(#angle_inits)* }
            }
            #space
            fn bytes(&self) -> usize {
                #(self.#names.bytes())+*
            }
        }
    }
}

fn load(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let dtypes = common_dtypes(program.model);
    let arms = dtypes.iter().map(|dtype| {
        let (name, ty) = (super::constants::dtype_name(*dtype), ident(dtype_type(*dtype)));
        quote!(#name => Ok(Box::new(OnCpu::<#ty>::new(checkpoint, options)?)),)
    });
    // Every dtype of the runtime may be allowed; then a last arm would be unreachable.
    let refuse = (dtypes.len() < 3).then(|| quote!(other => Err(LoadError::kv_cache_dtype(&INFO, other)),));
    quote! {
        #space
        /// The model on the CPU, with a cache of dtype `D`.
        struct OnCpu<D: KvDtype> {
            weights: Weights,
            caches: Caches<D>,
            scratch: Scratch,
            cpu: Cpu,
            limits: BatchLimits,
            memory: Memory,
        }
        #space
        impl<D: KvDtype> OnCpu<D> {
            fn new(checkpoint: &Arc<Checkpoint>, options: &LoadOptions) -> Result<Self, LoadError> {
                let limits = options.limits(VOCAB_SIZE, MAX_POSITION_EMBEDDINGS, 0)?;
                let cpu = Cpu::new(options.threads, options.isa)?;
                let weights = Weights::load(checkpoint, &cpu)?;
                let caches = Caches::new(limits.pages, limits.page_size);
                let scratch = Scratch::new(&limits);
                let memory = Memory {
                    weights: weights.bytes(),
                    per_token: weights.bytes() - weights.embed_tokens.bytes(),
                    cache: caches.bytes(),
                    scratch: scratch.bytes(),
                };
                Ok(Self { weights, caches, scratch, cpu, limits, memory })
            }
        }
        #space
        /// Loads the model onto the CPU, with one of [`KV_CACHE_DTYPES`](super::KV_CACHE_DTYPES).
        pub fn load(checkpoint: &Arc<Checkpoint>, options: &LoadOptions) -> Result<Box<dyn Model>, LoadError> {
            match options.kv_cache_dtype {
                #(#arms)*
                #refuse
            }
        }
    }
}

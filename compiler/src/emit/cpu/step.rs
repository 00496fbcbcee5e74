//! The step, and what a loaded model holds: caches, activations, and how it is loaded.

use proc_macro2::TokenStream;
use quote::quote;

use super::call::call;
use super::{dtype_type, generic_cache};
use crate::emit::constants::{common_dtypes, dtype_name};
use crate::emit::text::{blank, ident, int, type_name};
use crate::lower;
use crate::model::{GatedDeltaNet, Mixer};
use crate::program::{CacheDtype, Group, OpKind, Program, RowsOf, Schedule, angles_field};

/// The step: prologue, layers in their order, epilogue.
pub fn step(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let prologue = program.ops.prologue.iter().map(|op| call(program, op, &quote!(w)));
    let epilogue = program.ops.epilogue.iter().map(|op| call(program, op, &quote!(w)));
    let logits = ident(program.field(&program.ops.epilogue.last().expect("the head is an op").writes[0]));
    let layers = layers(program);
    let state = is_recurrent(program).then(|| {
        quote! {
            #space
            fn save_state(&mut self, slot: StateSlot, snapshot: SnapshotId) -> Result<(), StateError> {
                StateError::check(&self.limits, self.snapshots, slot, snapshot)?;
                self.caches.save(slot, snapshot);
                Ok(())
            }
            #space
            fn restore_state(&mut self, snapshot: SnapshotId, slot: StateSlot) -> Result<(), StateError> {
                StateError::check(&self.limits, self.snapshots, slot, snapshot)?;
                self.caches.restore(snapshot, slot);
                Ok(())
            }
        }
    });
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
            #state
        }
    }
}

/// Whether any layer keeps a state per sequence.
pub fn is_recurrent(program: &Program<'_>) -> bool {
    !program.state_elements().is_empty()
}

/// Whether the layers of a group have something of their own that a step changes: a cache or a state.
fn has_cache(program: &Program<'_>, group: &Group) -> bool {
    program.model.kinds[group.kind].mixer.is_some()
}

fn layers(program: &Program<'_>) -> TokenStream {
    let call = |group: &Group, weights: TokenStream, cache: TokenStream| {
        let function = ident(&lower::field_name(&program.model.kinds[group.kind].name));
        if has_cache(program, group) {
            quote!(#function(#weights, #cache, s, batch, cpu))
        } else {
            quote!(#function(#weights, s, cpu))
        }
    };
    match &program.schedule {
        Schedule::Sequential => {
            let loops = program.groups.iter().map(|group| {
                let field = ident(&group.field);
                if has_cache(program, group) {
                    let cache = if group.cache == CacheDtype::None { quote!(state) } else { quote!(kv) };
                    let body = call(group, quote!(w), cache.clone());
                    quote!(each_layer(&w.#field, &mut caches.#field, |w, #cache| #body);)
                } else {
                    let body = call(group, quote!(w), quote!());
                    quote!(for w in w.#field.iter() { #body; })
                }
            });
            quote!(#(#loops)*)
        }
        Schedule::Pattern(_) => {
            let arms = program.groups.iter().map(|group| {
                let (variant, field) = (type_name(&group.field), ident(&group.field));
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

/// The type of what a mixer keeps between steps, with a cache of dtype `dtype`.
pub fn cache_type(mixer: &Mixer, dtype: &proc_macro2::Ident) -> TokenStream {
    match mixer {
        Mixer::Gqa(gqa) => {
            let (kv_heads, head_dim) = (int(gqa.kv_heads), int(gqa.head_dim));
            quote!(PagedKv<#dtype, #kv_heads, #head_dim>)
        }
        Mixer::Mla(mla) => {
            let (rank, rope) = (int(mla.kv_lora_rank), int(mla.rope_dim));
            quote!(LatentCache<#dtype, #rank, #rope>)
        }
        Mixer::Mamba2(m) => {
            let dims = [m.heads, m.head_dim, m.state, m.conv_dim(), m.conv_kernel].map(int);
            quote!(Mamba2State<#(#dims),*>)
        }
        Mixer::GatedDeltaNet(delta) => {
            let GatedDeltaNet { key_dim, value_heads, value_dim, conv_kernel, .. } = *delta;
            let dims = [value_heads, key_dim, value_dim, delta.conv_dim(), conv_kernel].map(int);
            quote!(DeltaState<#(#dims),*>)
        }
    }
}

/// The caches and states of every layer.
pub fn caches(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let held: Vec<(&Group, &Mixer)> =
        program.groups.iter().filter_map(|g| program.model.kinds[g.kind].mixer.as_ref().map(|(_, mixer)| (g, mixer))).collect();
    let fields = held.iter().map(|(group, mixer)| {
        let (name, count) = (ident(&group.field), int(group.layers.len()));
        let dtype = match group.cache {
            CacheDtype::Fixed(dtype) => ident(dtype_type(dtype)),
            _ => ident("D"),
        };
        let ty = cache_type(mixer, &dtype);
        quote!(#name: Box<[#ty; #count]>,)
    });
    let inits = held.iter().map(|(group, mixer)| {
        let name = ident(&group.field);
        match mixer {
            Mixer::Gqa(_) => quote!(#name: per_layer(|| PagedKv::new(limits.pages, limits.page_size)),),
            Mixer::Mla(_) => quote!(#name: per_layer(|| LatentCache::new(limits.pages, limits.page_size)),),
            Mixer::Mamba2(_) => quote!(#name: per_layer(|| Mamba2State::new(limits.state_slots, snapshots)),),
            Mixer::GatedDeltaNet(_) => quote!(#name: per_layer(|| DeltaState::new(limits.state_slots, snapshots)),),
        }
    });
    let sum = |method: &str, recurrent: bool| {
        let method = ident(method);
        let sums: Vec<TokenStream> = held
            .iter()
            .filter(|(_, mixer)| mixer.is_recurrent() == recurrent)
            .map(|(group, mixer)| {
                let name = ident(&group.field);
                let ty = ident(match mixer {
                    Mixer::Gqa(_) => "PagedKv",
                    Mixer::Mla(_) => "LatentCache",
                    Mixer::Mamba2(_) => "Mamba2State",
                    Mixer::GatedDeltaNet(_) => "DeltaState",
                });
                quote!(self.#name.iter().map(#ty::#method).sum::<usize>())
            })
            .collect();
        if sums.is_empty() { quote!(0) } else { quote!(#(#sums)+*) }
    };
    let recurrent = is_recurrent(program);
    let (bytes, state, snapshot_bytes) = (sum("bytes", false), sum("bytes", true), sum("snapshot_bytes", true));
    let names: Vec<_> = held.iter().filter(|(_, m)| m.is_recurrent()).map(|(g, _)| ident(&g.field)).collect();
    let of_state = recurrent.then(|| {
        quote! {
            #space
            fn state_bytes(&self) -> usize {
                #state
            }
            #space
            fn snapshot_bytes(&self) -> usize {
                #snapshot_bytes
            }
            #space
            fn save(&mut self, slot: StateSlot, snapshot: SnapshotId) {
                #(self.#names.iter_mut().for_each(|layer| layer.save(slot, snapshot));)*
            }
            #space
            fn restore(&mut self, snapshot: SnapshotId, slot: StateSlot) {
                #(self.#names.iter_mut().for_each(|layer| layer.restore(snapshot, slot));)*
            }
        }
    });
    let generic = generic_cache(program);
    let (unused_field, unused_init) =
        if generic { (quote!(), quote!()) } else { (quote!(_dtype: PhantomData<D>,), quote!(_dtype: PhantomData,)) };
    let doc = if recurrent { " The KV cache or the recurrent state of every layer." } else { " The KV cache of every layer." };
    let snapshots = recurrent.then(|| quote!(, snapshots: usize));
    quote! {
        #space
        #[doc = #doc]
        struct Caches<D: KvDtype> {
            #(#fields)*
            #unused_field
        }
        #space
        impl<D: KvDtype> Caches<D> {
            fn new(limits: &BatchLimits #snapshots) -> Self {
                Self { #(#inits)* #unused_init }
            }
            #space
            fn bytes(&self) -> usize {
                #bytes
            }
            #of_state
        }
    }
}

/// What the compiler believed of the states, checked again by rustc.
pub fn state_bytes(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let states: Vec<TokenStream> = program
        .groups
        .iter()
        .filter_map(|group| {
            let (_, mixer) = program.model.kinds[group.kind].mixer.as_ref().filter(|(_, mixer)| mixer.is_recurrent())?;
            let (ty, layers) = (cache_type(mixer, &ident("D")), int(group.layers.len()));
            Some(quote!(#layers * <#ty>::ENTRY_BYTES))
        })
        .collect();
    if states.is_empty() {
        return TokenStream::new();
    }
    quote! {
        #space
        const _: () = assert!(#(#states)+* == INFO.state_bytes_per_slot);
    }
}

/// The activations of a step.
pub fn scratch(program: &Program<'_>) -> TokenStream {
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
    let mut names: Vec<_> = program.buffers.iter().map(|b| ident(&b.field)).collect();
    let (mut moe_fields, mut moe_inits) = (Vec::new(), Vec::new());
    let mut seen = Vec::new();
    for op in program.ops.iter() {
        let OpKind::Experts { routes, rows, experts, top_k, hidden, inner, gated, .. } = &op.kind else { continue };
        if seen.contains(&routes) {
            continue;
        }
        seen.push(routes);
        let dims = [*experts, *top_k, *hidden, *inner].map(int);
        let [experts, top_k, hidden, inner] = &dims;
        let (routes, rows) = (ident(routes), ident(rows));
        let new = ident(if *gated { "new" } else { "plain" });
        moe_fields.push(quote!(#routes: Routes<#experts, #top_k>, #rows: ExpertRows<#hidden, #inner>,));
        moe_inits.push(quote! {
            #routes: Routes::new(limits.max_tokens),
            #rows: ExpertRows::#new(limits.max_tokens * #top_k),
        });
        names.extend([routes, rows]);
    }
    quote! {
        #space
        /// Activations of one step.
        struct Scratch {
            #(#fields)*
            #(#angle_fields)*
            #(#moe_fields)*
        }
        #space
        impl Scratch {
            fn new(limits: &BatchLimits) -> Self {
                Self { #(#inits)* #(#angle_inits)* #(#moe_inits)* }
            }
            #space
            fn bytes(&self) -> usize {
                #(self.#names.bytes())+*
            }
        }
    }
}

/// How the model is loaded.
pub fn load(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let dtypes = common_dtypes(program.model);
    let arms = dtypes.iter().map(|dtype| {
        let (name, ty) = (dtype_name(*dtype), ident(dtype_type(*dtype)));
        quote!(#name => Ok(Box::new(OnCpu::<#ty>::new(checkpoint, options)?)),)
    });
    // Every dtype of the runtime may be allowed; then a last arm would be unreachable.
    let refuse = (dtypes.len() < 3).then(|| quote!(other => Err(LoadError::kv_cache_dtype(&INFO, other)),));
    let recurrent = is_recurrent(program);
    let limits = if recurrent {
        quote!(options.recurrent_limits(VOCAB_SIZE, MAX_POSITION_EMBEDDINGS))
    } else {
        quote!(options.limits(VOCAB_SIZE, MAX_POSITION_EMBEDDINGS, 0))
    };
    let snapshots = recurrent.then(|| quote!(, options.snapshots));
    let (state, snapshot_bytes) =
        if recurrent { (quote!(caches.state_bytes()), quote!(caches.snapshot_bytes())) } else { (quote!(0), quote!(0)) };
    let snapshot_field = recurrent.then(|| quote!(snapshots: usize,));
    let snapshot_init = recurrent.then(|| quote!(, snapshots: options.snapshots));
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
            #snapshot_field
        }
        #space
        impl<D: KvDtype> OnCpu<D> {
            fn new(checkpoint: &Arc<Checkpoint>, options: &LoadOptions) -> Result<Self, LoadError> {
                let limits = #limits?;
                let cpu = Cpu::new(options.threads, options.isa)?;
                let weights = Weights::load(checkpoint, &cpu)?;
                let caches = Caches::new(&limits #snapshots);
                let scratch = Scratch::new(&limits);
                let memory = Memory {
                    weights: weights.bytes(),
                    per_token: weights.bytes() - weights.embed_tokens.bytes(),
                    cache: caches.bytes(),
                    state: #state,
                    snapshots: #snapshot_bytes,
                    scratch: scratch.bytes(),
                };
                Ok(Self { weights, caches, scratch, cpu, limits, memory #snapshot_init })
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

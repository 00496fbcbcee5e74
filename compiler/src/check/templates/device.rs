//! The ops of a device that launches kernels, and what TEMPLATE.toml says beside what it says for the CPU: what is passed at launch, and
//! buckets of rows.

use super::{ACT, FORMAT, KV_DTYPE, LAYOUT, Number, Ops, Param, invalid};
use crate::binding::{BUCKET, CHOSEN};
use crate::diagnostic::{Diagnostics, quoted};
use crate::emit::instance;
use crate::model::Target;
use crate::source::{Span, Spanned};
use crate::spec::{ParamRule, TemplateSpec};

/// Every op that a model can ask for on a device, with its parameters: what [`crate::program::DeviceOp`] has.
pub(super) const OPS: Ops = &[
    ("embedding", &[("format", FORMAT), ("dim", Number), ("vocab", Number)]),
    ("scale", DIM),
    ("soft_cap", DIM),
    ("rope_angles", &[("rotary_dim", Number)]),
    ("rms_norm", &[("x_dtype", FLOAT), ("dim", Number)]),
    ("rms_norm_add", DIM),
    ("rms_norm_add_norm", DIM),
    ("add_rms_norm", DIM),
    ("head_norm", &[("head_dim", Number), ("dim", Number)]),
    ("rope", ROPE),
    ("rope_tail", ROPE),
    (
        "rope_append",
        &[
            ("head_dim", Number),
            ("rotary_dim", Number),
            ("layout", LAYOUT),
            ("norm", Param::Name(&["none", "qk"])),
            ("kv_dtype", KV_DTYPE),
            ("num_attention_heads", Number),
            ("num_key_value_heads", Number),
        ],
    ),
    ("kv_append", &[("head_dim", Number), ("kv_dtype", KV_DTYPE), ("num_key_value_heads", Number)]),
    ("latent_append", &[("kv_lora_rank", Number), ("qk_rope_head_dim", Number), ("layout", LAYOUT), ("kv_dtype", KV_DTYPE)]),
    ("attention_prefill", ATTENTION),
    ("attention_decode", ATTENTION),
    ("sigmoid_mul", DIM),
    ("query_scale", DIM),
    ("act", &[("act", ACT), ("dim", Number)]),
    ("act_mul", &[("act", ACT), ("dim", Number)]),
    ("add", DIM),
    ("add_scaled", DIM),
    ("sigmoid_gate_add", DIM),
    ("add_bias", &[("x_dtype", FLOAT), ("dim", Number)]),
    ("gather_logit_rows", DIM),
    ("argmax", &[("vocab", Number)]),
    ("sample", &[("vocab", Number)]),
    ("gated_group_norm", &[("dim", Number), ("groups", Number)]),
    ("gated_head_norm", &[("head_dim", Number), ("dim", Number)]),
    ("linear", LINEAR),
    ("linear_gated", &[("format", FORMAT), ("act", ACT), ("out", Number), ("in", Number)]),
    ("dequantise", LINEAR),
    (
        "mla_absorb",
        &[
            ("qk_nope_head_dim", Number),
            ("qk_rope_head_dim", Number),
            ("kv_lora_rank", Number),
            ("phase", PHASE),
            ("num_attention_heads", Number),
        ],
    ),
    ("mla_decode", LATENT),
    ("mla_combine", &[("kv_lora_rank", Number), ("num_attention_heads", Number)]),
    ("mla_prefill_absorbed", LATENT),
    ("mla_up", &[("kv_lora_rank", Number), ("v_head_dim", Number), ("phase", PHASE), ("num_attention_heads", Number)]),
    (
        "mla_expand",
        &[
            ("kv_dtype", KV_DTYPE),
            ("qk_nope_head_dim", Number),
            ("qk_rope_head_dim", Number),
            ("v_head_dim", Number),
            ("kv_lora_rank", Number),
            ("phase", PHASE),
            ("num_attention_heads", Number),
        ],
    ),
    (
        "mla_prefill_expanded",
        &[
            ("qk_nope_head_dim", Number),
            ("qk_rope_head_dim", Number),
            ("v_head_dim", Number),
            ("phase", PHASE),
            ("num_attention_heads", Number),
        ],
    ),
    ("route", &[("experts", Number), ("top_k", Number)]),
    ("expert_tiles", &[("experts", Number), ("top_k", Number)]),
    ("experts_up_few", EXPERTS_UP),
    ("experts_up_many", EXPERTS_UP),
    ("experts_down_few", EXPERTS_DOWN),
    ("experts_down_many", EXPERTS_DOWN),
    ("experts_sum", &[("rows_dtype", FLOAT), ("out_dtype", FLOAT), ("hidden", Number), ("top_k", Number)]),
    ("causal_conv_prefill", &[("conv_kernel", Number), ("dim", Number)]),
    ("causal_conv_decode", &[("conv_kernel", Number), ("dim", Number)]),
    ("mamba2_scan", MAMBA2),
    ("mamba2_update", MAMBA2),
    ("delta_prefill", DELTA),
    ("delta_decode", DELTA),
];

const FLOAT: Param = Param::Name(&["f32", "bf16"]);
const PHASE: Param = Param::Name(&["all", "prefill", "decode"]);
const FORM: Param = Param::Name(&["gated", "clamped", "plain"]);

const DIM: &[(&str, Param)] = &[("dim", Number)];

const ROPE: &[(&str, Param)] = &[("head_dim", Number), ("rotary_dim", Number), ("layout", LAYOUT), ("dim", Number)];

const LINEAR: &[(&str, Param)] = &[("format", FORMAT), ("out", Number), ("in", Number)];

const ATTENTION: &[(&str, Param)] =
    &[("kv_dtype", KV_DTYPE), ("head_dim", Number), ("group", Number), ("num_key_value_heads", Number)];

const LATENT: &[(&str, Param)] =
    &[("kv_dtype", KV_DTYPE), ("kv_lora_rank", Number), ("qk_rope_head_dim", Number), ("num_attention_heads", Number)];

const EXPERTS_UP: &[(&str, Param)] = &[
    ("format", FORMAT),
    ("form", FORM),
    ("act", ACT),
    ("hidden", Number),
    ("intermediate", Number),
    ("experts", Number),
    ("top_k", Number),
];

const EXPERTS_DOWN: &[(&str, Param)] =
    &[("format", FORMAT), ("hidden", Number), ("intermediate", Number), ("experts", Number), ("top_k", Number)];

const MAMBA2: &[(&str, Param)] = &[("head_dim", Number), ("state", Number), ("heads", Number), ("groups", Number)];

const DELTA: &[(&str, Param)] = &[("key_dim", Number), ("value_dim", Number), ("key_heads", Number), ("value_heads", Number)];

/// Whether a parameter is none of the op's, and may stand in a template all the same.
pub(super) fn is_extra(name: &str, rule: &ParamRule) -> bool {
    rule.tunable.is_some() || rule.bucket.is_some() || (CHOSEN.contains(&name) && !rule.is_compiled())
}

/// What a template says of launches, in its parameters.
pub(super) fn launches(template: &TemplateSpec, diags: &mut Diagnostics) {
    for (name, rule) in &template.params {
        if let Some(at) = &rule.value.at {
            at_launch(template, name, &rule.value, at, diags);
        }
        if let Some(bucket) = &rule.value.bucket {
            self::bucket(template, name, &rule.value, bucket, diags);
        }
    }
    if let (Target::Cpu, Some(spill)) = (template.target.value, &template.max_spill_bytes) {
        diags.push(
            invalid("a kernel for the CPU may spill registers")
                .label(&spill.key, "nothing would read this")
                .context(&template.target.span, "rustc decides what stays in registers")
                .help("delete the line"),
        );
    }
}

/// The code of a kernel for a GPU stands beside its TEMPLATE.toml, and needs no name that an instance does not have.
pub(super) fn code(template: &TemplateSpec, diags: &mut Diagnostics) {
    if template.target.value == Target::Cpu {
        return;
    }
    let Some((file, text)) = &template.source else {
        diags.push(
            invalid(format!("`{}` has no code", template.name))
                .label(&template.target.span, "an instance is made of the code beside the TEMPLATE.toml")
                .help(format!("add {}.cu.jinja, with the entry of the kernel", template.name)),
        );
        return;
    };
    if let Err(error) = instance::trial(template, text) {
        // What is wrong may stand within a character.
        let range = error.range().filter(|range| text.get(range.clone()).is_some()).unwrap_or(0..0);
        let names: Vec<&str> = template
            .params
            .iter()
            .filter(|(_, rule)| rule.value.is_compiled())
            .map(|(name, _)| name.value.as_str())
            .chain(["instance"])
            .collect();
        let why = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        diags.push(
            invalid(format!("no instance can be made of `{}`", template.name))
                .label(&Span { file: *file, range }, why)
                .context(&template.op.span, format!("an instance has {}", quoted(&names)))
                .help("write a name that an instance has, or add it to [params]"),
        );
    }
}

fn at_launch<T>(template: &TemplateSpec, name: &Spanned<String>, rule: &ParamRule, at: &Spanned<T>, diags: &mut Diagnostics) {
    if template.target.value == Target::Cpu {
        diags.push(
            invalid(format!("`{}` of a kernel for the CPU is passed at launch", name.value))
                .label(&at.key, "nothing is launched there")
                .context(&template.target.span, "a function of the CPU has its dimensions as types")
                .help("delete `at`"),
        );
        return;
    }
    for (key, what) in [(rule.one_of.as_ref().map(|list| &list.span), "a name"), (rule.tunable.as_ref().map(|t| &t.key), "tuned")]
    {
        if let Some(key) = key {
            diags.push(
                invalid(format!("`{}` is {what}, and passed at launch", name.value))
                    .label(key, "an instance is compiled for it")
                    .context(&at.span, "one instance would serve all values")
                    .help("delete `at`"),
            );
        }
    }
    let is_used = template.args.iter().any(|arg| {
        let shape = arg.shape.iter().flat_map(|shape| shape.iter());
        (arg.name.value == name.value && arg.ty.value == "int") || shape.flat_map(|e| e.value.names()).any(|n| n == name.value)
    });
    if !is_used {
        diags.push(
            invalid(format!("`{}` is passed at launch, and no argument has to do with it", name.value))
                .label(&name.span, "the kernel would not know it")
                .context(&at.span, "passed here")
                .help(format!("add an [[arg]] with name = \"{}\" and type = \"int\", or delete `at`", name.value)),
        );
    }
}

fn bucket(
    template: &TemplateSpec,
    name: &Spanned<String>,
    rule: &ParamRule,
    bucket: &Spanned<Vec<Spanned<u64>>>,
    diags: &mut Diagnostics,
) {
    if name.value != BUCKET || template.target.value == Target::Cpu {
        diags.push(
            invalid(format!("`{}` has buckets", name.value))
                .label(&bucket.key, "no launch would choose one")
                .help(format!("only `{BUCKET}` of a kernel for a GPU has buckets: the smallest that holds the rows of a launch")),
        );
    }
    let other = rule.tunable.as_ref().map(|t| &t.key).or(rule.at.as_ref().map(|at| &at.key));
    if let Some(other) = other {
        diags.push(
            invalid(format!("`{}` has buckets and another way to get its value", name.value))
                .label(other, "which of the two?")
                .context(&bucket.span, "an instance for each of these")
                .help("delete one of them"),
        );
    }
    if bucket.is_empty() || bucket.windows(2).any(|pair| pair[0].value >= pair[1].value) {
        diags.push(
            invalid(format!("the buckets of `{}` do not ascend", name.value))
                .label(&bucket.span, "the smallest that fits is launched")
                .help("list numbers of rows, the smallest first"),
        );
    }
}

//! Launches of steps of the repository's models, against plan.txt and against counts by hand.

use std::path::Path;

use super::step::passes;
use super::*;
use crate::model::{Model, Target};
use crate::{driver, models, programs};

fn all() -> Vec<Model> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the compiler stands in the workspace");
    let sources = driver::read(root, "model-specs", "kernel-templates").unwrap();
    models(&sources).unwrap_or_else(|_| panic!("the specs pass check"))
}

/// One of them.
fn one(name: &str) -> Model {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the compiler stands in the workspace");
    let sources = driver::read(root, "model-specs", "kernel-templates").unwrap();
    let mut models = models(&driver::only(&sources, &[name.to_owned()])).unwrap_or_else(|_| panic!("the specs pass check"));
    models.remove(models.iter().position(|model| model.name == name).expect("there is such a model"))
}

fn on_device(model: &Model) -> Program<'_> {
    programs(model).into_iter().find(|program| program.target == Target::Sm90a).expect("it is for GPUs")
}

/// Spans of cached tokens and tokens of the step, each of which wants logits of its last token.
fn step(spans: &[(u64, u64)]) -> Step {
    let spans: Vec<Span> = spans.iter().map(|&(cached, tokens)| Span { cached, tokens }).collect();
    Step { logit_rows: spans.len() as u64, spans, ending: Ending::Logits }
}

fn with(program: &Program<'_>, format: StorageFormat, step: &Step) -> Result<Launches, String> {
    let deployment = Deployment { kv_dtype: "bf16", largest_bucket: 256, format: &|_, _| Ok(format) };
    launches(program, &deployment, step)
}

/// Instances and how often each, without those that are named.
fn counts<'l>(launches: &'l Launches, without: &[&str]) -> Vec<(&'l str, u64)> {
    let named = |name: &str| without.iter().any(|start| name.starts_with(start));
    launches.kernels.iter().filter(|(name, _)| !named(name)).map(|(name, times)| (name.as_str(), *times)).collect()
}

/// What plan.txt says of a decode step: the second and the third column of its table.
fn of_plan(text: &str) -> BTreeMap<String, u64> {
    let device = &text[text.find(" on sm_90a\n").expect("a plan has its target")..];
    let mut counted = BTreeMap::new();
    for line in device.lines().skip_while(|line| !line.starts_with("op ")).skip(1).take_while(|line| !line.starts_with("total")) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let times = columns.get(2).and_then(|times| times.strip_prefix('x')?.parse::<u64>().ok());
        if let Some(times) = times.filter(|_| !line.starts_with("--")) {
            *counted.entry(columns[1].to_owned()).or_default() += times;
        }
    }
    counted.retain(|_, times| *times > 0);
    counted
}

#[test]
fn a_decode_step_launches_what_plan_txt_says() {
    let generated = Path::new(env!("CARGO_MANIFEST_DIR")).join("../generated/src");
    let models = all();
    let mut compared = 0;
    for model in models.iter().filter(|model| model.targets.contains(&Target::Sm90a)) {
        let plan = of_plan(&std::fs::read_to_string(generated.join(model.module()).join("plan.txt")).unwrap());
        assert!(plan.len() >= 8, "{}: {plan:?}", model.name);
        let format = model.checkpoint.accept[0];
        let context = model.max_position_embeddings.min(8192) as u64;
        let launches = with(&on_device(model), format, &step(&[(context - 1, 1)])).unwrap();
        assert_eq!(launches.kernels, plan, "{}", model.name);
        assert_eq!(launches.products, BTreeMap::new(), "{}", model.name);
        compared += 1;
    }
    assert!(compared >= 12, "{compared}");
}

#[test]
fn a_dense_model_by_hand() {
    let model = one("smollm2-135m-instruct");
    let program = on_device(&model);
    let of = |spans: &[(u64, u64)]| with(&program, StorageFormat::Q4_1, &step(spans)).unwrap();
    // 30 layers: q, k, v, o, gate, up and down of each are products, the last rows' head is a kernel.
    let prompt = of(&[(0, 512)]);
    let expected = [
        ("act_mul_silu", 30),
        ("attention_prefill_bf16_hd64_g3_tq192_tk128", 30),
        ("dequantise_q4_1", 7 * 30),
        ("embedding_q4_1", 1),
        ("gather_logit_rows", 1),
        ("linear_q4_1_r1", 1),
        ("rms_norm_f32_d576", 2 * 30 + 1),
        ("rope_angles", 1),
        ("rope_append_hd64_rd64_halves_none_bf16", 30),
    ];
    assert_eq!(counts(&prompt, &[]), expected);
    let products = [
        ("[512, 1536] by [576, 1536]", 30),
        ("[512, 576] by [1536, 576]", 60),
        ("[512, 576] by [192, 576]", 60),
        ("[512, 576] by [576, 576]", 60),
    ];
    assert_eq!(prompt.products.iter().map(|(name, times)| (name.as_str(), *times)).collect::<Vec<_>>(), products);
    // A chunk and two answers: both kinds of spans, few rows, three of them with logits.
    let rows = ["act", "attention", "dequantise", "embedding", "gather", "linear", "rms", "rope"];
    let mixed = of(&[(96, 7), (40, 1), (3, 1)]);
    let expected = [
        ("attention_decode_bf16_hd64_g3_tk64", 30),
        ("attention_prefill_bf16_hd64_g3_tq192_tk128", 30),
        ("linear_gated_q4_1_r16_silu", 30),
        ("linear_q4_1_r16", 5 * 30),
        ("linear_q4_1_r4", 1),
    ];
    assert_eq!(counts(&mixed, &["embedding", "gather", "rms", "rope"]), expected);
    assert_eq!(counts(&mixed, &rows), []);
    assert_eq!((mixed.total(), mixed.products.len()), (30 * 11 + 5, 0));
}

#[test]
fn a_step_of_single_tokens_has_the_rows_of_its_bucket() {
    let model = one("qwen3-0.6b");
    let program = on_device(&model);
    let of = |sequences: usize, logit_rows: u64, largest_bucket: u64| {
        let step = Step { logit_rows, ..step(&vec![(9, 1); sequences]) };
        let deployment = Deployment { kv_dtype: "bf16", largest_bucket, format: &|_, _| Ok(StorageFormat::Bf16) };
        launches(&program, &deployment, &step).unwrap()
    };
    let linear = |launches: &Launches| {
        counts(launches, &["r", "a", "e", "g"]).into_iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(linear(&of(3, 3, 256)), ["linear_bf16_r4", "linear_gated_bf16_r4_silu"]);
    assert_eq!(linear(&of(9, 9, 256)), ["linear_bf16_r16", "linear_gated_bf16_r16_silu"]);
    // In a bucket of 32 even one row of logits is 32 of them; launched alone, it is one of 17.
    let bucket = of(17, 1, 256);
    assert_eq!(bucket.products.get("[32, 1024] by [151936, 1024]"), Some(&1));
    assert_eq!(linear(&bucket), [""; 0]);
    let alone = of(17, 1, 16);
    assert_eq!(linear(&alone), ["linear_bf16_r1"]);
    assert!(alone.products.keys().all(|product| product.starts_with("[17, ")), "{:?}", alone.products);
    // Where nobody wants logits in a step that is no bucket's, the layers are all.
    let without = of(17, 0, 16);
    assert_eq!(without.total(), alone.total() - 3, "the gathering, the norm and the head");
    assert_eq!(counts(&without, &["add", "act", "attention", "embedding", "rms", "rope"]), []);
}

#[test]
fn a_step_ends_with_what_chooses_its_tokens() {
    let model = one("qwen3-0.6b");
    let program = on_device(&model);
    let of = |ending| with(&program, StorageFormat::Bf16, &Step { ending, ..step(&[(9, 1)]) }).unwrap();
    let logits = of(Ending::Logits);
    for (ending, name) in [(Ending::Greedy, "argmax"), (Ending::Sampled, "sample")] {
        let mut chosen = of(ending);
        assert_eq!(chosen.kernels.remove(name), Some(1));
        assert_eq!(chosen, logits);
    }
}

#[test]
fn latent_attention_by_hand() {
    let model = one("bard-mla");
    let program = on_device(&model);
    let latent = |spans: &[(u64, u64)]| {
        let launches = with(&program, StorageFormat::Bf16, &step(spans)).unwrap();
        let of = launches.kernels.into_iter().filter(|(name, _)| name.starts_with("mla_"));
        of.map(|(name, times)| (name.split('_').take(3).collect::<Vec<_>>().join("_"), times)).collect::<Vec<_>>()
    };
    let expected = |list: &[(&str, u64)]| list.iter().map(|(name, times)| ((*name).to_owned(), *times)).collect::<Vec<_>>();
    // Six layers. What absorbs queries of single tokens is launched for any rows; what attends to them is not.
    let prompt = [("mla_absorb_qnhd32", 6), ("mla_expand_bf16", 6), ("mla_prefill_expanded", 6), ("mla_up_klr64", 6)];
    assert_eq!(latent(&[(0, 40), (0, 9)]), expected(&prompt));
    let decode = [("mla_absorb_qnhd32", 6), ("mla_combine_klr64", 6), ("mla_decode_bf16", 6), ("mla_up_klr64", 6)];
    assert_eq!(latent(&[(9, 1), (700, 1)]), expected(&decode));
}

#[test]
fn contexts_are_expanded_in_as_many_passes_as_they_need() {
    assert_eq!(passes(&[], 4, 10), 0);
    assert_eq!(passes(&[10], 4, 40), 1);
    assert_eq!(passes(&[10], 4, 39), 2, "three heads, then one");
    assert_eq!(passes(&[10, 10], 4, 80), 1);
    assert_eq!(passes(&[10, 10], 4, 79), 2);
    assert_eq!(passes(&[10, 10], 4, 19), 8, "each context alone, head by head");
    assert_eq!(passes(&[1000, 50], 4, 1000), 5, "four heads of the first one by one, all of the second at once");
    assert_eq!(passes(&[30, 30, 30, 30], 2, 100), 2 + 1, "three contexts, head by head, then the last with both");
}

#[test]
fn what_no_instance_serves_is_an_error() {
    let model = one("qwen3-0.6b");
    let program = on_device(&model);
    let error = |format, kv_dtype, step: &Step| {
        launches(&program, &Deployment { kv_dtype, largest_bucket: 256, format: &|_, _| Ok(format) }, step).unwrap_err()
    };
    let one = step(&[(0, 1)]);
    assert_eq!(error(StorageFormat::Q6K, "bf16", &one), "embedding has no instance where format is q6_k");
    assert!(error(StorageFormat::Bf16, "int3", &one).contains("no instance where kv_dtype is"));
    assert_eq!(error(StorageFormat::Bf16, "bf16", &step(&[])), "a step has sequences, and each of them tokens");
    assert!(error(StorageFormat::Bf16, "bf16", &step(&[(0, 8193)])).contains("are no step"));
    assert!(error(StorageFormat::Bf16, "bf16", &step(&[(40_960, 1)])).contains("the context is 40960"));
    let cpu = programs(&model).into_iter().find(|program| program.target == Target::Cpu).unwrap();
    assert_eq!(with(&cpu, StorageFormat::Bf16, &one).unwrap_err(), "qwen3-0.6b on cpu launches no kernels");
}

#[test]
fn a_step_is_read_and_shown() {
    assert_eq!(read("512"), Ok(step(&[(0, 512)])));
    assert_eq!(read("17, 1@96,1@40"), Ok(step(&[(0, 17), (96, 1), (40, 1)])));
    for wrong in ["", "0", "1@", "@4", "1,", "a", "1@2@3", "1@9999999999"] {
        assert!(read(wrong).unwrap_err().contains("is no span of tokens"), "{wrong}");
    }
    let model = one("smollm2-135m-instruct");
    let text = shown(&programs(&model), &read("17,1@96").unwrap(), None, None).unwrap();
    let start =
        "smollm2-135m-instruct on sm_90a: 18 tokens of 2 sequences, 2 rows of logits, weights q4_1, cache bf16\n  act_mul_silu ";
    assert!(text.starts_with(start), "{text}");
    assert!(text.ends_with("210 products of the matrix library\n"), "{text}");
    assert!(text.contains("  linear_q4_1_r2                                     x1\n"), "{text}");
    assert!(shown(&programs(&model), &read("1").unwrap(), Some("q9"), None).is_err());
}

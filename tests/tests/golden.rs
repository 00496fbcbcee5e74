//! Goldens: every case at every variant, against Hugging Face transformers in float64 (NUMERICS: cpu rows of the table).

#[path = "golden/activations.rs"]
mod activations;
#[path = "golden/edges.rs"]
mod edges;

use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use tenon_core::batch::{Batch, WantLogits};
use tenon_core::cpu::Isa;
use tenon_core::dtype::KvDtypeName;
use tenon_core::model::{Logits, ModelEntry};
use tenon_tests::pairwise::pairwise;
use tenon_tests::reference::{Golden, Tensors, argmax, folder, json, median, relative_error};
use tenon_tests::run::{Sequence, Variant, each_position, each_position_after_prefix, forced, load, load_for_prompt, prompt};

const RANDOM: [&str; 14] = [
    "deepseek-v3-mla-moe",
    "gemma2-softcap",
    "gemma3-sliding",
    "glm4-moe-lite-mla",
    "gpt-oss-sinks",
    "llama-gqa",
    "llama3-rope",
    "minicpm3-mla",
    "mistral4-mla-moe",
    "nemotron-h-mamba2",
    "qwen3-moe",
    "qwen3-next-gdn",
    "qwen3-qknorm",
    "qwen3.5-moe-gdn",
];
/// Cases that are also computed with activations in int8: the dense ones among those that have weights here.
const INT8: [&str; 2] = ["gemma3-sliding-int8", "llama-gqa-int8"];
const CHUNKS: [Option<usize>; 4] = [None, Some(64), Some(17), Some(1)];
const PAGES: [usize; 2] = [16, 64];
const THREADS: [usize; 2] = [1, 2];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    // Folders for which no spec was written: `tenon new` drafts one, and it is compiled as it is.
    let unseen = tenon_tests::golden::MODELS.iter().map(|m| m.info.name);
    let unseen: Vec<&str> = unseen.filter(|name| name.starts_with("unseen-") && !name.ends_with("-swapped")).collect();
    for case in RANDOM.into_iter().chain(INT8).chain(unseen) {
        for variant in variants(case) {
            trials.push(Trial::test(format!("{case}/{variant}"), move || logits(case, variant)));
        }
        for isa in Isa::available() {
            trials.push(Trial::test(format!("{case}/greedy/{isa}"), move || greedy(case, isa)));
            trials.push(Trial::test(format!("{case}/bit_equal/{isa}"), move || bit_equal(case, isa)));
            trials.push(Trial::test(format!("{case}/mixed_batch/{isa}"), move || mixed_batch(case, isa)));
        }
    }
    trials.extend(edges::trials());
    for real in REAL {
        let weights = real.weights();
        for variant in real_variants() {
            let path = weights.clone();
            let run = move || real_model(real, &path.expect("ignored without weights"), variant);
            let activations = if real.int8 { "-int8" } else { "" };
            trials.push(Trial::test(format!("{}{activations}/{variant}", real.case), run).with_ignored_flag(weights.is_none()));
        }
        if weights.is_none() {
            let count = real_variants().len();
            println!("skipped: {}, {count} variants; `tenon-server pull {}` fetches the weights", real.case, real.model);
        }
        if real.int8 {
            let run = move || activations::compare(real, &weights.clone().expect("ignored without weights"));
            let is_ignored = real.weights().is_none();
            trials.push(Trial::test(format!("{}-int8/against_f32", real.case), run).with_ignored_flag(is_ignored));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Combinations of chunk, page size, threads, instruction set, cache dtype, prefix hit and, for latent attention, the two forms, in
/// which every two settings meet.
fn variants(case: &str) -> Vec<Variant> {
    let isas: Vec<Isa> = Isa::available().collect();
    let dtypes = entry(case, false).info.kv_cache_dtypes;
    let forms = if has_forms(case) { 2 } else { 1 };
    let counts = [CHUNKS.len(), PAGES.len(), THREADS.len(), isas.len(), dtypes.len(), 2, forms];
    let variant = |row: Vec<usize>| Variant {
        chunk: CHUNKS[row[0]],
        page_size: PAGES[row[1]],
        threads: THREADS[row[2]],
        isa: isas[row[3]],
        kv: dtypes[row[4]],
        prefix: row[5] == 1,
        swapped: row[6] == 1,
    };
    pairwise(&counts).into_iter().map(variant).collect()
}

/// The real model is slower, so each value of each setting stands at least once, not each combination.
fn real_variants() -> Vec<Variant> {
    let mut all = Vec::new();
    for isa in Isa::available() {
        for (chunk, page_size, threads, kv, prefix) in [
            (None, 16, 2, KvDtypeName::F32, false),
            (Some(64), 16, 1, KvDtypeName::F32, true),
            (Some(17), 16, 2, KvDtypeName::Bf16, false),
            (Some(1), 64, 2, KvDtypeName::F32, false),
        ] {
            all.push(Variant { chunk, page_size, threads, isa, kv, prefix, swapped: false });
        }
    }
    all
}

/// Whether a case has latent attention, which the build script then compiles in both pairs of forms.
fn has_forms(case: &str) -> bool {
    tenon_tests::golden::MODELS.iter().any(|m| m.info.name.strip_suffix("-swapped") == Some(case))
}

/// Whether a row is the same at all chunkings, bit for bit: so it is where attention is all that looks at other tokens, and has one
/// form for spans of every length.
fn any_chunking(case: &str) -> bool {
    !has_forms(case) && entry(case, false).info.state_bytes_per_slot == 0
}

fn entry(case: &str, swapped: bool) -> &'static ModelEntry {
    let name = if swapped { format!("{case}-swapped") } else { case.to_owned() };
    let found = tenon_tests::golden::MODELS.iter().find(|m| m.info.name == name);
    found.unwrap_or_else(|| panic!("no spec of {name} stands beside its golden"))
}

/// The weights of a case. Beside the other forms, the swapped model has another epsilon, and the weights that go with it.
fn checkpoint(case: &str, swapped: bool) -> PathBuf {
    if swapped { edges::large_residual(case) } else { folder(reference(case)) }
}

/// The golden that a case is compared with.
fn reference(case: &str) -> &str {
    case.strip_suffix("-int8").unwrap_or(case)
}

fn errors(logits: &[f32], reference: &[f32], vocab: usize) -> Vec<f64> {
    logits.chunks_exact(vocab).zip(reference.chunks_exact(vocab)).map(|(a, b)| relative_error(a, b)).collect()
}

fn logits(case: &str, variant: Variant) -> Result<(), Failed> {
    let (golden, entry) = (Golden::read(reference(case)), entry(case, variant.swapped));
    let mut model = load_for_prompt(entry, &checkpoint(case, variant.swapped), variant, golden.input_ids.len());
    let mut logits = Vec::with_capacity(golden.logits.len());
    let ids = &golden.input_ids;
    if variant.prefix {
        each_position_after_prefix(model.as_mut(), ids, variant.chunk, |_, row| logits.extend_from_slice(row))?;
    } else {
        each_position(model.as_mut(), ids, variant.chunk, |_, row| logits.extend_from_slice(row));
    }
    if logits.len() != golden.logits.len() {
        return Err(format!("{} logits, and the reference has {}", logits.len(), golden.logits.len()).into());
    }
    let errors = errors(&logits, &golden.logits, entry.info.vocab_size);
    let (largest, middle) = (errors.iter().copied().fold(0.0, f64::max), median(&errors));
    let (what, value, bound) = match variant.kv {
        _ if reference(case) != case => ("median", middle, activations::OF_BF16 * golden.bf16_median),
        KvDtypeName::F32 => ("largest", largest, (5.0 * golden.float32_max).max(1e-4)),
        // The reference rounds all that a layer computes, at some 18 places. With keys and values rounded alone, two of those are
        // left, and their errors are independent: a third of its error, unless the cache rounds worse than to nearest.
        KvDtypeName::Bf16 => ("median", middle, golden.bf16_median / 3.0),
        KvDtypeName::Fp8E4m3 => return Err("no reference says how far an fp8 cache may be off".into()),
    };
    println!(
        "{case}/{variant}: {what} relative error {value:.2e}, {:.1}% of the bound {bound:.2e}; largest {largest:.2e}, {} positions",
        100.0 * value / bound,
        errors.len()
    );
    // Written so that NaN fails.
    if value <= bound { Ok(()) } else { Err(format!("{what} relative error {value:e} is over {bound:e}").into()) }
}

/// Greedy tokens equal the reference's wherever its margin is over 0.02. With activations in int8 they equal it as often as those of the
/// reference in bf16, less one step.
fn greedy(case: &str, isa: Isa) -> Result<(), Failed> {
    let (golden, entry) = (Golden::read(reference(case)), entry(case, false));
    let prefix = &golden.input_ids[..golden.greedy_prefix_len];
    let tokens = prefix.len() + golden.greedy.len();
    let mut model = load(entry, &folder(reference(case)), Variant::plain(isa), tokens, 1);
    let logits = forced(model.as_mut(), prefix, &golden.greedy);
    if reference(case) != case {
        return activations::greedy(case, &golden, logits.chunks_exact(entry.info.vocab_size));
    }
    let mut compared = 0;
    for (step, row) in logits.chunks_exact(entry.info.vocab_size).enumerate() {
        if golden.greedy_margin[step] > 0.02 {
            compared += 1;
            let token = argmax(row) as u32;
            if token != golden.greedy[step] {
                return Err(format!("step {step}: token {token}, and the reference has {}", golden.greedy[step]).into());
            }
        }
    }
    println!("{case}/greedy/{isa}: {compared} of {} steps have a margin over 0.02, all equal", golden.greedy.len());
    if compared > 0 { Ok(()) } else { Err("no step was compared".into()) }
}

/// A row depends on its own tokens and chunk boundaries alone: bit-equal at every page size and thread count, and at every chunking
/// where spans of all lengths are computed alike.
fn bit_equal(case: &str, isa: Isa) -> Result<(), Failed> {
    let golden = Golden::read(reference(case));
    let mut compared = 0;
    for swapped in [false, true].into_iter().take(if has_forms(case) { 2 } else { 1 }) {
        let (entry, weights) = (entry(case, swapped), checkpoint(case, swapped));
        for &kv in entry.info.kv_cache_dtypes {
            let mut first: Option<(Variant, Vec<f32>)> = None;
            for chunk in CHUNKS {
                if !any_chunking(case) {
                    first = None;
                }
                for (page_size, threads) in [(16, 1), (64, 2), (16, 3)] {
                    let variant = Variant { chunk, page_size, threads, kv, swapped, ..Variant::plain(isa) };
                    let mut model = load_for_prompt(entry, &weights, variant, golden.input_ids.len());
                    assert_eq!(model.any_chunking(), any_chunking(case), "what the engine believes of {case}");
                    let logits = prompt(model.as_mut(), &golden.input_ids, chunk);
                    match &first {
                        None => first = Some((variant, logits)),
                        Some((with, reference)) => {
                            compared += 1;
                            same(reference, &logits).map_err(|e| format!("{with} against {variant}: {e}"))?;
                        }
                    }
                }
            }
        }
    }
    println!("{case}/bit_equal/{isa}: {compared} pairs of runs equal");
    if compared > 0 { Ok(()) } else { Err("nothing was compared".into()) }
}

/// Tokens that each of three sequences takes per step.
const TAKES: [usize; 3] = [1, 17, 40];

/// The same sequence alone, and among others that prefill and decode in the same steps.
fn mixed_batch(case: &str, isa: Isa) -> Result<(), Failed> {
    let (golden, entry) = (Golden::read(reference(case)), entry(case, false));
    let ids = &golden.input_ids[..96];
    let variant = Variant { threads: 2, ..Variant::plain(isa) };
    let mut model = load(entry, &folder(reference(case)), variant, ids.len(), 3);
    let alone: Vec<Vec<f32>> = TAKES.iter().map(|&take| prompt(model.as_mut(), ids, Some(take))).collect();

    let vocab = entry.info.vocab_size;
    let mut logits = Logits::new(entry.info, ids.len() * 3);
    let mut batch = Batch::new(model.limits());
    let mut sequences: Vec<Sequence> = (0..3).map(|n| Sequence::new(model.as_ref(), ids.len(), n)).collect();
    // The first decodes one by one, the second prefills in chunks of 17, the third starts late and takes 40 at once.
    let mut seen = vec![Vec::new(); 3];
    for step in 0..ids.len() {
        batch.clear();
        let mut rows = Vec::new();
        for (n, sequence) in sequences.iter_mut().enumerate() {
            let take = if n == 2 && step < 5 { 0 } else { TAKES[n] };
            let end = (sequence.done + take).min(ids.len());
            if end > sequence.done {
                rows.push((n, end - sequence.done));
                let piece = &ids[sequence.done..end];
                sequence.push(&mut batch, piece, WantLogits::All);
            }
        }
        model.step(&batch, &mut logits)?;
        let mut row = 0;
        for (n, count) in rows {
            for _ in 0..count {
                seen[n].extend_from_slice(logits.row(row));
                row += 1;
            }
        }
    }
    for (n, logits) in seen.iter().enumerate() {
        assert_eq!(logits.len(), ids.len() * vocab);
        same(&alone[n], logits).map_err(|e| format!("sequence {n} in a mixed batch: {e}"))?;
    }
    Ok(())
}

fn same(a: &[f32], b: &[f32]) -> Result<(), String> {
    if a.len() != b.len() {
        return Err(format!("{} against {} logits", a.len(), b.len()));
    }
    match a.iter().zip(b).position(|(a, b)| a.to_bits() != b.to_bits()) {
        None => Ok(()),
        Some(i) => Err(format!("logit {i} is {} and {}", a[i], b[i])),
    }
}

/// A golden of a model whose weights are fetched and not shipped.
#[derive(Clone, Copy)]
struct Real {
    /// The folder of the golden.
    case: &'static str,
    /// The spec under model-specs/.
    model: &'static str,
    /// The variable that says where its weights are, instead of where `tenon-server pull` puts them.
    variable: &'static str,
    /// With activations in int8.
    int8: bool,
}

const SMOLLM2: Real =
    Real { case: "smollm2-135m-instruct-q4_1", model: "smollm2-135m-instruct", variable: "TENON_SMOLLM2", int8: false };
const GEMMA3: Real = Real { case: "gemma-3-270m-q4_k_m", model: "gemma-3-270m", variable: "TENON_GEMMA3", int8: false };
const REAL: [Real; 4] = [SMOLLM2, Real { int8: true, ..SMOLLM2 }, GEMMA3, Real { int8: true, ..GEMMA3 }];

impl Real {
    /// The model, as its spec says or with activations in int8.
    fn entry(&self) -> &'static ModelEntry {
        let name = if self.int8 { format!("{}-int8", self.model) } else { self.model.to_owned() };
        let named = |model: &&ModelEntry| model.info.name == name;
        let found = if self.int8 {
            tenon_tests::golden::MODELS.iter().copied().find(named)
        } else {
            tenon_models::MODELS.iter().copied().find(named)
        };
        found.expect("it is compiled in")
    }

    fn weights(&self) -> Option<PathBuf> {
        let path = std::env::var_os(self.variable).map_or_else(|| pulled(self.model), |path| Some(PathBuf::from(path)));
        let there = path.filter(|path| path.exists());
        let required = std::env::var_os("TENON_REQUIRE_WEIGHTS").is_some();
        assert!(there.is_some() || !required, "TENON_REQUIRE_WEIGHTS is set, and the weights of {} are not there", self.model);
        there
    }
}

/// The folder into which `tenon-server pull` puts a model's weights.
fn pulled(model: &str) -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("TENON_HOME")
        .or_else(|| Some(set("XDG_DATA_HOME").filter(|path| path.is_absolute())?.join("tenon")))
        .or_else(|| Some(set("HOME")?.join(".local/share/tenon")));
    Some(home?.join(model))
}

/// A real GGUF: top-16 logits of every position, all logits of the last of the prompt, and the greedy continuation.
fn real_model(real: Real, weights: &std::path::Path, variant: Variant) -> Result<(), Failed> {
    let case = folder(real.case);
    let (tensors, prompts) = (Tensors::read(case.join("golden.safetensors")), json(&case.join("golden.json")));
    let entry = real.entry();
    let margin = if real.int8 { activations::MARGIN } else { 0.02 };
    let all_prompts = prompts.as_array().expect("a list of prompts").len();
    // The portable path and single-token steps are slow: they see fewer prompts.
    let few = variant.chunk == Some(1) || variant.isa == Isa::Portable;
    let (mut worst, mut all, mut compared, mut steps) = (0.0_f64, Vec::new(), 0, 0);
    let mut widest = 0.0_f32;
    let mut wrong = None;
    let prompts = if few { 2 } else { all_prompts };
    for p in 0..prompts {
        let (ids, greedy) = (tensors.ids(&format!("{p}.input_ids")), tensors.ids(&format!("{p}.greedy")));
        let (top_ids, top) = (tensors.ids(&format!("{p}.top_ids")), tensors.f32(&format!("{p}.top_logits")));
        let margins = tensors.f32(&format!("{p}.greedy_margin"));
        // All logits of a position are a megabyte at a large vocabulary, and kept for the first prompt alone there.
        let last = format!("{p}.last_prompt_logits");
        let last = tensors.has(&last).then(|| tensors.f32(&last));
        let full: Vec<u32> = ids.iter().chain(&greedy).copied().take(top.len() / 16).collect();
        let mut model = load_for_prompt(entry, weights, variant, full.len());
        let see = |position: usize, row: &[f32]| {
            let (of, want) = (&top_ids[position * 16..][..16], &top[position * 16..][..16]);
            let found: Vec<f32> = of.iter().map(|&id| row[id as usize]).collect();
            let error = relative_error(&found, want);
            worst = worst.max(error);
            all.push(error);
            if let Some(last) = last.as_ref().filter(|_| position == ids.len() - 1) {
                worst = worst.max(relative_error(row, last));
            }
            let Some(step) = (position + 1).checked_sub(ids.len()).filter(|&step| step < greedy.len()) else { return };
            steps += 1;
            if argmax(row) as u32 != greedy[step] {
                widest = widest.max(margins[step]);
            }
            if margins[step] > margin {
                compared += 1;
                let token = argmax(row) as u32;
                if token != greedy[step] {
                    wrong.get_or_insert(format!("prompt {p}, step {step}: token {token}, reference {}", greedy[step]));
                }
            }
        };
        if variant.prefix {
            each_position_after_prefix(model.as_mut(), &full, variant.chunk, see)?;
        } else {
            each_position(model.as_mut(), &full, variant.chunk, see);
        }
    }
    let (what, value, bound) = match variant.kv {
        _ if real.int8 => ("median", median(&all), activations::MEDIAN),
        KvDtypeName::F32 => ("largest", worst, 1e-4),
        // These cases state no bf16 error of the reference. Keys and values are each off by at most 2^-9, and the median of
        // what that does to the logits must stay below the sum of the two.
        KvDtypeName::Bf16 => ("median", median(&all), 2.0 * 2.0_f64.powi(-9)),
        KvDtypeName::Fp8E4m3 => return Err("no bound is known for an fp8 cache".into()),
    };
    println!(
        "{}/{variant}: {what} relative error {value:.2e}, {:.1}% of the bound {bound:.1e}; {} positions of {prompts} prompts, \
         greedy equal in {compared} of {steps} steps with a margin over {margin}, \
         in all but some of at most {widest:.3}",
        real.case,
        100.0 * value / bound,
        all.len()
    );
    if let Some(wrong) = wrong {
        return Err(wrong.into());
    }
    if value <= bound { Ok(()) } else { Err(format!("{what} relative error {value:e} is over {bound:e}").into()) }
}

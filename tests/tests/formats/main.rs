//! Storage formats through whole models: a checkpoint whose projections are quantised as publishers do it gives the logits of one
//! that holds the same numbers in f32; one that lacks a scale, or has another, is refused by name; and `tenon new` drafts its spec.

mod quantise;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::TempDir;
use tenon_compiler::source::SourceMap;
use tenon_compiler::{driver, emit, new, programs};
use tenon_core::cpu::Isa;
use tenon_core::model::ModelEntry;
use tenon_core::weights::LoadError;
use tenon_formats::write::{self, Tensor};
use tenon_formats::{CanonicalConfig, expect};
use tenon_tests::contract::contract;
use tenon_tests::golden::MODELS;
use tenon_tests::reference::{Golden, folder, json, median, relative_error};
use tenon_tests::run::{Variant, load, prompt, try_load};

use self::quantise::{Pair, Scales, Scheme, pair};

const ALL: [Scheme; 5] = [Scheme::Fp8Tensor, Scheme::Fp8Hub, Scheme::Fp8Blocks, Scheme::Nvfp4Modelopt, Scheme::Nvfp4Compressed];
const CASES: [&str; 5] = ["mistral4-mla-moe", "deepseek-v3-mla-moe", "nemotron-h-mamba2", "qwen3.5-moe-gdn", "gpt-oss-sinks"];
/// Positions that are compared.
const TOKENS: usize = 96;
/// What roundings may change where the scale of a tensor multiplies products, and not weights; or 5 times what they change in the
/// reference, where that is more.
const SAME: f64 = 1e-5;

/// The median distance to the golden in bf16 that a scheme leaves, from and to. bf16 has 8 significant bits, E4M3 has 4 and E2M1 has
/// 2: errors are up to 2^4 and 2^6 times those of computing in bf16, and greater than those.
fn plausible(scheme: Scheme, bf16: f64) -> (f64, f64) {
    match scheme.format() {
        "fp8_e4m3" => (bf16, 16.0 * bf16),
        _ => (bf16, (64.0 * bf16).min(0.6)),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for case in CASES {
        for scheme in schemes(case) {
            for isa in Isa::available() {
                trials.push(Trial::test(format!("{case}/{scheme:?}/{isa}"), move || same_logits(case, scheme, isa)));
            }
            trials.push(Trial::test(format!("new/{case}/{scheme:?}"), move || drafted(case, scheme)));
        }
    }
    trials.push(Trial::test("plan", planned));
    trials.push(Trial::test("refused/scales", refused_scales));
    trials.push(Trial::test("refused/experts", refused_experts));
    trials.push(Trial::test("refused/nvfp4", refused_nvfp4));
    trials.push(Trial::test("refused/mxfp4", refused_mxfp4));
    trials.push(Trial::test("refused/formats", refused_formats));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Experts in mxfp4 are those of gpt-oss and of stacks like them.
fn schemes(case: &str) -> Vec<Scheme> {
    let stacked = ["gpt-oss-sinks", "mistral4-mla-moe"].contains(&case);
    ALL.into_iter().chain(stacked.then_some(Scheme::Mxfp4)).collect()
}

fn entry(name: &str) -> &'static ModelEntry {
    MODELS.iter().find(|m| m.info.name == name).unwrap_or_else(|| panic!("the build script makes no {name}"))
}

fn formats(case: &str) -> &'static ModelEntry {
    entry(&format!("{case}-formats"))
}

fn quantised(case: &str, scheme: Scheme, scales: Scales) -> Pair {
    let pair = pair(&folder(case).join("model.safetensors"), scheme, scales, case.starts_with("gpt-oss"));
    assert!(!pair.projections.is_empty(), "{case} has projections");
    pair
}

/// A folder with the tensors and the config of a case.
fn write(case: &str, tensors: &[Tensor]) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    fs::write(dir.path().join("model.safetensors"), write::safetensors(tensors)).expect("it is writable");
    fs::copy(folder(case).join("config.json"), dir.path().join("config.json")).expect("it is writable");
    dir
}

/// What a quantised checkpoint and its twin have in common.
struct Compared {
    /// The largest distance of their logits at a position.
    largest: f64,
    /// The median distance to the golden.
    to_golden: f64,
    /// Bytes of weights, of the one and the other.
    held: [usize; 2],
}

fn compare(case: &str, golden: &Golden, pair: &Pair, isa: Isa) -> Compared {
    let entry = formats(case);
    let dirs = [write(case, &pair.quantised), write(case, &pair.plain)];
    let ids = &golden.input_ids[..TOKENS];
    let vocab = entry.info.vocab_size;
    let variant = Variant { threads: 2, ..Variant::plain(isa) };
    let distances = |a: &[f32], b: &[f32]| -> Vec<f64> {
        a.chunks_exact(vocab).zip(b.chunks_exact(vocab)).map(|(a, b)| relative_error(a, b)).collect()
    };
    let mut compared = Compared { largest: 0.0, to_golden: 0.0, held: [0, 0] };
    // Latent attention has another form for spans of one token.
    for chunk in [None, Some(1)] {
        let logits = [0, 1].map(|i| {
            let mut model = load(entry, dirs[i].path(), variant, ids.len(), 1);
            compared.held[i] = model.memory().weights;
            prompt(model.as_mut(), ids, chunk)
        });
        let apart = distances(&logits[0], &logits[1]);
        // Not `max`, which drops NaN.
        compared.largest = apart.into_iter().fold(compared.largest, |a, b| if b <= a { a } else { b });
        compared.to_golden = median(&distances(&logits[0], &golden.logits[..TOKENS * vocab]));
    }
    compared
}

fn same_logits(case: &str, scheme: Scheme, isa: Isa) -> Result<(), Failed> {
    let golden = Golden::read(case);
    let exact = compare(case, &golden, &quantised(case, scheme, Scales::Powers), isa);
    let pair = quantised(case, scheme, Scales::Largest);
    let Compared { largest, to_golden, held } = compare(case, &golden, &pair, isa);
    let (bound, (from, to)) = (SAME.max(5.0 * golden.float32_max), plausible(scheme, golden.bf16_median));
    println!(
        "{case}/{scheme:?}/{isa}: {} projections, largest relative error {largest:.2e} of {bound:.1e}, {:e} where no scale rounds; \
         median distance to bf16 {to_golden:.2e} of {from:.2e}..{to:.2e}; {} KiB held, {} in f32",
        pair.projections.len(),
        exact.largest,
        held[0] / 1024,
        held[1] / 1024
    );
    if exact.largest != 0.0 {
        return Err(format!("a relative error of {:e} where scales are powers of two", exact.largest).into());
    }
    if largest > bound || largest.is_nan() {
        return Err(format!("largest relative error {largest:e} is over {bound:e}").into());
    }
    if !(to_golden >= from && to_golden <= to) {
        return Err(format!("a median distance of {to_golden:e} to the golden in bf16 is not plausible").into());
    }
    if held[0] < held[1] { Ok(()) } else { Err("it takes no less memory than in f32".into()) }
}

/// The draft for such a checkpoint checks, accepts its config, and needs the tensors that the spec of the case needs.
fn drafted(case: &str, scheme: Scheme) -> Result<(), Failed> {
    let dir = write(case, &quantised(case, scheme, Scales::Largest).quantised);
    let mut config = json(&folder(case).join("config.json"));
    config["quantization_config"] = scheme.config();
    fs::write(dir.path().join("config.json"), config.to_string())?;
    let checkpoint = driver::checkpoint(dir.path())?;
    let draft = new::draft(case, &checkpoint).map_err(|refusals| format!("{refusals:?}"))?;
    let accept = draft.text.lines().find(|line| line.starts_with("accept = ")).ok_or("it accepts no format")?;
    // f32 is in every draft: it is what a checkpoint can be converted to.
    if accept != format!("accept = [\"{}\", \"bf16\", \"f32\"]", scheme.format()) {
        return Err(format!("{accept}\nis not what {scheme:?} needs").into());
    }
    let templates = templates()?;
    let weights = |text: &str| -> Result<_, Failed> {
        let mut sources = templates.clone();
        sources.add(format!("tests/golden/{case}/MODEL.toml"), text.to_owned());
        let models =
            tenon_compiler::models(&sources).map_err(|e| format!("{}\n{text}", e.render(&sources, Default::default(), false)))?;
        let [model] = &models[..] else { return Err("one spec is one model".into()) };
        let differences = expect::compare(&CanonicalConfig::from_hf(&config)?, &contract(model));
        let files = emit::model(&programs(model));
        let weights = files.into_iter().find(|file| file.path.ends_with("weights.rs")).ok_or("no weights.rs")?;
        Ok((differences.iter().map(ToString::to_string).collect::<Vec<_>>(), weights.text))
    };
    let (differences, drafted) = weights(&draft.text)?;
    if !differences.is_empty() {
        return Err(format!("the contract of the draft does not take its config: {differences:#?}").into());
    }
    let written = fs::read_to_string(folder(case).join("MODEL.toml"))?;
    let (differences, written) = weights(&written.replacen("accept = [\"bf16\", \"f32\"]", accept, 1))?;
    if drafted != written {
        return Err(format!("the draft\n{}\nloads other tensors than the spec of the case", draft.text).into());
    }
    // And a spec that does not mention the quantisation does not take it.
    if differences.is_empty() { Err("quantization_config was taken unseen".into()) } else { Ok(()) }
}

/// What a plan says of a format: bytes of a decode step, and of all weights.
fn planned() -> Result<(), Failed> {
    const CASE: &str = "llama-gqa";
    // Projections of three layers and the tied head; norms.
    const MATRICES: u64 = 3 * (2 * 96 * 96 + 2 * 32 * 96 + 3 * 160 * 96) + 320 * 96;
    const VECTORS: u64 = (2 * 3 + 1) * 96;
    let written = fs::read_to_string(folder(CASE).join("MODEL.toml"))?;
    let templates = templates()?;
    let plan = |format: &str| -> Result<_, Failed> {
        // The embedding is bf16 in all of them.
        let accept = format!("accept = [\"{format}\", \"bf16\"]").replace("[\"bf16\", \"bf16\"]", "[\"bf16\"]");
        let mut sources = templates.clone();
        sources.add(format!("tests/golden/{CASE}/MODEL.toml"), written.replacen("accept = [\"bf16\", \"f32\"]", &accept, 1));
        let models = tenon_compiler::models(&sources).map_err(|e| e.render(&sources, Default::default(), false))?;
        let programs = programs(&models[0]);
        Ok((emit::deployment(&programs[0]), emit::plan_text(&programs)))
    };
    let (bf16, _) = plan("bf16")?;
    for (format, bytes, of) in [("fp8_e4m3", 1, 1), ("nvfp4", 9, 16), ("mxfp4", 17, 32)] {
        let (deployment, text) = plan(format)?;
        let weights = MATRICES * bytes / of + 4 * VECTORS;
        assert_eq!(deployment.weight_bytes[0], (format.to_owned(), weights));
        let fewer = (MATRICES * 2 - MATRICES * bytes / of) as f64;
        assert_eq!(bf16.decode.bytes - deployment.decode.bytes, fewer, "{format}");
        let line = format!("if every matrix were {format}");
        println!("{}", text.lines().find(|l| l.ends_with(&line)).ok_or("plan.txt does not say what the format takes")?);
        assert!(text.contains(&format!("weights {format}, cache f32")), "{text}");
    }
    Ok(())
}

fn templates() -> Result<SourceMap, Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    Ok(driver::only(&driver::read(root, "tests/golden", "kernel-templates")?, &[]))
}

/// Loads a case whose tensors were changed, which must not work.
fn refusal(
    entry: &ModelEntry,
    case: &str,
    scheme: Scheme,
    change: impl FnOnce(&mut BTreeMap<String, Tensor>),
) -> Result<String, Failed> {
    let tensors = quantised(case, scheme, Scales::Largest).quantised;
    let mut by_name: BTreeMap<String, Tensor> = tensors.into_iter().map(|t| (t.name.clone(), t)).collect();
    change(&mut by_name);
    let tensors: Vec<Tensor> = by_name.into_iter().map(|(name, tensor)| Tensor { name, ..tensor }).collect();
    let dir = write(case, &tensors);
    match try_load(entry, dir.path(), Variant::plain(Isa::detect()), 16, 1, 16) {
        Ok(_) => Err("it was loaded".into()),
        Err(LoadError::Mismatch(mismatch)) => Ok(mismatch.differences.join("\n")),
        Err(error) => Ok(error.to_string()),
    }
}

/// Every line of the refusal, and no other.
fn says(case: &str, scheme: Scheme, change: impl FnOnce(&mut BTreeMap<String, Tensor>), lines: &[&str]) -> Result<(), Failed> {
    let found = refusal(formats(case), case, scheme, change)?;
    println!("{found}");
    if found.lines().eq(lines.iter().copied()) { Ok(()) } else { Err(format!("{found}\nis not\n{}", lines.join("\n")).into()) }
}

fn at<'a>(tensors: &'a mut BTreeMap<String, Tensor>, name: &str) -> &'a mut Tensor {
    tensors.get_mut(name).unwrap_or_else(|| panic!("the checkpoint has {name}"))
}

/// Cuts a tensor to another shape.
fn cut(tensor: &mut Tensor, shape: &[usize]) {
    let bytes = tensor.data.len() / tensor.shape.iter().product::<usize>();
    tensor.data.truncate(bytes * shape.iter().product::<usize>());
    tensor.shape = shape.to_vec();
}

fn refused_scales() -> Result<(), Failed> {
    let (case, layer) = ("deepseek-v3-mla-moe", "model.layers.1.self_attn");
    let kv_b = format!("{layer}.kv_b_proj.weight_scale_inv");
    says(
        case,
        Scheme::Fp8Blocks,
        |t| _ = t.remove(&kv_b),
        &[&format!("{kv_b} is missing, and so is one that ends in _scale: fp8_e4m3 needs either")],
    )?;
    let shape = format!("{kv_b}: the spec needs [2, 1] or [], the checkpoint has [1, 1, 1, 1]");
    says(case, Scheme::Fp8Blocks, |t| cut(at(t, &kv_b), &[1, 1, 1, 1]), &[&shape])?;
    let dtype = format!("{kv_b} is i32, and it must be f32, f16 or bf16");
    says(case, Scheme::Fp8Blocks, |t| at(t, &kv_b).format = "i32".into(), &[&dtype])?;
    let expert = "model.layers.2.mlp.experts.5.up_proj.weight_scale";
    says(
        case,
        Scheme::Fp8Tensor,
        |t| _ = t.remove(expert),
        &[&format!("{expert}_inv is missing, and so is one that ends in _scale: fp8_e4m3 needs either")],
    )?;
    // What is no number, only where the weights are read.
    let nan = |t: &mut BTreeMap<String, Tensor>| at(t, &kv_b).data[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    let found = refusal(formats(case), case, Scheme::Fp8Blocks, nan)?;
    let expected = format!("{kv_b}: row 0, column 0 is NaN: the file is damaged");
    if found.starts_with(&expected) { Ok(()) } else { Err(format!("{found}\ndoes not begin with\n{expected}").into()) }
}

fn refused_experts() -> Result<(), Failed> {
    let (case, down) = ("mistral4-mla-moe", "model.layers.2.mlp.experts.down_proj_scale_inv");
    says(
        case,
        Scheme::Fp8Hub,
        |t| _ = t.remove(down),
        &[&format!("{down} is missing, and so is one that ends in _scale: fp8_e4m3 needs either")],
    )?;
    let shape = format!("{down}: the spec needs [8, 1, 1] or [8] or [], the checkpoint has [4, 1, 1]");
    says(case, Scheme::Fp8Hub, |t| cut(at(t, down), &[4, 1, 1]), &[&shape])?;
    let weight = "model.layers.0.mlp.experts.gate_up_proj";
    let dtype = format!("{weight} is f8_e5m2, and the spec accepts bf16, f32, fp8_e4m3, nvfp4, mxfp4");
    says(case, Scheme::Fp8Hub, |t| at(t, weight).format = "f8_e5m2".into(), &[&dtype])?;
    let shape = format!("{weight}: the spec needs [8, 96, 96], the checkpoint has [8, 96, 48]");
    says(case, Scheme::Fp8Hub, |t| cut(at(t, weight), &[8, 96, 48]), &[&shape])
}

fn refused_nvfp4() -> Result<(), Failed> {
    let (case, o) = ("qwen3.5-moe-gdn", "model.layers.3.self_attn.o_proj.weight");
    says(case, Scheme::Nvfp4Modelopt, |t| _ = t.remove(&format!("{o}_scale_2")), &[&format!("{o}_scale_2 is missing")])?;
    says(
        case,
        Scheme::Nvfp4Modelopt,
        |t| at(t, &format!("{o}_scale")).format = "u8".into(),
        &[&format!("{o}_scale is u8, and it must be fp8_e4m3")],
    )?;
    let shape = format!("{o}_packed: the spec needs [64, 64], the checkpoint has [64, 32]");
    says(case, Scheme::Nvfp4Compressed, |t| cut(at(t, &format!("{o}_packed")), &[64, 32]), &[&shape])?;
    let missing = format!("{o}_global_scale is missing");
    says(case, Scheme::Nvfp4Compressed, |t| _ = t.remove(&format!("{o}_global_scale")), &[&missing])
}

fn refused_mxfp4() -> Result<(), Failed> {
    let (case, up) = ("gpt-oss-sinks", "model.layers.1.mlp.experts.gate_up_proj");
    says(case, Scheme::Mxfp4, |t| _ = t.remove(&format!("{up}_scales")), &[&format!("{up}_scales is missing")])?;
    let shape = format!("{up}_blocks: the spec needs [4, 96, 2, 16], the checkpoint has [4, 96, 2, 8]");
    says(case, Scheme::Mxfp4, |t| cut(at(t, &format!("{up}_blocks")), &[4, 96, 2, 8]), &[&shape])?;
    let dtype = format!("{up}_scales is i8, and it must be u8");
    says(case, Scheme::Mxfp4, |t| at(t, &format!("{up}_scales")).format = "i8".into(), &[&dtype])
}

/// A spec that does not list the format.
fn refused_formats() -> Result<(), Failed> {
    for (case, scheme, line) in [
        ("mistral4-mla-moe", Scheme::Fp8Blocks, "kv_b_proj.weight (layers 0..3) is fp8_e4m3, and the spec accepts bf16, f32"),
        ("nemotron-h-mamba2", Scheme::Nvfp4Compressed, "q_proj.weight_packed is nvfp4, and the spec accepts bf16, f32"),
        ("gpt-oss-sinks", Scheme::Mxfp4, "gate_up_proj_blocks (layers 0..2) is mxfp4, and the spec accepts bf16, f32"),
    ] {
        let found = refusal(entry(case), case, scheme, |_| {})?;
        if !found.lines().any(|found| found.ends_with(line)) {
            return Err(format!("{found}\nhas no line that ends in `{line}`").into());
        }
    }
    Ok(())
}

//! The three small trained models: logits, loss and greedy text against Hugging Face transformers in float64, over 700 tokens; and how
//! far an 8-bit cache and a wrong scale move the loss, which says whether the loss would show them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use tenon_core::cpu::Isa;
use tenon_core::dtype::KvDtypeName;
use tenon_core::model::ModelEntry;
use tenon_tests::reference::{Tensors, argmax, folder, json, median, relative_error};
use tenon_tests::run::{Variant, each_position, each_position_after_prefix, forced, load, load_for_prompt};

const MODELS: [&str; 3] = ["bard-mla", "bard-mamba2", "bard-gdn"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for model in MODELS {
        let weights = weights(model);
        let ignored = weights.is_none();
        let all = variants();
        if ignored {
            println!("skipped: {model}, {} tests; TENON_TRAINED names the folder that holds its weights", all.len() + 1);
        }
        for variant in all {
            let path = weights.clone();
            let run = move || logits(model, &path.expect("ignored without weights"), variant);
            trials.push(Trial::test(format!("{model}/{variant}"), run).with_ignored_flag(ignored));
        }
        let path = weights.clone();
        let run = move || greedy(model, &path.expect("ignored without weights"));
        trials.push(Trial::test(format!("{model}/greedy"), run).with_ignored_flag(ignored));
    }
    trials.push(Trial::test("bard-mla/faults_move_the_loss", faults_move_the_loss));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Each value of each setting stands at least once.
fn variants() -> Vec<Variant> {
    let settings = [
        (None, 16, 2, KvDtypeName::F32, false),
        (Some(64), 64, 1, KvDtypeName::F32, true),
        (Some(17), 16, 2, KvDtypeName::Bf16, false),
        (Some(1), 64, 2, KvDtypeName::F32, false),
    ];
    let of = |isa| {
        settings.map(|(chunk, page_size, threads, kv, prefix)| Variant {
            chunk,
            page_size,
            threads,
            kv,
            prefix,
            ..Variant::plain(isa)
        })
    };
    Isa::available().flat_map(of).collect()
}

/// The folder of a model's weights: one ships with its spec, the others stand where a variable says.
fn weights(model: &str) -> Option<PathBuf> {
    if model == "bard-mla" {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ stands in the workspace");
        return Some(workspace.join("model-specs/bard-mla/weights"));
    }
    let path = std::env::var_os("TENON_TRAINED").map(|folder| Path::new(&folder).join(model))?;
    assert!(path.exists(), "TENON_TRAINED is set, and {} is not there", path.display());
    Some(path)
}

fn entry(model: &str) -> &'static ModelEntry {
    let mut all = tenon_models::MODELS.iter().chain(tenon_tests::golden::MODELS);
    all.find(|m| m.info.name == model).unwrap_or_else(|| panic!("{model} is compiled in"))
}

/// What a run over the reference's tokens gives.
struct Seen {
    /// Relative errors at the positions whose logits the reference has.
    errors: Vec<f64>,
    /// Positions whose most likely token is the reference's.
    top1: usize,
    positions: usize,
    /// Nats per token.
    loss: f64,
}

fn run(entry: &ModelEntry, model: &str, weights: &Path, variant: Variant) -> Result<Seen, Failed> {
    let golden = Tensors::read(folder(model).join("golden.safetensors"));
    let (ids, at, top1) = (golden.ids("input_ids"), golden.ids("logits_positions"), golden.ids("top1"));
    let reference = golden.f32("logits");
    let vocab = entry.info.vocab_size;
    let mut seen = Seen { errors: Vec::new(), top1: 0, positions: 0, loss: 0.0 };
    let mut loaded = load_for_prompt(entry, weights, variant, ids.len());
    let see = |position: usize, row: &[f32]| {
        if let Some(i) = at.iter().position(|&p| p as usize == position) {
            seen.errors.push(relative_error(row, &reference[i * vocab..][..vocab]));
        }
        seen.positions += 1;
        seen.top1 += usize::from(argmax(row) as u32 == top1[position]);
        if let Some(&next) = ids.get(position + 1) {
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = row.iter().map(|x| f64::from(x - largest).exp()).sum();
            seen.loss += sum.ln() + f64::from(largest) - f64::from(row[next as usize]);
        }
    };
    if variant.prefix {
        each_position_after_prefix(loaded.as_mut(), &ids, variant.chunk, see)?;
    } else {
        each_position(loaded.as_mut(), &ids, variant.chunk, see);
    }
    seen.loss /= (ids.len() - 1) as f64;
    Ok(seen)
}

fn reference_loss(model: &str) -> f64 {
    json(&folder(model).join("golden.json"))["loss_nats_per_token"].as_f64().expect("a number in golden.json")
}

fn logits(model: &str, weights: &Path, variant: Variant) -> Result<(), Failed> {
    let seen = run(entry(model), model, weights, variant)?;
    let largest = seen.errors.iter().copied().fold(0.0, f64::max);
    let away = (seen.loss - reference_loss(model)).abs();
    // With a bf16 cache, keys and values are each off by at most 2^-9, and the median of what that does must stay below their sum.
    let (what, value, bound, loss_bound) = match variant.kv {
        KvDtypeName::F32 => ("largest", largest, 1e-4, 1e-5),
        _ => ("median", median(&seen.errors), 2.0 * 2.0_f64.powi(-9), 2e-3),
    };
    println!(
        "{model}/{variant}: {what} relative error {value:.2e}, {:.1}% of the bound {bound:.1e}; loss {:.6}, {away:.1e} away; \
         top-1 equal at {} of {} positions",
        100.0 * value / bound,
        seen.loss,
        seen.top1,
        seen.positions
    );
    if seen.errors.is_empty() {
        return Err("no position was compared".into());
    }
    // Written so that NaN fails.
    if !(value <= bound && away <= loss_bound) {
        return Err(
            format!("{what} relative error {value:e} (bound {bound:e}), loss {away:e} away (bound {loss_bound:e})").into()
        );
    }
    let slack = if variant.kv == KvDtypeName::F32 { 0 } else { seen.positions / 50 };
    if seen.positions - seen.top1 > slack { Err("another token is the most likely one".into()) } else { Ok(()) }
}

/// The greedy continuation is the reference's, token by token where its margin is over 0.02.
fn greedy(model: &str, weights: &Path) -> Result<(), Failed> {
    let golden = Tensors::read(folder(model).join("golden.safetensors"));
    let (prompt, greedy, margins) = (golden.ids("greedy_prompt"), golden.ids("greedy"), golden.f32("greedy_margin"));
    let entry = entry(model);
    let variant = Variant::plain(Isa::detect());
    let mut loaded = load(entry, weights, variant, prompt.len() + greedy.len(), 1);
    let rows = forced(loaded.as_mut(), &prompt, &greedy);
    let mut compared = 0;
    for (step, row) in rows.chunks_exact(entry.info.vocab_size).enumerate() {
        if margins[step] > 0.02 {
            compared += 1;
            let token = argmax(row) as u32;
            if token != greedy[step] {
                return Err(format!("step {step}: token {token}, and the reference has {}", greedy[step]).into());
            }
        }
    }
    println!("{model}/greedy: {compared} of {} steps have a margin over 0.02, all equal", greedy.len());
    if compared > 0 { Ok(()) } else { Err("no step was compared".into()) }
}

/// An 8-bit cache of latents costs little, and the scale of the latent's width instead of the key's costs a lot.
fn faults_move_the_loss() -> Result<(), Failed> {
    let (model, weights) = ("bard-mla", weights("bard-mla").expect("it ships"));
    let plain = Variant::plain(Isa::detect());
    let reference = reference_loss(model);
    let moved = |name: &str, variant| run(entry(name), model, &weights, variant).map(|seen| seen.loss - reference);
    let exact = moved(model, plain)?;
    let fp8 = moved(model, Variant { kv: KvDtypeName::Fp8E4m3, ..plain })?;
    let scale = moved("bard-mla-wrong-scale", plain)?;
    println!(
        "bard-mla: an fp8 cache moves the loss by {fp8:+.4} nats, the wrong scale by {scale:+.4}, the f32 cache by {exact:+.1e}"
    );
    if exact.abs() > 1e-5 {
        return Err("the f32 cache moves the loss".into());
    }
    if !(fp8.abs() > 1e-5 && fp8.abs() < 0.05) {
        return Err(format!("an fp8 cache moves the loss by {fp8}, which is none or too much").into());
    }
    if scale > 0.01 && scale > 4.0 * fp8.abs() {
        Ok(())
    } else {
        Err(format!("the wrong scale moves the loss by {scale} only").into())
    }
}

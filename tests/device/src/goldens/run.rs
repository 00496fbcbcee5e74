//! Runs a golden on a device.

use std::sync::{Arc, Mutex, PoisonError};

use tenon_core::batch::{Batch, WantLogits};
use tenon_core::cpu::Isa;
use tenon_core::cuda::Device;
use tenon_core::dtype::KvDtypeName;
use tenon_core::model::{LoadOptions, Logits, Model, ModelEntry, RowSampling};
use tenon_core::weights::Checkpoint;
use tenon_tests::reference::{Golden, argmax, folder, json, median, relative_error};
use tenon_tests::run::{Sequence, each_position, each_position_after_prefix, forced};

use super::{Test, What};
use crate::judge::StepLaunches;
use crate::launched::Launched;

/// What came of a test.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Outcome {
    /// The test.
    pub test: String,
    /// Whether it holds.
    pub passed: bool,
    /// Median relative error, or steps that agree.
    pub value: f64,
    /// What it may be.
    pub bound: f64,
    /// The largest relative error, where there is one.
    pub largest: f64,
    /// Positions or steps compared.
    pub compared: usize,
    /// Kernels that its steps launched on the device.
    pub launches: u64,
    /// Of these, where the most likely token is the reference's.
    pub top1: usize,
    /// What is wrong.
    pub fault: Option<String>,
}

fn find(case: &str, swapped: bool) -> Option<&'static ModelEntry> {
    let name = if swapped { format!("{case}-swapped") } else { case.to_owned() };
    tenon_tests::golden::MODELS.iter().find(|m| m.info.name == name).copied()
}

/// Where a test runs, and what its steps launch there.
struct Place<'a> {
    device: &'a Arc<Device>,
    seen: Arc<Mutex<StepLaunches>>,
}

/// Loads a case onto the device, with room for `sequences` sequences of `tokens` tokens.
fn load(place: &Place<'_>, test: &Test, page_size: usize, tokens: usize, sequences: usize) -> Result<Box<dyn Model>, String> {
    let entry = find(test.case, test.swapped).ok_or("there is no such golden")?;
    let on_device = entry.sm_90a.ok_or("it is not compiled for sm_90a")?;
    let weights =
        if test.swapped { tenon_tests::weights::large_residual(&std::env::temp_dir(), test.case) } else { folder(test.case) };
    let checkpoint = Arc::new(Checkpoint::open(weights).map_err(|e| e.to_string())?);
    let options = LoadOptions {
        threads: 2,
        isa: Isa::Portable,
        kv_cache_dtype: KvDtypeName::Bf16,
        page_size,
        pages: sequences * tokens.div_ceil(page_size),
        state_slots: sequences,
        snapshots: 2,
        max_batch_tokens: sequences * tokens,
        max_logit_rows: sequences * tokens,
        max_positions: None,
    };
    let model = (on_device.load)(&checkpoint, place.device, &options).map_err(|e| e.to_string())?;
    Ok(Box::new(Launched::new(model, place.device, &place.seen)))
}

/// Runs a test.
pub fn run(device: &Arc<Device>, test: &Test) -> Outcome {
    let golden = Golden::read(test.case);
    let place = Place { device, seen: Arc::default() };
    let result = match test.what {
        What::Logits { chunk, page_size, prefix } => logits(&place, test, &golden, chunk, page_size, prefix),
        What::Mixed => mixed(&place, test, &golden),
        What::Together(n) => together(&place, test, &golden, n),
        What::Greedy => greedy(&place, test, &golden),
    };
    let mut outcome = result.unwrap_or_else(|fault| Outcome {
        test: test.to_string(),
        passed: false,
        value: f64::NAN,
        bound: 0.0,
        largest: f64::NAN,
        compared: 0,
        launches: 0,
        top1: 0,
        fault: Some(fault),
    });
    let seen = *place.seen.lock().unwrap_or_else(PoisonError::into_inner);
    outcome.launches = seen.launches;
    if let Some(fault) = seen.fault().filter(|_| outcome.passed) {
        outcome.passed = false;
        outcome.fault = Some(fault);
    }
    outcome
}

/// Rows against positions of the golden.
#[derive(Default)]
struct Rows {
    errors: Vec<f64>,
    top1: usize,
}

impl Rows {
    fn see(&mut self, golden: &Golden, position: usize, row: &[f32]) {
        let reference = &golden.logits[position * row.len()..][..row.len()];
        self.errors.push(relative_error(row, reference));
        self.top1 += usize::from(argmax(row) == argmax(reference));
    }
}

fn compare(test: &Test, golden: &Golden, Rows { errors, top1 }: Rows) -> Outcome {
    let errors = &errors;
    let (value, bound) = (median(errors), 1.5 * golden.bf16_median);
    let largest = errors.iter().copied().fold(0.0, f64::max);
    // Written so that NaN fails.
    let passed = value <= bound && errors.iter().all(|e| e.is_finite());
    let fault = (!passed).then(|| format!("median relative error {value:.2e}, and the bound is {bound:.2e}"));
    Outcome { test: test.to_string(), passed, value, bound, largest, compared: errors.len(), launches: 0, top1, fault }
}

fn logits(
    place: &Place<'_>,
    test: &Test,
    golden: &Golden,
    chunk: Option<usize>,
    page_size: usize,
    prefix: bool,
) -> Result<Outcome, String> {
    let ids = &golden.input_ids;
    let mut model = load(place, test, page_size, ids.len(), 2)?;
    let mut rows = Rows::default();
    let mut see = |position: usize, row: &[f32]| rows.see(golden, position, row);
    if prefix {
        // That the first sequence goes on bit for bit as the second did holds for equal chunk boundaries here too.
        each_position_after_prefix(model.as_mut(), ids, chunk, see)?;
    } else {
        each_position(model.as_mut(), ids, chunk, &mut see);
    }
    Ok(compare(test, golden, rows))
}

/// The first sequence decodes, the second prefills in chunks, the third starts late and takes more at once.
fn mixed(place: &Place<'_>, test: &Test, golden: &Golden) -> Result<Outcome, String> {
    const TAKES: [usize; 3] = [1, 17, 40];
    let ids = &golden.input_ids[..96];
    let mut model = load(place, test, 16, ids.len(), 3)?;
    let mut logits = Logits::new(model.info(), ids.len() * 3);
    let mut batch = Batch::new(model.limits());
    let mut sequences: Vec<Sequence> = (0..3).map(|n| Sequence::new(model.as_ref(), ids.len(), n)).collect();
    let mut rows = Rows::default();
    for step in 0..ids.len() {
        batch.clear();
        let mut positions = Vec::new();
        for (n, sequence) in sequences.iter_mut().enumerate() {
            let take = if n == 2 && step < 5 { 0 } else { TAKES[n] };
            let end = (sequence.done + take).min(ids.len());
            if end > sequence.done {
                positions.extend(sequence.done..end);
                let piece = &ids[sequence.done..end];
                sequence.push(&mut batch, piece, WantLogits::All);
            }
        }
        model.step(&batch, &mut logits).map_err(|e| e.to_string())?;
        for (row, position) in positions.into_iter().enumerate() {
            rows.see(golden, position, logits.row(row));
        }
    }
    Ok(compare(test, golden, rows))
}

/// Sequences that decode together, each a few tokens behind the one before it.
fn together(place: &Place<'_>, test: &Test, golden: &Golden, n: usize) -> Result<Outcome, String> {
    let ids = &golden.input_ids[..64];
    let mut model = load(place, test, 16, ids.len(), n)?;
    let mut logits = Logits::new(model.info(), n);
    let mut batch = Batch::new(model.limits());
    let mut sequences: Vec<Sequence> = (0..n).map(|i| Sequence::new(model.as_ref(), ids.len(), i)).collect();
    let mut rows = Rows::default();
    for step in 0..ids.len() + n {
        batch.clear();
        let mut positions = Vec::new();
        for (i, sequence) in sequences.iter_mut().enumerate() {
            if step >= i && sequence.done < ids.len() {
                positions.push(sequence.done);
                let piece = &ids[sequence.done..][..1];
                sequence.push(&mut batch, piece, WantLogits::Last);
            }
        }
        if positions.is_empty() {
            continue;
        }
        model.step(&batch, &mut logits).map_err(|e| e.to_string())?;
        for (row, position) in positions.into_iter().enumerate() {
            rows.see(golden, position, logits.row(row));
        }
    }
    Ok(compare(test, golden, rows))
}

/// Teacher-forced tokens, those of the prompt and the greedy steps after its prefix: at least as many agree with the reference as of its own
/// bf16, less one step. Both together, because where experts are routed a single flip decides two of 24 steps. And what the device
/// chooses is the largest of the logits that it gives.
fn greedy(place: &Place<'_>, test: &Test, golden: &Golden) -> Result<Outcome, String> {
    let prefix = &golden.input_ids[..golden.greedy_prefix_len];
    let steps = golden.greedy.len();
    let mut model = load(place, test, 16, prefix.len() + steps, 1)?;
    let vocab = model.info().vocab_size;
    let rows = forced(model.as_mut(), prefix, &golden.greedy);
    let best: Vec<u32> = rows.chunks_exact(vocab).map(|row| argmax(row) as u32).collect();
    let agree = best.iter().zip(&golden.greedy).filter(|(a, b)| a == b).count();
    let chosen = chosen(model.as_mut(), prefix, &golden.greedy)?;
    let (ids, mut positions) = (&golden.input_ids, Rows::default());
    let mut model = load(place, test, 16, ids.len(), 1)?;
    each_position(model.as_mut(), ids, None, |position, row| positions.see(golden, position, row));
    let agree = agree + positions.top1;
    let facts = json(&folder(test.case).join("golden.json"));
    let of_reference = |key: &str| facts["reference_bf16_top1"][key].as_f64().ok_or("a number in golden.json");
    let (value, bound) = (agree as f64, of_reference("agree")? + of_reference("greedy_agree_teacher_forced")? - 1.0);
    let mut fault = (value < bound).then(|| format!("{agree} tokens agree, and {bound} must"));
    if let Some(step) = (0..steps).find(|&step| chosen[step] != Some(best[step])) {
        fault = Some(format!("step {step}: the device chooses {:?}, and its largest logit is {}'s", chosen[step], best[step]));
    }
    let passed = fault.is_none();
    Ok(Outcome {
        test: test.to_string(),
        passed,
        value,
        bound,
        largest: f64::NAN,
        compared: steps + ids.len(),
        launches: 0,
        top1: agree,
        fault,
    })
}

/// The same steps once more, with tokens chosen on the device.
fn chosen(model: &mut dyn Model, prefix: &[u32], forced: &[u32]) -> Result<Vec<Option<u32>>, String> {
    let mut batch = Batch::new(model.limits());
    let mut sequence = Sequence::new(model, prefix.len() + forced.len(), 0);
    let (mut all, mut ids, mut next) = (Vec::new(), Vec::new(), prefix);
    let sampled = model.sampled().ok_or("the model does not choose tokens on the device")?;
    for step in 0..forced.len() {
        batch.clear();
        sequence.push(&mut batch, next, WantLogits::Last);
        sampled.step_sampled(&batch, &[RowSampling::GREEDY], &mut ids).map_err(|e| e.to_string())?;
        all.extend(&ids);
        next = &forced[step..=step];
    }
    Ok(all)
}

//! Activations in int8: how far they may move what a model says.
//!
//! An element is off by up to half a step, of which the largest magnitude of its block of 32 is 127: of random elements the error of a row
//! is about 0.6% of it, and every linear layer reads a row of its own. What that comes to at the logits is no matter of bounds that could be
//! derived, but of the model; so it is stated, and measured here.

use std::path::Path;

use libtest_mimic::Failed;
use tenon_core::cpu::Isa;
use tenon_tests::reference::{Golden, Tensors, argmax, folder, json};
use tenon_tests::run::{Variant, each_position, load_for_prompt};

use super::Real;

/// Median relative error of random models, in medians of what the reference's own bf16 is off.
pub const OF_BF16: f64 = 2.0;
/// Median relative error of the logits of real models.
pub const MEDIAN: f64 = 0.03;
/// Greedy text of real models is that of the reference wherever its margin is over this, in logits.
pub const MARGIN: f32 = 0.25;
/// Positions at which the most likely token is that of the same model with activations in f32.
const AGREEMENT: f64 = 0.95;
/// Mean divergence from the distributions of the same model with activations in f32, in nats.
const DIVERGENCE: f64 = 0.01;

/// Greedy steps of a random model, whose margins are small: as many are the reference's as in its own bf16, less one.
pub fn greedy<'l>(case: &str, golden: &Golden, logits: impl Iterator<Item = &'l [f32]>) -> Result<(), Failed> {
    let facts = json(&folder(super::reference(case)).join("golden.json"));
    let in_bf16 = facts["reference_bf16_top1"]["greedy_agree_teacher_forced"].as_u64().expect("a number in golden.json");
    let agreed = logits.zip(&golden.greedy).filter(|(row, token)| argmax(row) as u32 == **token).count() as u64;
    println!("{case}/greedy: {agreed} of {} steps equal, {in_bf16} of the reference in bf16", golden.greedy.len());
    if agreed + 1 >= in_bf16 {
        Ok(())
    } else {
        Err(format!("{agreed} steps are equal, and {in_bf16} of the reference in bf16").into())
    }
}

/// Every position of the golden prompts and of the reference's answers, with activations in int8 and in f32.
pub fn compare(real: Real, weights: &Path) -> Result<(), Failed> {
    let case = folder(real.case);
    let (tensors, prompts) = (Tensors::read(case.join("golden.safetensors")), json(&case.join("golden.json")));
    let variant = Variant { threads: 2, chunk: Some(64), ..Variant::plain(Isa::detect()) };
    let (mut agreed, mut positions, mut divergence, mut largest) = (0, 0, 0.0, 0.0f64);
    for p in 0..prompts.as_array().expect("a list of prompts").len() {
        let mut ids = tensors.ids(&format!("{p}.input_ids"));
        ids.extend(tensors.ids(&format!("{p}.greedy")));
        let mut in_f32: Vec<Vec<f32>> = Vec::new();
        let mut model = load_for_prompt(Real { int8: false, ..real }.entry(), weights, variant, ids.len());
        each_position(model.as_mut(), &ids, variant.chunk, |_, row| in_f32.push(row.to_vec()));
        let mut model = load_for_prompt(real.entry(), weights, variant, ids.len());
        each_position(model.as_mut(), &ids, variant.chunk, |position, row| {
            let expected = &in_f32[position];
            let one = kullback_leibler(expected, row);
            (divergence, largest) = (divergence + one, largest.max(one));
            agreed += usize::from(argmax(row) == argmax(expected));
            positions += 1;
        });
    }
    let (share, mean) = (f64::from(agreed as u32) / f64::from(positions), divergence / f64::from(positions));
    println!(
        "{}: int8 and f32 agree on the most likely token at {agreed} of {positions} positions ({:.2}%); divergence {mean:.2e} nats, at most \
         {largest:.2e}",
        real.case,
        100.0 * share
    );
    // Written so that NaN fails.
    if share >= AGREEMENT && mean <= DIVERGENCE { Ok(()) } else { Err("the activations move too much".into()) }
}

/// The divergence of the softmax of `b` from that of `a`, in nats.
fn kullback_leibler(a: &[f32], b: &[f32]) -> f64 {
    let log_sum = |logits: &[f32]| {
        let most = logits.iter().fold(f32::NEG_INFINITY, |m, x| m.max(*x));
        f64::from(most) + logits.iter().map(|x| f64::from(x - most).exp()).sum::<f64>().ln()
    };
    let (of_a, of_b) = (log_sum(a), log_sum(b));
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - of_a).exp() * (f64::from(a - b) - of_a + of_b)).sum()
}

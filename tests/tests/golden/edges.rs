//! Numbers that random weights do not reach: limits and epsilons, each where it decides the result.
//!
//! No reference has these weights. Where a limit holds, what lies beyond it is as good as what lies on it, bit for bit; where an epsilon
//! is as large as what it is added to, the formula is short enough to be written out in f64.

use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use tenon_core::batch::{Batch, BatchLimits, PageId, StateSlot, WantLogits};
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{Cpu, Isa, attention, delta_decode, delta_prefill, latent_norm};
use tenon_core::dtype::{Bf16, F32, KvDtype};
use tenon_core::linear::{Decay, Norm, Vector};
use tenon_core::rows::Rows;
use tenon_core::scale::SoftmaxScale;
use tenon_core::state::DeltaState;
use tenon_formats::StorageFormat;
use tenon_tests::reference::{Golden, relative_error};
use tenon_tests::run::{Variant, load_for_prompt, prompt};
use tenon_tests::weights;

use super::{entry, same};

/// One test per number and instruction set.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for isa in Isa::available() {
        trials.push(Trial::test(format!("gpt-oss-sinks/edges/swiglu_limit/{isa}"), move || swiglu_limit(isa)));
        trials.push(Trial::test(format!("nemotron-h-mamba2/edges/time_step_min/{isa}"), move || time_step_min(isa)));
        trials.push(Trial::test(format!("kernels/edges/latent_norm_eps/{isa}"), move || latent_norm_eps(isa)));
        trials.push(Trial::test(format!("kernels/edges/delta_key_eps/{isa}"), move || delta_key_eps(isa)));
        trials.push(Trial::test(format!("kernels/edges/bf16_rounds/{isa}"), move || bf16_rounds(isa)));
    }
    trials
}

fn changed(case: &str, what: &str, eps: f64, change: impl Fn(&str, &mut [f32])) -> PathBuf {
    weights::changed(Path::new(env!("CARGO_TARGET_TMPDIR")), case, what, eps, change)
}

/// See [`weights::large_residual`].
pub fn large_residual(case: &str) -> PathBuf {
    weights::large_residual(Path::new(env!("CARGO_TARGET_TMPDIR")), case)
}

/// `on` and `beyond` are as good as each other, and `within` is not.
fn limit(case: &str, isa: Isa, on: &Path, beyond: &Path, within: &Path) -> Result<(), Failed> {
    let ids = &Golden::read(case).input_ids[..48];
    for chunk in [None, Some(1)] {
        let logits = |checkpoint: &Path| {
            let mut model = load_for_prompt(entry(case, false), checkpoint, Variant { chunk, ..Variant::plain(isa) }, ids.len());
            prompt(model.as_mut(), ids, chunk)
        };
        let at = logits(on);
        same(&at, &logits(beyond)).map_err(|e| format!("beyond the limit: {e}"))?;
        if same(&at, &logits(within)).is_ok() {
            return Err("within the limit, nothing changes either".into());
        }
    }
    Ok(())
}

/// The clamps of gpt-oss: gates from above, ups on both sides, at 7.
fn swiglu_limit(isa: Isa) -> Result<(), Failed> {
    let case = "gpt-oss-sinks";
    let with = |what: &str, gate: f32, up: f32| {
        changed(case, what, 1.0, |name, elements| {
            if name.ends_with("gate_up_proj") {
                elements.fill(0.0);
            } else if name.ends_with("gate_up_proj_bias") {
                // Gates and ups alternate.
                for (i, pair) in elements.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                    *pair = [gate, if i % 3 == 0 { -up } else { up }];
                }
            }
        })
    };
    limit(case, isa, &with("on", 7.0, 7.0), &with("gates-beyond", 100.0, 7.0), &with("within", 3.5, 3.5))?;
    limit(case, isa, &with("on", 7.0, 7.0), &with("ups-beyond", 7.0, 50.0), &with("ups-within", 7.0, 3.5))
}

/// The least time step of Mamba2, 0.001, which is `softplus(-6.9)`.
fn time_step_min(isa: Isa) -> Result<(), Failed> {
    let case = "nemotron-h-mamba2";
    let with = |what: &str, bias: f32| {
        changed(case, what, 1.0, |name, elements| {
            if name.ends_with("mixer.dt_bias") {
                elements.fill(bias);
            } else if name.ends_with("in_proj.weight") {
                // The last rows, one for each of 8 heads, are those of the time steps.
                let from = elements.len() - 8 * 64;
                elements[from..].fill(0.0);
            }
        })
    };
    limit(case, isa, &with("on", -9.0), &with("beyond", -30.0), &with("within", -3.0))
}

/// Latents as small as the root of their epsilon.
fn latent_norm_eps(isa: Isa) -> Result<(), Failed> {
    const R: usize = 12;
    let weights: [f32; R] = std::array::from_fn(|i| 0.5 + i as f32 / 8.0);
    let weight = Norm::<R>::decode(StorageFormat::F32, &stored(&weights))?;
    let cpu = Cpu::new(1, isa)?;
    for eps in [1e-6f32, 1e-5] {
        let mut x = Rows::<f32, 16>::with_capacity(1);
        x.set_rows(1);
        x.row_mut(0).copy_from_slice(&small(16, 0));
        let mean = x.row(0)[..R].iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / R as f64;
        let scale = 1.0 / (mean + f64::from(eps)).sqrt();
        let part = |(i, &x): (usize, &f32)| if i < R { (f64::from(weights[i]) * f64::from(x) * scale) as f32 } else { x };
        let expected: Vec<f32> = x.row(0).iter().enumerate().map(part).collect();
        latent_norm(&cpu, &mut x, &weight, eps);
        near(x.as_slice(), &expected)?;
    }
    Ok(())
}

/// Keys and queries of the delta rule as small as the root of their epsilon, 1e-6.
fn delta_key_eps(isa: Isa) -> Result<(), Failed> {
    const D: usize = 8;
    const TOKENS: usize = 5;
    let (mut qkv, mut a, mut b) =
        (Rows::<f32, 24>::with_capacity(TOKENS), Rows::<f32, 1>::with_capacity(TOKENS), Rows::<f32, 1>::with_capacity(TOKENS));
    let rows: Vec<Vec<f32>> = (0..TOKENS).map(|t| [small(D, t), small(D, t + 7), small(D, t + 20)].concat()).collect();
    let decay = Decay::<1>::decode(StorageFormat::F32, &stored(&[0.0]))?;
    let bias = Vector::<1>::decode(StorageFormat::F32, &stored(&[0.0]))?;

    // The state is `[key][value]`, and `a` and `b` are 0: decays are 1/2, and so are betas.
    let mut state = [[0.0f64; D]; D];
    let mut expected = Vec::new();
    for row in &rows {
        let part = |from: usize| -> Vec<f64> { row[from..][..D].iter().map(|&x| f64::from(x)).collect() };
        let unit = |x: Vec<f64>| {
            let norm = (x.iter().map(|x| x * x).sum::<f64>() + 1e-6).sqrt();
            x.into_iter().map(|x| x / norm).collect::<Vec<f64>>()
        };
        let (q, k, v) = (unit(part(0)), unit(part(D)), part(2 * D));
        state.iter_mut().flatten().for_each(|x| *x *= 0.5);
        let known: Vec<f64> = (0..D).map(|c| (0..D).map(|r| k[r] * state[r][c]).sum()).collect();
        for r in 0..D {
            for c in 0..D {
                state[r][c] += k[r] * 0.5 * (v[c] - known[c]);
            }
        }
        let scale = 1.0 / (D as f64).sqrt();
        expected.extend((0..D).map(|c| (scale * (0..D).map(|r| q[r] * state[r][c]).sum::<f64>()) as f32));
    }

    let cpu = Cpu::new(1, isa)?;
    for step in [TOKENS, 1] {
        let mut state = DeltaState::<1, D, D, 24, 2>::new(1, 0);
        let mut y = Rows::<f32, D>::with_capacity(TOKENS);
        let mut found = Vec::new();
        for start in (0..TOKENS).step_by(step) {
            for rows_of in [&mut a, &mut b] {
                rows_of.set_rows(step);
                rows_of.as_mut_slice().fill(0.0);
            }
            qkv.set_rows(step);
            qkv.as_mut_slice().copy_from_slice(&rows[start..start + step].concat());
            let limits = BatchLimits {
                vocab_size: 1,
                max_positions: 16,
                page_size: 16,
                pages: 1,
                state_slots: 1,
                max_tokens: TOKENS,
                max_logit_rows: 1,
            };
            let mut batch = Batch::new(limits);
            batch.push(&vec![0; step], start, &[PageId(0)], Some(StateSlot(0)), WantLogits::Last)?;
            delta_prefill::<64, 1, 1, D, D, 24, 2, D>(&cpu, &qkv, &a, &b, &decay, &bias, &mut state, &batch, &mut y);
            delta_decode::<1, 1, D, D, 24, 2, D>(&cpu, &qkv, &a, &b, &decay, &bias, &mut state, &batch, &mut y);
            found.extend_from_slice(y.as_slice());
        }
        near(&found, &expected).map_err(|e| format!("{step} tokens at once: {e}"))?;
    }
    Ok(())
}

/// A bf16 cache holds the nearest numbers, even ones on a tie: attention over it is that over an f32 cache of the rounded ones, bit
/// for bit. The errors of a whole model do not tell rounding from truncation where a common factor cancels.
fn bf16_rounds(isa: Isa) -> Result<(), Failed> {
    const TOKENS: usize = 20;
    let cpu = Cpu::new(1, isa)?;
    let limits = BatchLimits {
        vocab_size: 1,
        max_positions: 32,
        page_size: 32,
        pages: 1,
        state_slots: 0,
        max_tokens: TOKENS,
        max_logit_rows: 1,
    };
    let mut batch = Batch::new(limits);
    batch.push(&[0; TOKENS], 0, &[PageId(0)], None, WantLogits::Last)?;
    let rows = |seed: usize, rounded: bool| {
        let mut rows = Rows::<f32, 8>::with_capacity(TOKENS);
        rows.set_rows(TOKENS);
        for (x, value) in rows.as_mut_slice().iter_mut().zip(small(8 * TOKENS, seed)) {
            let bits = (1000.0 * value).to_bits();
            // A quarter are ties.
            let bits = if bits.is_multiple_of(4) { bits & 0xffff_0000 | 0x8000 } else { bits };
            *x = if rounded { f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000) } else { f32::from_bits(bits) };
        }
        rows
    };
    fn attend<D: KvDtype>(cpu: &Cpu, batch: &Batch, [q, k, v]: [&Rows<f32, 8>; 3]) -> Rows<f32, 8> {
        let mut kv = PagedKv::<D, 1, 8>::new(1, 32);
        kv.append(cpu, k, v, batch);
        let mut out = Rows::with_capacity(TOKENS);
        attention::<4, 1, 1, 8, 8, D>(cpu, q, &kv, SoftmaxScale::rsqrt(8, 0.353_553_39), batch, &mut out);
        out
    }
    let q = rows(0, false);
    let found = attend::<Bf16>(&cpu, &batch, [&q, &rows(9, false), &rows(31, false)]);
    let expected = attend::<F32>(&cpu, &batch, [&q, &rows(9, true), &rows(31, true)]);
    same(expected.as_slice(), found.as_slice())?;
    let unrounded = attend::<F32>(&cpu, &batch, [&q, &rows(9, false), &rows(31, false)]);
    if same(unrounded.as_slice(), found.as_slice()).is_ok() { Err("nothing was rounded".into()) } else { Ok(()) }
}

/// Numbers of about 0.001.
fn small(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| 0.001 * (1.3 * (i + 3 * seed) as f32 + 0.7).sin()).collect()
}

fn stored(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Written so that NaN fails.
fn near(found: &[f32], expected: &[f32]) -> Result<(), String> {
    let error = relative_error(found, expected);
    if error <= 1e-5 { Ok(()) } else { Err(format!("relative error {error:e} is over 1e-5")) }
}

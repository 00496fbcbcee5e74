//! Both forms against keys and values that are made, one by one, in f64, and the promise that a row's bits depend on its sequence,
//! its position and the form alone.

use super::*;
use crate::batch::{BatchLimits, PageId, WantLogits};
use crate::cpu::Isa;
use crate::dtype::{Bf16, F32, Fp8E4m3};
use crate::testing::{Random, U, product_bound, within};
use tenon_formats::StorageFormat;

/// Random queries `[HEADS * (NOPE + P)]` and latents `[R + P]` of some sequences, and the weights `[HEADS * (NOPE + V)][R]`.
struct Problem<const Q_DIM: usize, const LATENT: usize> {
    q: Vec<Vec<[f32; Q_DIM]>>,
    latents: Vec<Vec<[f32; LATENT]>>,
    weights: Vec<f32>,
    format: StorageFormat,
    stored: Vec<u8>,
}

impl<const Q_DIM: usize, const LATENT: usize> Problem<Q_DIM, LATENT> {
    fn new(lengths: &[usize], weights: usize, rank: usize, format: StorageFormat) -> Self {
        let mut random = Random::new((Q_DIM * 1000 + LATENT) as u64);
        // Large enough for peaked softmaxes, so that the maximum moves.
        let q = lengths.iter().map(|&n| (0..n).map(|_| std::array::from_fn(|_| 3.0 * random.unit())).collect()).collect();
        let latents = lengths.iter().map(|&n| (0..n).map(|_| std::array::from_fn(|_| 2.0 * random.unit())).collect()).collect();
        // Keys and values are then of the size of latents, whatever the rank.
        let size = 1.5 / (rank as f32).sqrt();
        let stored: Vec<half::bf16> = random.units(weights).into_iter().map(|w| half::bf16::from_f32(size * w)).collect();
        let weights = stored.iter().map(|w| w.to_f32()).collect();
        let stored = match format {
            StorageFormat::F32 => stored.iter().flat_map(|w| w.to_f32().to_le_bytes()).collect(),
            StorageFormat::Bf16 => stored.iter().flat_map(|w| w.to_le_bytes()).collect(),
            other => unreachable!("{other}"),
        };
        Self { q, latents, weights, format, stored }
    }

    fn lengths(&self) -> Vec<usize> {
        self.q.iter().map(Vec::len).collect()
    }
}

/// How a computation is cut, none of which may show in the result.
#[derive(Clone, Copy, Debug)]
struct Cut {
    isa: Isa,
    threads: usize,
    page_size: usize,
    /// Tokens of each sequence per step.
    chunk: usize,
}

fn scale(dims: usize) -> SoftmaxScale {
    SoftmaxScale::rsqrt(dims, 1.0 / (dims as f32).sqrt())
}

/// Runs all sequences in steps of `cut.chunk`, in pages that lie in any order and were used before.
#[allow(clippy::too_many_arguments)]
fn run<
    F: MlaForm,
    G: MlaForm,
    D: KvDtype,
    const HEADS: usize,
    const NOPE: usize,
    const V: usize,
    const R: usize,
    const P: usize,
    const Q_DIM: usize,
    const OUT_DIM: usize,
    const LATENT: usize,
>(
    problem: &Problem<Q_DIM, LATENT>,
    cut: Cut,
) -> Vec<Vec<[f32; OUT_DIM]>> {
    let cpu = Cpu::new(cut.threads, cut.isa).unwrap();
    let lengths = problem.lengths();
    let pages_of: Vec<usize> = lengths.iter().map(|n| n.div_ceil(cut.page_size)).collect();
    let pages = pages_of.iter().sum::<usize>() + 3;
    let mut free: Vec<PageId> = (0..pages as u32).map(PageId).collect();
    let mut random = Random::new(cut.page_size as u64);
    let tables: Vec<Vec<PageId>> =
        pages_of.iter().map(|&n| (0..n).map(|_| free.swap_remove(random.below(free.len()))).collect()).collect();
    let max_tokens = lengths.iter().sum();
    let mut batch = Batch::new(BatchLimits {
        vocab_size: 1,
        max_positions: 4096,
        page_size: cut.page_size,
        pages,
        state_slots: 0,
        max_tokens,
        max_logit_rows: max_tokens,
    });
    let mut kv = LatentCache::<D, R, P>::new(pages, cut.page_size);
    kv.fill(f32::NAN);
    let up = LatentUp::<HEADS, NOPE, V, R>::pack(problem.format, &problem.stored).unwrap();
    let (mut q, mut latents) = (Rows::<f32, Q_DIM>::with_capacity(max_tokens), Rows::<f32, LATENT>::with_capacity(max_tokens));
    let mut out = Rows::<f32, OUT_DIM>::with_capacity(max_tokens);
    let mut results: Vec<Vec<[f32; OUT_DIM]>> = vec![Vec::new(); lengths.len()];
    for start in (0..*lengths.iter().max().unwrap()).step_by(cut.chunk) {
        batch.clear();
        let mut of_batch = Vec::new();
        for (i, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > start) {
            let end = length.min(start + cut.chunk);
            let table = &tables[i][..end.div_ceil(cut.page_size)];
            batch.push(&vec![0; end - start], start, table, None, WantLogits::Last).unwrap();
            of_batch.extend((start..end).map(|position| (i, position)));
        }
        q.set_rows(of_batch.len());
        latents.set_rows(of_batch.len());
        for (row, &(i, position)) in of_batch.iter().enumerate() {
            *q.row_mut(row) = problem.q[i][position];
            *latents.row_mut(row) = problem.latents[i][position];
        }
        kv.append(&cpu, &latents, &batch);
        out.set_rows(max_tokens);
        out.as_mut_slice().fill(f32::NAN);
        mla_prefill::<F, _, _, _, _, _, _, _, _>(&cpu, &q, &kv, &up, scale(NOPE + P), &batch, &mut out);
        mla_decode::<G, _, _, _, _, _, _, _, _>(&cpu, &q, &kv, &up, scale(NOPE + P), &batch, &mut out);
        assert_eq!(out.rows(), of_batch.len());
        for (row, &(i, _)) in of_batch.iter().enumerate() {
            results[i].push(*out.row(row));
        }
    }
    results
}

/// Sum of products and of their magnitudes.
fn product(a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>) -> (f64, f64) {
    a.into_iter().zip(b).fold((0.0, 0.0), |(sum, magnitude), (a, b)| (sum + a * b, magnitude + (a * b).abs()))
}

/// Errors that do not know of each other add up like this.
fn together(errors: impl Iterator<Item = f64>) -> f64 {
    errors.map(|e| e * e).sum::<f64>().sqrt()
}

/// One head: weights by element of the key and of the value, `[NOPE][R]` and `[V][R]`.
struct Head {
    keys: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
    rank: usize,
    scale: f64,
}

impl Head {
    fn new(weights: &[f32], nope: usize, rank: usize, scale: SoftmaxScale) -> Self {
        let mut rows: Vec<Vec<f64>> = weights.chunks(rank).map(|row| row.iter().map(|&w| f64::from(w)).collect()).collect();
        let values = rows.split_off(nope);
        Self { keys: rows, values, rank, scale: f64::from(scale.value()) }
    }

    /// The latent part of a row times each row of weights: sums, and sums of magnitudes.
    fn make(&self, weights: &[Vec<f64>], row: &[f64]) -> Vec<(f64, f64)> {
        weights.iter().map(|w| product(w.iter().copied(), row[..self.rank].iter().copied())).collect()
    }

    /// The score of a query and a latent row, and how far it may be off in either form: the outer sum of products, the inner ones
    /// behind each of its terms, and one scaling.
    fn score(&self, q: &[f64], row: &[f64]) -> (f64, f64) {
        let (rank, nope) = (self.rank, self.keys.len());
        let key = self.make(&self.keys, row);
        let (rotated, rotated_magnitude) = product(q[nope..].iter().copied(), row[rank..].iter().copied());
        let (sum, magnitude) = product(q.iter().copied(), key.iter().map(|k| k.0));
        let inner = together(q.iter().zip(&key).map(|(q, k)| q * product_bound(rank, k.1)));
        let expanded = inner + product_bound(q.len(), magnitude + rotated_magnitude);
        let absorbed: Vec<(f64, f64)> = (0..rank).map(|r| product(q.iter().copied(), self.keys.iter().map(|w| w[r]))).collect();
        let (_, magnitude) = product(absorbed.iter().map(|a| a.0), row.iter().copied());
        let inner = together(absorbed.iter().zip(row).map(|(a, c)| c * product_bound(nope, a.1)));
        let absorbed = inner + product_bound(row.len(), magnitude + rotated_magnitude);
        let score = self.scale * (sum + rotated);
        (score, self.scale * expanded.max(absorbed) + U * score.abs())
    }

    /// Exact outputs for each position of a sequence, with bounds.
    ///
    /// A score is off by at most `delta`, and a weight by that factor; weights are off by 2 ulp (4 u) of their own and by the
    /// roundings of `s - maximum`. The output is a sum over the context of sums of length `R`, or the other way round, over a sum.
    fn exact(&self, q: &[Vec<f64>], latents: &[Vec<f64>]) -> Vec<(f64, f64)> {
        let v: Vec<Vec<(f64, f64)>> = latents.iter().map(|row| self.make(&self.values, row)).collect();
        let mut expected = Vec::new();
        for (position, q) in q.iter().enumerate() {
            let seen = position + 1;
            let scores: Vec<(f64, f64)> = latents[..seen].iter().map(|row| self.score(q, row)).collect();
            let maximum = scores.iter().map(|s| s.0).fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|s| (s.0 - maximum).exp()).collect();
            let total: f64 = weights.iter().sum();
            let weights: Vec<f64> = weights.into_iter().map(|w| w / total).collect();
            // What a wrong score does to a weight matters as much as the weight does.
            let off = |s: &(f64, f64)| s.1 + U * (maximum - s.0) + 5.0 * U;
            let delta: f64 = weights.iter().zip(&scores).map(|(w, s)| w * off(s)).sum::<f64>();
            let sums: Vec<(f64, f64)> =
                (0..self.rank).map(|r| product(weights.iter().copied(), latents.iter().map(|row| row[r]))).collect();
            for (d, row) in self.values.iter().enumerate() {
                let (sum, magnitude) = product(weights.iter().copied(), v.iter().map(|v| v[d].0));
                let of_weights: f64 = weights.iter().zip(&scores).zip(&v).map(|((w, s), v)| w * off(s) * v[d].0.abs()).sum();
                let inner = together(weights.iter().zip(&v).map(|(w, v)| w * product_bound(self.rank, v[d].1)));
                let expanded = inner + product_bound(seen, magnitude);
                let inner = together(sums.iter().zip(row).map(|(sum, w)| w * product_bound(seen, sum.1)));
                let absorbed = inner + product_bound(self.rank, product(row.iter().copied(), sums.iter().map(|s| s.0)).1);
                let denominator = (delta + product_bound(seen, 1.0) + 2.0 * U) * sum.abs();
                expected.push((sum, of_weights + expanded.max(absorbed) + denominator));
            }
        }
        expected
    }
}

fn check<
    D: KvDtype,
    const HEADS: usize,
    const NOPE: usize,
    const V: usize,
    const R: usize,
    const P: usize,
    const Q_DIM: usize,
    const OUT_DIM: usize,
    const LATENT: usize,
>(
    lengths: &[usize],
    format: StorageFormat,
) {
    let problem = Problem::<Q_DIM, LATENT>::new(lengths, HEADS * (NOPE + V) * R, R, format);
    let mut expected = Vec::new();
    for (q, latents) in problem.q.iter().zip(&problem.latents) {
        let stored = |x: &f32| f64::from(D::load(D::store(*x)));
        let latents: Vec<Vec<f64>> = latents.iter().map(|row| row.iter().map(stored).collect()).collect();
        for (head, weights) in problem.weights.chunks((NOPE + V) * R).enumerate() {
            let of_head = |q: &[f32; Q_DIM]| q[head * (NOPE + P)..][..NOPE + P].iter().map(|&q| f64::from(q)).collect();
            let q: Vec<Vec<f64>> = q.iter().map(of_head).collect();
            expected.extend(Head::new(weights, NOPE, R, scale(NOPE + P)).exact(&q, &latents));
        }
    }
    for isa in Isa::available() {
        let longest = *lengths.iter().max().unwrap();
        let whole = Cut { isa, threads: 1, page_size: 64, chunk: longest };
        let dims = format!("{HEADS} x ({NOPE} + {P}, {V}) of {R}, {} cache, {format} weights, {isa}", D::NAME);
        let expanded = run::<Expanded, Expanded, D, HEADS, NOPE, V, R, P, Q_DIM, OUT_DIM, LATENT>(&problem, whole);
        let absorbed = run::<Absorbed, Absorbed, D, HEADS, NOPE, V, R, P, Q_DIM, OUT_DIM, LATENT>(&problem, whole);
        for (form, base) in [("expanded", &expanded), ("absorbed", &absorbed)] {
            let mut got = Vec::new();
            for rows in base {
                for head in 0..HEADS {
                    got.extend(rows.iter().flat_map(|row| &row[head * V..][..V]));
                }
            }
            within(&format!("{form} mla {dims}"), longest, &got, expected.iter().copied());
        }
        for (threads, page_size, chunk) in [(2, 64, longest), (1, 16, longest), (3, 16, 17), (1, 64, 16), (2, 16, 1)] {
            let cut = Cut { isa, threads, page_size, chunk };
            let other = run::<Expanded, Expanded, D, HEADS, NOPE, V, R, P, Q_DIM, OUT_DIM, LATENT>(&problem, cut);
            assert!(other == expanded, "expanded {dims}: {cut:?} changes the result");
            let other = run::<Absorbed, Absorbed, D, HEADS, NOPE, V, R, P, Q_DIM, OUT_DIM, LATENT>(&problem, cut);
            assert!(other == absorbed, "absorbed {dims}: {cut:?} changes the result");
        }
        // Sequences of one token take the form of decode, the others that of prefill.
        let mixed = run::<Expanded, Absorbed, D, HEADS, NOPE, V, R, P, Q_DIM, OUT_DIM, LATENT>(&problem, whole);
        for (i, rows) in mixed.iter().enumerate() {
            assert!(*rows == if lengths[i] == 1 { &absorbed[i][..] } else { &expanded[i][..] });
        }
    }
}

#[test]
fn value_heads_unlike_key_heads_and_odd_head_counts() {
    check::<F32, 3, 16, 24, 48, 8, 72, 72, 56>(&[70, 33, 1, 18], StorageFormat::F32);
    check::<Bf16, 3, 16, 24, 48, 8, 72, 72, 56>(&[70, 33, 1, 18], StorageFormat::Bf16);
}

#[test]
fn dimensions_of_a_small_mistral() {
    check::<F32, 4, 16, 32, 64, 16, 128, 128, 80>(&[100, 1, 47], StorageFormat::Bf16);
    check::<Fp8E4m3, 4, 16, 32, 64, 16, 128, 128, 80>(&[60, 17], StorageFormat::Bf16);
}

#[test]
fn dimensions_that_no_vector_divides() {
    check::<F32, 5, 7, 5, 13, 2, 45, 25, 15>(&[50, 1, 20, 16], StorageFormat::Bf16);
    check::<Bf16, 1, 1, 1, 1, 2, 3, 1, 3>(&[20, 33], StorageFormat::F32);
}

#[test]
fn dimensions_of_mistral_small() {
    check::<Bf16, 2, 64, 128, 256, 64, 256, 256, 320>(&[37, 1, 17], StorageFormat::Bf16);
}

/// More heads than a cell of the absorbed form has rows.
#[test]
fn many_heads() {
    check::<F32, 130, 2, 3, 9, 2, 520, 390, 11>(&[20, 1], StorageFormat::F32);
}

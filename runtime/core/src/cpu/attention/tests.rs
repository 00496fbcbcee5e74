//! Attention against a naive one in f64, and the promise that a row's bits depend on its sequence and position alone.

use super::*;
use crate::batch::{BatchLimits, PageId, WantLogits};
use crate::cpu::Isa;
use crate::dtype::{Bf16, F32, Fp8E4m3};
use crate::testing::{Random, U, product_bound, within};
use tenon_formats::StorageFormat;

/// Random queries, keys and values of some sequences, `[position][heads x head_dim]`.
struct Sequences<const Q_DIM: usize, const KV_DIM: usize> {
    lengths: Vec<usize>,
    q: Vec<Vec<[f32; Q_DIM]>>,
    k: Vec<Vec<[f32; KV_DIM]>>,
    v: Vec<Vec<[f32; KV_DIM]>>,
}

fn random_rows<const D: usize>(random: &mut Random, rows: usize, size: f32) -> Vec<[f32; D]> {
    (0..rows).map(|_| std::array::from_fn(|_| size * random.unit())).collect()
}

impl<const Q_DIM: usize, const KV_DIM: usize> Sequences<Q_DIM, KV_DIM> {
    fn new(lengths: &[usize]) -> Self {
        let mut random = Random::new(Q_DIM as u64);
        // Large enough for peaked softmaxes, so that the maximum moves and small weights underflow in places.
        let mut of = |size| lengths.iter().map(|&n| random_rows(&mut random, n, size)).collect();
        let q = of(4.0);
        let mut of = |size| lengths.iter().map(|&n| random_rows(&mut random, n, size)).collect();
        Self { lengths: lengths.to_vec(), q, k: of(4.0), v: of(1.0) }
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
    /// Which attention: the one setting that shows in the result.
    variant: Variant,
}

/// What is not plain about an attention.
#[derive(Clone, Copy, Debug, Default)]
struct Variant {
    /// Positions that a token sees.
    window: Option<usize>,
    /// What scores are capped at.
    cap: Option<f32>,
    /// The heads have sinks, those of [`sink`].
    sinks: bool,
}

/// The sink of a head: under, between and over the scores, and one that never counts.
fn sink(head: usize) -> f32 {
    [1.5, -60.0, 12.0, f32::NEG_INFINITY, 0.0][head % 5]
}

/// The attention that a variant asks for. Where two serve it, the plainer.
fn attend_as<
    D: KvDtype,
    const TILE_Q: usize,
    const HEADS: usize,
    const KV_HEADS: usize,
    const HEAD_DIM: usize,
    const Q_DIM: usize,
>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &PagedKv<D, KV_HEADS, HEAD_DIM>,
    variant: Variant,
    batch: &Batch,
    out: &mut Rows<f32, Q_DIM>,
) {
    let scale = scale(HEAD_DIM);
    match variant {
        Variant { window: None, cap: None, sinks: false } => {
            attention::<TILE_Q, HEADS, _, _, _, _>(cpu, q, kv, scale, batch, out)
        }
        Variant { window: Some(window), cap: None, sinks: false } => {
            sliding_attention::<TILE_Q, HEADS, _, _, _, _>(cpu, q, kv, scale, window, batch, out);
        }
        Variant { window, cap: Some(cap), .. } => {
            softcap_attention::<TILE_Q, HEADS, _, _, _, _>(cpu, q, kv, scale, cap, window, batch, out);
        }
        Variant { window, sinks: true, .. } => {
            let stored: Vec<u8> = (0..HEADS).flat_map(|head| sink(head).to_le_bytes()).collect();
            let sinks = Vector::<HEADS>::decode(StorageFormat::F32, &stored).unwrap();
            sink_attention::<TILE_Q, HEADS, _, _, _, _>(cpu, q, kv, scale, &sinks, window, batch, out);
        }
    }
}

fn scale(head_dim: usize) -> SoftmaxScale {
    SoftmaxScale::rsqrt(head_dim, 1.0 / (head_dim as f32).sqrt())
}

/// Runs all sequences in steps of `cut.chunk`, in pages that lie in any order and were used before.
fn run<
    D: KvDtype,
    const TILE_Q: usize,
    const HEADS: usize,
    const KV_HEADS: usize,
    const HEAD_DIM: usize,
    const Q_DIM: usize,
    const KV_DIM: usize,
>(
    s: &Sequences<Q_DIM, KV_DIM>,
    cut: Cut,
) -> Vec<Vec<[f32; Q_DIM]>> {
    let cpu = Cpu::new(cut.threads, cut.isa).unwrap();
    let pages_of: Vec<usize> = s.lengths.iter().map(|n| n.div_ceil(cut.page_size)).collect();
    let pages = pages_of.iter().sum::<usize>() + 3;
    let mut free: Vec<PageId> = (0..pages as u32).map(PageId).collect();
    let mut random = Random::new(cut.page_size as u64);
    let tables: Vec<Vec<PageId>> =
        pages_of.iter().map(|&n| (0..n).map(|_| free.swap_remove(random.below(free.len()))).collect()).collect();
    let max_tokens = s.lengths.iter().sum();
    let mut batch = Batch::new(BatchLimits {
        vocab_size: 1,
        max_positions: 4096,
        page_size: cut.page_size,
        pages,
        state_slots: 0,
        max_tokens,
        max_logit_rows: max_tokens,
    });
    let mut kv = PagedKv::<D, KV_HEADS, HEAD_DIM>::new(pages, cut.page_size);
    kv.fill(f32::NAN);
    let (mut q, mut k, mut v) =
        (Rows::with_capacity(max_tokens), Rows::with_capacity(max_tokens), Rows::with_capacity(max_tokens));
    let mut out = Rows::with_capacity(max_tokens);
    let mut results: Vec<Vec<[f32; Q_DIM]>> = vec![Vec::new(); s.lengths.len()];
    for start in (0..*s.lengths.iter().max().unwrap()).step_by(cut.chunk) {
        batch.clear();
        let mut of_batch = Vec::new();
        for (i, &length) in s.lengths.iter().enumerate().filter(|(_, length)| **length > start) {
            let end = length.min(start + cut.chunk);
            let table = &tables[i][..end.div_ceil(cut.page_size)];
            batch.push(&vec![0; end - start], start, table, None, WantLogits::Last).unwrap();
            of_batch.extend((start..end).map(|position| (i, position)));
        }
        q.set_rows(of_batch.len());
        k.set_rows(of_batch.len());
        v.set_rows(of_batch.len());
        for (row, &(i, position)) in of_batch.iter().enumerate() {
            *q.row_mut(row) = s.q[i][position];
            *k.row_mut(row) = s.k[i][position];
            *v.row_mut(row) = s.v[i][position];
        }
        kv.append(&cpu, &k, &v, &batch);
        attend_as::<D, TILE_Q, HEADS, KV_HEADS, HEAD_DIM, Q_DIM>(&cpu, &q, &kv, cut.variant, &batch, &mut out);
        for (row, &(i, _)) in of_batch.iter().enumerate() {
            results[i].push(*out.row(row));
        }
    }
    results
}

/// Exact outputs of one query row, with bounds.
///
/// A score is a product of length `head_dim` and one scaling, so it is off by at most `delta`, and a weight by that factor. Weights are
/// off by 2 ulp (4 u) of their own and by the roundings of `s - maximum`. Numerator and denominator are sums of length K.
/// A cap brings scores closer together and not apart; it adds an exponential within 4 u and five operations, at the size of the cap.
fn exact<D: KvDtype>(q: &[f32], k: &[&[f32]], v: &[&[f32]], scale: f32, cap: Option<f32>, sink: Option<f32>) -> Vec<(f64, f64)> {
    let stored = |x: f32| f64::from(D::load(D::store(x)));
    let (mut scores, mut delta) = (Vec::new(), 0.0f64);
    for k in k {
        let products = q.iter().zip(*k).map(|(&q, &k)| f64::from(q) * stored(k));
        let (sum, magnitude) = products.fold((0.0, 0.0), |(sum, m), p| (sum + p, m + p.abs()));
        scores.push(sum * f64::from(scale));
        delta = delta.max(f64::from(scale) * (product_bound(q.len(), magnitude) + U * magnitude));
    }
    if let Some(cap) = cap.map(f64::from) {
        scores.iter_mut().for_each(|s| *s = cap * (*s / cap).tanh());
        delta += 10.0 * U * cap;
    }
    let sink = sink.map_or(f64::NEG_INFINITY, f64::from);
    let maximum = scores.iter().copied().fold(sink, f64::max);
    let spread = scores.iter().map(|s| maximum - s).fold(0.0, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - maximum).exp()).collect();
    let total: f64 = weights.iter().sum::<f64>() + (sink - maximum).exp();
    let relative = 2.0 * (delta + U * spread) + product_bound(k.len(), 2.0) + 10.0 * U;
    (0..v[0].len())
        .map(|d| {
            let terms = weights.iter().zip(v).map(|(w, v)| w * stored(v[d]) / total);
            let (sum, magnitude) = terms.fold((0.0, 0.0), |(sum, m), t| (sum + t, m + t.abs()));
            (sum, relative * magnitude)
        })
        .collect()
}

fn check<
    D: KvDtype,
    const TILE_Q: usize,
    const HEADS: usize,
    const KV_HEADS: usize,
    const HEAD_DIM: usize,
    const Q_DIM: usize,
    const KV_DIM: usize,
>(
    variant: Variant,
) {
    let s = Sequences::<Q_DIM, KV_DIM>::new(&[150, 33, 1, 64]);
    for isa in Isa::available() {
        let whole = Cut { isa, threads: 1, page_size: 64, chunk: 150, variant };
        let base = run::<D, TILE_Q, HEADS, KV_HEADS, HEAD_DIM, Q_DIM, KV_DIM>(&s, whole);
        let (mut got, mut expected) = (Vec::new(), Vec::new());
        for (i, &length) in s.lengths.iter().enumerate() {
            for position in 0..length {
                for head in 0..HEADS {
                    let at = head / (HEADS / KV_HEADS) * HEAD_DIM;
                    let rows = |of: &'_ [Vec<[f32; KV_DIM]>]| -> Vec<Vec<f32>> {
                        let first = variant.window.map_or(0, |w| (position + 1).saturating_sub(w));
                        of[i][first..=position].iter().map(|row| row[at..][..HEAD_DIM].to_vec()).collect()
                    };
                    let (k, v) = (rows(&s.k), rows(&s.v));
                    let (k, v): (Vec<_>, Vec<_>) = k.iter().zip(&v).map(|(k, v)| (&k[..], &v[..])).unzip();
                    let q = &s.q[i][position][head * HEAD_DIM..][..HEAD_DIM];
                    let sink = variant.sinks.then(|| sink(head));
                    expected.extend(exact::<D>(q, &k, &v, scale(HEAD_DIM).value(), variant.cap, sink));
                    got.extend(&base[i][position][head * HEAD_DIM..][..HEAD_DIM]);
                }
            }
        }
        let what = format!("attention {HEADS}/{KV_HEADS} x {HEAD_DIM}, {variant:?}, {} cache, tile {TILE_Q}, {isa}", D::NAME);
        within(&what, 150, &got, expected);

        for (threads, page_size, chunk) in [(2, 64, 150), (1, 16, 150), (2, 16, 64), (3, 16, 17), (1, 64, 17), (2, 16, 1)] {
            let cut = Cut { isa, threads, page_size, chunk, variant };
            let other = run::<D, TILE_Q, HEADS, KV_HEADS, HEAD_DIM, Q_DIM, KV_DIM>(&s, cut);
            assert!(other == base, "{what}: {cut:?} changes the result");
        }
        let one_row = run::<D, 1, HEADS, KV_HEADS, HEAD_DIM, Q_DIM, KV_DIM>(&s, whole);
        assert!(one_row == base, "{what}: the query tile changes the result");
    }
}

#[test]
fn head_dim_8_and_16() {
    check::<F32, 7, 2, 1, 8, 16, 8>(Variant::default());
    check::<F32, 4, 4, 2, 16, 64, 32>(Variant::default());
    check::<Bf16, 4, 4, 2, 16, 64, 32>(Variant::default());
}

#[test]
fn head_dim_32() {
    check::<F32, 8, 4, 4, 32, 128, 128>(Variant::default());
    check::<Bf16, 8, 4, 1, 32, 128, 32>(Variant::default());
}

#[test]
fn head_dim_64() {
    check::<F32, 16, 9, 3, 64, 576, 192>(Variant::default());
    check::<Bf16, 16, 9, 3, 64, 576, 192>(Variant::default());
}

#[test]
fn head_dim_72_and_128() {
    check::<F32, 32, 2, 1, 72, 144, 72>(Variant::default());
    check::<F32, 12, 4, 2, 128, 512, 256>(Variant::default());
    check::<Bf16, 3, 8, 2, 128, 1024, 256>(Variant::default());
}

/// Windows of one position, within a tile, of whole tiles, across them, and wider than any sequence.
#[test]
fn windows() {
    for window in [1, 5, 16, 20, 48, 149, 500] {
        check::<F32, 16, 4, 1, 32, 128, 32>(Variant { window: Some(window), ..Variant::default() });
    }
    check::<Bf16, 4, 4, 2, 16, 64, 32>(Variant { window: Some(33), ..Variant::default() });
}

/// Caps under, about and over the size of the scores, with and without a window.
#[test]
fn soft_caps() {
    for (cap, window) in [(1.0, None), (20.0, Some(33)), (50.0, None), (50.0, Some(5)), (1e4, Some(20))] {
        check::<F32, 8, 4, 2, 32, 128, 64>(Variant { window, cap: Some(cap), sinks: false });
    }
    check::<Bf16, 4, 4, 2, 16, 64, 32>(Variant { window: Some(33), cap: Some(20.0), sinks: false });
}

#[test]
fn sinks() {
    for window in [None, Some(1), Some(20), Some(48)] {
        check::<F32, 8, 6, 2, 32, 192, 64>(Variant { window, cap: None, sinks: true });
    }
    check::<Bf16, 4, 10, 2, 16, 160, 32>(Variant { window: Some(33), cap: None, sinks: true });
}

#[test]
fn a_cache_of_8_bit_floats() {
    check::<Fp8E4m3, 8, 4, 1, 32, 128, 32>(Variant::default());
}

#[test]
fn a_tile_has_the_largest_part_of_a_group_that_divides_it() {
    let of_tile = |group, tile_q| largest_divisor(group, tile_q);
    assert_eq!([of_tile(3, 16), of_tile(8, 6), of_tile(7, 4), of_tile(4, 1)], [3, 4, 1, 1]);
}

//! What the chunked forms of recurrences share: products of small matrices, decays between the tokens of a chunk, and room for both.
//!
//! Rows of matrices are whole vectors of 8 columns; columns that only pad a row are 0.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#![allow(clippy::needless_range_loop)]

use std::cell::Cell;
use std::ops::Range;

use super::exp::exp_nonpositive;
use super::simd::{Kernel, Simd};
use crate::batch::SequenceSpan;

/// 8 columns of a row.
pub(super) type Lanes8 = [f32; 8];

/// Rows that [`AddProduct`] computes together: 6 rows of 16 columns are 12 of the 16 vector registers.
pub(super) const TILE: usize = 6;

/// Elements `8 * i ..` of `x`, with zeros after its end.
#[inline(always)]
pub(super) fn vector(x: &[f32], i: usize) -> Lanes8 {
    if let Some(whole) = x.as_chunks::<8>().0.get(i) {
        return *whole;
    }
    let mut v = [0.0; 8];
    let rest = &x[(8 * i).min(x.len())..];
    v[..rest.len()].copy_from_slice(rest);
    v
}

/// Stores `v` as elements `8 * i ..` of `x`, up to its end.
#[inline(always)]
pub(super) fn put(v: &Lanes8, x: &mut [f32], i: usize) {
    if let Some(whole) = x.as_chunks_mut::<8>().0.get_mut(i) {
        *whole = *v;
        return;
    }
    let rest = &mut x[8 * i..];
    rest.copy_from_slice(&v[..rest.len()]);
}

/// `ln(1 + e^x)`, without overflow.
pub(super) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The positions of a span in pieces that end at absolute multiples of `chunk`, as ranges of the batch's tokens.
pub(super) fn chunks(sequence: &SequenceSpan, chunk: usize) -> impl Iterator<Item = Range<usize>> {
    let (tokens, start) = (sequence.tokens.clone(), sequence.start);
    let mut next = tokens.start;
    std::iter::from_fn(move || {
        let position = start + (next - tokens.start);
        let first = next;
        next = tokens.end.min(first + chunk - position % chunk);
        (first < next).then_some(first..next)
    })
}

/// `out[r][c] = sum over k of x[r][k] * m[k][c]` for up to [`TILE`] rows, or `+=`: one chain of fused multiply-adds per element, in the order
/// of `k`.
pub(super) struct AddProduct<'a> {
    /// Row `r` starts at `r * x_stride`.
    pub(super) x: &'a [f32],
    pub(super) x_stride: usize,
    pub(super) rows: usize,
    pub(super) depth: usize,
    /// Row `k` starts at `k * m_stride`.
    pub(super) m: &'a [Lanes8],
    pub(super) m_stride: usize,
    /// `out` holds nothing yet.
    pub(super) first: bool,
    /// Row `r` starts at `r * out_stride`.
    pub(super) out: &'a mut [Lanes8],
    pub(super) out_stride: usize,
    /// Vectors of a row that are computed.
    pub(super) columns: usize,
}

impl Kernel for AddProduct<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.rows {
            1 => exactly::<S, 1>(s, self),
            2 => exactly::<S, 2>(s, self),
            3 => exactly::<S, 3>(s, self),
            4 => exactly::<S, 4>(s, self),
            5 => exactly::<S, 5>(s, self),
            6 => exactly::<S, 6>(s, self),
            rows => unreachable!("{rows} rows in a register tile"),
        }
    }
}

#[inline(always)]
fn exactly<S: Simd, const R: usize>(s: S, product: AddProduct<'_>) {
    let AddProduct { x, x_stride, depth, m, m_stride, first, out, out_stride, columns, .. } = product;
    let mut rows = [&x[..depth]; R];
    for r in 1..R {
        rows[r] = &x[r * x_stride..][..depth];
    }
    let mut column = 0;
    while column + 2 <= columns {
        two_columns(s, &rows, &m[column.min(m.len())..], m_stride, first, &mut out[column..], out_stride);
        column += 2;
    }
    if column < columns {
        one_column(s, &rows, &m[column.min(m.len())..], m_stride, first, &mut out[column..], out_stride);
    }
}

/// Two vectors of each row. Written out, so that the chains are sure to stay in registers.
#[inline(always)]
fn two_columns<S: Simd, const R: usize>(
    s: S,
    rows: &[&[f32]; R],
    m: &[Lanes8],
    m_stride: usize,
    first: bool,
    out: &mut [Lanes8],
    out_stride: usize,
) {
    let mut chains = [[s.splat(0.0); 2]; R];
    if !first {
        for r in 0..R {
            chains[r] = [s.load(&out[r * out_stride]), s.load(&out[r * out_stride + 1])];
        }
    }
    let mut x = [rows[0]; R];
    for r in 1..R {
        x[r] = &rows[r][..x[0].len()];
    }
    for (k, m) in (0..x[0].len()).zip(m.chunks(m_stride)) {
        let (low, high) = (s.load(&m[0]), s.load(&m[1]));
        for r in 0..R {
            let factor = s.splat(x[r][k]);
            chains[r][0] = s.fma(low, factor, chains[r][0]);
            chains[r][1] = s.fma(high, factor, chains[r][1]);
        }
    }
    for r in 0..R {
        s.store(chains[r][0], &mut out[r * out_stride]);
        s.store(chains[r][1], &mut out[r * out_stride + 1]);
    }
}

/// One vector of each row.
#[inline(always)]
fn one_column<S: Simd, const R: usize>(
    s: S,
    rows: &[&[f32]; R],
    m: &[Lanes8],
    m_stride: usize,
    first: bool,
    out: &mut [Lanes8],
    out_stride: usize,
) {
    let mut chains = [s.splat(0.0); R];
    if !first {
        for r in 0..R {
            chains[r] = s.load(&out[r * out_stride]);
        }
    }
    let mut x = [rows[0]; R];
    for r in 1..R {
        x[r] = &rows[r][..x[0].len()];
    }
    for (k, m) in (0..x[0].len()).zip(m.chunks(m_stride)) {
        let m = s.load(&m[0]);
        for r in 0..R {
            chains[r] = s.fma(m, s.splat(x[r][k]), chains[r]);
        }
    }
    for r in 0..R {
        s.store(chains[r], &mut out[r * out_stride]);
    }
}

/// How much of what a token wrote is left at another token of the same chunk.
///
/// The logarithm of the decay from before the chunk to token `i` is `log[i] + low[i]`: two f32, because it may be large where the
/// difference of two of them is small.
pub(super) struct Decays<'a> {
    log: &'a mut [Lanes8],
    low: &'a mut [Lanes8],
    /// The decay from before the chunk to each token.
    pub(super) since_start: &'a mut [f32],
    /// The decay from each token to the last one.
    pub(super) to_end: &'a mut [f32],
}

impl<'a> Decays<'a> {
    /// Vectors of room that `new` takes for a chunk of `vectors` times 8 tokens.
    pub(super) const fn room(vectors: usize) -> usize {
        4 * vectors
    }

    /// Room for the decays of a chunk of `len` tokens.
    pub(super) fn new(room: &mut &'a mut [Lanes8], len: usize) -> Self {
        let mut part = || carve(room, len.div_ceil(8));
        let (log, low, since_start, to_end) = (part(), part(), part(), part());
        Self { log, low, since_start: &mut since_start.as_flattened_mut()[..len], to_end: &mut to_end.as_flattened_mut()[..len] }
    }

    /// Sets the decays from the logarithm of each token's own decay, none of them above 0. Returns the decay over the whole chunk.
    pub(super) fn set(&mut self, log_of: impl Fn(usize) -> f64) -> f32 {
        let mut sum = 0.0f64;
        let (log, low) = (self.log.as_flattened_mut(), self.low.as_flattened_mut());
        let tokens = self.since_start.len();
        for i in 0..tokens {
            sum += log_of(i);
            // Beyond this nothing is left of anything, and differences of infinities would be NaN. A NaN stays one.
            if sum < -1e30 {
                sum = -1e30;
            }
            log[i] = sum as f32;
            low[i] = (sum - f64::from(log[i])) as f32;
            self.since_start[i] = sum.exp() as f32;
        }
        log[tokens..].fill(0.0);
        low[tokens..].fill(0.0);
        for i in 0..tokens {
            let here = f64::from(log[i]) + f64::from(low[i]);
            self.to_end[i] = (sum - here).exp() as f32;
        }
        self.since_start[tokens - 1]
    }

    /// `out[j] = factor * x[j] * (decay from j to i)` for `j < end`, and 0 from there on. `end` is at most `i + 1`.
    #[inline(always)]
    pub(super) fn weigh<S: Simd>(&self, s: S, i: usize, end: usize, factor: f32, x: &[Lanes8], out: &mut [Lanes8]) {
        let (log, low) = (self.log.as_flattened()[i], self.low.as_flattened()[i]);
        let (log, low, factor) = (s.splat(log), s.splat(low), s.splat(factor));
        let lanes = s.load(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        for v in 0..out.len() {
            let difference = s.add(s.sub(log, s.load(&self.log[v])), s.sub(low, s.load(&self.low[v])));
            let weighted = s.mul(s.mul(factor, s.load(&x[v])), exp_nonpositive(s, difference));
            let index = s.add(lanes, s.splat((8 * v) as f32));
            s.store(s.below(index, s.splat(end as f32), weighted, s.splat(0.0)), &mut out[v]);
        }
    }
}

/// `rows *= factor` for vectors of one row.
#[inline(always)]
pub(super) fn scale<S: Simd>(s: S, row: &mut [Lanes8], factor: f32) {
    let factor = s.splat(factor);
    for v in row {
        s.store(s.mul(s.load(v), factor), v);
    }
}

/// Takes the first `count` vectors of the room. They hold anything.
pub(super) fn carve<'a>(room: &mut &'a mut [Lanes8], count: usize) -> &'a mut [Lanes8] {
    room.split_off_mut(..count).expect("the room was measured")
}

thread_local! {
    static ROOM: Cell<Vec<Lanes8>> = const { Cell::new(Vec::new()) };
}

/// Calls `with` with room for `vectors`, which hold anything. Each thread keeps its room, so that a step allocates nothing.
pub(super) fn with_room(vectors: usize, with: impl FnOnce(&mut [Lanes8])) {
    let mut room = ROOM.take();
    if room.len() < vectors {
        // No more than that: the memory of a deployment is planned.
        room.reserve_exact(vectors - room.len());
        room.resize(vectors, [0.0; 8]);
    }
    with(&mut room[..vectors]);
    ROOM.set(room);
}

/// Bytes that this thread keeps.
pub(super) fn room_bytes() -> usize {
    let room = ROOM.take();
    let bytes = room.capacity() * size_of::<Lanes8>();
    ROOM.set(room);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, U, each_isa, product_bound, within};

    #[test]
    fn chunks_end_at_multiples() {
        let of = |start, tokens| {
            let span = SequenceSpan { tokens, start, pages: 0..0, state_slot: None };
            chunks(&span, 8).collect::<Vec<_>>()
        };
        assert_eq!(of(0, 3..21), [3..11, 11..19, 19..21]);
        assert_eq!(of(13, 0..12), [0..3, 3..11, 11..12]);
        assert_eq!(of(16, 5..14), [5..13, 13..14]);
        assert_eq!(of(7, 0..2), [0..1, 1..2]);
    }

    struct Weigh<'a>(&'a Decays<'a>, usize, &'a [Lanes8], &'a mut [Lanes8]);
    impl Kernel for Weigh<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            self.0.weigh(s, self.1, self.1 + 1, 2.0, self.2, self.3);
        }
    }

    #[test]
    fn decays_keep_small_differences_of_large_sums() {
        let mut random = Random::new(5);
        // Sums reach -3000, while neighbours are 0.001 to 3 apart.
        let logs: Vec<f64> =
            (0..77).map(|i| if i == 10 { -3000.0 } else { -(f64::from(random.unit()).abs() * 3.0 + 1e-3) }).collect();
        let x: Vec<Lanes8> = random.units(80).as_chunks().0.to_vec();
        let mut room = vec![[f32::NAN; 8]; Decays::room(10)];
        let mut rest = room.as_mut_slice();
        let mut decays = Decays::new(&mut rest, 77);
        let whole = decays.set(|i| logs[i]);
        assert_eq!(whole, 0.0);
        each_isa(|cpu| {
            for i in [0, 9, 10, 11, 76] {
                let mut out = [[f32::NAN; 8]; 10];
                cpu.lanes().enter(Weigh(&decays, i, &x, &mut out));
                let exact = (0..80).map(|j| {
                    let decay = if j <= i { logs[j + 1..=i].iter().sum::<f64>() } else { f64::NEG_INFINITY };
                    let y = 2.0 * f64::from(x.as_flattened()[j]) * decay.exp();
                    // The exponential is within 2 ulp (4 u) of one whose argument is rounded three times, and flushed where it
                    // would be subnormal.
                    (y, (3.0 * decay.abs().min(100.0) + 8.0) * U * y.abs() + 2.0 * f64::from(f32::MIN_POSITIVE))
                });
                within(&format!("decays on {}", cpu.isa()), i, out.as_flattened(), exact);
            }
        });
    }

    #[test]
    fn products_match_the_formula() {
        let mut random = Random::new(6);
        for (first, rows, depth, columns) in
            [(true, 1, 1, 1), (false, 6, 37, 3), (true, 4, 8, 2), (false, 5, 5, 5), (false, 3, 0, 1), (true, 2, 100, 4)]
        {
            let (x, m): (Vec<f32>, Vec<Lanes8>) =
                (random.units(rows * (depth + 2)), random.units(8 * (columns + 1) * depth).as_chunks().0.to_vec());
            let before: Vec<Lanes8> = random.units(8 * rows * columns).as_chunks().0.to_vec();
            each_isa(|cpu| {
                let mut out = before.clone();
                cpu.lanes().enter(AddProduct {
                    x: &x,
                    x_stride: depth + 2,
                    rows,
                    depth,
                    m: &m,
                    m_stride: columns + 1,
                    first,
                    out: &mut out,
                    out_stride: columns,
                    columns,
                });
                let exact = (0..rows * columns * 8).map(|i| {
                    let (r, c) = (i / (8 * columns), i % (8 * columns));
                    let start = if first { 0.0 } else { f64::from(before.as_flattened()[i]) };
                    let terms = (0..depth)
                        .map(|k| f64::from(x[r * (depth + 2) + k]) * f64::from(m.as_flattened()[k * 8 * (columns + 1) + c]));
                    let (sum, magnitude) = terms.fold((start, start.abs()), |(sum, m), t| (sum + t, m + t.abs()));
                    (sum, product_bound(depth + 1, magnitude))
                });
                within(&format!("product on {}", cpu.isa()), depth, out.as_flattened(), exact);
            });
        }
    }
}

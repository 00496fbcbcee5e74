//! RMS normalisation of rows and of heads.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#![allow(clippy::needless_range_loop)]

use super::Cpu;
use super::grid::{Cell, Grid};
use super::simd::{Kernel, Simd};
use crate::linear::Norm;
use crate::rows::Rows;

/// `out = weight * x / sqrt(mean(x^2) + eps)` for each row; `[rows, D]` to `[rows, D]`. Sets the rows of `out`.
pub fn rms_norm<const D: usize>(cpu: &Cpu, x: &Rows<f32, D>, weight: &Norm<D>, eps: f32, out: &mut Rows<f32, D>) {
    out.set_rows(x.rows());
    normalise(cpu, Source::Rows(x.as_slice()), out.as_mut_slice(), D, weight.weights(), eps);
}

/// `x += weight * y / sqrt(mean(y^2) + eps)` for each row, both `[rows, D]`: the norm of a sublayer's output, which then joins
/// the residual.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn rms_norm_add<const D: usize>(cpu: &Cpu, y: &Rows<f32, D>, weight: &Norm<D>, eps: f32, x: &mut Rows<f32, D>) {
    assert_eq!(x.rows(), y.rows(), "the residual and the output are of the same batch");
    normalise(cpu, Source::Added(y.as_slice()), x.as_mut_slice(), D, weight.weights(), eps);
}

/// Normalises each head by itself: every `HEAD_DIM` elements of every row, in place, with the same weights.
pub fn head_norm<const D: usize, const HEAD_DIM: usize>(cpu: &Cpu, x: &mut Rows<f32, D>, weight: &Norm<HEAD_DIM>, eps: f32) {
    const { assert!(D.is_multiple_of(HEAD_DIM), "a row is a whole number of heads") };
    normalise(cpu, Source::InPlace, x.as_mut_slice(), D, weight.weights(), eps);
}

/// Where the rows that are normalised come from, and where they go.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// From the output itself.
    InPlace,
    /// From these rows to the output.
    Rows(&'a [f32]),
    /// From these rows, added to the output.
    Added(&'a [f32]),
}

/// Normalises every `weight.len()` elements of rows of `width`.
fn normalise(cpu: &Cpu, x: Source<'_>, out: &mut [f32], width: usize, weight: &[f32], eps: f32) {
    let unit = cpu.row_unit(out.len() / width, out.len());
    cpu.over(&mut Grid::of_rows(out, width, unit), |out| cpu.lanes().enter(Normalise { x, out, width, weight, eps }));
}

struct Normalise<'a> {
    x: Source<'a>,
    out: Cell<'a, f32>,
    width: usize,
    weight: &'a [f32],
    eps: f32,
}

impl Kernel for Normalise<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        for r in self.out.rows.clone() {
            let out = self.out.row_mut(r);
            let of_row = r * self.width..(r + 1) * self.width;
            match self.x {
                Source::InPlace => {}
                Source::Rows(x) => out.copy_from_slice(&x[of_row]),
                Source::Added(y) => {
                    let y = &y[of_row];
                    for (out, y) in out.chunks_exact_mut(self.weight.len()).zip(y.chunks_exact(self.weight.len())) {
                        let mean = sum_of_squares(s, y) / y.len() as f32;
                        let scale = 1.0 / (mean + self.eps).sqrt();
                        for ((out, y), w) in out.iter_mut().zip(y).zip(self.weight) {
                            *out += *w * (*y * scale);
                        }
                    }
                    continue;
                }
            }
            for x in out.chunks_exact_mut(self.weight.len()) {
                let mean = sum_of_squares(s, x) / x.len() as f32;
                let scale = 1.0 / (mean + self.eps).sqrt();
                for (x, w) in x.iter_mut().zip(self.weight) {
                    *x = *w * (*x * scale);
                }
            }
        }
    }
}

/// Four vectors of partial sums, added in a fixed order; elements after the last 32 are added one by one.
#[inline(always)]
pub(super) fn sum_of_squares<S: Simd>(s: S, x: &[f32]) -> f32 {
    let (lanes, rest) = x.as_chunks::<8>();
    let (fours, single) = lanes.as_chunks::<4>();
    let mut sums = [s.splat(0.0); 4];
    for four in fours {
        for i in 0..4 {
            let v = s.load(&four[i]);
            sums[i] = s.fma(v, v, sums[i]);
        }
    }
    for v in single {
        let v = s.load(v);
        sums[0] = s.fma(v, v, sums[0]);
    }
    let mut sum = s.reduce_add(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])));
    for v in rest {
        sum += v * v;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, U, each_isa, product_bound, within};
    use tenon_formats::StorageFormat;

    fn weights<const D: usize>(random: &mut Random) -> Norm<D> {
        let bytes: Vec<u8> = random.units(D).iter().flat_map(|x| x.to_le_bytes()).collect();
        Norm::decode(StorageFormat::F32, &bytes).unwrap()
    }

    fn rows<const D: usize>(random: &mut Random, count: usize) -> Rows<f32, D> {
        let mut x = Rows::with_capacity(count);
        x.set_rows(count);
        x.as_mut_slice().fill_with(|| 3.0 * random.unit());
        x
    }

    /// The sum is a positive one, so its relative error is at most the product bound's; the root halves it, and five more
    /// operations (division, addition of eps, root, reciprocal, two products) round once each.
    fn reference(x: &[f32], w: &[f32], eps: f32) -> Vec<(f64, f64)> {
        let mean = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / x.len() as f64;
        let scale = 1.0 / (mean + f64::from(eps)).sqrt();
        let relative = 0.5 * product_bound(x.len(), 1.0) + 6.0 * U;
        let exact = x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w) * scale);
        exact.map(|y| (y, relative * y.abs())).collect()
    }

    fn check<const D: usize>(rows_of: usize) {
        let mut random = Random::new(D as u64);
        let weight = weights::<D>(&mut random);
        let x = rows::<D>(&mut random, rows_of);
        each_isa(|cpu| {
            let mut out = Rows::with_capacity(rows_of);
            rms_norm(cpu, &x, &weight, 1e-5, &mut out);
            let exact = (0..rows_of).flat_map(|r| reference(x.row(r), weight.weights(), 1e-5));
            within(&format!("rms_norm on {}", cpu.isa()), D, out.as_slice(), exact);
            // Added to a residual, it is the same once more rounded.
            let residual = rows::<D>(&mut Random::new(99), rows_of);
            let mut sum = residual.clone();
            rms_norm_add(cpu, &x, &weight, 1e-5, &mut sum);
            let added: Vec<f32> = residual.as_slice().iter().zip(out.as_slice()).map(|(r, y)| r + y).collect();
            assert_eq!(sum.as_slice(), added);
            // A row alone, and rows on one thread, give the same bits.
            let alone = Cpu::new(1, cpu.isa()).unwrap();
            for r in 0..rows_of {
                let (mut one, mut y) = (Rows::with_capacity(1), Rows::with_capacity(1));
                one.set_rows(1);
                one.row_mut(0).copy_from_slice(x.row(r));
                rms_norm(&alone, &one, &weight, 1e-5, &mut y);
                assert_eq!(y.row(0), out.row(r));
            }
        });
    }

    #[test]
    fn rows_match_the_formula() {
        check::<1>(3);
        check::<36>(2);
        check::<64>(5);
        check::<100>(17);
        check::<576>(64);
        check::<1536>(64);
    }

    #[test]
    fn heads_match_the_formula() {
        let mut random = Random::new(3);
        let weight = weights::<64>(&mut random);
        let x = rows::<192>(&mut random, 5);
        each_isa(|cpu| {
            let mut out = x.clone();
            head_norm(cpu, &mut out, &weight, 1e-6);
            let exact = x.as_slice().chunks(64).flat_map(|head| reference(head, weight.weights(), 1e-6));
            within(&format!("head_norm on {}", cpu.isa()), 64, out.as_slice(), exact);
        });
    }
}

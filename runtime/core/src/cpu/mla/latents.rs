//! What happens to latents and queries before latent attention: the norm of the latent part, and the scale of queries by position.

use crate::batch::Batch;
use crate::cpu::Cpu;
use crate::cpu::grid::{Cell, Grid};
use crate::cpu::norm::sum_of_squares;
use crate::cpu::simd::{Kernel, Simd};
use crate::linear::Norm;
use crate::rows::Rows;
use crate::scale::QueryScale;

/// Normalises the first `R` elements of each row of `[tokens, LATENT]` in place, `x = weight * x / sqrt(mean(x^2) + eps)`, and leaves the
/// rest, which is the part with a rotation.
pub fn latent_norm<const LATENT: usize, const R: usize>(cpu: &Cpu, x: &mut Rows<f32, LATENT>, weight: &Norm<R>, eps: f32) {
    const { assert!(R <= LATENT, "the normalised part is at most the row") };
    let unit = cpu.row_unit(x.rows(), x.as_slice().len());
    let weight = weight.weights();
    cpu.over(&mut Grid::of_rows(x.as_mut_slice(), LATENT, unit), |x| cpu.lanes().enter(NormOfFirst { x, weight, eps }));
}

struct NormOfFirst<'a> {
    x: Cell<'a, f32>,
    weight: &'a [f32],
    eps: f32,
}

impl Kernel for NormOfFirst<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        for r in self.x.rows.clone() {
            let x = &mut self.x.row_mut(r)[..self.weight.len()];
            let mean = sum_of_squares(s, x) / x.len() as f32;
            let scale = 1.0 / (mean + self.eps).sqrt();
            for (x, w) in x.iter_mut().zip(self.weight) {
                *x = *w * (*x * scale);
            }
        }
    }
}

/// Multiplies the queries of each token, `[tokens, D]`, by the factor of its position.
///
/// # Panics
/// If the queries are not those of `batch`.
pub fn query_scale<const D: usize>(q: &mut Rows<f32, D>, batch: &Batch, scale: QueryScale) {
    assert_eq!(q.rows(), batch.tokens(), "the queries are of this batch");
    for (q, &position) in q.as_mut_slice().as_chunks_mut::<D>().0.iter_mut().zip(batch.positions()) {
        let factor = scale.at(position);
        for q in q {
            *q *= factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchLimits, PageId, WantLogits};
    use crate::testing::{Random, U, each_isa, product_bound, within};
    use tenon_formats::StorageFormat;

    fn check<const LATENT: usize, const R: usize>(tokens: usize) {
        let mut random = Random::new(LATENT as u64);
        let stored: Vec<u8> = random.units(R).iter().flat_map(|w| w.to_le_bytes()).collect();
        let weight = Norm::<R>::decode(StorageFormat::F32, &stored).unwrap();
        let mut x = Rows::<f32, LATENT>::with_capacity(tokens);
        x.set_rows(tokens);
        x.as_mut_slice().fill_with(|| 3.0 * random.unit());
        each_isa(|cpu| {
            let mut out = x.clone();
            latent_norm(cpu, &mut out, &weight, 1e-2);
            let exact = x.as_slice().chunks(LATENT).flat_map(|row| {
                let mean = row[..R].iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / R as f64;
                let scale = 1.0 / (mean + f64::from(1e-2f32)).sqrt();
                // As rms_norm: half the error of a sum of squares, and five operations that round once each.
                let relative = 0.5 * product_bound(R, 1.0) + 6.0 * U;
                let weights = weight.weights();
                row.iter().enumerate().map(move |(i, &x)| {
                    let y = if i < R { f64::from(weights[i]) * f64::from(x) * scale } else { f64::from(x) };
                    (y, if i < R { relative * y.abs() } else { 0.0 })
                })
            });
            within(&format!("latent_norm of {R} of {LATENT} on {}", cpu.isa()), R, out.as_slice(), exact);
        });
    }

    #[test]
    fn the_latent_part_is_normalised_and_the_rest_stays() {
        check::<64, 48>(5);
        check::<320, 256>(60);
        // The rest is as wide as the latent part, or wider: it is not a second one.
        check::<20, 10>(3);
        check::<33, 7>(3);
        check::<8, 8>(1);
    }

    #[test]
    fn queries_are_scaled_by_the_factor_of_their_position() {
        let mut batch = Batch::new(BatchLimits {
            vocab_size: 1,
            max_positions: 64,
            page_size: 64,
            pages: 2,
            state_slots: 0,
            max_tokens: 8,
            max_logit_rows: 8,
        });
        batch.push(&[0; 3], 14, &[PageId(0)], None, WantLogits::Last).unwrap();
        batch.push(&[0], 40, &[PageId(1)], None, WantLogits::Last).unwrap();
        let mut q = Rows::<f32, 2>::with_capacity(4);
        q.set_rows(4);
        q.as_mut_slice().copy_from_slice(&[1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let scale = QueryScale::new(0.5, 16);
        query_scale(&mut q, &batch, scale);
        let (second, third) = (1.0 + 0.5 * 2f32.ln(), 1.0 + 0.5 * 3f32.ln());
        assert_eq!(q.as_slice(), [1.0, -2.0, 3.0, 4.0, 5.0 * second, 6.0 * second, 7.0 * third, 8.0 * third]);
    }
}

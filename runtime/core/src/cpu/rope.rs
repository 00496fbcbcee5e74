//! Rotary position embedding of the heads of a batch.

use super::Cpu;
use super::grid::Grid;
use crate::rope::{RopeAngles, RopeLayout};
use crate::rows::Rows;

/// Rotates the first `ROTARY` elements of each head of `[tokens, D]`, in place: with `(a, b)` a pair of the layout,
/// `a' = a cos - b sin` and `b' = b cos + a sin`.
///
/// # Panics
/// If the angles are not those of these tokens.
pub fn rope<const HEAD_DIM: usize, const D: usize, const ROTARY: usize, L: RopeLayout>(
    cpu: &Cpu,
    x: &mut Rows<f32, D>,
    angles: &RopeAngles<ROTARY, L>,
) {
    const { assert!(ROTARY <= HEAD_DIM, "the rotary dimension is at most the head dimension") };
    rotate_heads::<HEAD_DIM, D, ROTARY, L>(cpu, x, angles, 0);
}

/// Rotates the last `ROTARY` elements of each head of `[tokens, D]`, in place, as [`rope`] does the first: where a head is a part
/// without position and then one with it, as in latent attention. A latent row is one such head.
///
/// # Panics
/// If the angles are not those of these tokens.
pub fn rope_tail<const HEAD_DIM: usize, const D: usize, const ROTARY: usize, L: RopeLayout>(
    cpu: &Cpu,
    x: &mut Rows<f32, D>,
    angles: &RopeAngles<ROTARY, L>,
) {
    const { assert!(ROTARY <= HEAD_DIM, "the rotary dimension is at most the head dimension") };
    rotate_heads::<HEAD_DIM, D, ROTARY, L>(cpu, x, angles, HEAD_DIM - ROTARY);
}

/// Rotates `ROTARY` elements of each head from element `first` on.
fn rotate_heads<const HEAD_DIM: usize, const D: usize, const ROTARY: usize, L: RopeLayout>(
    cpu: &Cpu,
    x: &mut Rows<f32, D>,
    angles: &RopeAngles<ROTARY, L>,
    first: usize,
) {
    const { assert!(D.is_multiple_of(HEAD_DIM), "a row is a whole number of heads") };
    assert_eq!(x.rows(), angles.tokens(), "the angles are those of another batch");
    let unit = cpu.row_unit(x.rows(), x.as_slice().len());
    cpu.over(&mut Grid::of_rows(x.as_mut_slice(), D, unit), |mut cell| {
        for token in cell.rows.clone() {
            let (cos, sin) = angles.of(token);
            for head in cell.row_mut(token).chunks_exact_mut(HEAD_DIM) {
                let rotary = &mut head[first..][..ROTARY];
                if L::INTERLEAVED {
                    for ((pair, &cos), &sin) in rotary.as_chunks_mut::<2>().0.iter_mut().zip(cos).zip(sin) {
                        *pair = rotate(*pair, cos, sin);
                    }
                } else {
                    let (low, high) = rotary.split_at_mut(ROTARY / 2);
                    for (((a, b), &cos), &sin) in low.iter_mut().zip(high).zip(cos).zip(sin) {
                        [*a, *b] = rotate([*a, *b], cos, sin);
                    }
                }
            }
        }
    });
}

#[inline(always)]
fn rotate([a, b]: [f32; 2], cos: f32, sin: f32) -> [f32; 2] {
    [a * cos - b * sin, b * cos + a * sin]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Batch, BatchLimits, PageId, WantLogits};
    use crate::rope::{Halves, Interleaved, Rope, RopeScaling};
    use crate::testing::{Random, U, each_isa, within};

    fn batch(tokens: usize, start: usize) -> Batch {
        let mut batch = Batch::new(BatchLimits {
            vocab_size: 1,
            max_positions: 4096,
            page_size: 4096,
            pages: 1,
            state_slots: 0,
            max_tokens: tokens,
            max_logit_rows: 1,
        });
        batch.push(&vec![0; tokens], start, &[PageId(0)], None, WantLogits::Last).unwrap();
        batch
    }

    /// Of a head, `ROTARY` elements from `first` on are rotated; among those, elements `i` and `partner(i)` form pair `pair(i)`, and
    /// the sign is -1 for the first of a pair.
    fn check<const HEAD_DIM: usize, const D: usize, const ROTARY: usize, L: RopeLayout>(
        scaling: RopeScaling,
        first: usize,
        rotate: fn(&Cpu, &mut Rows<f32, D>, &RopeAngles<ROTARY, L>),
        pair_of: impl Fn(usize) -> (usize, usize, f64),
    ) {
        let (tokens, start) = (70, 1234);
        let rope_of = Rope::<ROTARY, L>::new(10_000.0, scaling);
        let mut angles = RopeAngles::new(&rope_of, tokens);
        angles.fill(&batch(tokens, start));
        let inverse = rope_of.inverse_frequencies();
        let factor = if let RopeScaling::Yarn { attention_factor, .. } = scaling { f64::from(attention_factor) } else { 1.0 };
        let mut x = Rows::<f32, D>::with_capacity(tokens);
        x.set_rows(tokens);
        let mut random = Random::new(1);
        x.as_mut_slice().fill_with(|| random.unit());
        each_isa(|cpu| {
            let mut out = x.clone();
            rotate(cpu, &mut out, &angles);
            let exact = (0..tokens * D).map(|at| {
                let (token, i) = (at / D, at % D % HEAD_DIM);
                let head = &x.as_slice()[at - i..][..HEAD_DIM];
                if i < first || i >= first + ROTARY {
                    return (f64::from(head[i]), 0.0);
                }
                let (pair, partner, sign) = pair_of(i - first);
                let angle = f64::from((start + token) as f32 * inverse[pair]);
                let (cos, sin) = (factor * angle.cos(), factor * angle.sin());
                let (own, other) = (f64::from(head[i]) * cos, sign * f64::from(head[first + partner]) * sin);
                // Cosine, sine and both products round once each, the sum once more.
                (own + other, 3.0 * U * (own.abs() + other.abs()))
            });
            within(&format!("rope on {}, rotary {ROTARY} of {HEAD_DIM}", cpu.isa()), 2, out.as_slice(), exact);
        });
    }

    #[test]
    fn halves() {
        let pair_of = |i| (i % 32, (i + 32) % 64, if i < 32 { -1.0 } else { 1.0 });
        check::<64, 192, 64, Halves>(RopeScaling::None, 0, rope::<64, _, _, _>, pair_of);
    }

    #[test]
    fn interleaved_and_partial() {
        let pair_of = |i| (i / 2, i ^ 1, if i % 2 == 0 { -1.0 } else { 1.0 });
        check::<64, 576, 32, Interleaved>(RopeScaling::None, 0, rope::<64, _, _, _>, pair_of);
        check::<64, 576, 32, Interleaved>(RopeScaling::None, 32, rope_tail::<64, _, _, _>, pair_of);
    }

    #[test]
    fn the_last_elements_of_a_head_and_the_attention_factor() {
        let yarn = RopeScaling::Yarn {
            factor: 4.0,
            original_max_position_embeddings: 64,
            beta_fast: 32.0,
            beta_slow: 1.0,
            truncate: true,
            attention_factor: 1.138_629_4,
        };
        let pair_of = |i| (i % 8, (i + 8) % 16, if i < 8 { -1.0 } else { 1.0 });
        check::<24, 72, 16, Halves>(yarn, 8, rope_tail::<24, _, _, _>, pair_of);
        // A latent row is one head.
        check::<56, 56, 16, Halves>(yarn, 40, rope_tail::<56, _, _, _>, pair_of);
    }
}

//! The two norms of recurrent layers that a gate goes through: gate first, then norm by group; or norm by head, then gate.

use super::Cpu;
use super::activation::silu;
use super::grid::{Cell, Grid};
use super::norm::sum_of_squares;
use super::simd::{Kernel, Simd};
use crate::linear::Norm;
use crate::rows::Rows;

/// `y = weight * v / sqrt(mean(v^2) + eps)` with `v = y * silu(z)`, where the mean is over each of `GROUPS` equal parts of a row; all
/// `[rows, D]`, in place.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn gated_group_norm<const GROUPS: usize, const D: usize>(
    cpu: &Cpu,
    y: &mut Rows<f32, D>,
    z: &Rows<f32, D>,
    weight: &Norm<D>,
    eps: f32,
) {
    const { assert!(GROUPS > 0 && D.is_multiple_of(GROUPS), "a row is a whole number of groups") };
    assert_eq!(y.rows(), z.rows(), "the gate is of the same batch");
    normalise(cpu, y.as_mut_slice(), z.as_slice(), D, weight.weights(), Form { part: D / GROUPS, gate_first: true, eps });
}

/// `y = weight * y / sqrt(mean(y^2) + eps) * silu(z)`, where the mean is over each head of `HEAD_DIM` elements and all heads share the
/// weights; `y` and `z` are `[rows, D]`, in place.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn gated_head_norm<const D: usize, const HEAD_DIM: usize>(
    cpu: &Cpu,
    y: &mut Rows<f32, D>,
    z: &Rows<f32, D>,
    weight: &Norm<HEAD_DIM>,
    eps: f32,
) {
    const { assert!(D.is_multiple_of(HEAD_DIM), "a row is a whole number of heads") };
    assert_eq!(y.rows(), z.rows(), "the gate is of the same batch");
    normalise(cpu, y.as_mut_slice(), z.as_slice(), D, weight.weights(), Form { part: HEAD_DIM, gate_first: false, eps });
}

/// What the two have apart.
#[derive(Clone, Copy)]
struct Form {
    /// Elements that are normalised together.
    part: usize,
    /// The gate multiplies the input of the norm, not its output.
    gate_first: bool,
    eps: f32,
}

fn normalise(cpu: &Cpu, y: &mut [f32], z: &[f32], width: usize, weight: &[f32], form: Form) {
    let unit = cpu.row_unit(y.len() / width, 5 * y.len());
    cpu.over(&mut Grid::of_rows(y, width, unit), |y| cpu.lanes().enter(Normalise { y, z, width, weight, form }));
}

struct Normalise<'a> {
    y: Cell<'a, f32>,
    z: &'a [f32],
    width: usize,
    weight: &'a [f32],
    form: Form,
}

impl Kernel for Normalise<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let Form { part, gate_first, eps } = self.form;
        for r in self.y.rows.clone() {
            let row = self.y.row_mut(r);
            let z = &self.z[r * self.width..][..self.width];
            if gate_first {
                gate(s, row, z);
            }
            // The weights are those of the whole row, or of one head and repeated.
            let weights = self.weight.chunks_exact(part).cycle();
            for (v, weight) in row.chunks_exact_mut(part).zip(weights) {
                let mean = sum_of_squares(s, v) / part as f32;
                let scale = 1.0 / (mean + eps).sqrt();
                for (v, w) in v.iter_mut().zip(weight) {
                    *v = *w * (*v * scale);
                }
            }
            if !gate_first {
                gate(s, row, z);
            }
        }
    }
}

/// `v *= silu(z)`
#[inline(always)]
fn gate<S: Simd>(s: S, v: &mut [f32], z: &[f32]) {
    let (v, v_rest) = v.as_chunks_mut::<8>();
    let (z, z_rest) = z.as_chunks::<8>();
    for (v, z) in v.iter_mut().zip(z) {
        s.store(s.mul(s.load(v), silu(s, s.load(z))), v);
    }
    // The rest goes through the same lanes, so that an element's result does not depend on where it stands.
    let (mut last, mut gates) = ([0.0; 8], [0.0; 8]);
    last[..v_rest.len()].copy_from_slice(v_rest);
    gates[..z_rest.len()].copy_from_slice(z_rest);
    s.store(s.mul(s.load(&last), silu(s, s.load(&gates))), &mut last);
    v_rest.copy_from_slice(&last[..v_rest.len()]);
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

    fn rows<const D: usize>(random: &mut Random, count: usize, size: f32) -> Rows<f32, D> {
        let mut x = Rows::with_capacity(count);
        x.set_rows(count);
        x.as_mut_slice().fill_with(|| size * random.unit());
        x
    }

    fn silu(z: f32) -> f64 {
        f64::from(z) / (1.0 + (-f64::from(z)).exp())
    }

    /// Mean and root as in `rms_norm` (half a positive sum, six roundings); the silu is within 8 u, twice where it is squared.
    fn relative(part: usize) -> f64 {
        0.5 * product_bound(part, 1.0) + 24.0 * U
    }

    fn groups<const GROUPS: usize, const D: usize>(count: usize) {
        let mut random = Random::new(D as u64);
        let (weight, y, z) = (weights::<D>(&mut random), rows(&mut random, count, 3.0), rows(&mut random, count, 8.0));
        let part = D / GROUPS;
        each_isa(|cpu| {
            let mut out = y.clone();
            gated_group_norm::<GROUPS, D>(cpu, &mut out, &z, &weight, 1e-5);
            let exact = (0..count * D).map(|i| {
                let group = i / part * part..i / part * part + part;
                let v = |i: usize| f64::from(y.as_slice()[i]) * silu(z.as_slice()[i]);
                let mean = group.map(|i| v(i) * v(i)).sum::<f64>() / part as f64;
                let exact = v(i) / (mean + f64::from(1e-5f32)).sqrt() * f64::from(weight.weights()[i % D]);
                (exact, relative(part) * exact.abs())
            });
            within(&format!("gated_group_norm on {}", cpu.isa()), part, out.as_slice(), exact);
            alone(cpu, &y, &z, &out, |cpu, y, z| gated_group_norm::<GROUPS, D>(cpu, y, z, &weight, 1e-5));
        });
    }

    fn heads<const HEAD_DIM: usize, const D: usize>(count: usize) {
        let mut random = Random::new(D as u64);
        let (weight, y, z) =
            (weights::<HEAD_DIM>(&mut random), rows::<D>(&mut random, count, 3.0), rows(&mut random, count, 8.0));
        each_isa(|cpu| {
            let mut out = y.clone();
            gated_head_norm(cpu, &mut out, &z, &weight, 1e-6);
            let exact = (0..count * D).map(|i| {
                let head = &y.as_slice()[i / HEAD_DIM * HEAD_DIM..][..HEAD_DIM];
                let mean = head.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>() / HEAD_DIM as f64;
                let normed = f64::from(y.as_slice()[i]) / (mean + f64::from(1e-6f32)).sqrt();
                let exact = normed * f64::from(weight.weights()[i % HEAD_DIM]) * silu(z.as_slice()[i]);
                (exact, relative(HEAD_DIM) * exact.abs())
            });
            within(&format!("gated_head_norm on {}", cpu.isa()), HEAD_DIM, out.as_slice(), exact);
            alone(cpu, &y, &z, &out, |cpu, y, z| gated_head_norm(cpu, y, z, &weight, 1e-6));
        });
    }

    /// A row alone, on one thread, gives the same bits.
    fn alone<const D: usize>(
        cpu: &Cpu,
        y: &Rows<f32, D>,
        z: &Rows<f32, D>,
        out: &Rows<f32, D>,
        norm: impl Fn(&Cpu, &mut Rows<f32, D>, &Rows<f32, D>),
    ) {
        let single = Cpu::new(1, cpu.isa()).unwrap();
        for r in 0..y.rows() {
            let (mut one, mut gate) = (Rows::with_capacity(1), Rows::with_capacity(1));
            one.set_rows(1);
            gate.set_rows(1);
            *one.row_mut(0) = *y.row(r);
            *gate.row_mut(0) = *z.row(r);
            norm(&single, &mut one, &gate);
            assert_eq!(one.row(0), out.row(r));
        }
    }

    #[test]
    fn groups_match_the_formula() {
        groups::<1, 7>(3);
        groups::<2, 24>(2);
        groups::<4, 148>(40);
        groups::<8, 1024>(9);
    }

    #[test]
    fn heads_match_the_formula() {
        heads::<7, 7>(3);
        heads::<12, 36>(2);
        heads::<128, 1024>(9);
    }
}

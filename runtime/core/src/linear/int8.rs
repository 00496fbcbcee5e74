//! Products with rows of int8: integer sums over groups of weights, scaled in f32 group by group.
//!
//! A group is as many inputs as share a scale of the weight, 32 or 16. Its sum of products of quants is exact. What follows is one
//! chain per output, in the order of the groups, of operations that round alike on every instruction set: bits depend neither on
//! it nor on the other rows, threads or tiles.

mod few;
mod floats;
mod many;
mod rows;
#[cfg(test)]
mod tests;

pub(super) use self::floats::multiply as floats;
pub use self::rows::Int8Rows;
pub(crate) use self::rows::{BLOCK, Int8Block};

use super::block::Block;
use super::product::{LANES, Matrix, TILES_TOGETHER, Then};
use crate::cpu::Cpu;
use crate::cpu::grid::{Cell, Grid};
use crate::cpu::simd::{Kernel, Simd};

/// A format whose quants are multiplied as integers: `N` vectors of 4 bytes for each output are a group.
pub(super) trait Quanta<const N: usize>: Block {
    /// What all vectors of a group share.
    type Factor<S: Simd>: Copy;

    fn factor<S: Simd>(&self, s: S, group: usize) -> Self::Factor<S>;
    /// Inputs `4 v..4 v + 4` of a group in the bytes of vector `v`.
    fn bytes<S: Simd>(&self, s: S, group: usize) -> [S::W; N];
    /// The sums of the products of a group's quants, as they are stored, with `x`.
    fn dot<S: Simd>(s: S, bytes: [S::W; N], x: &[[i8; 4]; N]) -> S::W;
    /// The products of a group's weights with quants, of which `dot` and `sum` are what `dot` gave and the sum.
    fn product<S: Simd>(s: S, factor: Self::Factor<S>, dot: S::F, sum: S::F) -> S::F;
}

/// `out = W x` or `out += W x` for each row of `x`, into `[rows, outputs]`.
#[inline]
fn over_threads<B: Block>(
    cpu: &Cpu,
    matrix: Matrix<'_, B>,
    rows: usize,
    out: &mut [f32],
    part: impl Fn(&mut Cell<'_, f32>) + Sync,
) {
    if rows == 0 {
        return;
    }
    let per_thread = matrix.outputs.div_ceil(LANES * cpu.threads()).next_multiple_of(TILES_TOGETHER);
    cpu.over(&mut Grid::new(out, matrix.outputs, rows, LANES * per_thread), |mut out| part(&mut out));
}

/// The product in integers; `x` has the blocks of `rows` rows, all first blocks before all second ones.
pub(super) fn multiply<B: Quanta<N>, const N: usize>(
    cpu: &Cpu,
    matrix: Matrix<'_, B>,
    x: &[Int8Block],
    rows: usize,
    out: &mut [f32],
    then: Then,
) {
    assert_eq!(x.len(), rows * matrix.inputs / BLOCK, "blocks of the rows");
    over_threads(cpu, matrix, rows, out, |out| cpu.lanes().enter(Integers::<B, N> { matrix, x, rows, out, then }));
}

/// One thread's part of a product: all rows, some outputs.
struct Integers<'a, 'b, 'c, B, const N: usize> {
    matrix: Matrix<'a, B>,
    x: &'a [Int8Block],
    rows: usize,
    out: &'b mut Cell<'c, f32>,
    then: Then,
}

impl<B: Quanta<N>, const N: usize> Kernel for Integers<'_, '_, '_, B, N> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        match self.rows {
            1 => few::product::<S, B, N, 1>(s, &mut self),
            2 => few::product::<S, B, N, 2>(s, &mut self),
            3 => few::product::<S, B, N, 3>(s, &mut self),
            4 => few::product::<S, B, N, 4>(s, &mut self),
            _ => many::product(s, &mut self),
        }
    }
}

/// Adds the products of a group, whose quants are `bytes`, with its part of `x` to `sum`.
#[inline(always)]
fn add_group<S: Simd, B: Quanta<N>, const N: usize>(
    s: S,
    factor: B::Factor<S>,
    bytes: [S::W; N],
    x: &Int8Block,
    part: usize,
    sum: S::F,
) -> S::F {
    let (quants, of_quants) = x.part::<N>(part);
    let dot = s.convert(B::dot(s, bytes, quants));
    let product = B::product(s, factor, dot, s.splat(of_quants));
    s.fma_once(product, s.splat(x.scale), sum)
}

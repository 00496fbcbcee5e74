//! The product of rows with a packed matrix, divided over threads by output tiles.

use std::ops::Range;

use super::block::Block;
use super::{gemm, gemv};
use crate::cpu::Cpu;
use crate::cpu::grid::{Cell, Grid};
use crate::cpu::simd::{Kernel, Lanes, Simd};

/// Outputs in a tile.
pub(crate) const LANES: usize = 8;
/// Tiles that the work of a thread is a multiple of, so that few are computed one by one.
pub(crate) const TILES_TOGETHER: usize = 4;

/// A packed matrix.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, B> {
    /// Tiles of `inputs / B::LEN` blocks.
    pub(super) blocks: &'a [B],
    pub(super) outputs: usize,
    pub(super) inputs: usize,
    /// What products are multiplied by.
    pub(super) factor: f32,
}

impl<'a, B: Block> Matrix<'a, B> {
    /// The blocks of a tile.
    #[inline(always)]
    pub(super) fn tile(&self, tile: usize) -> &'a [B] {
        let blocks = self.inputs / B::LEN;
        &self.blocks[tile * blocks..][..blocks]
    }
}

/// The tiles of a cell.
#[inline(always)]
pub(super) fn tiles(out: &Cell<'_, f32>) -> Range<usize> {
    out.columns.start / LANES..out.columns.end.div_ceil(LANES)
}

/// The rows that a matrix is multiplied with.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    /// `[rows, inputs]`.
    pub(crate) data: &'a [f32],
    /// Which of them is row `r`; without this it is the `r`th.
    pub(crate) of_row: Option<&'a [u32]>,
    /// Row `r` is for row `r + shift` of the output.
    pub(crate) shift: usize,
}

/// What becomes of the products.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// `out = W x`
    Store,
    /// `out += W x`
    Add,
}

/// `out = W x` or `out += W x` for each row of `x`, `[rows, inputs]`, into `[rows, outputs]`. `tile` is the number of rows that are
/// computed together where there are many; it does not change a bit of the result.
pub(super) fn multiply<B: Block>(cpu: &Cpu, matrix: Matrix<'_, B>, tile: usize, x: &[f32], out: &mut [f32], then: Then) {
    let rows = x.len() / matrix.inputs;
    if rows == 0 {
        return;
    }
    let per_thread = matrix.outputs.div_ceil(LANES * cpu.threads()).next_multiple_of(TILES_TOGETHER);
    let mut grid = Grid::new(out, matrix.outputs, rows, LANES * per_thread);
    let x = Inputs { data: x, of_row: None, shift: 0 };
    cpu.over(&mut grid, |mut out| {
        let rows = out.rows.clone();
        cpu.lanes().enter(Product { matrix, x, tile, out: &mut out, rows, then });
    });
}

/// `out = W x` for the columns of a cell and some of its rows.
pub(super) fn multiply_rows<B: Block>(
    lanes: Lanes,
    matrix: Matrix<'_, B>,
    tile: usize,
    x: Inputs<'_>,
    out: &mut Cell<'_, f32>,
    rows: Range<usize>,
) {
    assert!(out.columns.start.is_multiple_of(LANES), "a cell begins with a tile");
    if !rows.is_empty() {
        lanes.enter(Product { matrix, x, tile, out, rows, then: Then::Store });
    }
}

/// One thread's part of a product: all rows, some outputs.
pub(super) struct Product<'a, 'b, B> {
    matrix: Matrix<'a, B>,
    x: Inputs<'a>,
    pub(super) tile: usize,
    out: &'a mut Cell<'b, f32>,
    /// The rows of the output.
    rows: Range<usize>,
    then: Then,
}

impl<'a, B: Block> Product<'a, '_, B> {
    #[inline(always)]
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    pub(super) fn inputs(&self) -> usize {
        self.matrix.inputs
    }

    /// The tiles of this part.
    #[inline(always)]
    pub(super) fn tiles(&self) -> Range<usize> {
        tiles(self.out)
    }

    /// The blocks of a tile.
    #[inline(always)]
    pub(super) fn tile(&self, tile: usize) -> &'a [B] {
        self.matrix.tile(tile)
    }

    /// Row `r` of the input.
    #[inline(always)]
    pub(super) fn x(&self, r: usize) -> &'a [f32] {
        let row = self.rows.start - self.x.shift + r;
        let row = self.x.of_row.map_or(row, |of_row| of_row[row] as usize);
        &self.x.data[row * self.matrix.inputs..][..self.matrix.inputs]
    }
}

/// Stores or adds the products of row `r` of `p` with `tile`.
#[inline(always)]
pub(super) fn put<S: Simd, B: Block>(s: S, p: &mut Product<'_, '_, B>, r: usize, tile: usize, sums: S::F) {
    write(s, p.out, p.then, p.matrix.factor, p.rows.start + r, tile, sums);
}

/// Stores or adds the products of row `row` with `tile`, times the factor of the matrix; outputs that only pad the tile are dropped.
#[inline(always)]
pub(super) fn write<S: Simd>(s: S, out: &mut Cell<'_, f32>, then: Then, factor: f32, row: usize, tile: usize, sums: S::F) {
    let sums = s.mul(sums, s.splat(factor));
    let column = tile * LANES - out.columns.start;
    let out = &mut out.row_mut(row)[column..];
    if let Some(out) = out.first_chunk_mut::<LANES>() {
        let sums = if then == Then::Add { s.add(s.load(out), sums) } else { sums };
        return s.store(sums, out);
    }
    let mut lanes = [0.0; LANES];
    s.store(sums, &mut lanes);
    for (out, sum) in out.iter_mut().zip(lanes) {
        *out = if then == Then::Add { *out + sum } else { sum };
    }
}

impl<B: Block> Kernel for Product<'_, '_, B> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        if self.rows() <= gemv::MAX_ROWS { gemv::product(s, &mut self) } else { gemm::product(s, &mut self) }
    }
}

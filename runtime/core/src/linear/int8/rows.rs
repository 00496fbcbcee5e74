//! `Int8Rows`: rows of activations as quants of 8 bits, each block of 32 with its own scale.

use crate::cpu::Cpu;
use crate::cpu::grid::Grid;
use crate::cpu::simd::{Kernel, Simd};
use crate::rows::Rows;

/// Elements of a row that share a scale. The last block of a row may have fewer, and zeros after them.
pub(crate) const BLOCK: usize = 32;

/// Largest magnitude of a quant. -128 does not occur, so that every quant has a negative.
const MOST: f32 = 127.0;
/// Blocks without a larger magnitude are zeros: the inverse of a scale stays finite.
const LEAST: f32 = 1e-30;
/// 1.5 x 2^23: a sum with it has the nearest integer, ties to even, in its low bits, for all numbers below 2^22.
const TO_INTEGER: f32 = 12_582_912.0;

/// `scale * quants`, and the sums of quants that weights with a zero point or a minimum need.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub(crate) struct Int8Block {
    pub(crate) scale: f32,
    /// Of all quants: a whole number.
    sum: f32,
    /// Of the first 16 and of the last 16.
    halves: [f32; 2],
    quants: [[i8; 4]; BLOCK / 4],
}

impl Int8Block {
    pub(super) const ZERO: Self = Self { scale: 0.0, sum: 0.0, halves: [0.0; 2], quants: [[0; 4]; BLOCK / 4] };

    /// The quants of a group of `4 N` elements, of which `part` is the first, and their sum.
    #[inline(always)]
    pub(super) fn part<const N: usize>(&self, part: usize) -> (&[[i8; 4]; N], f32) {
        const { assert!(4 * N == BLOCK || 8 * N == BLOCK, "a group is a block or half of one") };
        let sum = if 4 * N == BLOCK { self.sum } else { self.halves[part / (4 * N)] };
        (self.quants[part / 4..].first_chunk().expect("a group lies within a block"), sum)
    }

    /// The values of the first quants.
    #[inline(always)]
    pub(super) fn decode(&self, values: &mut [f32]) {
        for (value, quant) in values.iter_mut().zip(self.quants.as_flattened()) {
            *value = self.scale * f32::from(*quant);
        }
    }
}

/// Rows of `D` elements in int8: what products of the int8 path read.
///
/// The scale of a block is its largest magnitude over 127, and a quant is the nearest integer, so that an element is off by half
/// a scale at most. A block with an element that is no number has a scale that is none, so that every product with it is none.
pub struct Int8Rows<const D: usize> {
    /// The first blocks of all rows, then the second ones: a kernel takes the rows to a group of weights, not groups to a row.
    blocks: Box<[Int8Block]>,
    rows: usize,
}

impl<const D: usize> Int8Rows<D> {
    const BLOCKS: usize = D.div_ceil(BLOCK);

    /// Room for up to `capacity` rows; none are there yet.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { blocks: vec![Int8Block::ZERO; capacity * Self::BLOCKS].into_boxed_slice(), rows: 0 }
    }

    /// Sets these rows to the quants of `x`.
    ///
    /// # Panics
    /// If there is no room for all rows.
    pub fn quantise(&mut self, cpu: &Cpu, x: &Rows<f32, D>) {
        self.rows = x.rows();
        assert!(self.rows * Self::BLOCKS <= self.blocks.len(), "{} rows have no room", self.rows);
        quantise_rows(cpu, x.as_slice(), D, &mut self.blocks[..self.rows * Self::BLOCKS]);
    }

    /// Rows that are there.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.blocks)
    }

    pub(crate) fn blocks(&self) -> &[Int8Block] {
        &self.blocks[..self.rows * Self::BLOCKS]
    }
}

impl<const D: usize> std::fmt::Debug for Int8Rows<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Int8Rows<{D}>({} rows)", self.rows)
    }
}

/// Quantises rows of `width` elements; `blocks` are as [`Int8Rows`] has them.
pub(crate) fn quantise_rows(cpu: &Cpu, x: &[f32], width: usize, blocks: &mut [Int8Block]) {
    let rows = x.len() / width;
    if rows == 0 {
        return;
    }
    let unit = cpu.row_unit(rows, x.len());
    cpu.over(&mut Grid::new(blocks, rows, width.div_ceil(BLOCK), unit), |mut cell| {
        let columns = cell.columns.clone();
        for b in cell.rows.clone() {
            let first = b * BLOCK;
            let elements = BLOCK.min(width - first);
            let blocks = cell.row_mut(b);
            cpu.lanes().enter(Quantise { x: &x[columns.start * width + first..], width, elements, blocks });
        }
    });
}

/// One block of several rows.
struct Quantise<'a> {
    /// From the block of the first row on.
    x: &'a [f32],
    width: usize,
    elements: usize,
    blocks: &'a mut [Int8Block],
}

impl Kernel for Quantise<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for (r, block) in self.blocks.iter_mut().enumerate() {
            let x = &self.x[r * self.width..][..self.elements];
            let mut padded = [0.0; BLOCK];
            let x = match x.first_chunk() {
                Some(whole) => whole,
                None => {
                    padded[..x.len()].copy_from_slice(x);
                    &padded
                }
            };
            *block = quantised(s, x);
        }
    }
}

#[inline(always)]
fn quantised<S: Simd>(s: S, x: &[f32; BLOCK]) -> Int8Block {
    let zero = s.splat(0.0);
    let (mut most, mut no_number) = (zero, zero);
    for x in x.as_chunks::<8>().0 {
        let x = s.load(x);
        most = s.max(most, s.max(x, s.sub(zero, x)));
        // Zeros, but for what is NaN or infinite.
        no_number = s.add(no_number, s.mul(x, zero));
    }
    let (most, no_number) = (s.reduce_max(most), s.reduce_add(no_number));
    if no_number != 0.0 {
        return Int8Block { scale: f32::NAN, ..Int8Block::ZERO };
    }
    if most < LEAST {
        return Int8Block::ZERO;
    }
    let inverse = MOST / most;
    let mut block = Int8Block { scale: most / MOST, ..Int8Block::ZERO };
    for (x, quant) in x.iter().zip(block.quants.as_flattened_mut()) {
        *quant = (x * inverse + TO_INTEGER).to_bits() as i8;
    }
    let mut sums = [0i32; 2];
    for (sum, quants) in sums.iter_mut().zip(block.quants.as_flattened().as_chunks::<{ BLOCK / 2 }>().0) {
        for quant in quants {
            *sum += i32::from(*quant);
        }
    }
    block.halves = [sums[0] as f32, sums[1] as f32];
    block.sum = (sums[0] + sums[1]) as f32;
    block
}

//! `Grid`: a matrix cut into rectangular cells that threads may write at the same time.

use std::marker::PhantomData;
use std::ops::Range;

use super::Cpu;

/// A row-major matrix, cut into cells of `row_unit` rows and `column_unit` columns. The last cell of a direction may be smaller.
pub(crate) struct Grid<'a, T> {
    data: *mut T,
    width: usize,
    rows: usize,
    row_unit: usize,
    column_unit: usize,
    exclusive: PhantomData<&'a mut [T]>,
}

// SAFETY: a shared grid only hands out cells, which do not overlap; each cell is like a `&mut [T]`, hence `T: Send`.
unsafe impl<T: Send> Sync for Grid<'_, T> {}

/// One cell of a [`Grid`]: exclusive access to a rectangle of the matrix.
pub(crate) struct Cell<'a, T> {
    data: *mut T,
    width: usize,
    /// The cell's rows in the matrix.
    pub(crate) rows: Range<usize>,
    /// The cell's columns in the matrix.
    pub(crate) columns: Range<usize>,
    exclusive: PhantomData<&'a mut [T]>,
}

impl<'a, T> Grid<'a, T> {
    /// Cuts `data`, which holds whole rows of `width` elements.
    pub(crate) fn new(data: &'a mut [T], width: usize, row_unit: usize, column_unit: usize) -> Self {
        assert!(width > 0 && row_unit > 0 && column_unit > 0, "a cell has at least one element");
        assert!(data.len().is_multiple_of(width), "{} elements are not rows of {width}", data.len());
        let rows = data.len() / width;
        Self { data: data.as_mut_ptr(), width, rows, row_unit, column_unit, exclusive: PhantomData }
    }

    /// Cuts `data` into cells of whole rows.
    pub(crate) fn of_rows(data: &'a mut [T], width: usize, row_unit: usize) -> Self {
        Self::new(data, width, row_unit, width)
    }

    fn cells_across(&self) -> usize {
        self.width.div_ceil(self.column_unit)
    }

    fn cells(&self) -> usize {
        self.rows.div_ceil(self.row_unit) * self.cells_across()
    }

    /// Cell `index`, counted along the rows of cells.
    ///
    /// # Safety
    /// No other cell of this index may exist.
    unsafe fn cell(&self, index: usize) -> Cell<'_, T> {
        assert!(index < self.cells(), "cell {index} of {}", self.cells());
        let (down, across) = (index / self.cells_across(), index % self.cells_across());
        let (row, column) = (down * self.row_unit, across * self.column_unit);
        Cell {
            data: self.data,
            width: self.width,
            rows: row..(row + self.row_unit).min(self.rows),
            columns: column..(column + self.column_unit).min(self.width),
            exclusive: PhantomData,
        }
    }
}

impl<T> Cell<'_, T> {
    /// The part of row `row` of the matrix that belongs to this cell.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [T] {
        assert!(self.rows.contains(&row), "row {row} is outside the cell");
        // SAFETY: row and columns are inside the matrix by construction of the cell; cells do not overlap and this one is
        // borrowed mutably, so nobody else refers to these elements.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(row * self.width + self.columns.start), self.columns.len()) }
    }
}

impl Cpu {
    /// Calls `task` once with each cell of `grid`, spread over the threads.
    pub(crate) fn over<T: Send>(&self, grid: &mut Grid<'_, T>, task: impl Fn(Cell<'_, T>) + Sync) {
        let grid = &*grid;
        // SAFETY: `run` calls each index once, and the mutable borrow of the grid keeps other calls out.
        self.run(grid.cells(), |index| task(unsafe { grid.cell(index) }));
    }

    /// Calls `task` once with each pair of cells of the same index, spread over the threads.
    ///
    /// # Panics
    /// If the grids have different numbers of cells.
    pub(crate) fn over_pairs<A: Send, B: Send>(
        &self,
        a: &mut Grid<'_, A>,
        b: &mut Grid<'_, B>,
        task: impl Fn(Cell<'_, A>, Cell<'_, B>) + Sync,
    ) {
        let (a, b) = (&*a, &*b);
        assert_eq!(a.cells(), b.cells(), "cells come in pairs");
        // SAFETY: `run` calls each index once, and the mutable borrows of the grids keep other calls out.
        self.run(a.cells(), |index| task(unsafe { a.cell(index) }, unsafe { b.cell(index) }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Isa;

    #[test]
    fn cells_cover_the_matrix_once() {
        let cpu = Cpu::new(3, Isa::Portable).unwrap();
        for (rows, width, row_unit, column_unit) in [(1, 1, 1, 1), (5, 7, 2, 3), (4, 8, 4, 8), (3, 10, 9, 4), (0, 4, 1, 1)] {
            let mut data = vec![0u32; rows * width];
            cpu.over(&mut Grid::new(&mut data, width, row_unit, column_unit), |mut cell| {
                for r in cell.rows.clone() {
                    let first = r * width + cell.columns.start;
                    for (i, value) in cell.row_mut(r).iter_mut().enumerate() {
                        *value += 1 + (first + i) as u32;
                    }
                }
            });
            assert_eq!(data, (1..=(rows * width) as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn pairs_are_of_the_same_index() {
        let cpu = Cpu::new(2, Isa::Portable).unwrap();
        let (mut a, mut b) = ([0usize; 12], [0usize; 8]);
        // Columns 0..2, 2..4 and 4..6 of two rows, beside columns 0..3, 3..6 and 6..8 of one.
        cpu.over_pairs(&mut Grid::new(&mut a, 6, 2, 2), &mut Grid::new(&mut b, 8, 1, 3), |mut a, mut b| {
            let (from_a, from_b) = (a.columns.start, b.columns.start);
            a.row_mut(0).fill(from_b);
            a.row_mut(1).fill(1 + from_b);
            b.row_mut(0).fill(from_a);
        });
        assert_eq!(a, [0, 0, 3, 3, 6, 6, 1, 1, 4, 4, 7, 7]);
        assert_eq!(b, [0, 0, 0, 2, 2, 2, 4, 4]);
    }

    #[test]
    #[should_panic(expected = "row 2 is outside the cell")]
    fn a_cell_refuses_the_rows_of_another() {
        let cpu = Cpu::new(1, Isa::Portable).unwrap();
        let mut data = [0u8; 8];
        cpu.over(&mut Grid::of_rows(&mut data, 2, 2), |mut cell| {
            cell.row_mut(2);
        });
    }
}

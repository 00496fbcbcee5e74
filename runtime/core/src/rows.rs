//! `Rows<T, D>`: activations of shape `[rows, D]`, row-major, with the width in the type.

use crate::dtype::Element;

/// A matrix of `rows` rows of exactly `D` elements.
///
/// The capacity is fixed when it is made, so that a step allocates nothing; [`Rows::set_rows`] says how many are in use.
#[derive(Clone, Debug)]
pub struct Rows<T: Element, const D: usize> {
    data: Vec<T>,
    rows: usize,
}

impl<T: Element, const D: usize> Rows<T, D> {
    /// Zeroed rows; `capacity` is the most that [`Rows::set_rows`] will ever be given.
    pub fn with_capacity(capacity: usize) -> Self {
        const { assert!(D > 0, "a row has at least one element") };
        Self { data: vec![T::default(); capacity * D], rows: 0 }
    }

    /// Rows in use.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements in a row.
    pub const fn width(&self) -> usize {
        D
    }

    /// Bytes held, at capacity.
    pub fn bytes(&self) -> usize {
        std::mem::size_of_val(self.data.as_slice())
    }

    /// Rows that fit.
    pub fn capacity(&self) -> usize {
        self.data.len() / D
    }

    /// Sets the number of rows in use. Contents of rows that were in use before stay.
    ///
    /// # Panics
    /// If `rows` is over the capacity: scratch is sized by the largest batch, so that is a bug in the caller.
    pub fn set_rows(&mut self, rows: usize) {
        assert!(rows <= self.capacity(), "{rows} rows in a buffer for {}", self.capacity());
        self.rows = rows;
    }

    /// Row `r`.
    pub fn row(&self, r: usize) -> &[T; D] {
        assert!(r < self.rows, "row {r} of {}", self.rows);
        self.data[r * D..][..D].try_into().expect("the slice has D elements")
    }

    /// Row `r`, to be written.
    pub fn row_mut(&mut self, r: usize) -> &mut [T; D] {
        assert!(r < self.rows, "row {r} of {}", self.rows);
        (&mut self.data[r * D..][..D]).try_into().expect("the slice has D elements")
    }

    /// All rows in use, `rows * D` elements.
    pub fn as_slice(&self) -> &[T] {
        &self.data[..self.rows * D]
    }

    /// All rows in use, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data[..self.rows * D]
    }
}

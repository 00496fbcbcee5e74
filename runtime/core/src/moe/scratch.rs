//! `ExpertRows`: what experts compute between their products.

/// Room for the rows of experts with hidden size `H` and intermediate size `I`: a row is a token at one of its experts.
#[derive(Clone, Debug)]
pub struct ExpertRows<const H: usize, const I: usize> {
    max_rows: usize,
    /// `[rows, I]` of gates, then the same of ups.
    pub(crate) inner: Vec<f32>,
    /// `[rows, H]`.
    pub(crate) outer: Vec<f32>,
}

impl<const H: usize, const I: usize> ExpertRows<H, I> {
    /// For at most `max_rows` rows: the most tokens of a batch, times the experts of a token.
    pub fn new(max_rows: usize) -> Self {
        Self { max_rows, inner: vec![0.0; 2 * max_rows * I], outer: vec![0.0; max_rows * H] }
    }

    /// The same for [`PlainExperts`](super::PlainExperts), which have no gates.
    pub fn plain(max_rows: usize) -> Self {
        Self { max_rows, inner: vec![0.0; max_rows * I], outer: vec![0.0; max_rows * H] }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of_val(self.inner.as_slice()) + size_of_val(self.outer.as_slice())
    }

    /// `[inputs * rows, I]` and `[rows, H]`.
    ///
    /// # Panics
    /// If there is no room for so many.
    pub(super) fn take(&mut self, rows: usize, inputs: usize) -> (&mut [f32], &mut [f32]) {
        assert!(rows <= self.max_rows, "{rows} rows of experts in a buffer for {}", self.max_rows);
        assert!(inputs * rows * I <= self.inner.len(), "a buffer for plain experts, and these have gates");
        (&mut self.inner[..inputs * rows * I], &mut self.outer[..rows * H])
    }
}

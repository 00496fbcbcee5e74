//! `Embedding`: rows of a mapped tensor, decoded as they are looked up.

use super::decode::decode_row;
use super::{PackError, row_bytes};
use crate::batch::Batch;
use crate::cpu::Cpu;
use crate::cpu::grid::Grid;
use crate::rows::Rows;
use crate::weights::MappedTensor;

/// Token embeddings, `[VOCAB, HIDDEN]`. They stay where the checkpoint is mapped: a step reads a few rows only.
pub struct Embedding<const VOCAB: usize, const HIDDEN: usize> {
    tensor: MappedTensor,
    row_bytes: usize,
}

impl<const VOCAB: usize, const HIDDEN: usize> Embedding<VOCAB, HIDDEN> {
    /// Embeddings in `tensor`, which has `VOCAB` rows in any storage format.
    ///
    /// # Errors
    /// When the tensor does not have the bytes of that shape.
    pub fn new(tensor: MappedTensor) -> Result<Self, PackError> {
        let row_bytes = row_bytes(tensor.format(), VOCAB, HIDDEN, tensor.bytes().len())?;
        Ok(Self { tensor, row_bytes })
    }

    /// The rows of the batch's token ids: `[tokens, HIDDEN]`. Sets the rows of `out`.
    ///
    /// # Panics
    /// If a token id is not below `VOCAB`: the limits of the batch are those of another model.
    pub fn lookup(&self, cpu: &Cpu, batch: &Batch, out: &mut Rows<f32, HIDDEN>) {
        out.set_rows(batch.tokens());
        let (format, table, tokens) = (self.tensor.format(), self.tensor.bytes(), batch.token_ids());
        let unit = cpu.row_unit(tokens.len(), tokens.len() * HIDDEN);
        cpu.over(&mut Grid::of_rows(out.as_mut_slice(), HIDDEN, unit), |mut cell| {
            for t in cell.rows.clone() {
                let row = &table[tokens[t] as usize * self.row_bytes..][..self.row_bytes];
                decode_row(format, row, cell.row_mut(t));
            }
        });
    }

    /// Bytes of the mapped tensor. They are the page cache's, not a copy.
    pub fn bytes(&self) -> usize {
        self.tensor.bytes().len()
    }
}

impl<const VOCAB: usize, const HIDDEN: usize> std::fmt::Debug for Embedding<VOCAB, HIDDEN> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Embedding<{VOCAB}, {HIDDEN}>({})", self.tensor.format())
    }
}

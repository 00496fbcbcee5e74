//! `Embedding`: rows of a mapped tensor, decoded as they are looked up.

use tenon_formats::StorageFormat;

use super::decode::decode_row;
use super::{PackError, row_bytes};
use crate::batch::Batch;
use crate::cpu::Cpu;
use crate::cpu::grid::Grid;
use crate::rows::Rows;
use crate::weights::MappedTensor;

/// Token embeddings, `[VOCAB, HIDDEN]`. They stay where the checkpoint is mapped: a step reads a few rows only.
pub struct Embedding<const VOCAB: usize, const HIDDEN: usize> {
    /// Its bytes are those of the shape.
    tensor: MappedTensor,
}

impl<const VOCAB: usize, const HIDDEN: usize> Embedding<VOCAB, HIDDEN> {
    /// Embeddings in `tensor`, which has `VOCAB` rows in any storage format that has all scales in its blocks.
    ///
    /// # Errors
    /// When the tensor does not have the bytes of that shape, or its scales are in another tensor.
    pub fn new(tensor: MappedTensor) -> Result<Self, PackError> {
        if matches!(tensor.format(), StorageFormat::Fp8E4m3 | StorageFormat::Nvfp4) {
            return Err(PackError::Embedding { format: tensor.format() });
        }
        row_bytes(tensor.format(), VOCAB, HIDDEN, tensor.bytes().len())?;
        Ok(Self { tensor })
    }

    /// The rows of the batch's token ids: `[tokens, HIDDEN]`. Sets the rows of `out`.
    ///
    /// # Panics
    /// If a token id is not below `VOCAB`: the limits of the batch are those of another model.
    pub fn lookup(&self, cpu: &Cpu, batch: &Batch, out: &mut Rows<f32, HIDDEN>) {
        out.set_rows(batch.tokens());
        look_up(cpu, self.tensor.format(), self.tensor.bytes(), batch.token_ids(), HIDDEN, out.as_mut_slice());
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

/// Decodes row `tokens[t]` of a table with rows of `width` elements into row `t` of `out`.
fn look_up(cpu: &Cpu, format: StorageFormat, table: &[u8], tokens: &[u32], width: usize, out: &mut [f32]) {
    let row_bytes = format.row_bytes(width).expect("the table has whole rows");
    let unit = cpu.row_unit(tokens.len(), out.len());
    cpu.over(&mut Grid::of_rows(out, width, unit), |mut cell| {
        for t in cell.rows.clone() {
            decode_row(format, &table[tokens[t] as usize * row_bytes..][..row_bytes], cell.row_mut(t));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Isa;

    #[test]
    fn rows_are_those_of_the_tokens() {
        // Row r is d = 2^-r and q = r + k.
        let row = |r: u8| [[0x00, (15 - r) << 2].to_vec(), (0..32).map(|k| r + k).collect()].concat();
        let table: Vec<u8> = (0..5).flat_map(row).collect();
        let cpu = Cpu::new(2, Isa::Portable).unwrap();
        for tokens in [vec![3], vec![4, 0, 0, 2], [1, 3].repeat(500)] {
            let mut out = vec![f32::NAN; 32 * tokens.len()];
            look_up(&cpu, StorageFormat::Q8_0, &table, &tokens, 32, &mut out);
            let expected = tokens.iter().flat_map(|&t| (0..32).map(move |k| (t + k) as f32 / (1 << t) as f32));
            assert_eq!(out, expected.collect::<Vec<_>>());
        }
    }
}

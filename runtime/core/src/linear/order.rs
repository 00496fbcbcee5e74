//! `RowOrder`: how the output rows of a stored matrix relate to those of the model.

/// The order in which a checkpoint stores the rows of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowOrder {
    /// Row `i` of the tensor is output `i`.
    Stored,
    /// Within each of `heads` heads, the first `rotary_dim` rows are stored as pairs `(i, i + rotary_dim / 2)` side by side, as GGUF
    /// files of the Llama family do (`permute` in llama.cpp's converter). Outputs get the order of Hugging Face back: first halves,
    /// then second halves.
    RopePairs {
        /// Heads of the projection.
        heads: usize,
        /// Rows of a head that take part.
        rotary_dim: usize,
    },
}

impl RowOrder {
    /// What is wrong with this order for a tensor of `rows` rows.
    pub(super) fn check(self, rows: usize) -> Result<(), String> {
        let Self::RopePairs { heads, rotary_dim } = self else { return Ok(()) };
        if heads == 0 || !rows.is_multiple_of(heads) {
            return Err(format!("{rows} rows are not {heads} heads"));
        }
        let head_dim = rows / heads;
        if rotary_dim > head_dim || !rotary_dim.is_multiple_of(2) {
            return Err(format!("the first {rotary_dim} rows of a head of {head_dim} are not pairs"));
        }
        Ok(())
    }

    /// The row of a tensor of `rows` rows that holds output `row`.
    pub(super) fn stored_row(self, row: usize, rows: usize) -> usize {
        let Self::RopePairs { heads, rotary_dim } = self else { return row };
        let (head_dim, half) = (rows / heads, rotary_dim / 2);
        let in_head = row % head_dim;
        let stored = match in_head {
            first if first < half => 2 * first,
            second if second < rotary_dim => 2 * (second - half) + 1,
            unpaired => unpaired,
        };
        row - in_head + stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The converter's permutation, literally: reshape a head's rows to [2, rotary / 2], swap the two axes.
    fn permute_as_the_converter_does(head: &[usize], rotary: usize) -> Vec<usize> {
        let half = rotary / 2;
        let mut stored = head.to_vec();
        for first_or_second in 0..2 {
            for i in 0..half {
                stored[i * 2 + first_or_second] = head[first_or_second * half + i];
            }
        }
        stored
    }

    #[test]
    fn undoes_the_converter() {
        for (heads, head_dim, rotary_dim) in [(1, 2, 2), (3, 64, 64), (9, 64, 32), (2, 10, 6), (2, 6, 0)] {
            let rows = heads * head_dim;
            let outputs: Vec<usize> = (0..rows).collect();
            let stored: Vec<usize> =
                outputs.chunks(head_dim).flat_map(|head| permute_as_the_converter_does(head, rotary_dim)).collect();
            let order = RowOrder::RopePairs { heads, rotary_dim };
            assert_eq!(order.check(rows), Ok(()));
            let back: Vec<usize> = (0..rows).map(|row| stored[order.stored_row(row, rows)]).collect();
            assert_eq!(back, outputs);
        }
    }

    #[test]
    fn refuses_what_does_not_divide() {
        let error = |heads, rotary_dim, rows| RowOrder::RopePairs { heads, rotary_dim }.check(rows).unwrap_err();
        assert_eq!(error(3, 64, 100), "100 rows are not 3 heads");
        assert_eq!(error(0, 64, 64), "64 rows are not 0 heads");
        assert_eq!(error(2, 64, 64), "the first 64 rows of a head of 32 are not pairs");
        assert_eq!(error(2, 3, 64), "the first 3 rows of a head of 32 are not pairs");
    }
}

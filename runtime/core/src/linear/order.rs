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
    /// The outputs are these segments, one after the other. The tensor may have rows that none of them takes: several weights may
    /// be parts of one stored tensor.
    Parts(&'static [Segment]),
}

/// The same rows of every group of a stored tensor: of `groups` groups of `group_rows` rows each, rows `first..first + rows`.
///
/// A tensor that holds, per head, the query and then its gate, as Qwen3.5 does, is 2 x `head_dim` rows in a group, of which the
/// query takes the first half and the gate the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Groups of the stored tensor.
    pub groups: usize,
    /// Rows of a group.
    pub group_rows: usize,
    /// The first row of a group that is taken.
    pub first: usize,
    /// How many are taken of each group.
    pub rows: usize,
}

impl RowOrder {
    /// Rows of the stored tensor of a projection with `outputs` outputs.
    pub(crate) const fn stored_rows(self, outputs: usize) -> usize {
        match self {
            Self::Parts([first, ..]) => first.groups * first.group_rows,
            _ => outputs,
        }
    }

    /// What is wrong with this order for a projection of `rows` outputs.
    pub(crate) fn check(self, rows: usize) -> Result<(), String> {
        let (heads, rotary_dim) = match self {
            Self::Stored => return Ok(()),
            Self::RopePairs { heads, rotary_dim } => (heads, rotary_dim),
            Self::Parts(segments) => return check_segments(segments, rows),
        };
        if heads == 0 || !rows.is_multiple_of(heads) {
            return Err(format!("{rows} rows are not {heads} heads"));
        }
        let head_dim = rows / heads;
        if rotary_dim > head_dim || !rotary_dim.is_multiple_of(2) {
            return Err(format!("the first {rotary_dim} rows of a head of {head_dim} are not pairs"));
        }
        Ok(())
    }

    /// The stored row that holds output `row` of `rows`.
    pub(crate) fn stored_row(self, row: usize, rows: usize) -> usize {
        let (heads, rotary_dim) = match self {
            Self::Stored => return row,
            Self::RopePairs { heads, rotary_dim } => (heads, rotary_dim),
            Self::Parts(segments) => return row_of_segments(segments, row),
        };
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

fn check_segments(segments: &[Segment], outputs: usize) -> Result<(), String> {
    let Some(one) = segments.first() else { return Err("it has no segments".to_owned()) };
    for Segment { groups, group_rows, first, rows } in segments {
        if *rows == 0 || first + rows > *group_rows {
            return Err(format!("a segment of rows {first}..{} in groups of {group_rows}", first + rows));
        }
        if groups * group_rows != one.groups * one.group_rows {
            return Err(format!("segments of {} and of {} stored rows", one.groups * one.group_rows, groups * group_rows));
        }
    }
    let taken: usize = segments.iter().map(|s| s.groups * s.rows).sum();
    if taken == outputs { Ok(()) } else { Err(format!("the segments take {taken} rows for {outputs} outputs")) }
}

fn row_of_segments(segments: &[Segment], mut row: usize) -> usize {
    for &Segment { groups, group_rows, first, rows } in segments {
        if row < groups * rows {
            return row / rows * group_rows + first + row % rows;
        }
        row -= groups * rows;
    }
    unreachable!("the segments were checked to cover all outputs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_take_their_rows_of_every_group() {
        // Three groups of 5 rows: of each the rows 1 and 2, then of each the row 4.
        let parts = RowOrder::Parts(&[
            Segment { groups: 3, group_rows: 5, first: 1, rows: 2 },
            Segment { groups: 3, group_rows: 5, first: 4, rows: 1 },
        ]);
        assert_eq!(parts.check(9), Ok(()));
        assert_eq!(parts.stored_rows(9), 15);
        assert_eq!((0..9).map(|row| parts.stored_row(row, 9)).collect::<Vec<_>>(), [1, 2, 6, 7, 11, 12, 4, 9, 14]);
        assert_eq!(RowOrder::Stored.stored_rows(9), 9);
    }

    #[test]
    fn refuses_segments_that_do_not_fit() {
        let error = |segments: &'static [Segment], outputs| RowOrder::Parts(segments).check(outputs).unwrap_err();
        const HALF: Segment = Segment { groups: 2, group_rows: 4, first: 2, rows: 2 };
        assert_eq!(error(&[], 4), "it has no segments");
        assert_eq!(error(&[HALF], 8), "the segments take 4 rows for 8 outputs");
        assert_eq!(error(&[Segment { rows: 3, ..HALF }], 6), "a segment of rows 2..5 in groups of 4");
        assert_eq!(error(&[Segment { rows: 0, ..HALF }], 0), "a segment of rows 2..2 in groups of 4");
        assert_eq!(error(&[HALF, Segment { groups: 3, ..HALF }], 10), "segments of 8 and of 12 stored rows");
    }

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

//! The host's part of a step: the arrays of `Step` as bytes, and what changed in the page table.

use crate::batch::Batch;

/// Arrays of a step whose place depends on its size: all of `Step`'s but the page table.
const ARRAYS: usize = 11;
/// Numbers of `counts`.
const COUNTS: usize = 8;
/// Every array begins at a multiple of so many numbers.
const ALIGN: usize = 4;

/// How many elements the arrays of a step have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) rows: usize,
    pub(super) sequences: usize,
    pub(super) logit_rows: usize,
}

impl Layout {
    /// Elements of counts, token_ids, positions, sequence, first, length, start, slot, prefill, decode and logit_row.
    fn lengths(self) -> [usize; ARRAYS] {
        let Self { rows: r, sequences: s, logit_rows: l } = self;
        [COUNTS, r, r, r, s, s, s, s, s, s, l]
    }

    /// Where each array begins, in numbers of 4 bytes.
    fn offsets(self) -> [usize; ARRAYS] {
        let mut next = 0;
        self.lengths().map(|len| {
            let at = next;
            next += len.next_multiple_of(ALIGN);
            at
        })
    }

    /// The bytes at which the fields of `Step` point, in their order: the page table stands between the arrays of sequences and the
    /// lists of spans, and the error word is the last.
    pub(super) fn addresses(self, arrays_at: usize, table_at: usize, error_at: usize) -> [usize; 13] {
        let at = self.offsets().map(|offset| arrays_at + offset * size_of::<i32>());
        let [counts, ids, positions, sequence, first, length, start, slot, prefill, decode, logit_row] = at;
        [counts, ids, positions, sequence, first, length, start, slot, table_at, prefill, decode, logit_row, error_at]
    }

    /// Bytes of all arrays.
    pub(super) fn bytes(self) -> usize {
        let numbers: usize = self.lengths().iter().map(|len| len.next_multiple_of(ALIGN)).sum();
        numbers * size_of::<i32>()
    }
}

/// Writes the arrays of a batch, whose rows, sequences and logit rows the layout has room for.
pub(super) fn fill_arrays(batch: &Batch, layout: Layout, bytes: &mut [u8]) {
    let offsets = layout.offsets();
    let lengths = layout.lengths();
    let mut array = |index: usize, padding: i32, values: &mut dyn Iterator<Item = i32>| {
        let (numbers, _) = bytes[offsets[index] * size_of::<i32>()..].as_chunks_mut::<4>();
        let mut written = 0;
        for value in values {
            assert!(written < lengths[index], "array {index} of a step has room for {}", lengths[index]);
            numbers[written] = value.to_le_bytes();
            written += 1;
        }
        numbers[written..lengths[index]].fill(padding.to_le_bytes());
        written as i32
    };
    // Limits of a step fit into 32 bits.
    let int = |n: usize| n as i32;
    let spans = batch.sequences();
    array(1, 0, &mut batch.token_ids().iter().map(|&t| t as i32));
    array(2, 0, &mut batch.positions().iter().map(|&p| p as i32));
    array(3, -1, &mut spans.iter().enumerate().flat_map(|(i, span)| span.tokens.clone().map(move |_| i as i32)));
    array(4, 0, &mut spans.iter().map(|span| int(span.tokens.start)));
    array(5, 0, &mut spans.iter().map(|span| int(span.tokens.len())));
    array(6, 0, &mut spans.iter().map(|span| int(span.start)));
    array(7, -1, &mut spans.iter().map(|span| span.state_slot.map_or(-1, |slot| slot.0 as i32)));
    let of = |several: bool| {
        spans.iter().enumerate().filter(move |(_, span)| (span.tokens.len() > 1) == several).map(|(i, _)| i as i32)
    };
    let prefill = array(8, -1, &mut of(true));
    let decode = array(9, -1, &mut of(false));
    array(10, 0, &mut batch.logit_rows().iter().map(|&row| int(row)));
    let counts = [int(batch.tokens()), int(spans.len()), int(batch.logit_rows().len()), prefill, decode];
    array(0, 0, &mut counts.into_iter());
}

/// Rows of the page table that must be copied, and how many entries of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) first: usize,
    pub(super) rows: usize,
    pub(super) width: usize,
}

/// Writes the page tables of a batch over those of the steps before. Most steps of a decode change nothing.
pub(super) fn fill_table(batch: &Batch, stride: usize, bytes: &mut [u8]) -> Option<Changed> {
    let mut changed: Option<(usize, usize)> = None;
    for (i, span) in batch.sequences().iter().enumerate() {
        let (row, _) = bytes[i * stride * size_of::<i32>()..].as_chunks_mut::<4>();
        let pages = batch.pages(span);
        assert!(pages.len() <= stride, "{} pages in a table of {stride}", pages.len());
        let mut differs = false;
        for (entry, page) in row.iter_mut().zip(pages) {
            let page = page.0.to_le_bytes();
            differs |= *entry != page;
            *entry = page;
        }
        if differs {
            changed = Some((changed.map_or(i, |(first, _)| first), i));
        }
    }
    let (first, last) = changed?;
    let width = batch.sequences()[first..=last].iter().map(|span| span.pages.len()).max()?;
    Some(Changed { first, rows: last - first + 1, width })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchLimits, PageId, StateSlot, WantLogits};
    use crate::cuda::StepDims;

    const STRIDE: usize = 4;

    fn batch(state_slots: usize) -> Batch {
        Batch::new(BatchLimits {
            vocab_size: 100,
            max_positions: 64,
            page_size: 16,
            pages: 16,
            state_slots,
            max_tokens: 40,
            max_logit_rows: 8,
        })
    }

    fn pages(ids: &[u32]) -> Vec<PageId> {
        ids.iter().copied().map(PageId).collect()
    }

    fn arrays(batch: &Batch, layout: Layout) -> [Vec<i32>; ARRAYS] {
        let mut bytes = vec![0xee; layout.bytes()];
        fill_arrays(batch, layout, &mut bytes);
        let numbers: Vec<i32> = bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect();
        let (offsets, lengths) = (layout.offsets(), layout.lengths());
        std::array::from_fn(|i| numbers[offsets[i]..][..lengths[i]].to_vec())
    }

    #[test]
    fn a_mixed_step_is_as_kernels_read_it() {
        let mut batch = batch(4);
        batch.push(&[7], 16, &pages(&[3, 4]), Some(StateSlot(2)), WantLogits::Last).unwrap();
        batch.push(&[1, 2, 3], 5, &pages(&[6]), Some(StateSlot(0)), WantLogits::Last).unwrap();
        batch.push(&[8], 0, &pages(&[9]), Some(StateSlot(3)), WantLogits::None).unwrap();
        let dims = StepDims::of_batch(&batch, None);
        let layout = Layout { rows: dims.rows, sequences: dims.sequences, logit_rows: dims.logit_rows };
        let [counts, ids, positions, sequence, first, length, start, slot, prefill, decode, logit_row] = arrays(&batch, layout);
        assert_eq!(counts, [5, 3, 2, 1, 2, 0, 0, 0]);
        assert_eq!((ids, positions), (vec![7, 1, 2, 3, 8], vec![16, 5, 6, 7, 0]));
        assert_eq!(sequence, [0, 1, 1, 1, 2]);
        assert_eq!((first, length, start), (vec![0, 1, 4], vec![1, 3, 1], vec![16, 5, 0]));
        assert_eq!(slot, [2, 0, 3]);
        assert_eq!((prefill, decode), (vec![1, -1, -1], vec![0, 2, -1]));
        assert_eq!(logit_row, [0, 3]);
    }

    #[test]
    fn a_bucket_is_padded() {
        let mut batch = batch(0);
        batch.push(&[7], 16, &pages(&[3, 4]), None, WantLogits::Last).unwrap();
        batch.push(&[8], 3, &pages(&[5]), None, WantLogits::Last).unwrap();
        batch.push(&[9], 3, &pages(&[6]), None, WantLogits::Last).unwrap();
        let layout = Layout { rows: 4, sequences: 4, logit_rows: 4 };
        let [counts, ids, positions, sequence, first, length, start, slot, prefill, decode, logit_row] = arrays(&batch, layout);
        assert_eq!(counts, [3, 3, 3, 0, 3, 0, 0, 0]);
        assert_eq!((ids, positions), (vec![7, 8, 9, 0], vec![16, 3, 3, 0]));
        assert_eq!(sequence, [0, 1, 2, -1]);
        assert_eq!((first, length, start), (vec![0, 1, 2, 0], vec![1, 1, 1, 0], vec![16, 3, 3, 0]));
        assert_eq!(slot, [-1; 4]);
        assert_eq!((prefill, decode), (vec![-1; 4], vec![0, 1, 2, -1]));
        assert_eq!(logit_row, [0, 1, 2, 0]);
    }

    #[test]
    fn arrays_of_a_bucket_lie_where_they_lay() {
        let layout = Layout { rows: 16, sequences: 16, logit_rows: 16 };
        assert_eq!(layout.offsets(), [0, 8, 24, 40, 56, 72, 88, 104, 120, 136, 152]);
        assert_eq!(layout.bytes(), 4 * 168);
        // 16 bytes are the unit: one row is padded to four.
        assert_eq!(Layout { rows: 1, sequences: 1, logit_rows: 0 }.offsets()[10], 8 + 9 * 4);
    }

    #[test]
    fn fields_point_where_the_arrays_are() {
        let layout = Layout { rows: 2, sequences: 1, logit_rows: 1 };
        let arrays = [64, 96, 112, 128, 144, 160, 176, 192];
        let expected: Vec<usize> = arrays.into_iter().chain([1024, 208, 224, 240, 0]).collect();
        assert_eq!(layout.addresses(64, 1024, 0), *expected);
    }

    #[test]
    fn only_what_changed_in_the_table_is_copied() {
        let mut table = vec![0; 3 * STRIDE * 4];
        let mut step = |starts: [usize; 3], tables: [&[u32]; 3]| {
            let mut batch = batch(0);
            for (start, table) in starts.into_iter().zip(tables) {
                batch.push(&[1], start, &pages(table), None, WantLogits::Last).unwrap();
            }
            fill_table(&batch, STRIDE, &mut table)
        };
        let first = step([20, 3, 40], [&[1, 2], &[3], &[4, 5, 6]]);
        assert_eq!(first, Some(Changed { first: 0, rows: 3, width: 3 }));
        assert_eq!(step([21, 4, 41], [&[1, 2], &[3], &[4, 5, 6]]), None);
        let grown = step([32, 5, 42], [&[1, 2, 7], &[3], &[4, 5, 6]]);
        assert_eq!(grown, Some(Changed { first: 0, rows: 1, width: 3 }));
        // Another sequence in the place of a longer one: what it does not use stays, and is not read.
        let replaced = step([33, 6, 0], [&[1, 2, 7], &[3], &[8]]);
        assert_eq!(replaced, Some(Changed { first: 2, rows: 1, width: 1 }));
        let row: Vec<u8> = [8u32, 5, 6, 0].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(table[2 * STRIDE * 4..], row);
    }
}

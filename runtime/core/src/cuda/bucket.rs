//! `Buckets`: the sizes of decode steps that run as captured graphs, and `StepDims`: the numbers that launches depend on.

use crate::batch::{Batch, BatchLimits};

/// Rows of the graphs that may be captured.
const SIZES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// The numbers of a step that its launches depend on. In a graph they are those of its bucket, whatever is in the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepDims {
    /// Rows of the launch, padded ones included: `tokens` of the expressions in TEMPLATE.toml.
    pub rows: usize,
    /// Tokens of the batch; in a graph as many as rows.
    pub tokens: usize,
    /// Rows that want logits; in a graph as many as rows.
    pub logit_rows: usize,
    /// Sequences.
    pub sequences: usize,
    /// Spans of several tokens.
    pub prefill_spans: usize,
    /// Spans of one token.
    pub decode_spans: usize,
    /// Tokens of the longest span of several; 0 where there is none.
    pub span_tokens: usize,
    /// Tokens of the longest context; in a graph the model's.
    pub context: usize,
    /// Tokens per page.
    pub page_size: usize,
    /// Pages of a cache.
    pub pages: usize,
    /// Slots of the recurrent state pool.
    pub slots: usize,
}

impl StepDims {
    /// Those of a captured graph: `rows` sequences of one token each.
    pub fn of_graph(rows: usize, limits: &BatchLimits) -> Self {
        Self {
            rows,
            tokens: rows,
            logit_rows: rows,
            sequences: rows,
            prefill_spans: 0,
            decode_spans: rows,
            span_tokens: 0,
            context: limits.max_positions,
            page_size: limits.page_size,
            pages: limits.pages,
            slots: limits.state_slots,
        }
    }

    /// Those of a batch, or of its bucket.
    ///
    /// # Panics
    /// If the batch does not fit the bucket.
    pub fn of_batch(batch: &Batch, bucket: Option<usize>) -> Self {
        let spans = batch.sequences();
        let limits = batch.limits();
        if let Some(rows) = bucket {
            let fits = spans.len() <= rows && batch.logit_rows().len() <= rows && batch.tokens() == spans.len();
            assert!(fits, "{} tokens of {} sequences in a bucket of {rows}", batch.tokens(), spans.len());
            return Self::of_graph(rows, &limits);
        }
        let longest = spans.iter().map(|span| span.tokens.len()).max().unwrap_or(0);
        let decode_spans = spans.iter().filter(|span| span.tokens.len() == 1).count();
        Self {
            rows: batch.tokens(),
            tokens: batch.tokens(),
            logit_rows: batch.logit_rows().len(),
            sequences: spans.len(),
            prefill_spans: spans.len() - decode_spans,
            decode_spans,
            span_tokens: if longest > 1 { longest } else { 0 },
            context: spans.iter().map(crate::batch::SequenceSpan::context).max().unwrap_or(0),
            page_size: limits.page_size,
            pages: limits.pages,
            slots: limits.state_slots,
        }
    }
}

/// The sizes that fit a model's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buckets {
    largest: usize,
}

impl Buckets {
    /// For steps of at most `sequences` sequences under these limits.
    pub fn new(limits: &BatchLimits, sequences: usize) -> Self {
        Self { largest: limits.max_tokens.min(limits.max_logit_rows).min(sequences) }
    }

    /// The sizes, smallest first.
    pub fn sizes(&self) -> impl Iterator<Item = usize> {
        SIZES.into_iter().filter(|&size| size <= self.largest)
    }

    /// The smallest size for so many sequences, or `None` where they are too many for a graph.
    pub fn of(&self, sequences: usize) -> Option<usize> {
        self.sizes().find(|&size| size >= sequences)
    }

    /// The bucket of a batch of one token per sequence; other batches are launched as they are.
    pub fn of_batch(&self, batch: &Batch) -> Option<usize> {
        let sequences = batch.sequences().len();
        if batch.tokens() == sequences { self.of(sequences) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{PageId, WantLogits};

    fn limits(max_tokens: usize, max_logit_rows: usize) -> BatchLimits {
        BatchLimits { vocab_size: 9, max_positions: 640, page_size: 16, pages: 8, state_slots: 0, max_tokens, max_logit_rows }
    }

    #[test]
    fn the_smallest_bucket_that_fits() {
        let buckets = Buckets::new(&limits(8192, 256), 256);
        assert_eq!(buckets.sizes().collect::<Vec<_>>(), SIZES);
        assert_eq!([1, 2, 3, 4, 5, 100, 256].map(|n| buckets.of(n).unwrap()), [1, 2, 4, 4, 8, 128, 256]);
        assert_eq!(buckets.of(257), None);
    }

    #[test]
    fn no_bucket_exceeds_a_limit() {
        for (tokens, rows, sequences) in [(48, 256, 256), (256, 48, 256), (256, 256, 48)] {
            let buckets = Buckets::new(&limits(tokens, rows), sequences);
            assert_eq!(buckets.sizes().last(), Some(32));
            assert_eq!((buckets.of(32), buckets.of(33)), (Some(32), None));
        }
    }

    #[test]
    fn a_batch_of_single_tokens_has_a_bucket() {
        let mut batch = Batch::new(limits(64, 64));
        let buckets = Buckets::new(&limits(64, 64), 64);
        for page in 0..3 {
            batch.push(&[1], 3 + page as usize, &[PageId(page)], None, WantLogits::Last).unwrap();
        }
        assert_eq!(buckets.of_batch(&batch), Some(4));
        assert_eq!(StepDims::of_batch(&batch, Some(4)), StepDims::of_graph(4, &limits(64, 64)));
        batch.push(&[1, 2, 3], 20, &[PageId(3), PageId(4)], None, WantLogits::Last).unwrap();
        assert_eq!(buckets.of_batch(&batch), None);
        let dims = StepDims {
            rows: 6,
            tokens: 6,
            logit_rows: 4,
            sequences: 4,
            prefill_spans: 1,
            decode_spans: 3,
            span_tokens: 3,
            context: 23,
            page_size: 16,
            pages: 8,
            slots: 0,
        };
        assert_eq!(StepDims::of_batch(&batch, None), dims);
    }

    #[test]
    fn a_graph_has_the_numbers_of_its_bucket() {
        let dims = StepDims::of_graph(16, &limits(64, 64));
        assert_eq!((dims.rows, dims.logit_rows, dims.decode_spans, dims.prefill_spans), (16, 16, 16, 0));
        assert_eq!((dims.context, dims.span_tokens), (640, 0));
    }
}

//! `StepCase`: the tokens of a step, with page tables in a shuffled order.

use crate::Random;

/// The tokens of one step: what the host would write before it.
#[derive(Clone, Debug)]
pub struct StepCase {
    /// Per sequence: cached tokens, and tokens of this step.
    pub spans: Vec<(usize, usize)>,
    /// Per sequence: its state slot; -1 where it has none.
    pub slots: Vec<i32>,
    /// States of the pool.
    pub slots_of_pool: usize,
    /// Tokens of a page.
    pub page_size: usize,
    /// Pages of the cache, more than are used.
    pub pages: usize,
    /// Entries of a row of the page table.
    pub table_stride: usize,
    /// `[sequences, table_stride]`
    pub table: Vec<i32>,
    /// `[rows]`
    pub token_ids: Vec<i32>,
    /// Rows that want logits.
    pub logit_rows: Vec<i32>,
    /// Rows of the launch, padding included.
    pub rows: usize,
}

impl StepCase {
    /// Sequences with these cached tokens and tokens of this step, without padding; pages in a random order, slots too.
    pub fn new(page_size: usize, spans: &[(usize, usize)], seed: u64) -> Self {
        let mut random = Random::new(seed);
        let need: Vec<usize> = spans.iter().map(|(start, tokens)| (start + tokens).div_ceil(page_size)).collect();
        let (used, table_stride) = (need.iter().sum::<usize>(), need.iter().copied().max().unwrap_or(1) + 1);
        let pages = used + 3;
        let mut free = random.shuffled(pages).into_iter();
        let mut table = vec![0; spans.len() * table_stride];
        for (sequence, need) in need.iter().enumerate() {
            for entry in &mut table[sequence * table_stride..][..*need] {
                *entry = free.next().unwrap_or(0) as i32;
            }
        }
        let slots_of_pool = spans.len() + 2;
        let slots = random.shuffled(slots_of_pool).into_iter().take(spans.len()).map(|s| s as i32).collect();
        let rows = spans.iter().map(|(_, tokens)| tokens).sum();
        let mut last = 0;
        let logit_rows = spans.iter().map(|(_, tokens)| {
            last += *tokens as i32;
            last - 1
        });
        let logit_rows = logit_rows.collect();
        let spans = spans.to_vec();
        Self { spans, slots, slots_of_pool, page_size, pages, table_stride, table, token_ids: vec![0; rows], logit_rows, rows }
    }

    /// The same with padded rows after the tokens, as a graph of a larger bucket has.
    pub fn padded(mut self, rows: usize) -> Self {
        assert!(rows >= self.tokens(), "padding only adds rows");
        self.token_ids.resize(rows, 0);
        self.rows = rows;
        self
    }

    /// Tokens of the step.
    pub fn tokens(&self) -> usize {
        self.spans.iter().map(|(_, tokens)| tokens).sum()
    }

    /// The first row of each sequence.
    pub fn first(&self) -> Vec<usize> {
        self.spans.iter().scan(0, |at, (_, tokens)| Some(std::mem::replace(at, *at + tokens))).collect()
    }

    /// The sequence and position of each row; `None` in padding.
    pub fn row(&self, row: usize) -> Option<(usize, usize)> {
        let first = self.first();
        (0..self.spans.len())
            .find(|&s| row >= first[s] && row < first[s] + self.spans[s].1)
            .map(|s| (s, self.spans[s].0 + row - first[s]))
    }

    /// Where a position of a sequence lies: its page, and the place in that.
    pub fn place(&self, sequence: usize, position: usize) -> (usize, usize) {
        let page = self.table[sequence * self.table_stride + position / self.page_size];
        (page as usize, position % self.page_size)
    }

    /// The sequences whose span has several tokens.
    pub fn prefill(&self) -> Vec<usize> {
        (0..self.spans.len()).filter(|&s| self.spans[s].1 > 1).collect()
    }

    /// The sequences whose span has one token.
    pub fn decode(&self) -> Vec<usize> {
        (0..self.spans.len()).filter(|&s| self.spans[s].1 == 1).collect()
    }
}

//! Caches of one layer, in pages that sequences own through page tables: `PagedKv` for keys and values, `LatentCache` for latents.

mod latent;

use crate::batch::Batch;
use crate::cpu::Cpu;
use crate::dtype::KvDtype;
use crate::rows::Rows;

pub use self::latent::LatentCache;
pub(crate) use self::latent::LatentView;

/// Positions in a tile: scores are computed for 16 positions at a time, and a page is a whole number of tiles.
pub const TILE_KV: usize = 16;

/// The keys and values of one attention layer.
///
/// Keys are `[page][kv head][tile][HEAD_DIM][16]`: the 16 positions of a tile lie side by side, so that scores of 16 positions are
/// computed in lanes, without sums across them. Values are `[page][kv head][position][HEAD_DIM]`.
pub struct PagedKv<D: KvDtype, const KV_HEADS: usize, const HEAD_DIM: usize> {
    keys: Vec<D::Stored>,
    values: Vec<D::Stored>,
    page_size: usize,
}

impl<D: KvDtype, const KV_HEADS: usize, const HEAD_DIM: usize> PagedKv<D, KV_HEADS, HEAD_DIM> {
    /// A cache of `pages` pages of `page_size` tokens, zeroed.
    ///
    /// # Panics
    /// If `page_size` is 0 or no multiple of 16: options are checked before a model is loaded.
    pub fn new(pages: usize, page_size: usize) -> Self {
        const { assert!(KV_HEADS > 0 && HEAD_DIM > 0, "a cache has at least one head of one element") };
        assert!(page_size > 0 && page_size.is_multiple_of(TILE_KV), "a page of {page_size} tokens is not whole tiles of 16");
        let elements = pages.checked_mul(page_size).and_then(|p| p.checked_mul(KV_HEADS * HEAD_DIM));
        let elements = elements.unwrap_or_else(|| panic!("{pages} pages of {page_size} tokens do not fit in memory"));
        let zero = D::Stored::default();
        Self { keys: vec![zero; elements], values: vec![zero; elements], page_size }
    }

    /// Tokens per page.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        2 * self.keys.len() * size_of::<D::Stored>()
    }

    /// Stores the keys and values of the batch's tokens, both `[tokens, KV_HEADS * HEAD_DIM]`, at their positions.
    ///
    /// # Panics
    /// If the rows are not those of `batch`, or `batch` was built for another page size or more pages than there are.
    pub fn append<const KV_DIM: usize>(&mut self, _cpu: &Cpu, k: &Rows<f32, KV_DIM>, v: &Rows<f32, KV_DIM>, batch: &Batch) {
        const { assert!(KV_DIM == KV_HEADS * HEAD_DIM, "a row of keys is KV_HEADS * HEAD_DIM wide") };
        assert_eq!((k.rows(), v.rows()), (batch.tokens(), batch.tokens()), "keys and values are of this batch");
        assert_eq!(batch.limits().page_size, self.page_size, "the batch was built for another page size");
        for sequence in batch.sequences() {
            let pages = batch.pages(sequence);
            for (position, token) in (sequence.start..).zip(sequence.tokens.clone()) {
                let page = pages[position / self.page_size].0 as usize;
                self.put(page, position % self.page_size, k.row(token), v.row(token));
            }
        }
    }

    fn put(&mut self, page: usize, position: usize, k: &[f32], v: &[f32]) {
        for head in 0..KV_HEADS {
            let (k, v) = (&k[head * HEAD_DIM..][..HEAD_DIM], &v[head * HEAD_DIM..][..HEAD_DIM]);
            let of_head = (page * KV_HEADS + head) * self.page_size * HEAD_DIM;
            let (tile, lane) = (position / TILE_KV, position % TILE_KV);
            let tile = &mut self.keys[of_head + tile * TILE_KV * HEAD_DIM..][..TILE_KV * HEAD_DIM];
            for (slots, &k) in tile.as_chunks_mut::<TILE_KV>().0.iter_mut().zip(k) {
                slots[lane] = D::store(k);
            }
            let row = &mut self.values[of_head + position * HEAD_DIM..][..HEAD_DIM];
            for (slot, &v) in row.iter_mut().zip(v) {
                *slot = D::store(v);
            }
        }
    }

    /// Sets every element, as a cache that was used before.
    #[cfg(test)]
    pub(crate) fn fill(&mut self, value: f32) {
        self.keys.fill(D::store(value));
        self.values.fill(D::store(value));
    }

    /// The dimensions as values.
    pub(crate) fn view(&self) -> KvView<'_, D> {
        KvView { keys: &self.keys, values: &self.values, page_size: self.page_size, kv_heads: KV_HEADS, head_dim: HEAD_DIM }
    }
}

impl<D: KvDtype, const KV_HEADS: usize, const HEAD_DIM: usize> std::fmt::Debug for PagedKv<D, KV_HEADS, HEAD_DIM> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tokens = self.keys.len() / (KV_HEADS * HEAD_DIM);
        write!(f, "PagedKv<{}, {KV_HEADS}, {HEAD_DIM}>({} pages of {})", D::NAME, tokens / self.page_size, self.page_size)
    }
}

/// A [`PagedKv`] to be read.
pub(crate) struct KvView<'a, D: KvDtype> {
    keys: &'a [D::Stored],
    values: &'a [D::Stored],
    pub(crate) page_size: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_dim: usize,
}

impl<D: KvDtype> Clone for KvView<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: KvDtype> Copy for KvView<'_, D> {}

impl<'a, D: KvDtype> KvView<'a, D> {
    /// Keys `[head_dim][16]` and values `[16][head_dim]` of tile `tile` of a page.
    #[inline(always)]
    pub(crate) fn tile(&self, page: usize, head: usize, tile: usize) -> (&'a [D::Stored], &'a [D::Stored]) {
        let elements = TILE_KV * self.head_dim;
        let at = (page * self.kv_heads + head) * self.page_size * self.head_dim + tile * elements;
        (&self.keys[at..][..elements], &self.values[at..][..elements])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchLimits, PageId, WantLogits};
    use crate::cpu::Isa;
    use crate::dtype::{Bf16, F32, Fp8E4m3};

    fn stored<D: KvDtype>() -> (PagedKv<D, 2, 3>, Batch) {
        let cpu = Cpu::new(1, Isa::Portable).unwrap();
        let mut cache = PagedKv::<D, 2, 3>::new(3, 32);
        let mut batch = Batch::new(BatchLimits {
            vocab_size: 1,
            max_positions: 64,
            page_size: 32,
            pages: 3,
            state_slots: 0,
            max_tokens: 8,
            max_logit_rows: 8,
        });
        // Positions 30..33: the end of page 2 and the start of page 0.
        batch.push(&[0; 3], 30, &[PageId(2), PageId(0)], None, WantLogits::Last).unwrap();
        let (mut k, mut v) = (Rows::<f32, 6>::with_capacity(3), Rows::with_capacity(3));
        k.set_rows(3);
        v.set_rows(3);
        for token in 0..3 {
            for i in 0..6 {
                k.row_mut(token)[i] = (100 * token + i) as f32;
                v.row_mut(token)[i] = -((100 * token + i) as f32);
            }
        }
        cache.append(&cpu, &k, &v, &batch);
        (cache, batch)
    }

    fn stands_where_it_should<D: KvDtype>() {
        let (cache, _) = stored::<D>();
        let view = cache.view();
        for (token, page, tile, lane) in [(0, 2, 1, 14), (1, 2, 1, 15), (2, 0, 0, 0)] {
            for head in 0..2 {
                let (keys, values) = view.tile(page, head, tile);
                for d in 0..3 {
                    let expected = D::load(D::store((100 * token + 3 * head + d) as f32));
                    assert_eq!(D::load(keys[d * 16 + lane]), expected);
                    assert_eq!(D::load(values[lane * 3 + d]), -expected);
                }
            }
        }
        let written = cache.keys.iter().filter(|&&k| D::load(k) != 0.0).count();
        assert_eq!(written, 3 * 6 - 1, "the very first key is 0, and nothing else was touched");
    }

    #[test]
    fn tokens_are_stored_at_their_positions() {
        stands_where_it_should::<F32>();
        stands_where_it_should::<Bf16>();
        stands_where_it_should::<Fp8E4m3>();
    }

    #[test]
    fn states_its_size() {
        assert_eq!(PagedKv::<Bf16, 3, 64>::new(10, 16).bytes(), 2 * 10 * 16 * 3 * 64 * 2);
        assert_eq!(format!("{:?}", PagedKv::<F32, 3, 64>::new(10, 16)), "PagedKv<f32, 3, 64>(10 pages of 16)");
    }

    #[test]
    #[should_panic(expected = "a page of 24 tokens is not whole tiles of 16")]
    fn refuses_a_page_that_cuts_a_tile() {
        PagedKv::<F32, 1, 8>::new(1, 24);
    }
}

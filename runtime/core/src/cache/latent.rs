//! `LatentCache`: the latents of one layer of multi-head latent attention, which all heads share.

use super::TILE_KV;
use crate::batch::Batch;
use crate::cpu::Cpu;
use crate::dtype::KvDtype;
use crate::rows::Rows;

/// Per token, `KV_LORA_RANK` normalised latent elements, from which every head makes its key and value, and `ROPE_DIM` rotated ones,
/// which are a part of every head's key.
///
/// `[page][tile][KV_LORA_RANK + ROPE_DIM][16]`: the 16 positions of a tile lie side by side, as those of keys do in
/// [`PagedKv`](super::PagedKv).
pub struct LatentCache<D: KvDtype, const KV_LORA_RANK: usize, const ROPE_DIM: usize> {
    latents: Vec<D::Stored>,
    page_size: usize,
}

impl<D: KvDtype, const KV_LORA_RANK: usize, const ROPE_DIM: usize> LatentCache<D, KV_LORA_RANK, ROPE_DIM> {
    /// A cache of `pages` pages of `page_size` tokens, zeroed.
    ///
    /// # Panics
    /// If `page_size` is 0 or no multiple of 16: options are checked before a model is loaded.
    pub fn new(pages: usize, page_size: usize) -> Self {
        const { assert!(KV_LORA_RANK > 0 && ROPE_DIM > 0, "a latent has at least one element of either part") };
        assert!(page_size > 0 && page_size.is_multiple_of(TILE_KV), "a page of {page_size} tokens is not whole tiles of 16");
        let elements = pages.checked_mul(page_size).and_then(|p| p.checked_mul(KV_LORA_RANK + ROPE_DIM));
        let elements = elements.unwrap_or_else(|| panic!("{pages} pages of {page_size} tokens do not fit in memory"));
        Self { latents: vec![D::Stored::default(); elements], page_size }
    }

    /// Tokens per page.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of_val(self.latents.as_slice())
    }

    /// Stores the latents of the batch's tokens, `[tokens, KV_LORA_RANK + ROPE_DIM]`, normalised and rotated already, at their
    /// positions.
    ///
    /// # Panics
    /// If the rows are not those of `batch`, or `batch` was built for another page size or more pages than there are.
    pub fn append<const DIM: usize>(&mut self, _cpu: &Cpu, latents: &Rows<f32, DIM>, batch: &Batch) {
        const { assert!(DIM == KV_LORA_RANK + ROPE_DIM, "a row is KV_LORA_RANK + ROPE_DIM wide") };
        assert_eq!(latents.rows(), batch.tokens(), "the latents are of this batch");
        assert_eq!(batch.limits().page_size, self.page_size, "the batch was built for another page size");
        for sequence in batch.sequences() {
            let pages = batch.pages(sequence);
            for (position, token) in (sequence.start..).zip(sequence.tokens.clone()) {
                let page = pages[position / self.page_size].0 as usize;
                let (tile, lane) = (position % self.page_size / TILE_KV, position % TILE_KV);
                let tile = &mut self.latents[(page * self.page_size + tile * TILE_KV) * DIM..][..TILE_KV * DIM];
                for (slots, &element) in tile.as_chunks_mut::<TILE_KV>().0.iter_mut().zip(latents.row(token)) {
                    slots[lane] = D::store(element);
                }
            }
        }
    }

    /// Sets every element, as a cache that was used before.
    #[cfg(test)]
    pub(crate) fn fill(&mut self, value: f32) {
        self.latents.fill(D::store(value));
    }

    /// The dimensions as values.
    pub(crate) fn view(&self) -> LatentView<'_, D> {
        LatentView { latents: &self.latents, page_size: self.page_size, rank: KV_LORA_RANK, rope: ROPE_DIM }
    }
}

impl<D: KvDtype, const KV_LORA_RANK: usize, const ROPE_DIM: usize> std::fmt::Debug for LatentCache<D, KV_LORA_RANK, ROPE_DIM> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pages = self.latents.len() / (self.page_size * (KV_LORA_RANK + ROPE_DIM));
        write!(f, "LatentCache<{}, {KV_LORA_RANK}, {ROPE_DIM}>({pages} pages of {})", D::NAME, self.page_size)
    }
}

/// A [`LatentCache`] to be read.
pub(crate) struct LatentView<'a, D: KvDtype> {
    latents: &'a [D::Stored],
    pub(crate) page_size: usize,
    pub(crate) rank: usize,
    pub(crate) rope: usize,
}

impl<D: KvDtype> Clone for LatentView<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: KvDtype> Copy for LatentView<'_, D> {}

impl<'a, D: KvDtype> LatentView<'a, D> {
    /// Elements per position.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.rank + self.rope
    }

    /// Latents `[rank + rope][16]` of tile `tile` of a page.
    #[inline(always)]
    pub(crate) fn tile(&self, page: usize, tile: usize) -> &'a [D::Stored] {
        let elements = TILE_KV * self.width();
        &self.latents[page * self.page_size * self.width() + tile * elements..][..elements]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchLimits, PageId, WantLogits};
    use crate::cpu::Isa;
    use crate::dtype::{Bf16, F32, Fp8E4m3};

    fn stands_where_it_should<D: KvDtype>() {
        let cpu = Cpu::new(1, Isa::Portable).unwrap();
        let mut cache = LatentCache::<D, 3, 2>::new(3, 32);
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
        let mut latents = Rows::<f32, 5>::with_capacity(3);
        latents.set_rows(3);
        for token in 0..3 {
            *latents.row_mut(token) = std::array::from_fn(|i| (8 * token + i + 1) as f32);
        }
        cache.append(&cpu, &latents, &batch);
        for (token, page, tile, lane) in [(0, 2, 1, 14), (1, 2, 1, 15), (2, 0, 0, 0)] {
            let tile = cache.view().tile(page, tile);
            for i in 0..5 {
                let expected = D::load(D::store((8 * token + i + 1) as f32));
                assert_eq!(D::load(tile[i * 16 + lane]), expected);
            }
        }
        assert_eq!(cache.latents.iter().filter(|&&x| D::load(x) != 0.0).count(), 15, "nothing else was touched");
    }

    #[test]
    fn tokens_are_stored_at_their_positions() {
        stands_where_it_should::<F32>();
        stands_where_it_should::<Bf16>();
        stands_where_it_should::<Fp8E4m3>();
    }

    #[test]
    fn states_its_size() {
        assert_eq!(LatentCache::<Bf16, 256, 64>::new(10, 16).bytes(), 10 * 16 * 320 * 2);
        assert_eq!(LatentCache::<Fp8E4m3, 256, 64>::new(10, 16).bytes(), 10 * 16 * 320);
        assert_eq!(format!("{:?}", LatentCache::<F32, 48, 16>::new(10, 32)), "LatentCache<f32, 48, 16>(10 pages of 32)");
    }

    #[test]
    #[should_panic(expected = "a page of 24 tokens is not whole tiles of 16")]
    fn refuses_a_page_that_cuts_a_tile() {
        LatentCache::<F32, 8, 8>::new(1, 24);
    }
}

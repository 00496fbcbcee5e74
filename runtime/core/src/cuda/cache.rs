//! Caches of one layer on a device, in the pages that the host's caches have: keys and values, and latents.

use std::sync::Arc;

use super::buffer::{DeviceBuffer, DeviceElement};
use super::{Arg, CudaError, Device};
use crate::dtype::KvDtype;
use crate::model::PAGE_MULTIPLE;

/// Elements of a cache.
fn elements(pages: usize, page_size: usize, per_token: usize) -> usize {
    assert!(
        page_size > 0 && page_size.is_multiple_of(PAGE_MULTIPLE),
        "a page of {page_size} tokens is no multiple of {PAGE_MULTIPLE}"
    );
    // What does not fit in an address space is refused as no memory of that size.
    pages.saturating_mul(page_size).saturating_mul(per_token)
}

/// The keys and values of one attention layer, `[pages, 2, KV_HEADS, page_size, HEAD_DIM]`: keys at index 0, values at 1.
pub struct DevicePagedKv<D: KvDtype + DeviceElement, const KV_HEADS: usize, const HEAD_DIM: usize> {
    kv: DeviceBuffer<D>,
    page_size: usize,
}

impl<D: KvDtype + DeviceElement, const KV_HEADS: usize, const HEAD_DIM: usize> DevicePagedKv<D, KV_HEADS, HEAD_DIM> {
    /// A cache of `pages` pages of `page_size` tokens, zeroed.
    ///
    /// # Errors
    /// When there is no room.
    ///
    /// # Panics
    /// If `page_size` is 0 or no multiple of 16: options are checked before a model is loaded.
    pub fn new(device: &Arc<Device>, pages: usize, page_size: usize) -> Result<Self, CudaError> {
        const { assert!(KV_HEADS > 0 && HEAD_DIM > 0, "a cache has at least one head of one element") };
        let kv = DeviceBuffer::new(device, elements(pages, page_size, 2 * KV_HEADS * HEAD_DIM))?;
        Ok(Self { kv, page_size })
    }

    /// Tokens per page.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.kv.bytes()
    }

    /// For a kernel that reads it.
    pub fn arg(&self) -> Arg<'_> {
        self.kv.arg()
    }

    /// For a kernel that writes it.
    pub fn arg_mut(&mut self) -> Arg<'_> {
        self.kv.arg_mut()
    }
}

impl<D: KvDtype + DeviceElement, const KV_HEADS: usize, const HEAD_DIM: usize> std::fmt::Debug
    for DevicePagedKv<D, KV_HEADS, HEAD_DIM>
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pages = self.kv.len() / (2 * KV_HEADS * HEAD_DIM * self.page_size);
        write!(f, "DevicePagedKv<{}, {KV_HEADS}, {HEAD_DIM}>({pages} pages of {})", <D as KvDtype>::NAME, self.page_size)
    }
}

/// The latents of one layer of latent attention, `[pages, page_size, KV_LORA_RANK + ROPE_DIM]`.
pub struct DeviceLatentCache<D: KvDtype + DeviceElement, const KV_LORA_RANK: usize, const ROPE_DIM: usize> {
    latents: DeviceBuffer<D>,
    page_size: usize,
}

impl<D: KvDtype + DeviceElement, const KV_LORA_RANK: usize, const ROPE_DIM: usize> DeviceLatentCache<D, KV_LORA_RANK, ROPE_DIM> {
    /// A cache of `pages` pages of `page_size` tokens, zeroed.
    ///
    /// # Errors
    /// When there is no room.
    ///
    /// # Panics
    /// If `page_size` is 0 or no multiple of 16: options are checked before a model is loaded.
    pub fn new(device: &Arc<Device>, pages: usize, page_size: usize) -> Result<Self, CudaError> {
        const { assert!(KV_LORA_RANK > 0 && ROPE_DIM > 0, "a latent has at least one element of either part") };
        let latents = DeviceBuffer::new(device, elements(pages, page_size, KV_LORA_RANK + ROPE_DIM))?;
        Ok(Self { latents, page_size })
    }

    /// Tokens per page.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.latents.bytes()
    }

    /// For a kernel that reads it.
    pub fn arg(&self) -> Arg<'_> {
        self.latents.arg()
    }

    /// For a kernel that writes it.
    pub fn arg_mut(&mut self) -> Arg<'_> {
        self.latents.arg_mut()
    }
}

impl<D: KvDtype + DeviceElement, const KV_LORA_RANK: usize, const ROPE_DIM: usize> std::fmt::Debug
    for DeviceLatentCache<D, KV_LORA_RANK, ROPE_DIM>
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pages = self.latents.len() / (self.page_size * (KV_LORA_RANK + ROPE_DIM));
        write!(f, "DeviceLatentCache<{}, {KV_LORA_RANK}, {ROPE_DIM}>({pages} pages of {})", <D as KvDtype>::NAME, self.page_size)
    }
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn sizes_are_products_that_saturate() {
        assert_eq!(elements(10, 48, 2 * 3 * 64), 10 * 48 * 384);
        assert_eq!(elements(usize::MAX, 16, 2), usize::MAX);
    }

    #[test]
    #[should_panic(expected = "a page of 24 tokens is no multiple of 16")]
    fn refuses_a_page_that_is_no_whole_number_of_tiles() {
        elements(1, 24, 1);
    }
}

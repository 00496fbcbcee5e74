//! Multi-head latent attention (DeepSeek-V2): a token's cache is one latent, from which every head makes its key and value.
//!
//! With `c` the latent of a position, `r` its rotated part, and `K`, `V` the rows of a head in `kv_b_proj`, the head's key is `[K c, r]`
//! and its value `V c`. The *expanded* form computes both for every position of the context, once for all query rows of a sequence,
//! and then is ordinary attention. The *absorbed* form moves the two matrices to the other side: `q (K c) = (K^T q) c` and
//! `sum w (V c) = V (sum w c)`, so that all heads attend to the latents themselves. The two are the same function, with the same
//! scale; which one is cheaper depends on how many query rows share a context.
//!
//! A query row goes through its context in tiles of 16 positions that start at absolute multiples of 16. What it computes, and in
//! which order, depends on its position and the form alone: not on the page size, the batch, its chunk, or the threads.

mod absorbed;
mod expanded;
mod latents;
mod room;
mod tile;

pub use self::latents::{latent_norm, query_scale};
pub(in crate::cpu) use self::room::room_bytes;

use super::Cpu;
use crate::batch::{Batch, SequenceSpan};
use crate::cache::{LatentCache, LatentView};
use crate::dtype::KvDtype;
use crate::linear::{LatentUp, UpView};
use crate::rows::Rows;
use crate::scale::SoftmaxScale;

mod sealed {
    pub trait Sealed {}
}

/// How latent attention is computed. KERNEL.toml chooses; the result is the same but for rounding.
pub trait MlaForm: sealed::Sealed + Copy + Send + Sync + 'static {
    /// True when attention runs over latents.
    const ABSORBED: bool;
}

/// Keys and values are computed for each position of the context.
#[derive(Clone, Copy, Debug)]
pub struct Expanded;
/// The projection of keys moves to the queries, that of values to the output.
#[derive(Clone, Copy, Debug)]
pub struct Absorbed;
impl sealed::Sealed for Expanded {}
impl sealed::Sealed for Absorbed {}
impl MlaForm for Expanded {
    const ABSORBED: bool = false;
}
impl MlaForm for Absorbed {
    const ABSORBED: bool = true;
}

/// Latent attention of the sequences with more than one token in this batch: `q` is `[tokens, HEADS * (NOPE + P)]`, the rotated part of
/// each head last, and `out` `[tokens, HEADS * V]`. Sets the rows of `out`; those of sequences with one token keep what they had, and
/// are for [`mla_decode`]. The latents of the batch's tokens must be in `kv` already.
///
/// `R` is `kv_lora_rank`, `P` is `qk_rope_head_dim`, `NOPE` is `qk_nope_head_dim`, `V` is `v_head_dim`: any numbers, over 0.
///
/// # Panics
/// If `q` or `kv` are not for this batch.
#[allow(clippy::too_many_arguments)] // Called by generated code, which names each.
pub fn mla_prefill<
    F: MlaForm,
    const HEADS: usize,
    const NOPE: usize,
    const V: usize,
    const R: usize,
    const P: usize,
    const Q_DIM: usize,
    const OUT_DIM: usize,
    D: KvDtype,
>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &LatentCache<D, R, P>,
    kv_b_proj: &LatentUp<HEADS, NOPE, V, R>,
    scale: SoftmaxScale,
    batch: &Batch,
    out: &mut Rows<f32, OUT_DIM>,
) {
    let sequences = Sequences::Longer;
    attend_to::<F, HEADS, NOPE, V, R, P, Q_DIM, OUT_DIM, D>(cpu, q, kv, kv_b_proj, scale, batch, sequences, out);
}

/// The same for the sequences with exactly one token in this batch.
///
/// # Panics
/// If `q` or `kv` are not for this batch.
#[allow(clippy::too_many_arguments)] // Called by generated code, which names each.
pub fn mla_decode<
    F: MlaForm,
    const HEADS: usize,
    const NOPE: usize,
    const V: usize,
    const R: usize,
    const P: usize,
    const Q_DIM: usize,
    const OUT_DIM: usize,
    D: KvDtype,
>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &LatentCache<D, R, P>,
    kv_b_proj: &LatentUp<HEADS, NOPE, V, R>,
    scale: SoftmaxScale,
    batch: &Batch,
    out: &mut Rows<f32, OUT_DIM>,
) {
    let sequences = Sequences::OfOneToken;
    attend_to::<F, HEADS, NOPE, V, R, P, Q_DIM, OUT_DIM, D>(cpu, q, kv, kv_b_proj, scale, batch, sequences, out);
}

/// Which sequences of a batch are computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sequences {
    OfOneToken,
    Longer,
}

#[allow(clippy::too_many_arguments)]
fn attend_to<
    F: MlaForm,
    const HEADS: usize,
    const NOPE: usize,
    const V: usize,
    const R: usize,
    const P: usize,
    const Q_DIM: usize,
    const OUT_DIM: usize,
    D: KvDtype,
>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &LatentCache<D, R, P>,
    kv_b_proj: &LatentUp<HEADS, NOPE, V, R>,
    scale: SoftmaxScale,
    batch: &Batch,
    sequences: Sequences,
    out: &mut Rows<f32, OUT_DIM>,
) {
    const {
        assert!(Q_DIM == HEADS * (NOPE + P), "a row of queries is HEADS * (NOPE + P) wide");
        assert!(OUT_DIM == HEADS * V, "a row of the output is HEADS * V wide");
    };
    assert_eq!(q.rows(), batch.tokens(), "the queries are of this batch");
    assert_eq!(batch.limits().page_size, kv.page_size(), "the batch was built for another page size");
    out.set_rows(q.rows());
    let (q, kv, up) = (q.as_slice(), kv.view(), kv_b_proj.view());
    let call = Call { q, kv, up, scale: scale.value(), batch, sequences };
    if call.spans().next().is_none() {
        return;
    }
    if F::ABSORBED { absorbed::attend(cpu, call, out.as_mut_slice()) } else { expanded::attend(cpu, call, out.as_mut_slice()) }
}

/// What is to be computed, with dimensions as values: shapes share the code from here on, dtypes do not.
struct Call<'a, D: KvDtype> {
    q: &'a [f32],
    kv: LatentView<'a, D>,
    up: UpView<'a>,
    scale: f32,
    batch: &'a Batch,
    sequences: Sequences,
}

impl<D: KvDtype> Clone for Call<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: KvDtype> Copy for Call<'_, D> {}

impl<'a, D: KvDtype> Call<'a, D> {
    /// The sequences that are computed.
    #[inline(always)]
    fn spans(&self) -> impl Iterator<Item = &'a SequenceSpan> + use<'a, D> {
        let of_one = self.sequences == Sequences::OfOneToken;
        self.batch.sequences().iter().filter(move |span| (span.tokens.len() == 1) == of_one)
    }

    /// Elements of a query of one head.
    #[inline(always)]
    fn query_width(&self) -> usize {
        self.up.nope + self.kv.rope
    }

    /// The query of one head, and after it those of the heads and tokens that follow.
    #[inline(always)]
    fn queries(&self, token: usize, head: usize) -> &'a [f32] {
        &self.q[(token * self.up.heads + head) * self.query_width()..]
    }

    /// The latents of the tile that starts at position `start` of a sequence.
    #[inline(always)]
    fn tile(&self, span: &SequenceSpan, start: usize) -> &'a [D::Stored] {
        let page = self.batch.pages(span)[start / self.kv.page_size].0 as usize;
        self.kv.tile(page, start % self.kv.page_size / crate::cache::TILE_KV)
    }
}

#[cfg(test)]
mod tests;

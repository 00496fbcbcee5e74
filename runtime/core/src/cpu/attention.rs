//! Causal grouped-query attention over a paged cache, with an online softmax.
//!
//! A query row goes through its context in tiles of 16 positions that start at absolute multiples of 16, and keeps a running
//! maximum, a running sum and a running weighted sum of values. What it computes, and in which order, depends on its position
//! alone: not on the page size, on the chunk that it came in, or on the rows that share its tile.

pub(super) mod softmax;
mod tile;

use self::tile::QueryTile;
use super::Cpu;
use super::grid::Grid;
use crate::batch::Batch;
use crate::cache::{KvView, PagedKv};
use crate::dtype::KvDtype;
use crate::linear::Vector;
use crate::rows::Rows;
use crate::scale::SoftmaxScale;

pub(super) use self::tile::prefetch;

/// Most query rows of a tile.
const MAX_TILE_Q: usize = 32;
/// Largest head dimension: a tile of widened keys or values is 16 KiB.
const MAX_HEAD_DIM: usize = 256;
/// Elements of values that are accumulated in registers together.
const LANES: usize = 8;

/// `softmax(scale q k^T) v` for each token and head, over the positions up to the token's own: `[tokens, HEADS * HEAD_DIM]` to
/// the same. Sets the rows of `out`. Keys and values of the batch's tokens must be in `kv` already.
///
/// `TILE_Q`, from KERNEL.toml, is the number of query rows (tokens times heads of a group) that share a pass over keys and values.
///
/// # Panics
/// If `q` or `kv` are not for this batch.
pub fn attention<
    const TILE_Q: usize,
    const HEADS: usize,
    const KV_HEADS: usize,
    const HEAD_DIM: usize,
    const Q_DIM: usize,
    D: KvDtype,
>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &PagedKv<D, KV_HEADS, HEAD_DIM>,
    scale: SoftmaxScale,
    batch: &Batch,
    out: &mut Rows<f32, Q_DIM>,
) {
    const { check_heads(TILE_Q, HEADS, KV_HEADS, HEAD_DIM, Q_DIM) };
    let shape = Shape { scale: scale.value(), cap: None, window: usize::MAX, sinks: None, tile_q: TILE_Q, heads: HEADS };
    checked(cpu, q, kv, shape, batch, out);
}

/// The same where a token sees `window` positions only, its own included: `position - window < p <= position`.
///
/// # Panics
/// If `q` or `kv` are not for this batch, or the window is empty.
#[allow(clippy::too_many_arguments)] // Called by generated code, which names each.
pub fn sliding_attention<
    const TILE_Q: usize,
    const HEADS: usize,
    const KV_HEADS: usize,
    const HEAD_DIM: usize,
    const Q_DIM: usize,
    D: KvDtype,
>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &PagedKv<D, KV_HEADS, HEAD_DIM>,
    scale: SoftmaxScale,
    window: usize,
    batch: &Batch,
    out: &mut Rows<f32, Q_DIM>,
) {
    const { check_heads(TILE_Q, HEADS, KV_HEADS, HEAD_DIM, Q_DIM) };
    let shape = Shape { scale: scale.value(), cap: None, window, sinks: None, tile_q: TILE_Q, heads: HEADS };
    checked(cpu, q, kv, shape, batch, out);
}

/// The same with scores soft-capped before the softmax, `cap tanh(scale q k^T / cap)`, as in Gemma 2. With a `window`, a token sees
/// that many positions, as in [`sliding_attention`].
///
/// # Panics
/// If `q` or `kv` are not for this batch, the window is empty, or the cap is no positive number.
#[allow(clippy::too_many_arguments)] // Called by generated code, which names each.
pub fn softcap_attention<
    const TILE_Q: usize,
    const HEADS: usize,
    const KV_HEADS: usize,
    const HEAD_DIM: usize,
    const Q_DIM: usize,
    D: KvDtype,
>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &PagedKv<D, KV_HEADS, HEAD_DIM>,
    scale: SoftmaxScale,
    cap: f32,
    window: Option<usize>,
    batch: &Batch,
    out: &mut Rows<f32, Q_DIM>,
) {
    const { check_heads(TILE_Q, HEADS, KV_HEADS, HEAD_DIM, Q_DIM) };
    assert!(cap > 0.0 && cap.is_finite(), "a cap is a positive number");
    let window = window.unwrap_or(usize::MAX);
    let shape = Shape { scale: scale.value(), cap: Some(cap), window, sinks: None, tile_q: TILE_Q, heads: HEADS };
    checked(cpu, q, kv, shape, batch, out);
}

/// The same where each head has a sink, as in gpt-oss: a score that takes part in the softmax, unscaled, and has no value, so that the
/// weights of the positions sum to less than 1. With a `window`, a token sees that many positions, as in [`sliding_attention`].
///
/// # Panics
/// If `q` or `kv` are not for this batch, or the window is empty.
#[allow(clippy::too_many_arguments)] // Called by generated code, which names each.
pub fn sink_attention<
    const TILE_Q: usize,
    const HEADS: usize,
    const KV_HEADS: usize,
    const HEAD_DIM: usize,
    const Q_DIM: usize,
    D: KvDtype,
>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &PagedKv<D, KV_HEADS, HEAD_DIM>,
    scale: SoftmaxScale,
    sinks: &Vector<HEADS>,
    window: Option<usize>,
    batch: &Batch,
    out: &mut Rows<f32, Q_DIM>,
) {
    const { check_heads(TILE_Q, HEADS, KV_HEADS, HEAD_DIM, Q_DIM) };
    let (window, sinks) = (window.unwrap_or(usize::MAX), Some(&sinks.values()[..]));
    let shape = Shape { scale: scale.value(), cap: None, window, sinks, tile_q: TILE_Q, heads: HEADS };
    checked(cpu, q, kv, shape, batch, out);
}

/// What the types of the wrappers say, as values.
#[derive(Clone, Copy)]
struct Shape<'a> {
    scale: f32,
    /// What scores are soft-capped at.
    cap: Option<f32>,
    /// Positions that a token sees, its own included.
    window: usize,
    /// A score per head that has no position.
    sinks: Option<&'a [f32]>,
    tile_q: usize,
    heads: usize,
}

/// What the dimensions of an instance must be.
const fn check_heads(tile_q: usize, heads: usize, kv_heads: usize, head_dim: usize, q_dim: usize) {
    assert!(q_dim == heads * head_dim, "a row of queries is HEADS * HEAD_DIM wide");
    assert!(heads.is_multiple_of(kv_heads), "each KV head serves a whole group of heads");
    assert!(head_dim.is_multiple_of(LANES) && head_dim <= MAX_HEAD_DIM, "head_dim is a multiple of 8, at most 256");
    assert!(tile_q > 0 && tile_q <= MAX_TILE_Q, "a query tile has 1 to 32 rows");
}

/// Compares what the types do not say.
fn checked<const KV_HEADS: usize, const HEAD_DIM: usize, const Q_DIM: usize, D: KvDtype>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &PagedKv<D, KV_HEADS, HEAD_DIM>,
    shape: Shape<'_>,
    batch: &Batch,
    out: &mut Rows<f32, Q_DIM>,
) {
    assert!(shape.window > 0, "a token sees at least itself");
    assert_eq!(q.rows(), batch.tokens(), "the queries are of this batch");
    assert_eq!(batch.limits().page_size, kv.page_size(), "the batch was built for another page size");
    out.set_rows(q.rows());
    attend(cpu, q.as_slice(), kv.view(), shape, batch, out.as_mut_slice());
}

/// Shapes are values from here on: head dimensions share the code, dtypes do not.
fn attend<D: KvDtype>(cpu: &Cpu, q: &[f32], kv: KvView<'_, D>, shape: Shape<'_>, batch: &Batch, out: &mut [f32]) {
    let Shape { tile_q, heads, .. } = shape;
    let group = heads / kv.kv_heads;
    // A tile is some tokens times some heads of one group. Decodes of several sequences share nothing, so they are not tiled.
    let heads_of_tile = largest_divisor(group, tile_q);
    let decodes = batch.sequences().len() == batch.tokens();
    let tokens_of_tile = if decodes { 1 } else { (tile_q / heads_of_tile).max(1) };
    let mut grid = Grid::new(out, heads * kv.head_dim, tokens_of_tile, heads_of_tile * kv.head_dim);
    cpu.over(&mut grid, |out| cpu.lanes().enter(QueryTile { q, kv, shape, batch, out }));
}

/// The largest divisor of `n` that is at most `limit`.
fn largest_divisor(n: usize, limit: usize) -> usize {
    (1..=n.min(limit)).rev().find(|&d| n.is_multiple_of(d)).expect("1 divides every number")
}

#[cfg(test)]
mod tests;

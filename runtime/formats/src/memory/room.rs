//! `Room`: what a thread of the CPU keeps for the intermediate results of a kernel.

/// Positions of a tile of latent attention, and columns of a block of values.
const TILE_KV: u64 = 16;
/// Bytes of 16 columns.
const PANEL_ROW: u64 = 64;
/// Bytes of the running maximum and sum of a query row: 9 numbers.
const RUNNING: u64 = 36;
/// Most query rows of a cell of the absorbed form.
const MAX_ABSORBED_ROWS: u64 = 128;
/// Weight rows that the absorbed form widens together.
const WEIGHT_ROWS: u64 = 8;
/// Columns of a vector of the chunked recurrences, and its bytes.
const LANES: u64 = 8;
const VECTOR: u64 = 32;
/// Rows that the chunked recurrences compute together.
const TILE: u64 = 6;

/// The dimensions of a kernel that keeps room for each thread. The kernels in `core::cpu` take exactly this much for their largest step,
/// which a test beside each of them measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are the dimensions, as the config names them")]
pub enum Room {
    /// Latent attention that computes keys and values of every position.
    Expanded { kv_lora_rank: u64, nope: u64, rope: u64, v: u64 },
    /// Latent attention over the latents themselves.
    Absorbed { heads: u64, kv_lora_rank: u64, rope: u64 },
    /// The scan of Mamba2.
    Mamba2 { head_dim: u64, state: u64, chunk: u64 },
    /// The gated delta rule over a chunk.
    Delta { key_dim: u64, value_dim: u64, chunk: u64 },
}

/// What one kernel takes.
#[derive(Clone, Copy, Default)]
struct Taken {
    panels: u64,
    running: u64,
    vectors: u64,
}

impl Room {
    /// Bytes that one of `threads` threads keeps for all of these kernels, with steps of at most `tokens` tokens. Kernels of one sort share
    /// their room, which is as large as the largest needs it.
    pub fn bytes(rooms: &[Self], tokens: u64, threads: u64) -> u64 {
        let most = rooms.iter().map(|room| room.taken(tokens, threads)).fold(Taken::default(), |a, b| Taken {
            panels: a.panels.max(b.panels),
            running: a.running.max(b.running),
            vectors: a.vectors.max(b.vectors),
        });
        let attention = most.panels.saturating_mul(PANEL_ROW).saturating_add(most.running.saturating_mul(RUNNING));
        attention.saturating_add(most.vectors.saturating_mul(VECTOR))
    }

    fn taken(&self, tokens: u64, threads: u64) -> Taken {
        match *self {
            Self::Expanded { kv_lora_rank, nope, rope, v } => {
                let weights = ((nope + v) * kv_lora_rank).div_ceil(TILE_KV);
                let blocks = v.div_ceil(TILE_KV);
                let fixed = weights + (kv_lora_rank + rope) + (nope + rope) + v + blocks * TILE_KV;
                Taken { panels: blocks.saturating_mul(tokens).saturating_add(fixed), running: tokens, vectors: 0 }
            }
            Self::Absorbed { heads, kv_lora_rank, rope } => {
                let (tokens, threads) = (tokens.max(1), threads.max(1));
                // With fewer tokens than threads, the heads are divided too.
                let heads = heads.div_ceil(threads.div_ceil(tokens)).min(MAX_ABSORBED_ROWS);
                let rows = tokens.div_ceil(threads).min(MAX_ABSORBED_ROWS / heads).max(1) * heads;
                let (width, blocks) = (kv_lora_rank + rope, kv_lora_rank.div_ceil(TILE_KV));
                let queries = (rows * width).div_ceil(TILE_KV) + (WEIGHT_ROWS * kv_lora_rank).div_ceil(TILE_KV);
                Taken { panels: queries + width + blocks * TILE_KV + blocks * rows, running: rows, vectors: 0 }
            }
            Self::Mamba2 { head_dim, state, chunk } => {
                let (pairs, columns) = (chunk.div_ceil(LANES), head_dim.div_ceil(LANES));
                let vectors = (state + chunk + TILE) * pairs + (chunk + TILE) * columns + 4 * pairs;
                Taken { vectors, ..Taken::default() }
            }
            Self::Delta { key_dim, value_dim, chunk } => {
                let (pairs, keys, columns) = (chunk.div_ceil(LANES), key_dim.div_ceil(LANES), value_dim.div_ceil(LANES));
                let matrices = 2 * chunk * keys + (key_dim + 2 * chunk + TILE) * pairs + (chunk + TILE) * columns;
                Taken { vectors: matrices + 4 * pairs, ..Taken::default() }
            }
        }
    }
}

//! nemotron-3-super-120b-a12b on the CPU: caches, recurrent states and activations.
//! Generated from model-specs/nemotron-3-super-120b-a12b; edit the TOMLs there, then `cargo build`.

use std::borrow::Cow;

use tenon_core::batch::{BatchLimits, SnapshotId, StateSlot};
use tenon_core::cache::PagedKv;
use tenon_core::dtype::KvDtype;
use tenon_core::layers::per_layer;
use tenon_core::memory::{Room, Workspace};
use tenon_core::moe::{ExpertRows, Routes};
use tenon_core::rows::Rows;
use tenon_core::state::Mamba2State;

use super::INFO;

/// The KV cache or the recurrent state of every layer.
pub struct Caches<D: KvDtype> {
    pub mamba: Box<[Mamba2State<128, 64, 128, 10240, 4>; 40]>,
    pub block_attention: Box<[PagedKv<D, 2, 128>; 8]>,
}

impl<D: KvDtype> Caches<D> {
    pub fn new(limits: &BatchLimits, snapshots: usize) -> Self {
        Self {
            mamba: per_layer(|| Mamba2State::new(limits.state_slots, snapshots)),
            block_attention: per_layer(|| PagedKv::new(limits.pages, limits.page_size)),
        }
    }

    pub fn bytes(&self) -> usize {
        self.block_attention.iter().map(PagedKv::bytes).sum::<usize>()
    }

    pub fn state_bytes(&self) -> usize {
        self.mamba.iter().map(Mamba2State::bytes).sum::<usize>()
    }

    pub fn snapshot_bytes(&self) -> usize {
        self.mamba.iter().map(Mamba2State::snapshot_bytes).sum::<usize>()
    }

    pub fn save(&mut self, slot: StateSlot, snapshot: SnapshotId) {
        self.mamba.iter_mut().for_each(|layer| layer.save(slot, snapshot));
    }

    pub fn restore(&mut self, snapshot: SnapshotId, slot: StateSlot) {
        self.mamba.iter_mut().for_each(|layer| layer.restore(snapshot, slot));
    }
}

/// Activations of one step.
pub struct Scratch {
    pub x: Rows<f32, 4096>,
    pub h: Rows<f32, 4096>,
    pub z: Rows<f32, 8192>,
    pub xbc: Rows<f32, 10240>,
    pub dt: Rows<f32, 128>,
    pub y: Rows<f32, 8192>,
    pub router: Rows<f32, 512>,
    pub expert_h: Rows<f32, 1024>,
    pub expert_o: Rows<f32, 1024>,
    pub o: Rows<f32, 4096>,
    pub up: Rows<f32, 5376>,
    pub q: Rows<f32, 4096>,
    pub k: Rows<f32, 256>,
    pub v: Rows<f32, 256>,
    pub attn: Rows<f32, 4096>,
    pub last: Rows<f32, 4096>,
    pub last_h: Rows<f32, 4096>,
    pub logits: Rows<f32, 131072>,
    pub routes: Routes<512, 22>,
    pub expert_rows: ExpertRows<1024, 2688>,
}

impl Scratch {
    pub fn new(limits: &BatchLimits) -> Self {
        Self {
            x: Rows::with_capacity(limits.max_tokens),
            h: Rows::with_capacity(limits.max_tokens),
            z: Rows::with_capacity(limits.max_tokens),
            xbc: Rows::with_capacity(limits.max_tokens),
            dt: Rows::with_capacity(limits.max_tokens),
            y: Rows::with_capacity(limits.max_tokens),
            router: Rows::with_capacity(limits.max_tokens),
            expert_h: Rows::with_capacity(limits.max_tokens),
            expert_o: Rows::with_capacity(limits.max_tokens),
            o: Rows::with_capacity(limits.max_tokens),
            up: Rows::with_capacity(limits.max_tokens),
            q: Rows::with_capacity(limits.max_tokens),
            k: Rows::with_capacity(limits.max_tokens),
            v: Rows::with_capacity(limits.max_tokens),
            attn: Rows::with_capacity(limits.max_tokens),
            last: Rows::with_capacity(limits.max_logit_rows),
            last_h: Rows::with_capacity(limits.max_logit_rows),
            logits: Rows::with_capacity(limits.max_logit_rows),
            routes: Routes::new(limits.max_tokens),
            expert_rows: ExpertRows::plain(limits.max_tokens * 22),
        }
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.z.bytes() + self.xbc.bytes()
            + self.dt.bytes() + self.y.bytes() + self.router.bytes()
            + self.expert_h.bytes() + self.expert_o.bytes() + self.o.bytes()
            + self.up.bytes() + self.q.bytes() + self.k.bytes() + self.v.bytes()
            + self.attn.bytes() + self.last.bytes() + self.last_h.bytes()
            + self.logits.bytes() + self.routes.bytes() + self.expert_rows.bytes()
    }
}

/// What a step computes in, as numbers: the memory of a deployment is planned with them.
pub const WORKSPACE: Workspace = Workspace {
    token_bytes: 549728,
    logit_row_bytes: 557056,
    fixed_bytes: 2052,
    rooms: Cow::Borrowed(
        &[
            Room::Mamba2 {
                head_dim: 64,
                state: 128,
                chunk: 128,
            },
        ],
    ),
};

const _: () = assert!(
    40 * < Mamba2State < 128, 64, 128, 10240, 4 > > ::ENTRY_BYTES == INFO
    .state_bytes_per_slot
);

//! qwen3.5-122b-a10b on the CPU: caches, recurrent states and activations.
//! Generated from model-specs/qwen3.5-122b-a10b; edit the TOMLs there, then `cargo build`.

use std::borrow::Cow;

use tenon_core::batch::{BatchLimits, SnapshotId, StateSlot};
use tenon_core::cache::PagedKv;
use tenon_core::dtype::KvDtype;
use tenon_core::layers::per_layer;
use tenon_core::memory::{Room, Workspace};
use tenon_core::moe::{ExpertRows, Routes};
use tenon_core::rope::{Halves, RopeAngles};
use tenon_core::rows::Rows;
use tenon_core::state::DeltaState;

use super::{ATTENTION_ROPE, INFO};

/// The KV cache or the recurrent state of every layer.
pub struct Caches<D: KvDtype> {
    pub block_linear: Box<[DeltaState<64, 128, 128, 12288, 4>; 36]>,
    pub full: Box<[PagedKv<D, 2, 256>; 12]>,
}

impl<D: KvDtype> Caches<D> {
    pub fn new(limits: &BatchLimits, snapshots: usize) -> Self {
        Self {
            block_linear: per_layer(|| DeltaState::new(limits.state_slots, snapshots)),
            full: per_layer(|| PagedKv::new(limits.pages, limits.page_size)),
        }
    }

    pub fn bytes(&self) -> usize {
        self.full.iter().map(PagedKv::bytes).sum::<usize>()
    }

    pub fn state_bytes(&self) -> usize {
        self.block_linear.iter().map(DeltaState::bytes).sum::<usize>()
    }

    pub fn snapshot_bytes(&self) -> usize {
        self.block_linear.iter().map(DeltaState::snapshot_bytes).sum::<usize>()
    }

    pub fn save(&mut self, slot: StateSlot, snapshot: SnapshotId) {
        self.block_linear.iter_mut().for_each(|layer| layer.save(slot, snapshot));
    }

    pub fn restore(&mut self, snapshot: SnapshotId, slot: StateSlot) {
        self.block_linear.iter_mut().for_each(|layer| layer.restore(snapshot, slot));
    }
}

/// Activations of one step.
pub struct Scratch {
    pub x: Rows<f32, 3072>,
    pub h: Rows<f32, 3072>,
    pub qkv: Rows<f32, 12288>,
    pub z: Rows<f32, 8192>,
    pub b: Rows<f32, 64>,
    pub a: Rows<f32, 64>,
    pub y: Rows<f32, 8192>,
    pub router: Rows<f32, 256>,
    pub o: Rows<f32, 3072>,
    pub gate: Rows<f32, 1024>,
    pub up: Rows<f32, 1024>,
    pub shared: Rows<f32, 3072>,
    pub shared_gate: Rows<f32, 1>,
    pub q: Rows<f32, 8192>,
    pub attn_gate: Rows<f32, 8192>,
    pub k: Rows<f32, 512>,
    pub v: Rows<f32, 512>,
    pub attn: Rows<f32, 8192>,
    pub last: Rows<f32, 3072>,
    pub last_h: Rows<f32, 3072>,
    pub logits: Rows<f32, 248320>,
    pub angles: RopeAngles<64, Halves>,
    pub routes: Routes<256, 8>,
    pub expert_rows: ExpertRows<3072, 1024>,
}

impl Scratch {
    pub fn new(limits: &BatchLimits) -> Self {
        Self {
            x: Rows::with_capacity(limits.max_tokens),
            h: Rows::with_capacity(limits.max_tokens),
            qkv: Rows::with_capacity(limits.max_tokens),
            z: Rows::with_capacity(limits.max_tokens),
            b: Rows::with_capacity(limits.max_tokens),
            a: Rows::with_capacity(limits.max_tokens),
            y: Rows::with_capacity(limits.max_tokens),
            router: Rows::with_capacity(limits.max_tokens),
            o: Rows::with_capacity(limits.max_tokens),
            gate: Rows::with_capacity(limits.max_tokens),
            up: Rows::with_capacity(limits.max_tokens),
            shared: Rows::with_capacity(limits.max_tokens),
            shared_gate: Rows::with_capacity(limits.max_tokens),
            q: Rows::with_capacity(limits.max_tokens),
            attn_gate: Rows::with_capacity(limits.max_tokens),
            k: Rows::with_capacity(limits.max_tokens),
            v: Rows::with_capacity(limits.max_tokens),
            attn: Rows::with_capacity(limits.max_tokens),
            last: Rows::with_capacity(limits.max_logit_rows),
            last_h: Rows::with_capacity(limits.max_logit_rows),
            logits: Rows::with_capacity(limits.max_logit_rows),
            angles: RopeAngles::new(&ATTENTION_ROPE, limits.max_tokens),
            routes: Routes::new(limits.max_tokens),
            expert_rows: ExpertRows::new(limits.max_tokens * 8),
        }
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.qkv.bytes() + self.z.bytes()
            + self.b.bytes() + self.a.bytes() + self.y.bytes() + self.router.bytes()
            + self.o.bytes() + self.gate.bytes() + self.up.bytes() + self.shared.bytes()
            + self.shared_gate.bytes() + self.q.bytes() + self.attn_gate.bytes()
            + self.k.bytes() + self.v.bytes() + self.attn.bytes() + self.last.bytes()
            + self.last_h.bytes() + self.logits.bytes() + self.angles.bytes()
            + self.routes.bytes() + self.expert_rows.bytes()
    }
}

/// What a step computes in, as numbers: the memory of a deployment is planned with them.
pub const WORKSPACE: Workspace = Workspace {
    token_bytes: 440196,
    logit_row_bytes: 1017856,
    fixed_bytes: 1156,
    rooms: Cow::Borrowed(
        &[
            Room::Delta {
                key_dim: 128,
                value_dim: 128,
                chunk: 64,
            },
        ],
    ),
};

const _: () = assert!(
    36 * < DeltaState < 64, 128, 128, 12288, 4 > > ::ENTRY_BYTES == INFO
    .state_bytes_per_slot
);

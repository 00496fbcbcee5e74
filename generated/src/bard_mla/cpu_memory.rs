//! bard-mla on the CPU: caches and activations.
//! Generated from model-specs/bard-mla; edit the TOMLs there, then `cargo build`.

use std::borrow::Cow;

use tenon_core::batch::BatchLimits;
use tenon_core::cache::LatentCache;
use tenon_core::dtype::KvDtype;
use tenon_core::layers::per_layer;
use tenon_core::memory::{Room, Workspace};
use tenon_core::moe::{ExpertRows, Routes};
use tenon_core::rope::{Interleaved, RopeAngles};
use tenon_core::rows::Rows;

use super::ROPE;

/// The KV cache of every layer.
pub struct Caches<D: KvDtype> {
    pub block: Box<[LatentCache<D, 64, 32>; 6]>,
}

impl<D: KvDtype> Caches<D> {
    pub fn new(limits: &BatchLimits) -> Self {
        Self {
            block: per_layer(|| LatentCache::new(limits.pages, limits.page_size)),
        }
    }

    pub fn bytes(&self) -> usize {
        self.block.iter().map(LatentCache::bytes).sum::<usize>()
    }
}

/// Activations of one step.
pub struct Scratch {
    pub x: Rows<f32, 192>,
    pub h: Rows<f32, 192>,
    pub q_a: Rows<f32, 96>,
    pub q_a_h: Rows<f32, 96>,
    pub q: Rows<f32, 256>,
    pub latent: Rows<f32, 96>,
    pub attn: Rows<f32, 128>,
    pub router: Rows<f32, 4>,
    pub o: Rows<f32, 192>,
    pub gate: Rows<f32, 96>,
    pub up: Rows<f32, 96>,
    pub last: Rows<f32, 192>,
    pub last_h: Rows<f32, 192>,
    pub logits: Rows<f32, 1024>,
    pub angles: RopeAngles<32, Interleaved>,
    pub routes: Routes<4, 2>,
    pub expert_rows: ExpertRows<192, 96>,
}

impl Scratch {
    pub fn new(limits: &BatchLimits) -> Self {
        Self {
            x: Rows::with_capacity(limits.max_tokens),
            h: Rows::with_capacity(limits.max_tokens),
            q_a: Rows::with_capacity(limits.max_tokens),
            q_a_h: Rows::with_capacity(limits.max_tokens),
            q: Rows::with_capacity(limits.max_tokens),
            latent: Rows::with_capacity(limits.max_tokens),
            attn: Rows::with_capacity(limits.max_tokens),
            router: Rows::with_capacity(limits.max_tokens),
            o: Rows::with_capacity(limits.max_tokens),
            gate: Rows::with_capacity(limits.max_tokens),
            up: Rows::with_capacity(limits.max_tokens),
            last: Rows::with_capacity(limits.max_logit_rows),
            last_h: Rows::with_capacity(limits.max_logit_rows),
            logits: Rows::with_capacity(limits.max_logit_rows),
            angles: RopeAngles::new(&ROPE, limits.max_tokens),
            routes: Routes::new(limits.max_tokens),
            expert_rows: ExpertRows::new(limits.max_tokens * 2),
        }
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.q_a.bytes() + self.q_a_h.bytes()
            + self.q.bytes() + self.latent.bytes() + self.attn.bytes()
            + self.router.bytes() + self.o.bytes() + self.gate.bytes() + self.up.bytes()
            + self.last.bytes() + self.last_h.bytes() + self.logits.bytes()
            + self.angles.bytes() + self.routes.bytes() + self.expert_rows.bytes()
    }
}

/// What a step computes in, as numbers: the memory of a deployment is planned with them.
pub const WORKSPACE: Workspace = Workspace {
    token_bytes: 9008,
    logit_row_bytes: 5632,
    fixed_bytes: 84,
    rooms: Cow::Borrowed(
        &[
            Room::Expanded {
                kv_lora_rank: 64,
                nope: 32,
                rope: 32,
                v: 32,
            },
            Room::Absorbed {
                heads: 4,
                kv_lora_rank: 64,
                rope: 32,
            },
        ],
    ),
};

//! gpt-oss-20b on the CPU: caches and activations.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

use std::borrow::Cow;

use tenon_core::batch::BatchLimits;
use tenon_core::cache::PagedKv;
use tenon_core::dtype::KvDtype;
use tenon_core::layers::per_layer;
use tenon_core::memory::Workspace;
use tenon_core::moe::{ExpertRows, Routes};
use tenon_core::rope::{Halves, RopeAngles};
use tenon_core::rows::Rows;

use super::LOCAL_ROPE;

/// The KV cache of every layer.
pub struct Caches<D: KvDtype> {
    pub local: Box<[PagedKv<D, 8, 64>; 12]>,
    pub full: Box<[PagedKv<D, 8, 64>; 12]>,
}

impl<D: KvDtype> Caches<D> {
    pub fn new(limits: &BatchLimits) -> Self {
        Self {
            local: per_layer(|| PagedKv::new(limits.pages, limits.page_size)),
            full: per_layer(|| PagedKv::new(limits.pages, limits.page_size)),
        }
    }

    pub fn bytes(&self) -> usize {
        self.local.iter().map(PagedKv::bytes).sum::<usize>()
            + self.full.iter().map(PagedKv::bytes).sum::<usize>()
    }
}

/// Activations of one step.
pub struct Scratch {
    pub x: Rows<f32, 2880>,
    pub h: Rows<f32, 2880>,
    pub q: Rows<f32, 4096>,
    pub k: Rows<f32, 512>,
    pub v: Rows<f32, 512>,
    pub attn: Rows<f32, 4096>,
    pub router: Rows<f32, 32>,
    pub o: Rows<f32, 2880>,
    pub last: Rows<f32, 2880>,
    pub last_h: Rows<f32, 2880>,
    pub logits: Rows<f32, 201088>,
    pub angles: RopeAngles<64, Halves>,
    pub routes: Routes<32, 4>,
    pub expert_rows: ExpertRows<2880, 2880>,
}

impl Scratch {
    pub fn new(limits: &BatchLimits) -> Self {
        Self {
            x: Rows::with_capacity(limits.max_tokens),
            h: Rows::with_capacity(limits.max_tokens),
            q: Rows::with_capacity(limits.max_tokens),
            k: Rows::with_capacity(limits.max_tokens),
            v: Rows::with_capacity(limits.max_tokens),
            attn: Rows::with_capacity(limits.max_tokens),
            router: Rows::with_capacity(limits.max_tokens),
            o: Rows::with_capacity(limits.max_tokens),
            last: Rows::with_capacity(limits.max_logit_rows),
            last_h: Rows::with_capacity(limits.max_logit_rows),
            logits: Rows::with_capacity(limits.max_logit_rows),
            angles: RopeAngles::new(&LOCAL_ROPE, limits.max_tokens),
            routes: Routes::new(limits.max_tokens),
            expert_rows: ExpertRows::new(limits.max_tokens * 4),
        }
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.q.bytes() + self.k.bytes()
            + self.v.bytes() + self.attn.bytes() + self.router.bytes() + self.o.bytes()
            + self.last.bytes() + self.last_h.bytes() + self.logits.bytes()
            + self.angles.bytes() + self.routes.bytes() + self.expert_rows.bytes()
    }
}

/// What a step computes in, as numbers: the memory of a deployment is planned with them.
pub const WORKSPACE: Workspace = Workspace {
    token_bytes: 210112,
    logit_row_bytes: 827392,
    fixed_bytes: 260,
    rooms: Cow::Borrowed(&[]),
};

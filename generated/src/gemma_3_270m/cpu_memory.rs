//! gemma-3-270m on the CPU: caches and activations.
//! Generated from model-specs/gemma-3-270m; edit the TOMLs there, then `cargo build`.

use std::borrow::Cow;

use tenon_core::batch::BatchLimits;
use tenon_core::cache::PagedKv;
use tenon_core::dtype::KvDtype;
use tenon_core::layers::per_layer;
use tenon_core::memory::Workspace;
use tenon_core::rope::{Halves, RopeAngles};
use tenon_core::rows::Rows;

use super::{FULL_ROPE, LOCAL_ROPE};

/// The KV cache of every layer.
pub struct Caches<D: KvDtype> {
    pub local: Box<[PagedKv<D, 1, 256>; 15]>,
    pub full: Box<[PagedKv<D, 1, 256>; 3]>,
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
    pub x: Rows<f32, 640>,
    pub h: Rows<f32, 640>,
    pub q: Rows<f32, 1024>,
    pub k: Rows<f32, 256>,
    pub v: Rows<f32, 256>,
    pub attn: Rows<f32, 1024>,
    pub o: Rows<f32, 640>,
    pub gate: Rows<f32, 2048>,
    pub up: Rows<f32, 2048>,
    pub last: Rows<f32, 640>,
    pub last_h: Rows<f32, 640>,
    pub logits: Rows<f32, 262144>,
    pub angles: RopeAngles<256, Halves>,
    pub angles_full: RopeAngles<256, Halves>,
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
            o: Rows::with_capacity(limits.max_tokens),
            gate: Rows::with_capacity(limits.max_tokens),
            up: Rows::with_capacity(limits.max_tokens),
            last: Rows::with_capacity(limits.max_logit_rows),
            last_h: Rows::with_capacity(limits.max_logit_rows),
            logits: Rows::with_capacity(limits.max_logit_rows),
            angles: RopeAngles::new(&LOCAL_ROPE, limits.max_tokens),
            angles_full: RopeAngles::new(&FULL_ROPE, limits.max_tokens),
        }
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.q.bytes() + self.k.bytes()
            + self.v.bytes() + self.attn.bytes() + self.o.bytes() + self.gate.bytes()
            + self.up.bytes() + self.last.bytes() + self.last_h.bytes()
            + self.logits.bytes() + self.angles.bytes() + self.angles_full.bytes()
    }
}

/// What a step computes in, as numbers: the memory of a deployment is planned with them.
pub const WORKSPACE: Workspace = Workspace {
    token_bytes: 36352,
    logit_row_bytes: 1053696,
    fixed_bytes: 1024,
    rooms: Cow::Borrowed(&[]),
};

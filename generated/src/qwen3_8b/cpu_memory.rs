//! qwen3-8b on the CPU: caches and activations.
//! Generated from model-specs/qwen3-8b; edit the TOMLs there, then `cargo build`.

use std::borrow::Cow;

use tenon_core::batch::BatchLimits;
use tenon_core::cache::PagedKv;
use tenon_core::dtype::KvDtype;
use tenon_core::layers::per_layer;
use tenon_core::memory::Workspace;
use tenon_core::rope::{Halves, RopeAngles};
use tenon_core::rows::Rows;

use super::ROPE;

/// The KV cache of every layer.
pub struct Caches<D: KvDtype> {
    pub block: Box<[PagedKv<D, 8, 128>; 36]>,
}

impl<D: KvDtype> Caches<D> {
    pub fn new(limits: &BatchLimits) -> Self {
        Self {
            block: per_layer(|| PagedKv::new(limits.pages, limits.page_size)),
        }
    }

    pub fn bytes(&self) -> usize {
        self.block.iter().map(PagedKv::bytes).sum::<usize>()
    }
}

/// Activations of one step.
pub struct Scratch {
    pub x: Rows<f32, 4096>,
    pub h: Rows<f32, 4096>,
    pub q: Rows<f32, 4096>,
    pub k: Rows<f32, 1024>,
    pub v: Rows<f32, 1024>,
    pub attn: Rows<f32, 4096>,
    pub gate: Rows<f32, 12288>,
    pub up: Rows<f32, 12288>,
    pub last: Rows<f32, 4096>,
    pub last_h: Rows<f32, 4096>,
    pub logits: Rows<f32, 151936>,
    pub angles: RopeAngles<128, Halves>,
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
            gate: Rows::with_capacity(limits.max_tokens),
            up: Rows::with_capacity(limits.max_tokens),
            last: Rows::with_capacity(limits.max_logit_rows),
            last_h: Rows::with_capacity(limits.max_logit_rows),
            logits: Rows::with_capacity(limits.max_logit_rows),
            angles: RopeAngles::new(&ROPE, limits.max_tokens),
        }
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.q.bytes() + self.k.bytes()
            + self.v.bytes() + self.attn.bytes() + self.gate.bytes() + self.up.bytes()
            + self.last.bytes() + self.last_h.bytes() + self.logits.bytes()
            + self.angles.bytes()
    }
}

/// What a step computes in, as numbers: the memory of a deployment is planned with them.
pub const WORKSPACE: Workspace = Workspace {
    token_bytes: 172544,
    logit_row_bytes: 640512,
    fixed_bytes: 256,
    rooms: Cow::Borrowed(&[]),
};

//! smollm2-135m-instruct on sm_90a: caches and activations.
//! Generated from model-specs/smollm2-135m-instruct; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::BatchLimits;
use tenon_core::cuda::{
    BUSY_BLOCKS, Bf16, CudaError, Device, DeviceAngles, DeviceElement, DevicePagedKv,
    DeviceRows, DeviceWorkspace, F32, PlanMaxima, U32,
};
use tenon_core::dtype::KvDtype;
use tenon_core::layers::try_per_layer;
use tenon_core::rope::Halves;

use super::ROPE;

/// The largest step for which launches and indices were proven; limits beyond it are refused.
pub const PLAN: PlanMaxima = PlanMaxima {
    step_tokens: 8192,
    sequences: 256,
    context: 8192,
    page_size: 256,
    pages: 1048576,
};

/// The KV cache of every layer.
pub struct Caches<D: KvDtype + DeviceElement> {
    pub block: Box<[DevicePagedKv<D, 3, 64>; 30]>,
}

impl<D: KvDtype + DeviceElement> Caches<D> {
    pub fn new(device: &Arc<Device>, limits: &BatchLimits) -> Result<Self, CudaError> {
        Ok(Self {
            block: try_per_layer(|| DevicePagedKv::new(
                device,
                limits.pages,
                limits.page_size,
            ))?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.block.iter().map(DevicePagedKv::bytes).sum::<usize>()
    }
}

/// Activations of one step, and what its kernels work in.
pub struct Scratch {
    pub x: DeviceRows<F32, 576>,
    pub h: DeviceRows<Bf16, 576>,
    pub q: DeviceRows<Bf16, 576>,
    pub k: DeviceRows<Bf16, 192>,
    pub v: DeviceRows<Bf16, 192>,
    pub attn: DeviceRows<Bf16, 576>,
    pub gate: DeviceRows<Bf16, 1536>,
    pub up: DeviceRows<Bf16, 1536>,
    pub last: DeviceRows<F32, 576>,
    pub last_h: DeviceRows<Bf16, 576>,
    pub logits: DeviceRows<F32, 49152>,
    pub angles: DeviceAngles<64, Halves>,
    pub attention_parts: DeviceWorkspace<F32>,
    pub attention_counters: DeviceWorkspace<U32>,
}

impl Scratch {
    pub fn new(device: &Arc<Device>, limits: &BatchLimits) -> Result<Self, CudaError> {
        let tokens = limits.max_tokens;
        let spans = tokens.min(PLAN.sequences);
        Ok(Self {
            x: DeviceRows::new(device, tokens)?,
            h: DeviceRows::new(device, tokens)?,
            q: DeviceRows::new(device, tokens)?,
            k: DeviceRows::new(device, tokens)?,
            v: DeviceRows::new(device, tokens)?,
            attn: DeviceRows::new(device, tokens)?,
            gate: DeviceRows::new(device, tokens)?,
            up: DeviceRows::new(device, tokens)?,
            last: DeviceRows::new(device, limits.max_logit_rows)?,
            last_h: DeviceRows::new(device, limits.max_logit_rows)?,
            logits: DeviceRows::new(device, limits.max_logit_rows)?,
            angles: DeviceAngles::new(device, &ROPE, tokens)?,
            attention_parts: DeviceWorkspace::new(
                device,
                spans.max(BUSY_BLOCKS) * (3 * 3) * (64 + 2),
            )?,
            attention_counters: DeviceWorkspace::new(device, spans.max(BUSY_BLOCKS) * 3)?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.q.bytes() + self.k.bytes()
            + self.v.bytes() + self.attn.bytes() + self.gate.bytes() + self.up.bytes()
            + self.last.bytes() + self.last_h.bytes() + self.logits.bytes()
            + self.angles.bytes() + self.attention_parts.bytes()
            + self.attention_counters.bytes()
    }
}

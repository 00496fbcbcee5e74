//! gpt-oss-20b on sm_90a: caches and activations.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::BatchLimits;
use tenon_core::cuda::{
    BUSY_BLOCKS, Bf16, CudaError, Device, DeviceAngles, DeviceElement, DevicePagedKv,
    DeviceRows, DeviceWorkspace, F32, FEW_ROWS, I32, PlanMaxima, U32, U8,
};
use tenon_core::dtype::KvDtype;
use tenon_core::layers::try_per_layer;
use tenon_core::rope::Halves;

use super::LOCAL_ROPE;

/// The largest step for which launches and indices were proven; limits beyond it are refused.
pub const PLAN: PlanMaxima = PlanMaxima {
    step_tokens: 8192,
    sequences: 256,
    context: 131072,
    page_size: 256,
    pages: 1048576,
};

/// The KV cache of every layer.
pub struct Caches<D: KvDtype + DeviceElement> {
    pub local: Box<[DevicePagedKv<D, 8, 64>; 12]>,
    pub full: Box<[DevicePagedKv<D, 8, 64>; 12]>,
}

impl<D: KvDtype + DeviceElement> Caches<D> {
    pub fn new(device: &Arc<Device>, limits: &BatchLimits) -> Result<Self, CudaError> {
        Ok(Self {
            local: try_per_layer(|| DevicePagedKv::new(
                device,
                limits.pages,
                limits.page_size,
            ))?,
            full: try_per_layer(|| DevicePagedKv::new(
                device,
                limits.pages,
                limits.page_size,
            ))?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.local.iter().map(DevicePagedKv::bytes).sum::<usize>()
            + self.full.iter().map(DevicePagedKv::bytes).sum::<usize>()
    }
}

/// Activations of one step, and what its kernels work in.
pub struct Scratch {
    pub x: DeviceRows<F32, 2880>,
    pub h: DeviceRows<Bf16, 2880>,
    pub q: DeviceRows<Bf16, 4096>,
    pub k: DeviceRows<Bf16, 512>,
    pub v: DeviceRows<Bf16, 512>,
    pub attn: DeviceRows<Bf16, 4096>,
    pub router: DeviceRows<F32, 32>,
    pub route_ids: DeviceRows<I32, 4>,
    pub route_weights: DeviceRows<F32, 4>,
    pub o: DeviceRows<F32, 2880>,
    pub last: DeviceRows<F32, 2880>,
    pub last_h: DeviceRows<Bf16, 2880>,
    pub logits: DeviceRows<F32, 201088>,
    pub angles: DeviceAngles<64, Halves>,
    pub attention_parts: DeviceWorkspace<F32>,
    pub attention_counters: DeviceWorkspace<U32>,
    pub expert_inner: DeviceWorkspace<Bf16>,
    pub expert_parts: DeviceWorkspace<U8>,
    pub expert_order: DeviceWorkspace<I32>,
    pub expert_offsets: DeviceWorkspace<I32>,
    pub expert_tiles: DeviceWorkspace<I32>,
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
            router: DeviceRows::new(device, tokens)?,
            route_ids: DeviceRows::new(device, tokens)?,
            route_weights: DeviceRows::new(device, tokens)?,
            o: DeviceRows::new(device, tokens)?,
            last: DeviceRows::new(device, limits.max_logit_rows)?,
            last_h: DeviceRows::new(device, limits.max_logit_rows)?,
            logits: DeviceRows::new(device, limits.max_logit_rows)?,
            angles: DeviceAngles::new(device, &LOCAL_ROPE, tokens)?,
            attention_parts: DeviceWorkspace::new(
                device,
                spans.max(BUSY_BLOCKS) * (8 * 8) * (64 + 2),
            )?,
            attention_counters: DeviceWorkspace::new(
                device,
                spans.max(BUSY_BLOCKS) * 8,
            )?,
            expert_inner: DeviceWorkspace::new(
                device,
                ((tokens.min(FEW_ROWS) * 4) * 2880).max((tokens * 4) * 2880),
            )?,
            expert_parts: DeviceWorkspace::new(
                device,
                ((tokens.min(FEW_ROWS) * 4) * (2880 * 4)).max((tokens * 4) * (2880 * 2)),
            )?,
            expert_order: DeviceWorkspace::new(device, tokens * 4)?,
            expert_offsets: DeviceWorkspace::new(device, 32 + 1)?,
            expert_tiles: DeviceWorkspace::new(
                device,
                (tokens * 4).min((tokens * 4).div_ceil(128) + 32) * 2,
            )?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.q.bytes() + self.k.bytes()
            + self.v.bytes() + self.attn.bytes() + self.router.bytes()
            + self.route_ids.bytes() + self.route_weights.bytes() + self.o.bytes()
            + self.last.bytes() + self.last_h.bytes() + self.logits.bytes()
            + self.angles.bytes() + self.attention_parts.bytes()
            + self.attention_counters.bytes() + self.expert_inner.bytes()
            + self.expert_parts.bytes() + self.expert_order.bytes()
            + self.expert_offsets.bytes() + self.expert_tiles.bytes()
    }
}

//! mistral-small-4-nvfp4 on sm_90a: caches and activations.
//! Generated from model-specs/mistral-small-4-nvfp4; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::BatchLimits;
use tenon_core::cuda::{
    BUSY_BLOCKS, Bf16, CudaError, Device, DeviceAngles, DeviceElement, DeviceLatentCache,
    DeviceRows, DeviceWorkspace, F32, FEW_ROWS, I32, PlanMaxima, U8,
};
use tenon_core::dtype::KvDtype;
use tenon_core::layers::try_per_layer;
use tenon_core::rope::Interleaved;

use super::ROPE;

/// The largest step for which launches and indices were proven; limits beyond it are refused.
pub const PLAN: PlanMaxima = PlanMaxima {
    step_tokens: 8192,
    sequences: 256,
    context: 1048576,
    page_size: 256,
    pages: 1048576,
};
/// Rows of contexts, counted once for each head, whose keys and values are expanded together.
pub const EXPANDED_ROWS: usize = 1048576;

/// The KV cache of every layer.
pub struct Caches<D: KvDtype + DeviceElement> {
    pub block: Box<[DeviceLatentCache<D, 256, 64>; 36]>,
}

impl<D: KvDtype + DeviceElement> Caches<D> {
    pub fn new(device: &Arc<Device>, limits: &BatchLimits) -> Result<Self, CudaError> {
        Ok(Self {
            block: try_per_layer(|| DeviceLatentCache::new(
                device,
                limits.pages,
                limits.page_size,
            ))?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.block.iter().map(DeviceLatentCache::bytes).sum::<usize>()
    }
}

/// Activations of one step, and what its kernels work in.
pub struct Scratch {
    pub x: DeviceRows<F32, 4096>,
    pub h: DeviceRows<Bf16, 4096>,
    pub q_a: DeviceRows<Bf16, 1024>,
    pub q_a_h: DeviceRows<Bf16, 1024>,
    pub q: DeviceRows<Bf16, 4096>,
    pub latent: DeviceRows<Bf16, 320>,
    pub attn: DeviceRows<Bf16, 4096>,
    pub q_latent: DeviceRows<Bf16, 10240>,
    pub o_latent: DeviceRows<Bf16, 8192>,
    pub router: DeviceRows<F32, 128>,
    pub route_ids: DeviceRows<I32, 4>,
    pub route_weights: DeviceRows<F32, 4>,
    pub o: DeviceRows<F32, 4096>,
    pub gate: DeviceRows<Bf16, 2048>,
    pub up: DeviceRows<Bf16, 2048>,
    pub last: DeviceRows<F32, 4096>,
    pub last_h: DeviceRows<Bf16, 4096>,
    pub logits: DeviceRows<F32, 131072>,
    pub angles: DeviceAngles<64, Interleaved>,
    pub expanded_keys: DeviceWorkspace<Bf16>,
    pub expanded_values: DeviceWorkspace<Bf16>,
    pub latent_parts: DeviceWorkspace<F32>,
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
            q_a: DeviceRows::new(device, tokens)?,
            q_a_h: DeviceRows::new(device, tokens)?,
            q: DeviceRows::new(device, tokens)?,
            latent: DeviceRows::new(device, tokens)?,
            attn: DeviceRows::new(device, tokens)?,
            q_latent: DeviceRows::new(device, tokens)?,
            o_latent: DeviceRows::new(device, tokens)?,
            router: DeviceRows::new(device, tokens)?,
            route_ids: DeviceRows::new(device, tokens)?,
            route_weights: DeviceRows::new(device, tokens)?,
            o: DeviceRows::new(device, tokens)?,
            gate: DeviceRows::new(device, tokens)?,
            up: DeviceRows::new(device, tokens)?,
            last: DeviceRows::new(device, limits.max_logit_rows)?,
            last_h: DeviceRows::new(device, limits.max_logit_rows)?,
            logits: DeviceRows::new(device, limits.max_logit_rows)?,
            angles: DeviceAngles::new(device, &ROPE, tokens)?,
            expanded_keys: DeviceWorkspace::new(device, EXPANDED_ROWS * (64 + 64))?,
            expanded_values: DeviceWorkspace::new(device, EXPANDED_ROWS * 128)?,
            latent_parts: DeviceWorkspace::new(
                device,
                spans.max(BUSY_BLOCKS) * 32 * (256 + 2),
            )?,
            expert_inner: DeviceWorkspace::new(
                device,
                ((tokens.min(FEW_ROWS) * 4) * 2048).max((tokens * 4) * 2048),
            )?,
            expert_parts: DeviceWorkspace::new(
                device,
                ((tokens.min(FEW_ROWS) * 4) * (4096 * 4)).max((tokens * 4) * (4096 * 2)),
            )?,
            expert_order: DeviceWorkspace::new(device, tokens * 4)?,
            expert_offsets: DeviceWorkspace::new(device, 128 + 1)?,
            expert_tiles: DeviceWorkspace::new(
                device,
                (tokens * 4).min((tokens * 4).div_ceil(128) + 128) * 2,
            )?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.q_a.bytes() + self.q_a_h.bytes()
            + self.q.bytes() + self.latent.bytes() + self.attn.bytes()
            + self.q_latent.bytes() + self.o_latent.bytes() + self.router.bytes()
            + self.route_ids.bytes() + self.route_weights.bytes() + self.o.bytes()
            + self.gate.bytes() + self.up.bytes() + self.last.bytes()
            + self.last_h.bytes() + self.logits.bytes() + self.angles.bytes()
            + self.expanded_keys.bytes() + self.expanded_values.bytes()
            + self.latent_parts.bytes() + self.expert_inner.bytes()
            + self.expert_parts.bytes() + self.expert_order.bytes()
            + self.expert_offsets.bytes() + self.expert_tiles.bytes()
    }
}

//! qwen3.5-122b-a10b on sm_90a: caches, recurrent states and activations.
//! Generated from model-specs/qwen3.5-122b-a10b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{BatchLimits, SnapshotId, StateSlot};
use tenon_core::cuda::{
    BUSY_BLOCKS, Bf16, CudaError, Device, DeviceAngles, DeviceDeltaState, DeviceElement,
    DevicePagedKv, DeviceRows, DeviceWorkspace, F32, FEW_ROWS, I32, PlanMaxima, U32, U8,
};
use tenon_core::dtype::KvDtype;
use tenon_core::layers::try_per_layer;
use tenon_core::rope::Halves;

use super::ATTENTION_ROPE;

/// The largest step for which launches and indices were proven; limits beyond it are refused.
pub const PLAN: PlanMaxima = PlanMaxima {
    step_tokens: 8192,
    sequences: 256,
    context: 262144,
    page_size: 256,
    pages: 1048576,
};

/// The KV cache or the recurrent state of every layer.
pub struct Caches<D: KvDtype + DeviceElement> {
    pub block_linear: Box<[DeviceDeltaState<64, 128, 128, 12288, 4>; 36]>,
    pub full: Box<[DevicePagedKv<D, 2, 256>; 12]>,
}

impl<D: KvDtype + DeviceElement> Caches<D> {
    pub fn new(
        device: &Arc<Device>,
        limits: &BatchLimits,
        snapshots: usize,
    ) -> Result<Self, CudaError> {
        Ok(Self {
            block_linear: try_per_layer(|| DeviceDeltaState::new(
                device,
                limits.state_slots,
                snapshots,
            ))?,
            full: try_per_layer(|| DevicePagedKv::new(
                device,
                limits.pages,
                limits.page_size,
            ))?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.full.iter().map(DevicePagedKv::bytes).sum::<usize>()
    }

    pub fn state_bytes(&self) -> usize {
        self.block_linear.iter().map(DeviceDeltaState::bytes).sum::<usize>()
    }

    pub fn snapshot_bytes(&self) -> usize {
        self.block_linear.iter().map(DeviceDeltaState::snapshot_bytes).sum::<usize>()
    }

    pub fn save(
        &mut self,
        slot: StateSlot,
        snapshot: SnapshotId,
    ) -> Result<(), CudaError> {
        self.block_linear.iter_mut().try_for_each(|layer| layer.save(slot, snapshot))?;
        Ok(())
    }

    pub fn restore(
        &mut self,
        snapshot: SnapshotId,
        slot: StateSlot,
    ) -> Result<(), CudaError> {
        self.block_linear
            .iter_mut()
            .try_for_each(|layer| layer.restore(snapshot, slot))?;
        Ok(())
    }
}

/// Activations of one step, and what its kernels work in.
pub struct Scratch {
    pub x: DeviceRows<F32, 3072>,
    pub h: DeviceRows<Bf16, 3072>,
    pub qkv: DeviceRows<Bf16, 12288>,
    pub z: DeviceRows<Bf16, 8192>,
    pub b: DeviceRows<F32, 64>,
    pub a: DeviceRows<F32, 64>,
    pub qkv_conv: DeviceRows<Bf16, 12288>,
    pub y: DeviceRows<Bf16, 8192>,
    pub router: DeviceRows<F32, 256>,
    pub route_ids: DeviceRows<I32, 8>,
    pub route_weights: DeviceRows<F32, 8>,
    pub o: DeviceRows<F32, 3072>,
    pub gate: DeviceRows<Bf16, 1024>,
    pub up: DeviceRows<Bf16, 1024>,
    pub shared: DeviceRows<F32, 3072>,
    pub shared_gate: DeviceRows<F32, 1>,
    pub q: DeviceRows<Bf16, 8192>,
    pub attn_gate: DeviceRows<Bf16, 8192>,
    pub k: DeviceRows<Bf16, 512>,
    pub v: DeviceRows<Bf16, 512>,
    pub attn: DeviceRows<Bf16, 8192>,
    pub last: DeviceRows<F32, 3072>,
    pub last_h: DeviceRows<Bf16, 3072>,
    pub logits: DeviceRows<F32, 248320>,
    pub angles: DeviceAngles<64, Halves>,
    pub expert_inner: DeviceWorkspace<Bf16>,
    pub expert_parts: DeviceWorkspace<U8>,
    pub expert_order: DeviceWorkspace<I32>,
    pub expert_offsets: DeviceWorkspace<I32>,
    pub expert_tiles: DeviceWorkspace<I32>,
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
            qkv: DeviceRows::new(device, tokens)?,
            z: DeviceRows::new(device, tokens)?,
            b: DeviceRows::new(device, tokens)?,
            a: DeviceRows::new(device, tokens)?,
            qkv_conv: DeviceRows::new(device, tokens)?,
            y: DeviceRows::new(device, tokens)?,
            router: DeviceRows::new(device, tokens)?,
            route_ids: DeviceRows::new(device, tokens)?,
            route_weights: DeviceRows::new(device, tokens)?,
            o: DeviceRows::new(device, tokens)?,
            gate: DeviceRows::new(device, tokens)?,
            up: DeviceRows::new(device, tokens)?,
            shared: DeviceRows::new(device, tokens)?,
            shared_gate: DeviceRows::new(device, tokens)?,
            q: DeviceRows::new(device, tokens)?,
            attn_gate: DeviceRows::new(device, tokens)?,
            k: DeviceRows::new(device, tokens)?,
            v: DeviceRows::new(device, tokens)?,
            attn: DeviceRows::new(device, tokens)?,
            last: DeviceRows::new(device, limits.max_logit_rows)?,
            last_h: DeviceRows::new(device, limits.max_logit_rows)?,
            logits: DeviceRows::new(device, limits.max_logit_rows)?,
            angles: DeviceAngles::new(device, &ATTENTION_ROPE, tokens)?,
            expert_inner: DeviceWorkspace::new(
                device,
                ((tokens.min(FEW_ROWS) * 8) * 1024).max((tokens * 8) * 1024),
            )?,
            expert_parts: DeviceWorkspace::new(
                device,
                ((tokens.min(FEW_ROWS) * 8) * (3072 * 4)).max((tokens * 8) * (3072 * 2)),
            )?,
            expert_order: DeviceWorkspace::new(device, tokens * 8)?,
            expert_offsets: DeviceWorkspace::new(device, 256 + 1)?,
            expert_tiles: DeviceWorkspace::new(
                device,
                (tokens * 8).min((tokens * 8).div_ceil(128) + 256) * 2,
            )?,
            attention_parts: DeviceWorkspace::new(
                device,
                spans.max(BUSY_BLOCKS) * (2 * 16) * (256 + 2),
            )?,
            attention_counters: DeviceWorkspace::new(device, spans.max(BUSY_BLOCKS) * 2)?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.qkv.bytes() + self.z.bytes()
            + self.b.bytes() + self.a.bytes() + self.qkv_conv.bytes() + self.y.bytes()
            + self.router.bytes() + self.route_ids.bytes() + self.route_weights.bytes()
            + self.o.bytes() + self.gate.bytes() + self.up.bytes() + self.shared.bytes()
            + self.shared_gate.bytes() + self.q.bytes() + self.attn_gate.bytes()
            + self.k.bytes() + self.v.bytes() + self.attn.bytes() + self.last.bytes()
            + self.last_h.bytes() + self.logits.bytes() + self.angles.bytes()
            + self.expert_inner.bytes() + self.expert_parts.bytes()
            + self.expert_order.bytes() + self.expert_offsets.bytes()
            + self.expert_tiles.bytes() + self.attention_parts.bytes()
            + self.attention_counters.bytes()
    }
}

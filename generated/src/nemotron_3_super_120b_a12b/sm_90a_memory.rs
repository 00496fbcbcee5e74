//! nemotron-3-super-120b-a12b on sm_90a: caches, recurrent states and activations.
//! Generated from model-specs/nemotron-3-super-120b-a12b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{BatchLimits, SnapshotId, StateSlot};
use tenon_core::cuda::{
    BUSY_BLOCKS, Bf16, CudaError, Device, DeviceElement, DeviceMamba2State,
    DevicePagedKv, DeviceRows, DeviceWorkspace, F32, FEW_ROWS, I32, PlanMaxima, U32, U8,
};
use tenon_core::dtype::KvDtype;
use tenon_core::layers::try_per_layer;

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
    pub mamba: Box<[DeviceMamba2State<128, 64, 128, 10240, 4>; 40]>,
    pub block_attention: Box<[DevicePagedKv<D, 2, 128>; 8]>,
}

impl<D: KvDtype + DeviceElement> Caches<D> {
    pub fn new(
        device: &Arc<Device>,
        limits: &BatchLimits,
        snapshots: usize,
    ) -> Result<Self, CudaError> {
        Ok(Self {
            mamba: try_per_layer(|| DeviceMamba2State::new(
                device,
                limits.state_slots,
                snapshots,
            ))?,
            block_attention: try_per_layer(|| DevicePagedKv::new(
                device,
                limits.pages,
                limits.page_size,
            ))?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.block_attention.iter().map(DevicePagedKv::bytes).sum::<usize>()
    }

    pub fn state_bytes(&self) -> usize {
        self.mamba.iter().map(DeviceMamba2State::bytes).sum::<usize>()
    }

    pub fn snapshot_bytes(&self) -> usize {
        self.mamba.iter().map(DeviceMamba2State::snapshot_bytes).sum::<usize>()
    }

    pub fn save(
        &mut self,
        slot: StateSlot,
        snapshot: SnapshotId,
    ) -> Result<(), CudaError> {
        self.mamba.iter_mut().try_for_each(|layer| layer.save(slot, snapshot))?;
        Ok(())
    }

    pub fn restore(
        &mut self,
        snapshot: SnapshotId,
        slot: StateSlot,
    ) -> Result<(), CudaError> {
        self.mamba.iter_mut().try_for_each(|layer| layer.restore(snapshot, slot))?;
        Ok(())
    }
}

/// Activations of one step, and what its kernels work in.
pub struct Scratch {
    pub x: DeviceRows<F32, 4096>,
    pub h: DeviceRows<Bf16, 4096>,
    pub z: DeviceRows<Bf16, 8192>,
    pub xbc: DeviceRows<Bf16, 10240>,
    pub dt: DeviceRows<F32, 128>,
    pub xbc_conv: DeviceRows<Bf16, 10240>,
    pub y: DeviceRows<Bf16, 8192>,
    pub router: DeviceRows<F32, 512>,
    pub route_ids: DeviceRows<I32, 22>,
    pub route_weights: DeviceRows<F32, 22>,
    pub expert_h: DeviceRows<Bf16, 1024>,
    pub expert_o: DeviceRows<Bf16, 1024>,
    pub o: DeviceRows<F32, 4096>,
    pub up: DeviceRows<Bf16, 5376>,
    pub q: DeviceRows<Bf16, 4096>,
    pub k: DeviceRows<Bf16, 256>,
    pub v: DeviceRows<Bf16, 256>,
    pub attn: DeviceRows<Bf16, 4096>,
    pub last: DeviceRows<F32, 4096>,
    pub last_h: DeviceRows<Bf16, 4096>,
    pub logits: DeviceRows<F32, 131072>,
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
            z: DeviceRows::new(device, tokens)?,
            xbc: DeviceRows::new(device, tokens)?,
            dt: DeviceRows::new(device, tokens)?,
            xbc_conv: DeviceRows::new(device, tokens)?,
            y: DeviceRows::new(device, tokens)?,
            router: DeviceRows::new(device, tokens)?,
            route_ids: DeviceRows::new(device, tokens)?,
            route_weights: DeviceRows::new(device, tokens)?,
            expert_h: DeviceRows::new(device, tokens)?,
            expert_o: DeviceRows::new(device, tokens)?,
            o: DeviceRows::new(device, tokens)?,
            up: DeviceRows::new(device, tokens)?,
            q: DeviceRows::new(device, tokens)?,
            k: DeviceRows::new(device, tokens)?,
            v: DeviceRows::new(device, tokens)?,
            attn: DeviceRows::new(device, tokens)?,
            last: DeviceRows::new(device, limits.max_logit_rows)?,
            last_h: DeviceRows::new(device, limits.max_logit_rows)?,
            logits: DeviceRows::new(device, limits.max_logit_rows)?,
            expert_inner: DeviceWorkspace::new(
                device,
                ((tokens.min(FEW_ROWS) * 22) * 2688).max((tokens * 22) * 2688),
            )?,
            expert_parts: DeviceWorkspace::new(
                device,
                ((tokens.min(FEW_ROWS) * 22) * (1024 * 4))
                    .max((tokens * 22) * (1024 * 2)),
            )?,
            expert_order: DeviceWorkspace::new(device, tokens * 22)?,
            expert_offsets: DeviceWorkspace::new(device, 512 + 1)?,
            expert_tiles: DeviceWorkspace::new(
                device,
                (tokens * 22).min((tokens * 22).div_ceil(128) + 512) * 2,
            )?,
            attention_parts: DeviceWorkspace::new(
                device,
                spans.max(BUSY_BLOCKS) * (2 * 16) * (128 + 2),
            )?,
            attention_counters: DeviceWorkspace::new(device, spans.max(BUSY_BLOCKS) * 2)?,
        })
    }

    pub fn bytes(&self) -> usize {
        self.x.bytes() + self.h.bytes() + self.z.bytes() + self.xbc.bytes()
            + self.dt.bytes() + self.xbc_conv.bytes() + self.y.bytes()
            + self.router.bytes() + self.route_ids.bytes() + self.route_weights.bytes()
            + self.expert_h.bytes() + self.expert_o.bytes() + self.o.bytes()
            + self.up.bytes() + self.q.bytes() + self.k.bytes() + self.v.bytes()
            + self.attn.bytes() + self.last.bytes() + self.last_h.bytes()
            + self.logits.bytes() + self.expert_inner.bytes() + self.expert_parts.bytes()
            + self.expert_order.bytes() + self.expert_offsets.bytes()
            + self.expert_tiles.bytes() + self.attention_parts.bytes()
            + self.attention_counters.bytes()
    }
}

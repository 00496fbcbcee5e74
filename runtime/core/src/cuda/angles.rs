//! `DeviceAngles`: cosines and sines of a step's positions, computed on the device once per step.

use std::marker::PhantomData;
use std::sync::Arc;

use super::buffer::{DeviceBuffer, F32};
use super::{Arg, CudaError, Device};
use crate::rope::{Rope, RopeLayout};

/// The inverse frequencies of a rotation, and the angles of one step: `[capacity, ROTARY_DIM / 2]` cosines and as many sines.
pub struct DeviceAngles<const ROTARY_DIM: usize, L: RopeLayout> {
    frequencies: DeviceBuffer<F32>,
    factor: f32,
    cos: DeviceBuffer<F32>,
    sin: DeviceBuffer<F32>,
    layout: PhantomData<L>,
}

/// What the kernel that computes the angles is launched with.
#[derive(Clone, Copy, Debug)]
pub struct AngleArgs<'a> {
    /// `[ROTARY_DIM / 2]`, radians per position.
    pub frequencies: Arg<'a>,
    /// What cosines and sines are multiplied by.
    pub factor: f32,
    /// Written.
    pub cos: Arg<'a>,
    /// Written.
    pub sin: Arg<'a>,
}

impl<const ROTARY_DIM: usize, L: RopeLayout> DeviceAngles<ROTARY_DIM, L> {
    /// Room for the angles of `capacity` rows.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new(device: &Arc<Device>, rope: &Rope<ROTARY_DIM, L>, capacity: usize) -> Result<Self, CudaError> {
        let table = || DeviceBuffer::new(device, capacity.saturating_mul(ROTARY_DIM / 2));
        Ok(Self {
            frequencies: DeviceBuffer::from_host(device, &rope.inverse_frequencies())?,
            factor: rope.attention_factor(),
            cos: table()?,
            sin: table()?,
            layout: PhantomData,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.frequencies.bytes() + self.cos.bytes() + self.sin.bytes()
    }

    /// For the kernel that computes the angles of `rows` rows.
    ///
    /// # Panics
    /// If there is room for fewer.
    pub fn compute(&mut self, rows: usize) -> AngleArgs<'_> {
        self.check(rows);
        let Self { frequencies, factor, cos, sin, .. } = self;
        AngleArgs { frequencies: frequencies.arg(), factor: *factor, cos: cos.arg_mut(), sin: sin.arg_mut() }
    }

    /// Cosines of `rows` rows, for a kernel.
    ///
    /// # Panics
    /// If there is room for fewer.
    pub fn cos(&self, rows: usize) -> Arg<'_> {
        self.check(rows);
        self.cos.arg()
    }

    /// Sines of `rows` rows, for a kernel.
    ///
    /// # Panics
    /// If there is room for fewer.
    pub fn sin(&self, rows: usize) -> Arg<'_> {
        self.check(rows);
        self.sin.arg()
    }

    fn check(&self, rows: usize) {
        let capacity = self.cos.len() / (ROTARY_DIM / 2);
        assert!(rows <= capacity, "angles of {rows} rows in a buffer for {capacity}");
    }
}

impl<const ROTARY_DIM: usize, L: RopeLayout> std::fmt::Debug for DeviceAngles<ROTARY_DIM, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceAngles<{ROTARY_DIM}>({})", self.cos.len() / (ROTARY_DIM / 2))
    }
}

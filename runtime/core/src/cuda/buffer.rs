//! `DeviceBuffer`: memory of a device, as elements of one type.

use std::marker::PhantomData;
use std::sync::Arc;

use half::bf16;

use super::driver::Memory;
use super::{Arg, CudaError, Device};
use crate::dtype::{Bf16, E4m3, Fp8E4m3, KvDtype};

pub use crate::dtype::F32;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::F32 {}
    impl Sealed for super::Bf16 {}
    impl Sealed for super::Fp8E4m3 {}
    impl Sealed for super::I32 {}
    impl Sealed for super::U32 {}
    impl Sealed for super::U8 {}
}

/// 32-bit integers.
#[derive(Clone, Copy, Debug)]
pub enum I32 {}
/// 32-bit integers without a sign.
#[derive(Clone, Copy, Debug)]
pub enum U32 {}
/// Bytes.
#[derive(Clone, Copy, Debug)]
pub enum U8 {}

/// What memory of a device holds.
pub trait DeviceElement: sealed::Sealed + Send + Sync + 'static {
    /// The same on the host.
    type Host: Copy + Default + Send + Sync + 'static;
    /// The name, for messages.
    const NAME: &'static str;
    /// Bytes of an element.
    const BYTES: usize = size_of::<Self::Host>();
    /// Appends an element as the device has it.
    #[doc(hidden)]
    fn put(value: Self::Host, bytes: &mut Vec<u8>);
    /// An element from as many bytes as it has.
    #[doc(hidden)]
    fn get(bytes: &[u8]) -> Self::Host;
}

/// Implements [`DeviceElement`] by the bytes of a number.
macro_rules! elements {
    ($($element:ident is $host:ty, $name:literal, $to:expr, $from:expr;)+) => {$(
        impl DeviceElement for $element {
            type Host = $host;
            const NAME: &'static str = $name;
            fn put(value: $host, bytes: &mut Vec<u8>) {
                bytes.extend(($to)(value).to_le_bytes());
            }
            fn get(bytes: &[u8]) -> $host {
                ($from)(bytes.try_into().expect("the bytes of one element"))
            }
        }
    )+};
}
elements! {
    F32 is f32, "f32", |x: f32| x, f32::from_le_bytes;
    Bf16 is bf16, "bf16", |x: bf16| x.to_bits(), |b| bf16::from_bits(u16::from_le_bytes(b));
    Fp8E4m3 is E4m3, "fp8_e4m3", |x: E4m3| x.to_bits(), |b: [u8; 1]| E4m3::from_bits(b[0]);
    I32 is i32, "i32", |x: i32| x, i32::from_le_bytes;
    U32 is u32, "u32", |x: u32| x, u32::from_le_bytes;
    U8 is u8, "u8", |x: u8| x, u8::from_le_bytes;
}

// The host's element and a cache's stored element are one type.
const _: () = {
    const fn same<D: KvDtype + DeviceElement<Host = <D as KvDtype>::Stored>>() {}
    same::<F32>();
    same::<Bf16>();
    same::<Fp8E4m3>();
};

/// `values` as the device has them.
pub(super) fn to_bytes<T: DeviceElement>(values: &[T::Host]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    values.iter().for_each(|&value| T::put(value, &mut bytes));
    bytes
}

/// Elements of a device. Their address is seen by kernels only.
pub struct DeviceBuffer<T: DeviceElement> {
    memory: Memory,
    element: PhantomData<fn() -> T>,
}

impl<T: DeviceElement> DeviceBuffer<T> {
    /// So many elements, zeroed.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new(device: &Arc<Device>, len: usize) -> Result<Self, CudaError> {
        let bytes = len.saturating_mul(T::BYTES);
        Ok(Self { memory: Memory::zeroed(device.context(), bytes)?, element: PhantomData })
    }

    /// So many elements that are written before they are read.
    pub(super) fn uninitialised(device: &Arc<Device>, len: usize) -> Result<Self, CudaError> {
        let bytes = len.saturating_mul(T::BYTES);
        Ok(Self { memory: Memory::new(device.context(), bytes)?, element: PhantomData })
    }

    /// A copy of these elements.
    ///
    /// # Errors
    /// When there is no room.
    pub fn from_host(device: &Arc<Device>, values: &[T::Host]) -> Result<Self, CudaError> {
        let mut memory = Memory::new(device.context(), values.len() * T::BYTES)?;
        memory.write(0, &to_bytes::<T>(values))?;
        Ok(Self { memory, element: PhantomData })
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.memory.bytes() / T::BYTES
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.memory.bytes() == 0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// For a kernel that reads it; null where it is empty.
    pub fn arg(&self) -> Arg<'_> {
        Arg::memory(&self.memory)
    }

    /// For a kernel that writes it.
    pub fn arg_mut(&mut self) -> Arg<'_> {
        Arg::memory(&self.memory)
    }

    /// The elements from `first` on, once everything before is done: for tests and tools.
    ///
    /// # Errors
    /// When something before failed.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn download(&self, first: usize, len: usize) -> Result<Vec<T::Host>, CudaError> {
        let mut bytes = vec![0; len * T::BYTES];
        self.memory.read(first * T::BYTES, &mut bytes)?;
        Ok(bytes.chunks_exact(T::BYTES).map(T::get).collect())
    }

    /// Replaces the elements from `first` on: for tests and tools.
    ///
    /// # Errors
    /// When something before failed.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn upload(&mut self, first: usize, values: &[T::Host]) -> Result<(), CudaError> {
        self.memory.write(first * T::BYTES, &to_bytes::<T>(values))
    }

    /// Copies elements of another buffer of the same device.
    pub(super) fn copy(&mut self, to: usize, from: &Self, first: usize, len: usize) -> Result<(), CudaError> {
        self.memory.copy(to * T::BYTES, &from.memory, first * T::BYTES, len * T::BYTES)
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(super) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

impl<T: DeviceElement> std::fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceBuffer<{}>({})", T::NAME, self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_bits() {
        fn kept<T: DeviceElement>(values: &[T::Host], bytes: &[u8]) -> Vec<T::Host> {
            assert_eq!(to_bytes::<T>(values), bytes);
            bytes.chunks_exact(T::BYTES).map(T::get).collect()
        }
        assert_eq!(kept::<F32>(&[1.5, -0.0], &[0, 0, 0xc0, 0x3f, 0, 0, 0, 0x80]), [1.5, 0.0]);
        assert_eq!(kept::<Bf16>(&[bf16::from_f32(-2.0)], &[0, 0xc0]), [bf16::from_f32(-2.0)]);
        assert_eq!(kept::<Fp8E4m3>(&[E4m3::from_bits(0x7e)], &[0x7e]), [E4m3::from_bits(0x7e)]);
        assert_eq!(kept::<I32>(&[-1, 2], &[255, 255, 255, 255, 2, 0, 0, 0]), [-1, 2]);
        assert_eq!(kept::<U8>(&[7], &[7]), [7]);
    }
}

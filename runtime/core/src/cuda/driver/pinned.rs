//! `Pinned`: memory of the host from which the device copies while the host goes on.

use std::sync::Arc;

use cudarc::driver::sys;

use super::{Context, Event, Memory, call};
use crate::cuda::CudaError;

/// Page-locked memory of the host. Copies run while the host goes on; who looks at the bytes or changes them waits for the last one.
pub(in crate::cuda) struct Pinned {
    data: *mut u8,
    bytes: usize,
    /// The end of the last copy.
    copied: Event,
    context: Arc<Context>,
}

// SAFETY: the memory is this one's own, as a `Vec`'s is.
unsafe impl Send for Pinned {}
// SAFETY: shared, it gives its length alone.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// So many bytes, zeroed.
    pub(in crate::cuda) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, CudaError> {
        let copied = Event::new(context)?;
        let mut data = std::ptr::null_mut();
        // SAFETY: `Event::new` made the context current; it writes an address of at least one byte, which is this one's own until `drop`.
        unsafe { call!(cuMemHostAlloc(&mut data, bytes.max(1), 0)) }?;
        let data = data.cast::<u8>();
        // SAFETY: that many bytes are there.
        unsafe { data.write_bytes(0, bytes) };
        Ok(Self { data, bytes, copied, context: Arc::clone(context) })
    }

    pub(in crate::cuda) fn len(&self) -> usize {
        self.bytes
    }

    /// The bytes, once no copy uses them.
    pub(in crate::cuda) fn bytes_mut(&mut self) -> Result<&mut [u8], CudaError> {
        self.copied.wait()?;
        // SAFETY: all bytes are there and were written; the last copy ended, and a new one needs a borrow of this.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.data, self.bytes) })
    }

    /// Starts a copy of some bytes to the device.
    pub(in crate::cuda) fn upload(&mut self, at: usize, to: &mut Memory, to_at: usize, len: usize) -> Result<(), CudaError> {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.bytes), "bytes {at}.. and {len} more of {}", self.bytes);
        assert!(Arc::ptr_eq(&self.context, &to.context), "memory of two devices");
        let address = to.at(to_at, len);
        self.context.bind()?;
        if len > 0 {
            // SAFETY: both ranges are inside their memory; nobody changes these bytes before `copied`, and the stream orders what
            // happens to the device's.
            unsafe { call!(cuMemcpyHtoDAsync_v2(address, self.data.add(at).cast(), len, self.context.stream)) }?;
        }
        self.copied.record()
    }

    /// Starts a copy of `height` rows of `width` bytes, which lie `pitch` bytes apart here and there, to the device.
    pub(in crate::cuda) fn upload_rows(&mut self, to: &mut Memory, rows: PitchedRows) -> Result<(), CudaError> {
        let PitchedRows { at, to_at, pitch, width, height } = rows;
        if width == 0 || height == 0 {
            return Ok(());
        }
        let span = (height - 1) * pitch + width;
        assert!(width <= pitch && at + span <= self.bytes, "rows from {at} in {} bytes", self.bytes);
        assert!(Arc::ptr_eq(&self.context, &to.context), "memory of two devices");
        let dst = to.at(to_at, span);
        self.context.bind()?;
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            // SAFETY: `at` is inside the memory, as the assertion says.
            srcHost: unsafe { self.data.add(at) }.cast(),
            srcDevice: 0,
            srcArray: std::ptr::null_mut(),
            srcPitch: pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: std::ptr::null_mut(),
            dstDevice: dst,
            dstArray: std::ptr::null_mut(),
            dstPitch: pitch,
            WidthInBytes: width,
            Height: height,
        };
        // SAFETY: as in `upload`: the first to the last byte of the rows are inside both.
        unsafe { call!(cuMemcpy2DAsync_v2(&copy, self.context.stream)) }?;
        self.copied.record()
    }

    /// Starts a copy of some bytes of the device to the first ones here. [`Self::bytes_mut`] waits for it.
    pub(in crate::cuda) fn download(&mut self, at: usize, from: &Memory, from_at: usize, len: usize) -> Result<(), CudaError> {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.bytes), "bytes {at}.. and {len} more of {}", self.bytes);
        assert!(Arc::ptr_eq(&self.context, &from.context), "memory of two devices");
        let address = from.at(from_at, len);
        self.context.bind()?;
        if len > 0 {
            // SAFETY: as in `upload`; the bytes are looked at after `copied` only.
            unsafe { call!(cuMemcpyDtoHAsync_v2(self.data.add(at).cast(), address, len, self.context.stream)) }?;
        }
        self.copied.record()
    }
}

/// Rows of bytes that lie apart, equally in the host's and in the device's memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuda) struct PitchedRows {
    pub(in crate::cuda) at: usize,
    pub(in crate::cuda) to_at: usize,
    pub(in crate::cuda) pitch: usize,
    pub(in crate::cuda) width: usize,
    pub(in crate::cuda) height: usize,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // A copy may still run, unless its event says otherwise or the device is lost.
        let _ = self.copied.wait();
        if self.context.bind().is_ok() {
            // SAFETY: the memory is this one's own, and no copy uses it any more.
            let _ = unsafe { call!(cuMemFreeHost(self.data.cast())) };
        }
    }
}

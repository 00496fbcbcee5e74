//! Rows of the host where a kernel of a device writes: it would be given an address of another memory.
//~ expected `&mut DeviceRows<F32, 1024>`, found `&mut Rows<f32, 1024>`

use tenon_core::cuda::{CudaError, DeviceRows, F32, Run};
use tenon_core::rows::Rows;
use tenon_models::kernels::Add;

fn residual(add: &Add, run: &Run<'_>, x: &mut Rows<f32, 1024>, y: &DeviceRows<F32, 1024>) -> Result<(), CudaError> {
    add.launch(run, x, y)
}

fn main() {}

//! A function of the CPU on rows of a device: what took a kernel's place where one was missing, and agreed with itself.
//~ expected `&Rows<f32, 1024>`, found `&DeviceRows<F32, 1024>`

use tenon_core::cpu::{Cpu, rms_norm};
use tenon_core::cuda::{DeviceRows, F32};
use tenon_core::linear::Norm;
use tenon_core::rows::Rows;

fn norm(cpu: &Cpu, x: &DeviceRows<F32, 1024>, weight: &Norm<1024>, out: &mut Rows<f32, 1024>) {
    rms_norm(cpu, x, weight, 1e-6, out);
}

fn main() {}

//! Memory of a device read like a slice: the host would follow an address that is not its own.
//~ cannot index into a value of type `DeviceBuffer<

use tenon_core::cuda::{DeviceBuffer, F32};

fn first(buffer: DeviceBuffer<F32>) -> f32 {
    buffer[0]
}

fn main() {
    std::hint::black_box(first as fn(_) -> _);
}

//! 128 rotated elements of a head that has 64.

use tenon_core::cpu::{Cpu, rope};
use tenon_core::rope::{Halves, RopeAngles};
use tenon_core::rows::Rows;

fn layer(cpu: &Cpu, q: &mut Rows<f32, 576>, angles: &RopeAngles<128, Halves>) {
    rope::<64, _, _, _>(cpu, q, angles);
}

fn main() {
    std::hint::black_box(layer as fn(&_, &mut _, &_));
}

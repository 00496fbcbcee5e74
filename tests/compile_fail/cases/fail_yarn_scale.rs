//! A scale of latent attention that leaves out the square of YaRN's factor: the literal is not the formula's value.

use tenon_core::scale::SoftmaxScale;

const SCALE: SoftmaxScale = SoftmaxScale::rsqrt_yarn(128, 128.0, 1.0, 0.088_388_35);

fn main() {
    std::hint::black_box(SCALE);
}

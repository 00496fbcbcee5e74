//! 1/sqrt(320), the space of absorbed scores, called the scale of 64 + 64 dimensions.

use tenon_core::scale::SoftmaxScale;

const SCALE: SoftmaxScale = SoftmaxScale::rsqrt(64 + 64, 0.055_901_7);

fn main() {
    let _ = SCALE;
}

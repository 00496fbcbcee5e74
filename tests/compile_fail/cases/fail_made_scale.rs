//! A softmax scale made by hand: its field is private.

use tenon_core::scale::SoftmaxScale;

fn main() {
    let _ = SoftmaxScale(0.125);
}

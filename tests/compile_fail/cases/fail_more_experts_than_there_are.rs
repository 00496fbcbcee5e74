//! A router that sends each token to 8 of 4 experts.

use tenon_core::moe::{Router, RouterScores};

const ROUTER: Router<4, 8> = Router::new(RouterScores::Softmax, true, 1.0);

fn main() {
    std::hint::black_box(ROUTER);
}

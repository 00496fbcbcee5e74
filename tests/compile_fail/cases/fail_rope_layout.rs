//! Angles of one pair layout where a plan has the other.

use tenon_core::rope::{Halves, Interleaved, RopeAngles};

struct Scratch {
    angles: RopeAngles<64, Halves>,
}

fn scratch(angles: RopeAngles<64, Interleaved>) -> Scratch {
    Scratch { angles }
}

fn main() {}

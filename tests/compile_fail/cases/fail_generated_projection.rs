//! A generated model in which somebody swapped the dimensions of one projection.

#[path = "emitted/swapped_projection/mod.rs"]
mod model;

fn main() {
    let _ = model::INFO;
}

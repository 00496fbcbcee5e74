//! A generated model in which somebody changed one head_dim by hand.

#[path = "emitted/head_dim_128/mod.rs"]
mod model;

fn main() {
    let _ = model::INFO;
}

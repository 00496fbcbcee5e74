//! A generated model, copied out of its crate, compiles as it is.

#[path = "emitted/as_generated/mod.rs"]
#[allow(dead_code)]
mod model;

fn main() {
    assert_eq!(model::INFO.parameters, 134_515_008);
}

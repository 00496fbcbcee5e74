//! Routing of tokens to experts.

use tenon_core::cpu;
use tenon_core::linear::Vector;
use tenon_core::moe::{GroupScore, Router, RouterScores, Routes};
use tenon_formats::StorageFormat;

use super::rows::rows_of;
use super::{Inputs, Output, dispatch, stored};

/// Experts and weights of the rows that are no padding.
pub fn route(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    dispatch!((inputs.params.int("experts"), inputs.int("top_k")?), (E, K) => route_of::<E, K>(inputs);
        (4, 4) (4, 2) (60, 8) (60, 32) (60, 22) (60, 6) (128, 8) (128, 32) (128, 22) (128, 6) (512, 8) (512, 32) (512, 22) (512, 6))
}

fn route_of<const E: usize, const K: usize>(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let tokens = inputs.step()?.tokens();
    let logits = rows_of::<E>(&inputs.numbers("router")?[..tokens * E]);
    let scores = if inputs.int("scores")? == 0 { RouterScores::Softmax } else { RouterScores::Sigmoid };
    let mut router = Router::<E, K>::new(scores, inputs.int("normalise")? != 0, inputs.float("scaling")?);
    let groups = inputs.int("groups")?;
    if groups > 1 {
        let score = if inputs.int("group_score")? == 0 { GroupScore::Max } else { GroupScore::Top2 };
        router = router.groups(groups, inputs.int("top_groups")?, score);
    }
    let mut routes = Routes::new(tokens);
    match inputs.numbers("bias") {
        None => cpu::route(&inputs.cpu, &logits, router, &mut routes),
        Some(bias) => {
            let bias = Vector::decode(StorageFormat::F32, &stored(&bias)).ok()?;
            cpu::route_biased(&inputs.cpu, &logits, router, &bias, &mut routes);
        }
    }
    let ids: Vec<f32> = (0..tokens).flat_map(|t| routes.experts(t).map(|e| e as f32)).collect();
    let weights: Vec<f32> = (0..tokens).flat_map(|t| *routes.weights(t)).collect();
    Some(vec![Output::new("ids", &ids), Output::new("weights", &weights)])
}

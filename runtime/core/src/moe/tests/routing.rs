//! Routing against a reference that sorts.

use tenon_formats::StorageFormat;

use crate::cpu::{route, route_biased};
use crate::linear::Vector;
use crate::moe::{GroupScore, Router, RouterScores, Routes};
use crate::rows::Rows;
use crate::testing::{Random, U, each_isa, within};

fn rows<const E: usize>(logits: &[f32]) -> Rows<f32, E> {
    let mut rows = Rows::with_capacity(logits.len() / E);
    rows.set_rows(logits.len() / E);
    rows.as_mut_slice().copy_from_slice(logits);
    rows
}

fn vector<const E: usize>(values: &[f32]) -> Vector<E> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Vector::decode(StorageFormat::F32, &bytes).unwrap()
}

/// Indices from the largest value down, equal ones in order.
fn sorted(values: &[f64]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..values.len()).collect();
    indices.sort_by(|&a, &b| values[b].partial_cmp(&values[a]).unwrap().then(a.cmp(&b)));
    indices
}

/// The experts of a token with their weights.
fn reference<const E: usize, const K: usize>(logits: &[f32], router: Router<E, K>, bias: &[f32]) -> Vec<(usize, f64)> {
    let logits: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
    let scores: Vec<f64> = match router.scores {
        RouterScores::Sigmoid => logits.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect(),
        RouterScores::Softmax => {
            let sum: f64 = logits.iter().map(|x| x.exp()).sum();
            logits.iter().map(|x| x.exp() / sum).collect()
        }
    };
    let choice: Vec<f64> = scores.iter().zip(bias).map(|(s, &b)| s + f64::from(b)).collect();
    let size = E / router.groups;
    let of_groups: Vec<f64> = (0..router.groups)
        .map(|g| {
            let group = &choice[g * size..][..size];
            let best = sorted(group);
            match router.group_score {
                GroupScore::Max => group[best[0]],
                GroupScore::Top2 => group[best[0]] + group[best[1]],
            }
        })
        .collect();
    let groups = &sorted(&of_groups)[..router.top_groups];
    let chosen: Vec<usize> = sorted(&choice).into_iter().filter(|e| groups.contains(&(e / size))).take(K).collect();
    let sum: f64 = chosen.iter().map(|&e| scores[e]).sum();
    let norm = if router.normalise { sum + 1e-20 } else { 1.0 };
    chosen.into_iter().map(|e| (e, scores[e] / norm * f64::from(router.scaling))).collect()
}

fn case<const E: usize, const K: usize>(what: &str, router: Router<E, K>, with_bias: bool) {
    let mut random = Random::new((E * 100 + K) as u64);
    let tokens = 37;
    let logits: Vec<f32> = random.units(tokens * E).iter().map(|x| 6.0 * x).collect();
    let bias = if with_bias { random.units(E) } else { vec![0.0; E] };
    each_isa(|cpu| {
        let mut routes = Routes::new(tokens + 1);
        if with_bias {
            route_biased(cpu, &rows(&logits), router, &vector(&bias), &mut routes);
        } else {
            route(cpu, &rows(&logits), router, &mut routes);
        }
        assert_eq!(routes.tokens(), tokens);
        let mut expected = Vec::new();
        for (token, logits) in logits.chunks(E).enumerate() {
            let reference = reference(logits, router, &bias);
            let experts: Vec<u32> = reference.iter().map(|&(e, _)| e as u32).collect();
            assert_eq!(routes.experts(token)[..], experts, "{what}, token {token}");
            expected.extend(reference.into_iter().map(|(_, weight)| weight));
        }
        // Arguments of exponentials are at most 12 and rounded once, exponentials are within 2 ulp, sums have E terms, and five
        // operations round once each; twice that where a quotient of two scores is taken.
        let k = E + 12 + 4 + 5;
        let weights = (0..tokens).flat_map(|token| *routes.weights(token)).collect::<Vec<f32>>();
        let bound = |weight: f64| (weight, 2.0 * k as f64 * U * weight);
        within(&format!("{what} on {}", cpu.isa()), k, &weights, expected.into_iter().map(bound));
    });
}

#[test]
fn choices_and_weights_match_the_reference() {
    use GroupScore::{Max, Top2};
    use RouterScores::{Sigmoid, Softmax};
    for (name, scores) in [("softmax", Softmax), ("sigmoid", Sigmoid)] {
        for normalise in [false, true] {
            for bias in [false, true] {
                let what = format!("{name}, normalised {normalise}, bias {bias}");
                case(&format!("{what}, 5 of 24"), Router::<24, 5>::new(scores, normalise, 2.5), bias);
                case(&format!("{what}, 13 of 13"), Router::<13, 13>::new(scores, normalise, 1.0), bias);
                case(&format!("{what}, 1 of 8"), Router::<8, 1>::new(scores, normalise, 1.0), bias);
                let groups = Router::<24, 5>::new(scores, normalise, 2.5).groups(4, 2, Top2);
                case(&format!("{what}, 2 of 4 groups"), groups, bias);
                let groups = Router::<24, 3>::new(scores, normalise, 1.0).groups(8, 1, Max);
                case(&format!("{what}, 1 of 8 groups"), groups, bias);
            }
        }
    }
}

#[test]
fn ties_go_to_the_lower_index() {
    each_isa(|cpu| {
        let mut routes = Routes::<12, 3>::new(2);
        let router = Router::new(RouterScores::Softmax, true, 1.0);
        let mut logits = [1.0; 24];
        logits[12 + 7] = 2.0;
        route(cpu, &rows(&logits), router, &mut routes);
        assert_eq!((routes.experts(0), routes.experts(1)), (&[0, 1, 2], &[7, 0, 1]));
        assert_eq!(routes.weights(0), &[1.0 / 3.0; 3]);
        // Groups of 4: the second and third are equal, and the first is worse.
        let bias = vector(&[0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.5, 0.5, 0.5, 0.0, 0.0]);
        let router = router.groups(3, 1, GroupScore::Top2);
        route_biased(cpu, &rows(&[0.0; 12]), router, &bias, &mut routes);
        assert_eq!(routes.experts(0), &[4, 7, 5]);
        assert_eq!(routes.weights(0), &[1.0 / 3.0; 3], "a bias chooses and does not weigh");
    });
}

#[test]
fn a_negative_choice_in_a_chosen_group_is_better_than_any_outside() {
    each_isa(|cpu| {
        let mut routes = Routes::<4, 2>::new(1);
        let router = Router::new(RouterScores::Sigmoid, false, 1.0).groups(2, 1, GroupScore::Max);
        route_biased(cpu, &rows(&[0.0; 4]), router, &vector(&[-0.9, 0.1, 0.0, 0.0]), &mut routes);
        assert_eq!(routes.experts(0), &[1, 0]);
    });
}

#[test]
fn a_nan_shows_in_the_weights() {
    each_isa(|cpu| {
        let mut routes = Routes::<4, 2>::new(1);
        let router = Router::new(RouterScores::Softmax, true, 1.0);
        route(cpu, &rows(&[f32::NAN, 1.0, 2.0, 3.0]), router, &mut routes);
        assert!(routes.weights(0).iter().all(|w| w.is_nan()));
        assert!(routes.experts(0).iter().all(|&e| e < 4));
    });
}

#[test]
fn rows_are_sorted_by_expert_and_then_by_token() {
    let mut routes = Routes::<5, 2>::new(4);
    let (experts, _) = routes.set_tokens(3);
    experts.copy_from_slice(&[3, 1, 1, 4, 3, 0]);
    routes.table_mut().sort();
    let table = routes.table();
    assert_eq!(table.start, [0, 1, 3, 3, 5, 6]);
    assert_eq!(table.token, [2, 0, 1, 0, 2, 1]);
    assert_eq!(table.place, [3, 1, 2, 5, 4, 0]);
    assert_eq!(routes.bytes(), 4 * (8 * 4 + 6));
}

#[test]
#[should_panic(expected = "3 tokens in routes for 2")]
fn more_tokens_than_there_is_room_for() {
    Routes::<5, 2>::new(2).set_tokens(3);
}

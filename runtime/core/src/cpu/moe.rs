//! Routing: a router's logits become the experts of each token and their weights.

use std::cmp::Ordering;

use super::Cpu;
use super::activation::sigmoid;
use super::exp::exp_nonpositive;
use super::simd::{Kernel, Simd};
use crate::linear::Vector;
use crate::moe::{GroupScore, Router, RouterScores, Routes};
use crate::rows::Rows;

/// Routes each token by its `logits`, `[tokens, E]`. Sets the tokens of `routes`.
///
/// # Panics
/// If there are more tokens than `routes` has room for.
pub fn route<const E: usize, const K: usize>(cpu: &Cpu, logits: &Rows<f32, E>, router: Router<E, K>, routes: &mut Routes<E, K>) {
    route_with(cpu, logits, router, None, routes);
}

/// As [`route`], where experts and groups are chosen by their scores plus `bias`. Routes weigh the scores without it.
///
/// # Panics
/// As [`route`].
pub fn route_biased<const E: usize, const K: usize>(
    cpu: &Cpu,
    logits: &Rows<f32, E>,
    router: Router<E, K>,
    bias: &Vector<E>,
    routes: &mut Routes<E, K>,
) {
    route_with(cpu, logits, router, Some(bias.values()), routes);
}

fn route_with<const E: usize, const K: usize>(
    cpu: &Cpu,
    logits: &Rows<f32, E>,
    router: Router<E, K>,
    bias: Option<&[f32; E]>,
    routes: &mut Routes<E, K>,
) {
    let (expert, weight) = routes.set_tokens(logits.rows());
    let rows = logits.as_slice().chunks_exact(E);
    let (mut scores, mut choice) = (vec![0.0; E], vec![0.0; E]);
    for ((logits, expert), weight) in rows.zip(expert.chunks_exact_mut(K)).zip(weight.chunks_exact_mut(K)) {
        scores.copy_from_slice(logits);
        cpu.lanes().enter(Scores { of: router.scores, x: &mut scores });
        // NaN is chosen last, and shows in the weights where it is chosen.
        for (e, (choice, &score)) in choice.iter_mut().zip(&scores).enumerate() {
            let biased = bias.map_or(score, |bias| score + bias[e]);
            *choice = if biased.is_nan() { f32::NEG_INFINITY } else { biased };
        }
        if router.top_groups < router.groups {
            keep_groups(&mut choice, router.groups, router.top_groups, router.group_score);
        }
        best(&choice, expert);
        for (weight, &e) in weight.iter_mut().zip(&*expert) {
            *weight = scores[e as usize];
        }
        if router.normalise {
            let sum = weight.iter().sum::<f32>() + 1e-20;
            weight.iter_mut().for_each(|weight| *weight /= sum);
        }
        weight.iter_mut().for_each(|weight| *weight *= router.scaling);
    }
    routes.table_mut().sort();
}

/// The indices of the largest values, the largest first; of equal ones the lower index first.
fn best(values: &[f32], chosen: &mut [u32]) {
    let mut count = 0;
    for (i, &value) in values.iter().enumerate() {
        // Those before this index with the same value stay before it.
        let at = chosen[..count].partition_point(|&j| values[j as usize] >= value);
        if at == chosen.len() {
            continue;
        }
        count = (count + 1).min(chosen.len());
        chosen[at..count].rotate_right(1);
        chosen[at] = i as u32;
    }
}

/// Sets the values of all but the best groups to minus infinity.
fn keep_groups(values: &mut [f32], groups: usize, top: usize, score: GroupScore) {
    let size = values.len() / groups;
    let mut ranked: Vec<(usize, f32)> = values.chunks_exact(size).map(|group| group_score(group, score)).enumerate().collect();
    // A stable sort: of equal groups the lower index comes first.
    ranked.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
    for &(group, _) in &ranked[top..] {
        values[group * size..][..size].fill(f32::NEG_INFINITY);
    }
}

fn group_score(group: &[f32], score: GroupScore) -> f32 {
    let (first, second) = group.iter().fold((f32::NEG_INFINITY, f32::NEG_INFINITY), |(first, second), &value| {
        if value > first { (value, first) } else { (first, second.max(value)) }
    });
    match score {
        GroupScore::Max => first,
        GroupScore::Top2 => first + second,
    }
}

/// Logits to scores, in place.
struct Scores<'a> {
    of: RouterScores,
    x: &'a mut [f32],
}

impl Kernel for Scores<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (eights, rest) = self.x.as_chunks_mut::<8>();
        // What pads the last lanes: its exponential is 0.
        let mut last = [f32::NEG_INFINITY; 8];
        last[..rest.len()].copy_from_slice(rest);
        match self.of {
            RouterScores::Sigmoid => {
                for x in eights.iter_mut() {
                    s.store(sigmoid(s, s.load(x)), x);
                }
                s.store(sigmoid(s, s.load(&last)), &mut last);
            }
            RouterScores::Softmax => {
                let mut most = s.load(&last);
                for x in eights.iter() {
                    most = s.max(most, s.load(x));
                }
                let most = s.splat(s.reduce_max(most));
                let mut sum = s.splat(0.0);
                for x in eights.iter_mut() {
                    let e = exp_nonpositive(s, s.sub(s.load(x), most));
                    sum = s.add(sum, e);
                    s.store(e, x);
                }
                let e = exp_nonpositive(s, s.sub(s.load(&last), most));
                let sum = s.splat(s.reduce_add(s.add(sum, e)));
                for x in eights.iter_mut() {
                    s.store(s.div(s.load(x), sum), x);
                }
                s.store(s.div(e, sum), &mut last);
            }
        }
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

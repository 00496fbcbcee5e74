//! Experts against a reference that computes each token by itself.

use half::bf16;
use tenon_formats::StorageFormat;

use crate::cpu::{Cpu, Isa, route};
use crate::linear::packed::Packed;
use crate::linear::source::Source;
use crate::moe::*;
use crate::rows::Rows;
use crate::testing::{Random, U, each_isa, product_bound, within};

const E: usize = 7;
const H: usize = 44;
const I: usize = 27;
const K: usize = 3;

/// The numbers of all experts.
struct Numbers {
    /// `[E, I, H]`
    gate: Vec<f32>,
    up: Vec<f32>,
    /// `[E, H, I]`
    down: Vec<f32>,
    biases: Option<Biases>,
}

fn numbers(with_biases: bool) -> Numbers {
    let mut random = Random::new(21);
    let mut matrix = || random.units(E * H * I).into_iter().map(|x| bf16::from_f32(x).to_f32()).collect();
    let (gate, up, down) = (matrix(), matrix(), matrix());
    let biases = with_biases.then(|| Biases { gate: random.units(E * I), up: random.units(E * I), down: random.units(E * H) });
    Numbers { gate, up, down, biases }
}

fn packed(cpu: &Cpu, values: &[f32], rows: usize, inputs: usize) -> Vec<Packed> {
    let pack = |matrix: &[f32]| {
        let bytes: Vec<u8> = matrix.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect();
        Packed::rows(cpu, &Source::of_rows(StorageFormat::Bf16, &bytes, rows, inputs).unwrap(), rows, |row| row)
    };
    values.chunks(rows * inputs).map(pack).collect()
}

fn experts(cpu: &Cpu, numbers: &Numbers, with_gates: bool) -> Experts {
    let biases = numbers.biases.as_ref();
    Experts {
        gate: if with_gates { packed(cpu, &numbers.gate, I, H) } else { Vec::new() },
        up: packed(cpu, &numbers.up, I, H),
        down: packed(cpu, &numbers.down, H, I),
        biases: biases.map(|b| Biases { gate: b.gate.clone(), up: b.up.clone(), down: b.down.clone() }),
    }
}

/// A number and how far f32 arithmetic may be from it.
#[derive(Clone, Copy)]
struct Near(f64, f64);

fn product(w: &[f32], x: &[Near], bias: f32) -> Near {
    let terms = || w.iter().zip(x).map(|(&w, &Near(x, _))| f64::from(w) * x);
    let carried: f64 = w.iter().zip(x).map(|(&w, &Near(_, error))| f64::from(w).abs() * error).sum();
    let value = terms().sum::<f64>() + f64::from(bias);
    Near(value, carried + product_bound(x.len(), terms().map(f64::abs).sum()) + U * value.abs())
}

type Between = fn(f64, f64) -> f64;

/// What a token gets of its experts. `between` is 2-Lipschitz in each argument, times the size of the other.
fn reference(numbers: &Numbers, between: Between, x: &[f32], experts: &[u32; K], weights: &[f32; K]) -> Vec<Near> {
    let x: Vec<Near> = x.iter().map(|&x| Near(f64::from(x), 0.0)).collect();
    let mut out = vec![Near(0.0, 0.0); H];
    for (&e, &weight) in experts.iter().zip(weights) {
        let (e, weight) = (e as usize, f64::from(weight));
        let biases = numbers.biases.as_ref();
        let inner: Vec<Near> = (e * I..(e + 1) * I)
            .map(|i| {
                let Near(g, g_error) = product(&numbers.gate[i * H..][..H], &x, biases.map_or(0.0, |b| b.gate[i]));
                let Near(u, u_error) = product(&numbers.up[i * H..][..H], &x, biases.map_or(0.0, |b| b.up[i]));
                let value = between(g, u);
                // An activation's own error: exponentials within 2 ulp and some ten roundings.
                Near(value, 2.0 * g_error * (u.abs() + 1.0) + 2.0 * u_error * (g.abs() + u.abs()) + 16.0 * U * value.abs())
            })
            .collect();
        for (h, out) in out.iter_mut().enumerate() {
            let row = e * H + h;
            let part = product(&numbers.down[row * I..][..I], &inner, biases.map_or(0.0, |b| b.down[row]));
            *out = Near(out.0 + weight * part.0, out.1 + weight * part.1 + (K + 1) as f64 * U * (weight * part.0).abs());
        }
    }
    out
}

/// Routes of random logits. Expert 5 gets no token, and with `few` all tokens have the same experts.
fn routes(cpu: &Cpu, tokens: usize, few: bool) -> Routes<E, K> {
    let mut random = Random::new(tokens as u64);
    let mut logits = Rows::<f32, E>::with_capacity(tokens);
    logits.set_rows(tokens);
    logits.as_mut_slice().fill_with(|| 3.0 * random.unit());
    for t in 0..tokens {
        logits.row_mut(t)[5] = -50.0;
        if few {
            logits.row_mut(t)[1..4].iter_mut().for_each(|x| *x += 20.0);
        }
    }
    let mut routes = Routes::new(tokens);
    route(cpu, &logits, Router::new(RouterScores::Sigmoid, true, 1.5), &mut routes);
    routes
}

fn inputs(tokens: usize) -> Rows<f32, H> {
    let mut random = Random::new(99);
    let mut x = Rows::with_capacity(tokens.max(1));
    x.set_rows(tokens);
    x.as_mut_slice().fill_with(|| random.unit());
    x
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

fn case(
    what: &str,
    between: Between,
    with_biases: bool,
    forward: impl Fn(&Cpu, Experts, &Rows<f32, H>, &Routes<E, K>, &mut Rows<f32, H>),
) {
    let numbers = numbers(with_biases);
    let with_gates = !what.starts_with("plain");
    for (tokens, few) in [(1, false), (2, false), (3, true), (5, true), (40, false), (41, true)] {
        let x = inputs(tokens);
        each_isa(|cpu| {
            let routes = routes(cpu, tokens, few);
            let mut out = Rows::with_capacity(tokens);
            forward(cpu, experts(cpu, &numbers, with_gates), &x, &routes, &mut out);
            let expected = (0..tokens).flat_map(|t| reference(&numbers, between, x.row(t), routes.experts(t), routes.weights(t)));
            let what = format!("{what}, {tokens} tokens on {}", cpu.isa());
            within(&what, H + I + K, out.as_slice(), expected.map(|Near(value, error)| (value, error)));
        });
    }
}

#[test]
fn gated_experts_match_the_reference() {
    for with_biases in [false, true] {
        case(
            "silu",
            |g, u| silu(g) * u,
            with_biases,
            |cpu, experts, x, routes, out| {
                let mut rows = ExpertRows::new(x.rows() * K);
                GatedExperts::<E, H, I>::new(experts).forward::<4, Silu, _>(cpu, x, routes, &mut rows, out);
            },
        );
    }
    case(
        "tanh gelu",
        |g, u| g / (1.0 + (-1.595_769_121_605_731 * (g + 0.044_715 * g * g * g)).exp()) * u,
        false,
        |cpu, experts, x, routes, out| {
            let mut rows = ExpertRows::new(x.rows() * K + 7);
            GatedExperts::<E, H, I>::new(experts).forward::<6, GeluTanh, _>(cpu, x, routes, &mut rows, out);
        },
    );
}

#[test]
fn clamped_experts_match_the_reference() {
    let between: Between = |g, u| {
        let (g, u) = (g.min(1.25), u.clamp(-1.25, 1.25));
        (u + 1.0) * g / (1.0 + (-f64::from(1.702f32) * g).exp())
    };
    case("clamped", between, true, |cpu, experts, x, routes, out| {
        let mut rows = ExpertRows::new(x.rows() * K);
        GatedExperts::<E, H, I>::new(experts).forward_clamped::<4, _>(cpu, x, routes, 1.25, 1.702, &mut rows, out);
    });
}

#[test]
fn plain_experts_match_the_reference() {
    case(
        "plain relu2",
        |_, u| u.max(0.0).powi(2),
        false,
        |cpu, experts, x, routes, out| {
            let mut rows = ExpertRows::plain(x.rows() * K);
            PlainExperts::<E, H, I>::new(experts).forward::<4, Relu2, _>(cpu, x, routes, &mut rows, out);
        },
    );
}

#[test]
fn a_token_has_the_same_bits_in_any_company() {
    let numbers = numbers(true);
    let tokens = 23;
    let x = inputs(tokens);
    for isa in Isa::available() {
        let one = Cpu::new(1, isa).unwrap();
        let all = routes(&one, tokens, true);
        let gated = GatedExperts::<E, H, I>::new(experts(&one, &numbers, true));
        let mut alone = Vec::new();
        for t in 0..tokens {
            let mut row = inputs(1);
            row.row_mut(0).copy_from_slice(x.row(t));
            let mut routes = Routes::<E, K>::new(1);
            let (expert, weight) = routes.set_tokens(1);
            expert.copy_from_slice(all.experts(t));
            weight.copy_from_slice(all.weights(t));
            routes.table_mut().sort();
            let mut out = Rows::with_capacity(1);
            gated.forward::<4, Silu, _>(&one, &row, &routes, &mut ExpertRows::new(K), &mut out);
            alone.extend(*out.row(0));
        }
        for threads in 1..=3 {
            let cpu = Cpu::new(threads, isa).unwrap();
            let mut rows = ExpertRows::new(tokens * K);
            let mut out = Rows::with_capacity(tokens);
            gated.forward::<1, Silu, _>(&cpu, &x, &all, &mut rows, &mut out);
            assert_eq!(out.as_slice(), alone, "{threads} threads, {isa}");
            gated.forward::<6, Silu, _>(&cpu, &x, &all, &mut rows, &mut out);
            assert_eq!(out.as_slice(), alone, "{threads} threads, {isa}");
        }
    }
}

#[test]
fn no_tokens_are_no_rows() {
    let cpu = Cpu::new(2, Isa::Portable).unwrap();
    let gated = GatedExperts::<E, H, I>::new(experts(&cpu, &numbers(false), true));
    let (routes, mut rows, mut out) = (routes(&cpu, 0, false), ExpertRows::new(K), Rows::with_capacity(1));
    out.set_rows(1);
    gated.forward::<4, Silu, _>(&cpu, &inputs(0), &routes, &mut rows, &mut out);
    assert_eq!(out.rows(), 0);
    // Rows of experts are padded to tiles of 8.
    assert_eq!(gated.bytes(), 2 * E * (2 * 32 * H + 48 * I));
    assert_eq!(rows.bytes(), 4 * K * (2 * I + H));
}

#[test]
#[should_panic(expected = "a buffer for plain experts, and these have gates")]
fn scratch_of_plain_experts_is_too_small_for_gates() {
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let gated = GatedExperts::<E, H, I>::new(experts(&cpu, &numbers(false), true));
    let mut out = Rows::with_capacity(2);
    gated.forward::<4, Silu, _>(&cpu, &inputs(2), &routes(&cpu, 2, false), &mut ExpertRows::plain(2 * K), &mut out);
}

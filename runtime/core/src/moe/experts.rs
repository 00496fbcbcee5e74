//! Experts: feed-forward networks of which a token uses a few.

use super::routes::{Routes, Table};
use super::scratch::ExpertRows;
use crate::cpu::Cpu;
use crate::cpu::activation::{Act, ActMul, ClampedSwiglu, InPlace};
use crate::cpu::grid::{Cell, Grid};
use crate::linear::gemm::MAX_TILE;
use crate::linear::packed::Packed;
use crate::linear::product::{Inputs, LANES, TILES_TOGETHER};
use crate::rows::Rows;

mod sealed {
    pub trait Sealed {
        const ACT: super::Act;
    }
}

/// An activation function of experts, as a type.
pub trait Activation: sealed::Sealed {}

macro_rules! activations {
    ($($(#[$doc:meta])* $name:ident,)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}
        impl sealed::Sealed for $name {
            const ACT: Act = Act::$name;
        }
        impl Activation for $name {}
    )+};
}

activations! {
    /// `x * sigmoid(x)`
    Silu,
    /// `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`
    GeluTanh,
    /// `0.5 x (1 + erf(x / sqrt(2)))`
    Gelu,
    /// `max(x, 0)^2`
    Relu2,
}

/// `E` experts with hidden size `H` and intermediate size `I` that compute `down(act(gate x) * up x)`, packed in their stored
/// formats.
pub struct GatedExperts<const E: usize, const H: usize, const I: usize>(Experts);

/// `E` experts with hidden size `H` and intermediate size `I` that compute `down(act(up x))`, packed in their stored formats.
pub struct PlainExperts<const E: usize, const H: usize, const I: usize>(Experts);

impl<const E: usize, const H: usize, const I: usize> GatedExperts<E, H, I> {
    /// `experts` have gates, and are `E`.
    pub(crate) fn new(experts: Experts) -> Self {
        const { assert!(E > 0 && H > 0 && I > 0, "a matrix has at least one element") };
        assert!(experts.gate.len() == E && experts.up.len() == E && experts.down.len() == E, "{E} experts with gates");
        Self(experts)
    }

    /// For each token the sum over its routes of `weight * down(act(gate x) * up x)`, `[tokens, H]`, in the order of the routes.
    /// Sets the rows of `out`. `rows` is scratch.
    ///
    /// `TILE` as in [`Linear::forward`](crate::linear::Linear::forward).
    ///
    /// # Panics
    /// If the routes are not those of the rows of `x`, or `rows` has no room for all of them.
    pub fn forward<const TILE: usize, A: Activation, const K: usize>(
        &self,
        cpu: &Cpu,
        x: &Rows<f32, H>,
        routes: &Routes<E, K>,
        rows: &mut ExpertRows<H, I>,
        out: &mut Rows<f32, H>,
    ) {
        self.0.forward::<E, H, I, K, TILE>(cpu, Inner::Gated(A::ACT), x, routes, rows, out);
    }

    /// As [`forward`](Self::forward) with the clamped SwiGLU of gpt-oss between the products: with `gate` at most `limit` and `up`
    /// within `-limit..=limit`, `(up + 1) * gate * sigmoid(alpha * gate)`.
    ///
    /// # Panics
    /// As [`forward`](Self::forward).
    #[allow(clippy::too_many_arguments)] // Two constants more than `forward`.
    pub fn forward_clamped<const TILE: usize, const K: usize>(
        &self,
        cpu: &Cpu,
        x: &Rows<f32, H>,
        routes: &Routes<E, K>,
        limit: f32,
        alpha: f32,
        rows: &mut ExpertRows<H, I>,
        out: &mut Rows<f32, H>,
    ) {
        self.0.forward::<E, H, I, K, TILE>(cpu, Inner::Clamped { limit, alpha }, x, routes, rows, out);
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl<const E: usize, const H: usize, const I: usize> PlainExperts<E, H, I> {
    /// `experts` have no gates, and are `E`.
    pub(crate) fn new(experts: Experts) -> Self {
        const { assert!(E > 0 && H > 0 && I > 0, "a matrix has at least one element") };
        assert!(experts.gate.is_empty() && experts.up.len() == E && experts.down.len() == E, "{E} experts without gates");
        Self(experts)
    }

    /// For each token the sum over its routes of `weight * down(act(up x))`, `[tokens, H]`, in the order of the routes. Sets the
    /// rows of `out`. `rows` is scratch.
    ///
    /// # Panics
    /// As [`GatedExperts::forward`].
    pub fn forward<const TILE: usize, A: Activation, const K: usize>(
        &self,
        cpu: &Cpu,
        x: &Rows<f32, H>,
        routes: &Routes<E, K>,
        rows: &mut ExpertRows<H, I>,
        out: &mut Rows<f32, H>,
    ) {
        self.0.forward::<E, H, I, K, TILE>(cpu, Inner::Plain(A::ACT), x, routes, rows, out);
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl<const E: usize, const H: usize, const I: usize> std::fmt::Debug for GatedExperts<E, H, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GatedExperts<{E}, {H}, {I}>({})", self.0.down[0].format())
    }
}

impl<const E: usize, const H: usize, const I: usize> std::fmt::Debug for PlainExperts<E, H, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlainExperts<{E}, {H}, {I}>({})", self.0.down[0].format())
    }
}

/// The numbers that one computation has in common.
#[derive(Clone, Copy)]
struct Shape {
    hidden: usize,
    inner: usize,
    tile: usize,
}

/// What happens between the products.
#[derive(Clone, Copy)]
enum Inner {
    /// `act(up)`
    Plain(Act),
    /// `act(gate) * up`
    Gated(Act),
    /// The clamped SwiGLU.
    Clamped { limit: f32, alpha: f32 },
}

/// The matrices of all experts.
pub(crate) struct Experts {
    /// `[I, H]` each; none where experts have no gates.
    pub(crate) gate: Vec<Packed>,
    /// `[I, H]` each.
    pub(crate) up: Vec<Packed>,
    /// `[H, I]` each.
    pub(crate) down: Vec<Packed>,
    pub(crate) biases: Option<Biases>,
}

/// What is added to the products, expert after expert.
pub(crate) struct Biases {
    /// `[E, I]`.
    pub(crate) gate: Vec<f32>,
    /// `[E, I]`.
    pub(crate) up: Vec<f32>,
    /// `[E, H]`.
    pub(crate) down: Vec<f32>,
}

impl Experts {
    fn bytes(&self) -> usize {
        let matrices = [&self.gate, &self.up, &self.down].into_iter().flatten().map(Packed::bytes).sum::<usize>();
        let biases = self.biases.as_ref().map_or(0, |b| 4 * (b.gate.len() + b.up.len() + b.down.len()));
        matrices + biases
    }

    /// The typed forward functions, which say what the numbers are.
    fn forward<const E: usize, const H: usize, const I: usize, const K: usize, const TILE: usize>(
        &self,
        cpu: &Cpu,
        inner: Inner,
        x: &Rows<f32, H>,
        routes: &Routes<E, K>,
        rows: &mut ExpertRows<H, I>,
        out: &mut Rows<f32, H>,
    ) {
        const { assert!(TILE > 0 && TILE <= MAX_TILE, "a register tile has 1 to 6 rows") };
        assert_eq!(routes.tokens(), x.rows(), "routes and rows are of the same batch");
        out.set_rows(x.rows());
        let inputs = if matches!(inner, Inner::Plain(_)) { 1 } else { 2 };
        let (between, parts) = rows.take(x.rows() * K, inputs);
        let shape = Shape { hidden: H, inner: I, tile: TILE };
        self.compute(cpu, shape, inner, x.as_slice(), routes.table(), between, parts);
        sum_routes(cpu, H, routes.table(), parts, out.as_mut_slice());
    }

    /// Each row of `routes` by its expert: `[rows, hidden]` into `parts`.
    #[allow(clippy::too_many_arguments)] // The shape and the buffers are fields of the only caller's arguments.
    fn compute(&self, cpu: &Cpu, shape: Shape, inner: Inner, x: &[f32], routes: &Table, between: &mut [f32], parts: &mut [f32]) {
        let Shape { hidden, inner: width, tile } = shape;
        let rows = routes.token.len();
        if rows == 0 {
            return;
        }
        let experts = || routes.start.windows(2).enumerate().filter(|(_, s)| s[0] < s[1]);
        let x = Inputs { data: x, of_row: Some(&routes.token), shift: 0 };
        // Rows of ups follow those of gates.
        let gated = if matches!(inner, Inner::Plain(_)) { 0 } else { rows };
        // A thread computes its columns of every expert: gates, ups, and what becomes of them.
        let mut grid = Grid::new(between, width, between.len() / width, columns(cpu, width));
        cpu.over(&mut grid, |mut cell| {
            for (e, range) in experts() {
                let range = range[0] as usize..range[1] as usize;
                let mut product = |matrix: &Packed, bias: Option<&[f32]>, shift: usize| {
                    let (range, x) = (range.start + shift..range.end + shift, Inputs { shift, ..x });
                    matrix.multiply_rows(cpu.lanes(), width, hidden, tile, x, &mut cell, range.clone());
                    if let Some(bias) = bias {
                        add_bias(&mut cell, range, &bias[e * width..][..width]);
                    }
                };
                let biases = self.biases.as_ref();
                if gated > 0 {
                    product(&self.gate[e], biases.map(|b| &*b.gate), 0);
                }
                product(&self.up[e], biases.map(|b| &*b.up), gated);
                for row in range {
                    activate(cpu, inner, &mut cell, row, row + gated);
                }
            }
        });
        let between = &between[..rows * width];
        let x = Inputs { data: between, of_row: None, shift: 0 };
        let mut grid = Grid::new(parts, hidden, rows, columns(cpu, hidden));
        cpu.over(&mut grid, |mut cell| {
            for (e, range) in experts() {
                let range = range[0] as usize..range[1] as usize;
                self.down[e].multiply_rows(cpu.lanes(), hidden, width, tile, x, &mut cell, range.clone());
                if let Some(biases) = &self.biases {
                    add_bias(&mut cell, range, &biases.down[e * hidden..][..hidden]);
                }
            }
        });
    }
}

/// Columns of a thread's cells: a multiple of what products compute together.
fn columns(cpu: &Cpu, width: usize) -> usize {
    LANES * width.div_ceil(LANES * cpu.threads()).next_multiple_of(TILES_TOGETHER)
}

/// Adds the bias, of which the cell has some columns, to some rows of it.
fn add_bias(cell: &mut Cell<'_, f32>, rows: std::ops::Range<usize>, bias: &[f32]) {
    let bias = &bias[cell.columns.clone()];
    for row in rows {
        for (x, b) in cell.row_mut(row).iter_mut().zip(bias) {
            *x += b;
        }
    }
}

/// What stands between the products, in place in row `row`; `up` is the row of the ups, where there are gates.
fn activate(cpu: &Cpu, inner: Inner, cell: &mut Cell<'_, f32>, row: usize, up: usize) {
    const PIECE: usize = 256;
    if let Inner::Plain(act) = inner {
        return cpu.lanes().enter(InPlace { act, x: cell.row_mut(row) });
    }
    let mut ups = [0.0; PIECE];
    for start in (0..cell.columns.len()).step_by(PIECE) {
        let piece = start..cell.columns.len().min(start + PIECE);
        let ups = &mut ups[..piece.len()];
        ups.copy_from_slice(&cell.row_mut(up)[piece.clone()]);
        let gate = &mut cell.row_mut(row)[piece];
        match inner {
            Inner::Gated(act) | Inner::Plain(act) => cpu.lanes().enter(ActMul { act, gate, up: ups }),
            Inner::Clamped { limit, alpha } => cpu.lanes().enter(ClampedSwiglu { limit, alpha, gate, up: ups }),
        }
    }
}

/// `out[t] = sum over k of weight * part` for the routes of token `t`, in their order.
fn sum_routes(cpu: &Cpu, hidden: usize, routes: &Table, parts: &[f32], out: &mut [f32]) {
    let k = routes.of_token;
    let unit = cpu.row_unit(out.len() / hidden, k * out.len());
    cpu.over(&mut Grid::of_rows(out, hidden, unit), |mut cell| {
        for token in cell.rows.clone() {
            let out = cell.row_mut(token);
            out.fill(0.0);
            for route in token * k..(token + 1) * k {
                let part = &parts[routes.place[route] as usize * hidden..][..hidden];
                let weight = routes.weight[route];
                for (out, part) in out.iter_mut().zip(part) {
                    *out += weight * part;
                }
            }
        }
    });
}

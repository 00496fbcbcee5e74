//! Gate G2: what the product's CPU kernels compute in f32 from the inputs of a case, and how far a device may be from that.
//!
//! The inputs are those of the reference: bf16 widened, stored weights put together again from their planes, the step as a batch. Both
//! sides differ from exact arithmetic, so the bound of an element is the sum of two parts:
//!
//! - The device's is the bound that the reference states. It names the sums and functions in f32, what tensor cores round to bf16, and
//!   the rounding of the output to its dtype.
//! - The CPU's own is f32 alone, without any of those roundings, by the class of the op: sums of products of length K are within
//!   6 sqrt(K) u sum|x y|, and recurrences, softmaxes and whatever has exponentials in sums of length K within
//!   5 (K + 2) u (|value| + maximum of the tensor), where K counts all sums that an output went through. Where the reference has neither
//!   tensor cores nor rounded intermediates, its own bound without the rounding of the output is the CPU's: the same numbers hold.
//!
//! At its own part alone, the CPU's result must also agree with the reference, which shows that the references themselves are right.

mod attend;
mod latent;
mod product;
mod recurrent;
mod route;
mod rows;
mod step;

use tenon_core::cpu::{Cpu, Isa};
use tenon_device_cases::{Case, Expected, Params, StepCase, U_BF16, Value, from_bf16, from_e4m3};

/// Calls `$body` with constants of the names in the first parentheses, for the one of the listed shapes that `$value` is.
macro_rules! dispatch {
    ($value:expr, $names:tt => $body:expr; $($shape:tt)*) => {
        match $value {
            $(value if value == $shape => $crate::cpu::dispatch!(@ $shape $names $body),)*
            _ => None,
        }
    };
    (@ ($($number:expr),*) ($($name:ident),*) $body:expr) => {{
        $(const $name: usize = $number;)*
        $body
    }};
}
use dispatch;

/// One output of the CPU, element for element of what the reference states. NaN where the CPU does not compute one.
#[derive(Clone, Debug)]
pub struct Computed {
    /// What it computed.
    pub values: Expected,
    /// How far the device may be from it.
    pub bounds: Vec<f64>,
}

/// What the CPU computes, with the bounds of gate G2. `None` where the CPU has no such kernel, where no instance of it is compiled here
/// for these dimensions, and where its types refuse what the case is about, such as a page that does not exist.
pub fn cpu(template: &str, params: &Params, case: &Case) -> Option<Vec<Expected>> {
    let computed = compute(template, params, case)?;
    Some(computed.into_iter().map(|one| Expected { bounds: one.bounds, ..one.values }).collect())
}

/// The same where the bounds in `values` are the CPU's own part: what it must hold against the reference.
pub fn compute(template: &str, params: &Params, case: &Case) -> Option<Vec<Computed>> {
    // A batch with a page, slot or token that does not exist cannot be made.
    if case.error != 0 {
        return None;
    }
    let inputs = Inputs { params, case, cpu: Cpu::new(1, Isa::detect()).ok()? };
    let outputs = match template {
        "linear" => product::linear(&inputs)?,
        "linear_gated" => product::linear_gated(&inputs)?,
        "dequantise" => product::dequantise(&inputs)?,
        "embedding" => product::embedding(&inputs)?,
        "experts_up_few" | "experts_up_many" => product::experts_up(&inputs)?,
        "experts_down_few" | "experts_down_many" => product::experts_down(&inputs)?,
        "attention_decode" | "attention_prefill" => attend::attention(&inputs, template == "attention_decode")?,
        "mla_prefill_expanded" => attend::expanded(&inputs)?,
        "mla_decode" | "mla_prefill_absorbed" => latent::absorbed(&inputs, template == "mla_decode")?,
        "mla_absorb" => latent::absorb(&inputs)?,
        "mla_up" => latent::up(&inputs)?,
        "mla_expand" => latent::expand(&inputs)?,
        "causal_conv_decode" | "causal_conv_prefill" => recurrent::conv(&inputs, template == "causal_conv_decode")?,
        "mamba2_scan" | "mamba2_update" => recurrent::mamba2(&inputs, template == "mamba2_update")?,
        "delta_decode" | "delta_prefill" => recurrent::delta(&inputs, template == "delta_decode")?,
        "route" => route::route(&inputs)?,
        _ => rows::compute(template, &inputs)?,
    };
    outputs.into_iter().map(|output| output.beside(case)).collect()
}

/// One output as an op computes it. It may end before memory that no row of the launch has.
struct Output {
    arg: &'static str,
    values: Vec<f64>,
    own: Own,
}

/// The CPU's own part of the bounds.
enum Own {
    /// The bound of the reference without the rounding of the output to bf16.
    OfReference,
    /// These.
    Bounds(Vec<f64>),
}

impl Output {
    fn new(arg: &'static str, values: &[f32]) -> Self {
        // What is computed and no number is a fault, unlike what is not computed.
        let number = |&x: &f32| if x.is_nan() { f64::INFINITY } else { f64::from(x) };
        Self { arg, values: values.iter().map(number).collect(), own: Own::OfReference }
    }

    /// Values with their own bounds.
    fn bounded(arg: &'static str, elements: Vec<(f64, f64)>) -> Self {
        let (values, bounds) = elements.into_iter().unzip();
        Self { arg, values, own: Own::Bounds(bounds) }
    }

    /// With the bounds of the reference.
    fn beside(self, case: &Case) -> Option<Computed> {
        let Self { arg, mut values, own } = self;
        let reference = case.expected.iter().find(|expected| expected.arg == arg)?;
        let len = reference.values.len();
        values.resize(len, f64::NAN);
        let narrow = matches!(case.args.iter().find(|(name, _)| *name == arg), Some((_, Value::Bf16(_))));
        let own = match own {
            // e + u (|value| + e) is what such a reference states for the error e before the rounding.
            Own::OfReference if narrow => {
                let before = |(bound, value): (&f64, &f64)| ((bound - U_BF16 * value.abs()) / (1.0 + U_BF16)).max(0.0);
                reference.bounds.iter().zip(&reference.values).map(before).collect()
            }
            Own::OfReference => reference.bounds.clone(),
            Own::Bounds(mut bounds) => {
                bounds.resize(len, 0.0);
                bounds
            }
        };
        for ((value, own), exact) in values.iter_mut().zip(&own).zip(&reference.values) {
            if exact.is_nan() {
                *value = f64::NAN;
            } else if value.is_nan() && own.is_nan() {
                // Computed, and no number: that is a fault.
                *value = f64::INFINITY;
            }
        }
        let bounds = reference.bounds.iter().zip(&own).map(|(device, own)| device + own).collect();
        Some(Computed { values: Expected { arg, values, bounds: own, depth: reference.depth }, bounds })
    }
}

/// The inputs of a case by name.
struct Inputs<'a> {
    params: &'a Params,
    case: &'a Case,
    cpu: Cpu,
}

impl Inputs<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.case.args.iter().find(|(arg, _)| *arg == name).map(|(_, value)| value)
    }

    /// Memory of f32, bf16 or fp8 in f32. `None` for a null pointer.
    fn numbers(&self, name: &str) -> Option<Vec<f32>> {
        match self.value(name)? {
            Value::F32(values) => Some(values.clone()),
            Value::Bf16(bits) => Some(bits.iter().map(|&bits| from_bf16(bits) as f32).collect()),
            Value::Bytes(bytes) => Some(bytes.iter().map(|&byte| from_e4m3(byte) as f32).collect()),
            _ => None,
        }
    }

    fn bytes(&self, name: &str) -> Option<&[u8]> {
        if let Value::Bytes(bytes) = self.value(name)? { Some(bytes) } else { None }
    }

    fn ints(&self, name: &str) -> Option<&[i32]> {
        if let Value::I32(values) = self.value(name)? { Some(values) } else { None }
    }

    fn int(&self, name: &str) -> Option<usize> {
        if let Value::Int(value) = self.value(name)? { usize::try_from(*value).ok() } else { None }
    }

    fn float(&self, name: &str) -> Option<f32> {
        if let Value::Float(value) = self.value(name)? { Some(*value) } else { None }
    }

    fn step(&self) -> Option<&StepCase> {
        if let Value::Step(step) = self.value("step")? { Some(step) } else { None }
    }
}

/// The bytes of numbers as a checkpoint stores them in f32.
fn stored(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The largest magnitude among numbers.
fn maximum<'a>(values: impl IntoIterator<Item = &'a f32>) -> f64 {
    values.into_iter().fold(0.0, |most: f64, x| most.max(f64::from(x.abs())))
}

//! The value of an expression, as a float or as an exact integer.

use std::fmt;
use std::ops::Range;

use tenon_formats::StorageFormat;

use super::{BinaryOp, Expr, ExprKind, Function};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dim {
    /// A dimension.
    Int(u64),
    /// A factor, such as one of rope scaling.
    Float(f64),
    /// A dtype, the argument of `sizeof` and `per_scale`: `bytes` for `elements` of them (18 for 32 in `q4_0`).
    Dtype {
        /// Bytes of a block.
        bytes: u64,
        /// Elements of a block.
        elements: u64,
        /// Neighbours that share a scale.
        per_scale: u64,
    },
}

impl From<u64> for Dim {
    fn from(value: u64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Dim {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<StorageFormat> for Dim {
    fn from(format: StorageFormat) -> Self {
        Self::Dtype {
            bytes: format.block_bytes() as u64,
            elements: format.block_len() as u64,
            per_scale: format.per_scale() as u64,
        }
    }
}

/// An expression that has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    /// The part that has none.
    pub range: Range<usize>,
    /// Why.
    pub kind: EvalErrorKind,
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalErrorKind {
    /// Nothing has this name.
    UnknownName(String),
    /// A dtype where a number is wanted.
    NotANumber(String),
    /// `sizeof` of something that is no dtype.
    NotADtype(String),
    /// A fraction, a function or a factor where every step must be exact.
    NotAnInteger,
    /// A quotient that is not whole.
    Inexact {
        /// What is divided.
        dividend: String,
        /// By what.
        divisor: String,
    },
    /// A division by zero.
    DivisionByZero,
    /// The result is below zero.
    Negative,
    /// A value beyond 64 bits.
    Overflow,
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            EvalErrorKind::UnknownName(name) => write!(f, "`{name}` is no dimension here"),
            EvalErrorKind::NotANumber(name) => write!(f, "`{name}` is a dtype; `sizeof({name})` is its number of bytes"),
            EvalErrorKind::NotADtype(name) => write!(f, "`{name}` is no dtype"),
            EvalErrorKind::NotAnInteger => f.write_str("this is not a whole number"),
            EvalErrorKind::Inexact { dividend, divisor } => write!(f, "{dividend} / {divisor} is not a whole number"),
            EvalErrorKind::DivisionByZero => f.write_str("this divides by zero"),
            EvalErrorKind::Negative => f.write_str("this is below zero"),
            EvalErrorKind::Overflow => f.write_str("this is beyond 64 bits"),
        }
    }
}

impl std::error::Error for EvalError {}

impl Expr {
    /// The value in floating point, over what `dim` says of each name. Division is that of real numbers; the result may be
    /// infinite or NaN, which is for the caller to refuse.
    ///
    /// # Errors
    /// A name that `dim` does not know, or a dtype where a number is wanted and the reverse.
    pub fn eval_f64<D: Into<Dim>>(&self, dim: &dyn Fn(&str) -> Option<D>) -> Result<f64, EvalError> {
        self.float(&|name| dim(name).map(Into::into))
    }

    fn float(&self, dim: &dyn Fn(&str) -> Option<Dim>) -> Result<f64, EvalError> {
        Ok(match &self.kind {
            ExprKind::Int(value) => *value as f64,
            ExprKind::Float(value) => *value,
            ExprKind::Name(name) => match self.resolve(name, dim)? {
                Dim::Int(value) => value as f64,
                Dim::Float(value) => value,
                Dim::Dtype { .. } => return Err(self.fails(EvalErrorKind::NotANumber(name.clone()))),
            },
            ExprKind::Neg(inner) => -inner.float(dim)?,
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (a.float(dim)?, b.float(dim)?);
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div => a / b,
                    BinaryOp::Pow => a.powf(b),
                }
            }
            ExprKind::Call(Function::Sizeof, arguments) => {
                let (bytes, elements, _) = arguments[0].dtype(dim)?;
                bytes as f64 / elements as f64
            }
            ExprKind::Call(Function::PerScale, arguments) => arguments[0].dtype(dim)?.2 as f64,
            ExprKind::Call(function, arguments) => {
                let values: Vec<f64> = arguments.iter().map(|a| a.float(dim)).collect::<Result<_, _>>()?;
                apply(*function, &values)
            }
        })
    }

    /// The exact value, for dimensions and sizes. Every quotient must be whole; fractions of bytes (`sizeof` of a format
    /// with blocks) are kept exact, and only the result must be whole.
    ///
    /// # Errors
    /// As [`Self::eval_f64`], and whatever is not exact, below zero at the end, or beyond 64 bits (128 in between).
    pub fn eval_u64<D: Into<Dim>>(&self, dim: &dyn Fn(&str) -> Option<D>) -> Result<u64, EvalError> {
        let value = self.ratio(&|name| dim(name).map(Into::into))?;
        if value.den != 1 {
            return Err(self.fails(EvalErrorKind::NotAnInteger));
        }
        if value.num < 0 {
            return Err(self.fails(EvalErrorKind::Negative));
        }
        u64::try_from(value.num).map_err(|_| self.fails(EvalErrorKind::Overflow))
    }

    fn ratio(&self, dim: &dyn Fn(&str) -> Option<Dim>) -> Result<Ratio, EvalError> {
        let overflow = || self.fails(EvalErrorKind::Overflow);
        match &self.kind {
            ExprKind::Int(value) => Ok(Ratio::whole(*value)),
            ExprKind::Float(_) | ExprKind::Call(Function::Rsqrt | Function::Sqrt | Function::YarnMscale, _) => {
                Err(self.fails(EvalErrorKind::NotAnInteger))
            }
            ExprKind::Name(name) => match self.resolve(name, dim)? {
                Dim::Int(value) => Ok(Ratio::whole(value)),
                Dim::Float(_) => Err(self.fails(EvalErrorKind::NotAnInteger)),
                Dim::Dtype { .. } => Err(self.fails(EvalErrorKind::NotANumber(name.clone()))),
            },
            ExprKind::Neg(inner) => inner.ratio(dim)?.neg().ok_or_else(overflow),
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (a.ratio(dim)?, b.ratio(dim)?);
                match op {
                    BinaryOp::Add => x.add(y).ok_or_else(overflow),
                    BinaryOp::Sub => y.neg().and_then(|y| x.add(y)).ok_or_else(overflow),
                    BinaryOp::Mul => x.mul(y).ok_or_else(overflow),
                    BinaryOp::Div => {
                        let quotient = self.quotient(x, b, y)?;
                        if quotient.den != 1 {
                            let (dividend, divisor) = (x.to_string(), y.to_string());
                            return Err(self.fails(EvalErrorKind::Inexact { dividend, divisor }));
                        }
                        Ok(quotient)
                    }
                    BinaryOp::Pow if y.den != 1 || y.num < 0 => Err(b.fails(EvalErrorKind::NotAnInteger)),
                    BinaryOp::Pow => x.pow(y.num).ok_or_else(overflow),
                }
            }
            ExprKind::Call(Function::Sizeof, arguments) => {
                let (bytes, elements, _) = arguments[0].dtype(dim)?;
                Ratio::new(i128::from(bytes), i128::from(elements)).ok_or_else(overflow)
            }
            ExprKind::Call(Function::PerScale, arguments) => Ok(Ratio::whole(arguments[0].dtype(dim)?.2)),
            ExprKind::Call(Function::CeilDiv, arguments) => {
                let (x, y) = (arguments[0].ratio(dim)?, arguments[1].ratio(dim)?);
                Ok(self.quotient(x, &arguments[1], y)?.ceil())
            }
            ExprKind::Call(function @ (Function::Min | Function::Max), arguments) => {
                let mut best = arguments[0].ratio(dim)?;
                for argument in &arguments[1..] {
                    let value = argument.ratio(dim)?;
                    let less = value.less_than(best).ok_or_else(overflow)?;
                    if less == (*function == Function::Min) {
                        best = value;
                    }
                }
                Ok(best)
            }
        }
    }

    /// x / y, where y is the value of `divisor`.
    fn quotient(&self, x: Ratio, divisor: &Self, y: Ratio) -> Result<Ratio, EvalError> {
        if y.num == 0 {
            return Err(divisor.fails(EvalErrorKind::DivisionByZero));
        }
        Ratio::new(y.den, y.num).and_then(|inverse| x.mul(inverse)).ok_or_else(|| self.fails(EvalErrorKind::Overflow))
    }

    /// Bytes and elements of a block of the dtype that this node names, and how many share a scale.
    fn dtype(&self, dim: &dyn Fn(&str) -> Option<Dim>) -> Result<(u64, u64, u64), EvalError> {
        let name = self.to_string();
        match self.resolve(&name, dim)? {
            Dim::Dtype { bytes, elements, per_scale } if elements > 0 => Ok((bytes, elements, per_scale)),
            _ => Err(self.fails(EvalErrorKind::NotADtype(name))),
        }
    }

    fn resolve(&self, name: &str, dim: &dyn Fn(&str) -> Option<Dim>) -> Result<Dim, EvalError> {
        dim(name).ok_or_else(|| self.fails(EvalErrorKind::UnknownName(name.to_owned())))
    }

    fn fails(&self, kind: EvalErrorKind) -> EvalError {
        EvalError { range: self.range.clone(), kind }
    }
}

fn apply(function: Function, values: &[f64]) -> f64 {
    match (function, values) {
        (Function::Rsqrt, [x]) => x.sqrt().recip(),
        (Function::Sqrt, [x]) => x.sqrt(),
        (Function::YarnMscale, [factor, m]) if *factor > 1.0 => 0.1 * m * factor.ln() + 1.0,
        (Function::YarnMscale, _) => 1.0,
        (Function::CeilDiv, [a, b]) => (a / b).ceil(),
        (Function::Min, _) => values.iter().copied().fold(f64::INFINITY, f64::min),
        (Function::Max, _) => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        // The parser sees to the number of arguments; a tree built by hand with another has no value.
        (Function::Rsqrt | Function::Sqrt | Function::CeilDiv | Function::Sizeof | Function::PerScale, _) => f64::NAN,
    }
}

/// A fraction in lowest terms with a positive denominator. Every operation is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio {
    num: i128,
    den: i128,
}

impl Ratio {
    fn whole(value: u64) -> Self {
        Self { num: i128::from(value), den: 1 }
    }

    fn new(num: i128, den: i128) -> Option<Self> {
        let divisor = i128::try_from(gcd(num.unsigned_abs(), den.unsigned_abs())).ok()?;
        let (num, den) = (num.checked_div(divisor)?, den.checked_div(divisor)?);
        if den < 0 { Some(Self { num: num.checked_neg()?, den: den.checked_neg()? }) } else { Some(Self { num, den }) }
    }

    fn neg(self) -> Option<Self> {
        Some(Self { num: self.num.checked_neg()?, den: self.den })
    }

    fn add(self, other: Self) -> Option<Self> {
        let num = self.num.checked_mul(other.den)?.checked_add(other.num.checked_mul(self.den)?)?;
        Self::new(num, self.den.checked_mul(other.den)?)
    }

    fn mul(self, other: Self) -> Option<Self> {
        Self::new(self.num.checked_mul(other.num)?, self.den.checked_mul(other.den)?)
    }

    fn pow(self, exponent: i128) -> Option<Self> {
        // 1 and -1 to any power stay small, everything else overflows long before 2^32.
        let parity = exponent % 2;
        let exponent = u32::try_from(exponent).unwrap_or(if parity == 0 { u32::MAX - 1 } else { u32::MAX });
        Some(Self { num: self.num.checked_pow(exponent)?, den: self.den.checked_pow(exponent)? })
    }

    fn ceil(self) -> Self {
        let floor = self.num.div_euclid(self.den);
        Self { num: if self.num.rem_euclid(self.den) == 0 { floor } else { floor + 1 }, den: 1 }
    }

    fn less_than(self, other: Self) -> Option<bool> {
        Some(self.num.checked_mul(other.den)? < other.num.checked_mul(self.den)?)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.den == 1 { write!(f, "{}", self.num) } else { write!(f, "({} / {})", self.num, self.den) }
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

//! The expression language of the specs: arithmetic over named dimensions, closed, without code.

mod eval;
mod syntax;

use std::fmt;
use std::ops::Range;

pub use eval::{Dim, EvalError, EvalErrorKind};
pub use syntax::ExprError;

/// An expression and where it stands.
///
/// ```text
/// sum      = product (("+" | "-") product)*
/// product  = sign (("*" | "/") sign)*
/// sign     = "-" sign | power
/// power    = primary ("^" sign)?                          right associative: 2 ^ 3 ^ 2 = 2 ^ 9
/// primary  = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Bytes in the text given to [`Expr::parse`]; in a parsed spec, bytes of the file (see [`crate::source::Span::at`]).
    pub range: Range<usize>,
}

/// The nodes of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number without fraction or exponent.
    Int(u64),
    /// Any other number; finite.
    Float(f64),
    /// A dimension, or the argument of `sizeof` or `per_scale`: a dtype.
    Name(String),
    /// `-x`
    Neg(Box<Expr>),
    /// `a + b` and the like.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `f(a, b)`; the number of arguments fits the function.
    Call(Function, Vec<Expr>),
}

/// An operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, exact where the result must be an integer.
    Div,
    /// `^`
    Pow,
}

impl BinaryOp {
    /// The sign.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Pow => "^",
        }
    }
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// 1 / sqrt(x)
    Rsqrt,
    /// sqrt(x)
    Sqrt,
    /// `yarn_mscale(factor, m)` = 0.1 m ln(factor) + 1 where factor > 1, else 1 (YaRN, arXiv 2309.00071, as DeepSeek applies it).
    YarnMscale,
    /// The least of two or more.
    Min,
    /// The greatest of two or more.
    Max,
    /// a / b, rounded up.
    CeilDiv,
    /// Bytes per element of a dtype.
    Sizeof,
    /// Neighbours of a dtype that share a scale; 1 where elements have none.
    PerScale,
}

impl Function {
    /// Every function.
    pub const ALL: [Self; 8] =
        [Self::Rsqrt, Self::Sqrt, Self::YarnMscale, Self::Min, Self::Max, Self::CeilDiv, Self::Sizeof, Self::PerScale];

    /// The spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rsqrt => "rsqrt",
            Self::Sqrt => "sqrt",
            Self::YarnMscale => "yarn_mscale",
            Self::Min => "min",
            Self::Max => "max",
            Self::CeilDiv => "ceil_div",
            Self::Sizeof => "sizeof",
            Self::PerScale => "per_scale",
        }
    }

    /// How it is called, for messages.
    pub const fn signature(self) -> &'static str {
        match self {
            Self::Rsqrt => "rsqrt(x)",
            Self::Sqrt => "sqrt(x)",
            Self::YarnMscale => "yarn_mscale(factor, m)",
            Self::Min => "min(a, b, ..)",
            Self::Max => "max(a, b, ..)",
            Self::CeilDiv => "ceil_div(a, b)",
            Self::Sizeof => "sizeof(dtype)",
            Self::PerScale => "per_scale(dtype)",
        }
    }

    fn takes(self, arguments: usize) -> bool {
        match self {
            Self::Rsqrt | Self::Sqrt | Self::Sizeof | Self::PerScale => arguments == 1,
            Self::YarnMscale | Self::CeilDiv => arguments == 2,
            Self::Min | Self::Max => arguments >= 2,
        }
    }
}

impl Expr {
    /// Reads an expression.
    ///
    /// # Errors
    /// The first place at which the text stops being one, or a text that is longer or deeper than any formula is
    /// (so that every walk over an expression may recurse).
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        syntax::parse(text)
    }

    /// The names in it, each once, in the order of their first use; arguments that are dtypes included.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for (name, _) in self.uses() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Every use of a name with its range, from left to right.
    pub fn uses(&self) -> Vec<(&str, Range<usize>)> {
        let mut uses = Vec::new();
        self.visit(&mut |e| {
            if let ExprKind::Name(name) = &e.kind {
                uses.push((name.as_str(), e.range.clone()));
            }
        });
        uses
    }

    /// x, where this is `function(x)`.
    pub fn argument_of(&self, function: &str) -> Option<&Self> {
        match &self.kind {
            ExprKind::Call(called, arguments) if called.as_str() == function && arguments.len() == 1 => arguments.first(),
            _ => None,
        }
    }

    /// Calls `f` on this node and all below, a node before its parts.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Self)) {
        f(self);
        match &self.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Name(_) => {}
            ExprKind::Neg(inner) => inner.visit(f),
            ExprKind::Binary(_, a, b) => {
                a.visit(f);
                b.visit(f);
            }
            ExprKind::Call(_, arguments) => arguments.iter().for_each(|a| a.visit(f)),
        }
    }

    /// The same expression with every range replaced: how `parse` turns ranges of a string into ranges of the file.
    pub fn with_ranges(mut self, f: &impl Fn(Range<usize>) -> Range<usize>) -> Self {
        self.set_ranges(f);
        self
    }

    fn set_ranges(&mut self, f: &impl Fn(Range<usize>) -> Range<usize>) {
        self.range = f(self.range.clone());
        match &mut self.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Name(_) => {}
            ExprKind::Neg(inner) => inner.set_ranges(f),
            ExprKind::Binary(_, a, b) => {
                a.set_ranges(f);
                b.set_ranges(f);
            }
            ExprKind::Call(_, arguments) => arguments.iter_mut().for_each(|a| a.set_ranges(f)),
        }
    }

    /// Binding strength, as in the grammar: sum 1, product 2, sign 3, power 4, primary 5.
    fn strength(&self) -> u8 {
        match &self.kind {
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => 1,
            ExprKind::Binary(BinaryOp::Mul | BinaryOp::Div, ..) => 2,
            ExprKind::Neg(_) => 3,
            ExprKind::Binary(BinaryOp::Pow, ..) => 4,
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Name(_) | ExprKind::Call(..) => 5,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, at_least: u8) -> fmt::Result {
        if self.strength() < at_least {
            f.write_str("(")?;
            self.write(f, 0)?;
            return f.write_str(")");
        }
        match &self.kind {
            ExprKind::Int(value) => write!(f, "{value}"),
            // Debug keeps the point or the exponent, so that a float is read back as one.
            ExprKind::Float(value) => write!(f, "{value:?}"),
            ExprKind::Name(name) => f.write_str(name),
            ExprKind::Neg(inner) => {
                f.write_str("-")?;
                inner.write(f, 3)
            }
            ExprKind::Binary(BinaryOp::Pow, a, b) => {
                a.write(f, 5)?;
                f.write_str("^")?;
                b.write(f, 3)
            }
            ExprKind::Binary(op, a, b) => {
                let strength = self.strength();
                a.write(f, strength)?;
                write!(f, " {} ", op.as_str())?;
                b.write(f, strength + 1)
            }
            ExprKind::Call(function, arguments) => {
                write!(f, "{}(", function.as_str())?;
                for (i, argument) in arguments.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    argument.write(f, 0)?;
                }
                f.write_str(")")
            }
        }
    }
}

/// The canonical form: one space around `+ - * /`, none around `^`, parentheses only where they matter.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

#[cfg(test)]
mod tests;

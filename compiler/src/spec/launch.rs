//! `[launch]` and `[[arg]]` of TEMPLATE.toml, and `[<target>.limits]` of KERNEL.toml.

use crate::expr::Expr;
use crate::source::{Span, Spanned};

use super::Target;

/// `[launch]`: all expressions over the template's params and [`Maxima::DIMS`](crate::model::Maxima::DIMS).
#[derive(Clone, Debug)]
pub struct LaunchSpec {
    /// The `[launch]` header, for labels.
    pub header: Span,
    /// Blocks in x, y and z; those that are not given are 1.
    pub grid: Spanned<Vec<Spanned<Expr>>>,
    /// Threads of a block in x, y and z; those that are not given are 1.
    pub block: Spanned<Vec<Spanned<Expr>>>,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: Spanned<Expr>,
    /// Its blocks may start before the kernel ahead has ended, and wait for it themselves.
    pub overlaps: Spanned<bool>,
}

/// `[[arg]]`: one argument of the kernel.
#[derive(Clone, Debug)]
pub struct ArgSpec {
    pub name: Spanned<String>,
    /// As the kernel's signature writes it. What ends in `*` is memory, and has a shape.
    pub ty: Spanned<String>,
    /// Elements in each dimension, the last one contiguous. Of memory only.
    pub shape: Option<Spanned<Vec<Spanned<Expr>>>>,
    /// It may be null.
    pub optional: Option<Spanned<bool>>,
    /// Bits of the numbers that the kernel indexes this argument with; without it, 32, signed.
    pub index: Option<Spanned<IndexWidth>>,
}

impl ArgSpec {
    /// Whether it stands for memory, which is indexed.
    pub fn is_memory(&self) -> bool {
        self.ty.value.ends_with('*')
    }

    /// Whether it may be null.
    pub fn is_optional(&self) -> bool {
        self.optional.as_ref().is_some_and(|optional| optional.value)
    }
}

/// How wide the numbers are that index an argument. Both are signed, as C++ indices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexWidth {
    /// `int`
    Bits32,
    /// `long long`
    Bits64,
}

impl IndexWidth {
    /// Bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bits32 => 32,
            Self::Bits64 => 64,
        }
    }

    /// The largest index.
    pub const fn largest(self) -> u64 {
        match self {
            Self::Bits32 => i32::MAX as u64,
            Self::Bits64 => i64::MAX as u64,
        }
    }
}

/// `[<target>.limits]`: what is not given is [`Maxima::default_for`](crate::model::Maxima::default_for).
#[derive(Clone, Debug)]
pub struct LimitsEntry {
    pub target: Spanned<Target>,
    /// The header, for labels.
    pub header: Span,
    /// Most tokens of a step, and most rows of logits.
    pub step_tokens: Option<Spanned<u64>>,
    /// Most sequences of a step, and most recurrent states.
    pub sequences: Option<Spanned<u64>>,
    /// Most tokens of a page of the cache.
    pub page_size: Option<Spanned<u64>>,
    /// Most pages of the cache.
    pub pages: Option<Spanned<u64>>,
}

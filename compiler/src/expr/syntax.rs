//! Text to expression, by recursive descent.

use std::fmt;
use std::ops::Range;

use super::{BinaryOp, Expr, ExprKind, Function};
use crate::diagnostic::did_you_mean;

/// Parentheses, signs and powers inside each other.
const MAX_DEPTH: usize = 32;
/// Numbers, names, operators and calls in all. A sum of n terms is a tree n deep, so this bounds recursion as well.
const MAX_NODES: usize = 256;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// Bytes of the text; empty at its end.
    pub range: Range<usize>,
    /// One line, for a label.
    pub message: String,
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ExprError {}

pub(super) fn parse(text: &str) -> Result<Expr, ExprError> {
    let mut parser = Parser { text, at: 0, depth: 0, nodes: 0 };
    let expr = parser.sum()?;
    match parser.peek() {
        None => Ok(expr),
        Some(_) => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    nodes: usize,
}

impl<'t> Parser<'t> {
    fn sum(&mut self) -> Result<Expr, ExprError> {
        let mut left = self.product()?;
        loop {
            let op = match self.peek() {
                Some('+') => BinaryOp::Add,
                Some('-') => BinaryOp::Sub,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.product()?;
            left = self.binary(op, left, right)?;
        }
    }

    fn product(&mut self) -> Result<Expr, ExprError> {
        let mut left = self.sign()?;
        loop {
            let op = match self.peek() {
                Some('*') => BinaryOp::Mul,
                Some('/') => BinaryOp::Div,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.sign()?;
            left = self.binary(op, left, right)?;
        }
    }

    /// Every path that recurses without bound leads through here, so this is where depth is counted.
    fn sign(&mut self) -> Result<Expr, ExprError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(self.at..self.text.len(), format!("nested deeper than {MAX_DEPTH}")));
        }
        let expr = if self.peek() == Some('-') {
            let start = self.at;
            self.at += 1;
            let inner = self.sign()?;
            let range = start..inner.range.end;
            self.node(ExprKind::Neg(Box::new(inner)), range)?
        } else {
            self.power()?
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn power(&mut self) -> Result<Expr, ExprError> {
        let base = self.primary()?;
        if self.peek() != Some('^') {
            return Ok(base);
        }
        self.at += 1;
        let exponent = self.sign()?;
        self.binary(BinaryOp::Pow, base, exponent)
    }

    fn primary(&mut self) -> Result<Expr, ExprError> {
        match self.peek() {
            Some('(') => {
                let start = self.at;
                self.at += 1;
                let mut inner = self.sum()?;
                self.expect(')', "an operator or `)`")?;
                // The range takes in the parentheses, the tree does not: they are only about order.
                inner.range = start..self.at;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name_or_call(),
            _ => Err(self.unexpected("a number, a name or `(`")),
        }
    }

    fn number(&mut self) -> Result<Expr, ExprError> {
        let start = self.at;
        let digits = |p: &mut Self| p.take_while(|c| c.is_ascii_digit());
        let whole = digits(self);
        let mut fraction = false;
        if self.rest().starts_with('.') {
            fraction = true;
            self.at += 1;
            if digits(self).is_empty() && whole.is_empty() {
                return Err(self.error(start..self.at, "`.` alone is no number"));
            }
        }
        if self.rest().starts_with(['e', 'E']) {
            fraction = true;
            self.at += 1;
            if self.rest().starts_with(['+', '-']) {
                self.at += 1;
            }
            if digits(self).is_empty() {
                return Err(self.error(start..self.at, "the exponent has no digits"));
            }
        }
        let range = start..self.at;
        let text = &self.text[range.clone()];
        let kind = if fraction {
            text.parse().ok().filter(|v: &f64| v.is_finite()).map(ExprKind::Float)
        } else {
            text.parse().ok().map(ExprKind::Int)
        };
        match kind {
            Some(kind) => self.node(kind, range),
            None => Err(self.error(range, format!("`{text}` is too large"))),
        }
    }

    fn name_or_call(&mut self) -> Result<Expr, ExprError> {
        let start = self.at;
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let named = start..self.at;
        let function = Function::ALL.into_iter().find(|f| f.as_str() == name);
        let calls = self.peek() == Some('(');
        let function = match (function, calls) {
            (None, false) => return self.node(ExprKind::Name(name.to_owned()), named),
            (Some(function), false) => {
                return Err(self.error(named, format!("a function needs its arguments: {}", function.signature())));
            }
            (None, true) => return Err(self.unknown_function(name, named)),
            (Some(function), true) => function,
        };
        self.at += 1;
        let mut arguments = vec![self.sum()?];
        while self.peek() == Some(',') {
            self.at += 1;
            arguments.push(self.sum()?);
        }
        self.expect(')', "an operator, `,` or `)`")?;
        let range = start..self.at;
        if !function.takes(arguments.len()) {
            return Err(
                self.error(range, format!("{} arguments given; the function is {}", arguments.len(), function.signature()))
            );
        }
        if matches!(function, Function::Sizeof | Function::PerScale) && !matches!(arguments[0].kind, ExprKind::Name(_)) {
            return Err(self.error(arguments[0].range.clone(), format!("`{}` takes the name of a dtype", function.as_str())));
        }
        self.node(ExprKind::Call(function, arguments), range)
    }

    fn unknown_function(&self, name: &str, range: Range<usize>) -> ExprError {
        let question = did_you_mean(name, Function::ALL.iter().map(|f| f.as_str()));
        let hint = question.unwrap_or_else(|| format!("there are {}", Function::ALL.map(|f| f.as_str()).join(", ")));
        self.error(range, format!("no function has this name; {hint}"))
    }

    fn binary(&mut self, op: BinaryOp, a: Expr, b: Expr) -> Result<Expr, ExprError> {
        let range = a.range.start..b.range.end;
        self.node(ExprKind::Binary(op, Box::new(a), Box::new(b)), range)
    }

    fn node(&mut self, kind: ExprKind, range: Range<usize>) -> Result<Expr, ExprError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.error(range, format!("more than {MAX_NODES} numbers, names and operators")));
        }
        Ok(Expr { kind, range })
    }

    fn expect(&mut self, wanted: char, expected: &str) -> Result<(), ExprError> {
        match self.peek() {
            Some(found) if found == wanted => {}
            Some(_) => return Err(self.unexpected(expected)),
            None => return Err(self.error(self.at..self.at, format!("ends where `{wanted}` was expected"))),
        }
        self.at += wanted.len_utf8();
        Ok(())
    }

    /// The next character that is not a blank; `at` stands on it.
    fn peek(&mut self) -> Option<char> {
        self.take_while(|c| c.is_ascii_whitespace());
        self.rest().chars().next()
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn unexpected(&mut self, expected: &str) -> ExprError {
        match self.peek() {
            None => self.error(self.at..self.at, format!("ends where {expected} was expected")),
            Some('*') if self.text[..self.at].ends_with('*') => self.error(self.at - 1..self.at + 1, "a power is written `^`"),
            Some(c) if c.is_alphanumeric() || c == '_' => {
                let word = self.rest().find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(self.rest().len());
                self.error(self.at..self.at + word, format!("expected {expected}"))
            }
            Some(c) => self.error(self.at..self.at + c.len_utf8(), format!("expected {expected}")),
        }
    }

    fn error(&self, range: Range<usize>, message: impl Into<String>) -> ExprError {
        ExprError { range, message: message.into() }
    }
}

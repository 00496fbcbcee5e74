//! Jinja2's language on minijinja's engine.
//!
//! The two agree on statements, scopes and whitespace, and differ silently in what expressions mean: a text added to a number, an
//! order between values of different types, a loop over `none`, an attribute beside an item of the same name. None of these can be
//! hooked, but functions can: [`rewrite()`] says every operator, lookup and call of an expression as a call of a function of
//! [`python`](super::python), which does what Python does. The statements around it stay. So does the line of every tag, which
//! errors name.

mod expression;
mod lexer;
mod parser;
mod rewrite;

pub(super) use rewrite::rewrite;

/// What is wrong with the text of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) message: String,
    pub(super) line: usize,
}

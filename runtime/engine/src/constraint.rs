//! What an answer may say: a set of tokens before each step.

use std::fmt::Debug;

pub use toktrie::SimpleVob as TokenSet;

/// Limits the tokens of one answer, token by token, to those with which it can still become what was asked for.
///
/// The scheduler asks for [`Constraint::allowed`] before a token is chosen, and tells which it was with [`Constraint::accept`]. A
/// sequence whose cache was given up and computed again has told its tokens already: they are never told twice.
pub trait Constraint: Send + Debug {
    /// Replaces `allowed`, which has room for every token id, by the tokens that may come next: end tokens among them where the
    /// answer may be over, and nothing but those where it must be.
    ///
    /// # Errors
    /// When no token may come next, which is a mistake of whoever wrote the constraint.
    fn allowed(&mut self, allowed: &mut TokenSet) -> Result<(), ConstraintError>;

    /// Takes note of the token that was chosen; it was one of the allowed.
    ///
    /// # Errors
    /// When it was not.
    fn accept(&mut self, token: u32) -> Result<(), ConstraintError>;

    /// The same constraint at the same place, for another answer to the same prompt.
    fn fork(&self) -> Box<dyn Constraint>;
}

/// Why a constrained answer cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the grammar of this answer cannot go on: {0}")]
pub struct ConstraintError(pub String);

//! Constrained answers: grammars in llguidance's variant of Lark, compiled for the vocabulary of a tokenizer.
//!
//! A [`GrammarFactory`] is built once for a tokenizer and holds its tokens as a tree of bytes. [`GrammarFactory::compile`] makes a
//! [`Constraint`] of a grammar's text, for one answer.
//!
//! What the library does at the edges, as the tests here pin it down:
//! - Special tokens are no text: no literal and no expression of a grammar matches them. Mark tokens, whose text a grammar's literals
//!   spell (`<tool_call>`), are given to the library as their bytes, and so a literal can be said by the one token as well as by several.
//! - End tokens are allowed exactly where the answer may be over, all of them, and nothing else is once it must be.
//! - Nothing is forced: where a grammar leaves one text only, the model still chooses how it is cut into tokens, and the scheduler
//!   asks for every token of it. Text that is forced in canonical tokens would need a tokenizer that can begin anywhere in a text.
//! - A fork shares nothing that changes: neither the other's place nor its caches.

mod trie;

use std::fmt;
use std::thread;

use llguidance::api::{ParserLimits, TopLevelGrammar};
use llguidance::{Matcher, ParserFactory};
use tenon_formats::tools::grammar::{SchemaPlace, place_of_line};
use toktrie::InferenceCapabilities;

use crate::constraint::{Constraint, ConstraintError, TokenSet};
use crate::tokenizer::Tokenizer;

/// Compiles grammars for one tokenizer.
pub struct GrammarFactory {
    parsers: ParserFactory,
}

/// Why a grammar cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// A tokenizer without end tokens: a constrained answer could not be over.
    #[error("the tokenizer has no end token, so that a constrained answer could not end")]
    NoEnd,
    /// A schema of the request does not compile.
    #[error("{place}: {what}")]
    Schema {
        /// Which schema.
        place: SchemaPlace,
        /// What is wrong with it.
        what: String,
    },
    /// The grammar does not compile, and the fault is no schema's.
    #[error("the grammar of the answer does not compile: {0}")]
    Grammar(String),
    /// The compiler itself did not run, which says nothing about the grammar.
    #[error("the compiler of grammars has failed: {0}")]
    Failed(String),
}

/// Bytes of stack of a thread that compiles: schemas refer to each other, and the library follows them by recursion. Memory that is not
/// touched costs nothing.
const STACK: usize = 256 << 20;

/// What one grammar may cost. The library's own limits are for trusted schemas: they let one request keep hundreds of MB.
fn limits() -> ParserLimits {
    ParserLimits {
        // Branches of one place in the grammar.
        max_items_in_row: 2_000,
        // About 20 ms of building expressions.
        initial_lexer_fuel: 1_000_000,
        // About 15 ms for a mask at most.
        step_lexer_fuel: 200_000,
        step_max_items: 50_000,
        // Up to 2 kB each.
        max_lexer_states: 20_000,
        max_grammar_size: 200_000,
        precompute_large_lexemes: true,
        // Messages go to whoever sent the schema: they hold no state of the parser.
        verbose_errors: false,
    }
}

impl GrammarFactory {
    /// A factory for the vocabulary of `tokenizer`. `marks` are the texts of special tokens that the grammars of the model spell.
    ///
    /// # Errors
    /// When the tokenizer has no end token, or the library refuses the vocabulary.
    pub fn new(tokenizer: &Tokenizer, marks: &[&str]) -> Result<Self, CompileError> {
        let vocabulary = trie::vocabulary(tokenizer, &tokenizer.special_ids(marks)).ok_or(CompileError::NoEnd)?;
        let slices = llguidance::earley::SlicedBiasComputer::general_slices();
        let mut parsers = ParserFactory::new(&vocabulary, InferenceCapabilities::default(), &slices)
            .map_err(|e| CompileError::Grammar(sentence(&e.to_string())))?;
        *parsers.quiet().limits_mut() = limits();
        Ok(Self { parsers })
    }

    /// Compiles a grammar for one answer. This takes milliseconds, up to a few hundred for the largest schemas that the limits let
    /// through, and waits for a thread of its own: call it where waiting is allowed, never where an engine steps.
    ///
    /// # Errors
    /// When the grammar is none, or is beyond the limits. Where a schema of the request is to blame, the error says which.
    pub fn compile(&self, lark: &str) -> Result<Box<dyn Constraint>, CompileError> {
        let compiled = thread::scope(|scope| {
            let thread = thread::Builder::new().name("grammar".to_owned()).stack_size(STACK);
            match thread.spawn_scoped(scope, || self.matcher(lark)) {
                Ok(thread) => thread.join().map_err(|_| "it has panicked".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        });
        let matcher = compiled.map_err(CompileError::Failed)?.map_err(|message| fault(lark, &message))?;
        Ok(Box::new(Grammar { matcher }))
    }

    fn matcher(&self, lark: &str) -> Result<Matcher, String> {
        let parser = self.parsers.create_parser(TopLevelGrammar::from_lark(lark.to_owned())).map_err(|e| e.to_string())?;
        let mut matcher = Matcher::new(Ok(parser));
        // A row that is too large, or a definition that never ends: better told now than in place of the first token.
        match matcher.compute_mask_or_eos() {
            Ok(mask) if !mask.is_zero() => Ok(matcher),
            Err(error) if sentence(&error.to_string()) != "NoExtensionBias" => Err(error.to_string()),
            Ok(_) | Err(_) => Err("no answer is valid".to_owned()),
        }
    }
}

impl fmt::Debug for GrammarFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrammarFactory").field("vocab_size", &self.parsers.tok_env().tok_trie().vocab_size()).finish()
    }
}

/// The library begins its messages with `at LINE(COLUMN): ` where it knows the place in the grammar.
fn fault(lark: &str, message: &str) -> CompileError {
    let what = sentence(message);
    let placed = what.strip_prefix("at ").and_then(|rest| rest.split_once("): ")).and_then(|(place, what)| {
        let line = place.split_once('(')?.0.parse().ok()?;
        Some((place_of_line(lark, line)?, what))
    });
    match placed {
        Some((place, what)) => {
            let what = what.strip_prefix("failed to compile JSON schema: ").unwrap_or(what);
            CompileError::Schema { place, what: what.to_owned() }
        }
        None => CompileError::Grammar(what),
    }
}

/// Characters of the library's messages that are passed on.
const LONGEST: usize = 300;

/// A message in one line, without the lines of the grammar (` 12 | ..`) and the marks of state that the library puts behind it.
fn sentence(message: &str) -> String {
    let is_source = |line: &str| line.split_once(" | ").is_some_and(|(number, _)| number.trim().parse::<usize>().is_ok());
    let lines = message.lines().take_while(|line| !is_source(line) && !line.starts_with('<')).map(str::trim);
    let joined = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    joined.chars().take(LONGEST).collect()
}

/// The place of one answer in its grammar.
struct Grammar {
    matcher: Matcher,
}

fn failed(error: impl fmt::Display) -> ConstraintError {
    ConstraintError(sentence(&error.to_string()))
}

impl Constraint for Grammar {
    fn allowed(&mut self, allowed: &mut TokenSet) -> Result<(), ConstraintError> {
        let mask = self.matcher.compute_mask_or_eos().map_err(failed)?;
        if mask.len() > allowed.len() {
            let (tokens, room) = (mask.len(), allowed.len());
            return Err(failed(format_args!("the tokenizer has {tokens} tokens, and the model's vocabulary {room}")));
        }
        allowed.set_all(false);
        allowed.or(&mask);
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<(), ConstraintError> {
        // An end token after the end of the answer is allowed, and the library would call it an error.
        if self.matcher.is_stopped() && !self.matcher.is_error() {
            let env = self.matcher.tok_env().map_err(failed)?;
            return match env.tok_trie().eos_tokens().contains(&token) {
                true => Ok(()),
                false => Err(failed(format_args!("token {token} comes after its end"))),
            };
        }
        self.matcher.consume_token(token).map_err(failed)
    }

    fn fork(&self) -> Box<dyn Constraint> {
        Box::new(Self { matcher: self.matcher.deep_clone() })
    }
}

impl fmt::Debug for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grammar").field("state", &self.matcher.stop_reason()).finish()
    }
}

#[cfg(test)]
mod tests;

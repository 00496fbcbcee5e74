//! Grammars at work, on a vocabulary of single bytes and marks, and on real ones.

mod agree;
mod library;
mod real;

use tenon_formats::tools::grammar::{GrammarRequest, OutputShape, grammar};
use tenon_formats::tools::{Begun, Declared, ReasoningParser, ToolChoice, ToolParser, marks};

use super::*;
use crate::tokenizer::{GgufVocabulary, TokenType};

/// Every mark that some format has, as special tokens.
fn all_marks() -> Vec<&'static str> {
    let mut all: Vec<&str> = ToolParser::ALL.into_iter().flat_map(|parser| marks(Some(parser), None)).collect();
    all.extend(ReasoningParser::ALL.into_iter().flat_map(|parser| marks(None, Some(parser))));
    all.sort_unstable();
    all.dedup();
    all
}

/// Single bytes, two end tokens, a control token that is no mark, and the marks as control tokens.
pub(super) fn bytes_and_marks() -> Tokenizer {
    let mut tokens: Vec<String> = crate::tokenizer::ALPHABET.map(String::from).to_vec();
    let mut token_types = vec![TokenType::Normal; 256];
    tokens.extend(["</s>", "<|eot|>", "<|user|>"].map(String::from));
    tokens.extend(all_marks().into_iter().map(String::from));
    token_types.resize(tokens.len(), TokenType::Control);
    let eot = token_types.len() as u32;
    assert!(eot > 259);
    let vocabulary = GgufVocabulary {
        model: "gpt2".into(),
        pre: Some("gpt-2".into()),
        tokens,
        token_types,
        eos: Some(256),
        eot: Some(257),
        ..Default::default()
    };
    Tokenizer::from_gguf(&vocabulary).unwrap()
}

pub(super) fn factory(tokenizer: &Tokenizer) -> GrammarFactory {
    GrammarFactory::new(tokenizer, &all_marks()).unwrap()
}

/// Whether an answer may be this text: every token of it is allowed, and an end token behind it.
pub(super) fn accepts(tokenizer: &Tokenizer, constraint: &dyn Constraint, text: &str) -> Result<(), String> {
    let mut constraint = constraint.fork();
    let mut allowed = TokenSet::alloc(tokenizer.vocab_size());
    let mut done = String::new();
    for id in tokenizer.encode_rendered(text).unwrap() {
        constraint.allowed(&mut allowed).map_err(|e| format!("{done:?}: {e}"))?;
        let piece = String::from_utf8_lossy(tokenizer.bytes(id).unwrap()).into_owned();
        if !allowed.is_allowed(id) {
            return Err(format!("{piece:?} may not follow {done:?}"));
        }
        constraint.accept(id).map_err(|e| e.to_string())?;
        done.push_str(&piece);
    }
    constraint.allowed(&mut allowed).map_err(|e| format!("{done:?}: {e}"))?;
    let ends = tokenizer.end_ids();
    if ends.iter().all(|&id| allowed.is_allowed(id)) { Ok(()) } else { Err(format!("no end after {done:?}")) }
}

/// A request with this parser.
pub(super) struct Case {
    pub(super) parser: ToolParser,
    pub(super) reasoning: Option<ReasoningParser>,
    pub(super) declared: Vec<Declared>,
    pub(super) choice: ToolChoice,
    pub(super) parallel: bool,
    pub(super) begun: Begun,
    pub(super) output: OutputShape,
}

impl Case {
    pub(super) fn of(parser: ToolParser, declared: &[Declared]) -> Self {
        let choice = ToolChoice::Required;
        let (declared, output) = (declared.to_vec(), OutputShape::Text);
        Self { parser, reasoning: None, declared, choice, parallel: true, begun: Begun::Nothing, output }
    }

    pub(super) fn grammar(&self) -> String {
        let Self { parser, reasoning, declared, choice, parallel, begun, output } = self;
        let (parallel, begun) = (*parallel, *begun);
        let request = GrammarRequest { parser: Some(*parser), reasoning: *reasoning, declared, choice, parallel, begun, output };
        grammar(&request).unwrap().expect("something is constrained")
    }

    pub(super) fn compile(&self, factory: &GrammarFactory) -> Box<dyn Constraint> {
        let grammar = self.grammar();
        factory.compile(&grammar).unwrap_or_else(|error| panic!("{error}\n{grammar}"))
    }
}

pub(super) fn declared(name: &str, parameters: serde_json::Value, strict: bool) -> Declared {
    Declared { name: name.to_owned(), description: None, parameters: Some(parameters), strict }
}

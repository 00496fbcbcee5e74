//! One answer from start to end, as text.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::engine::{ChoiceError, Engine, EngineError, EventKind, FinishReason, Request, SubmitError, Usage};
use crate::tokenizer::{Detokenizer, SpecialTokens, Tokenizer, UnknownToken};

/// What the caller is told while an answer is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// Part of the prompt was computed.
    Prompt {
        /// Tokens done.
        done: usize,
        /// Tokens of the prompt.
        total: usize,
    },
    /// The next piece of the answer: whole characters, possibly none yet.
    Text(&'a str),
}

/// A finished answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// The whole text.
    pub text: String,
    /// Why it ended.
    pub finish: FinishReason,
    /// Tokens used.
    pub usage: Usage,
    /// Time from the request to the first token.
    pub prompt_time: Duration,
    /// Time for all further tokens.
    pub decode_time: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The engine has other sequences, whose events would be lost.
    #[error("the engine is busy with other sequences")]
    Busy,
    /// The request was refused.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A step failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No token could be chosen.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The model chose an id that the tokenizer does not have.
    #[error(transparent)]
    Token(#[from] UnknownToken),
}

/// Generates one answer on an idle engine. `on_progress` is called after every step, and `Break` ends the answer there.
pub fn generate(
    engine: &mut Engine,
    tokenizer: &Tokenizer,
    request: Request,
    special: SpecialTokens,
    mut on_progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Generation, GenerateError> {
    if !engine.is_idle() {
        return Err(GenerateError::Busy);
    }
    let started = Instant::now();
    let id = engine.submit(request)?;
    let mut first_token = None;
    let mut detokenizer = Detokenizer::new(special);
    let (mut text, mut events) = (String::new(), Vec::new());

    let end = 'steps: loop {
        events.clear();
        if let Err(error) = engine.step(&mut events) {
            engine.cancel(id);
            return Err(error.into());
        }
        for event in events.drain(..) {
            let told = match event.kind {
                EventKind::Prompt { done, total } => on_progress(Progress::Prompt { done, total }),
                EventKind::Token(token) => {
                    first_token.get_or_insert_with(Instant::now);
                    let from = text.len();
                    if let Err(unknown) = detokenizer.push(tokenizer, token.id, &mut text) {
                        engine.cancel(id);
                        return Err(unknown.into());
                    }
                    on_progress(Progress::Text(&text[from..]))
                }
                EventKind::Finished(reason, usage) => break 'steps (reason, usage),
                EventKind::Failed(error) => return Err(error.into()),
            };
            if told.is_break() {
                // The step may have finished the sequence already; its last event then says how.
                if let Some(usage) = engine.cancel(id) {
                    break 'steps (FinishReason::Cancelled, usage);
                }
            }
        }
    };
    let from = text.len();
    detokenizer.finish(&mut text);
    if text.len() > from {
        // The answer is over: there is nothing left that a `Break` could end.
        let _ = on_progress(Progress::Text(&text[from..]));
    }
    let now = Instant::now();
    let first_token = first_token.unwrap_or(now);
    Ok(Generation { text, finish: end.0, usage: end.1, prompt_time: first_token - started, decode_time: now - first_token })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::EngineConfig;
    use crate::fake::{Fake, fake_limits};
    use crate::sampling::SamplingParams;
    use crate::tokenizer::tests::vocabulary;

    fn setup(script: &[u32]) -> (Engine, Tokenizer) {
        let tokenizer = Tokenizer::from_gguf(&vocabulary()).unwrap();
        let fake = Fake::scripted(script, fake_limits());
        (Engine::new(Box::new(fake), EngineConfig::new(4, 2)).unwrap(), tokenizer)
    }

    fn request(tokenizer: &Tokenizer, prompt: &str) -> Request {
        let prompt = tokenizer.encode_text(prompt).unwrap();
        Request::new(prompt, SamplingParams::GREEDY, Arc::from(tokenizer.end_ids()))
    }

    #[test]
    fn text_arrives_in_whole_characters_and_ends_at_the_end_token() {
        let plain = Tokenizer::from_gguf(&vocabulary()).unwrap();
        let mut script = plain.encode_text("hello w🦀é").unwrap();
        script.push(257);
        let (mut engine, tokenizer) = setup(&script);
        let (mut parts, mut prompts) = (Vec::new(), Vec::new());
        let request = request(&tokenizer, "what a day");
        let prompt_tokens = request.prompt.len();
        let answer = generate(&mut engine, &tokenizer, request, SpecialTokens::Hide, |progress| {
            match progress {
                Progress::Text(text) => parts.push(text.to_owned()),
                Progress::Prompt { done, total } => prompts.push((done, total)),
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(answer.text, "hello w🦀é");
        assert_eq!(parts.concat(), answer.text);
        assert_eq!(parts, ["hello", " w", "", "", "", "🦀", "é"]);
        assert_eq!(prompts, [(4, 10), (8, 10), (10, 10)]);
        assert_eq!(answer.finish, FinishReason::End(257));
        assert_eq!(answer.usage, Usage { prompt_tokens, cached_tokens: 0, completion_tokens: script.len() });
        assert!(engine.is_idle());
    }

    #[test]
    fn a_broken_character_at_the_end_is_written_as_one_replacement() {
        // 0xF0 in the byte-level alphabet, twice, then the end.
        let byte = Tokenizer::from_gguf(&vocabulary()).unwrap().encode_text("🦀").unwrap()[0];
        let (mut engine, tokenizer) = setup(&[byte, 257]);
        let mut parts = Vec::new();
        let request = request(&tokenizer, "x");
        let answer = generate(&mut engine, &tokenizer, request, SpecialTokens::Hide, |progress| {
            if let Progress::Text(text) = progress {
                parts.push(text.to_owned());
            }
            ControlFlow::Continue(())
        });
        assert_eq!(answer.unwrap().text, "\u{FFFD}");
        assert_eq!(parts, ["", "\u{FFFD}"]);
    }

    #[test]
    fn a_break_cancels_during_the_prompt_and_during_the_answer() {
        let (mut engine, tokenizer) = setup(&[40; 8]);
        let first = request(&tokenizer, "abcdefgh");
        let stop = |_: Progress| ControlFlow::Break(());
        let answer = generate(&mut engine, &tokenizer, first, SpecialTokens::Hide, stop).unwrap();
        assert_eq!((answer.finish, answer.usage.completion_tokens), (FinishReason::Cancelled, 0));
        assert!(engine.is_idle());

        let second = request(&tokenizer, "ab");
        let mut tokens = 0;
        let answer = generate(&mut engine, &tokenizer, second, SpecialTokens::Hide, |progress| {
            tokens += usize::from(matches!(progress, Progress::Text(_)));
            if tokens == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!((answer.finish, answer.usage.completion_tokens), (FinishReason::Cancelled, 3));
        assert!(engine.is_idle());
    }

    #[test]
    fn an_id_without_a_token_is_an_error() {
        let (mut engine, tokenizer) = setup(&[270]);
        let request = request(&tokenizer, "x");
        let go_on = |_: Progress| ControlFlow::Continue(());
        let error = generate(&mut engine, &tokenizer, request, SpecialTokens::Hide, go_on).unwrap_err();
        assert_eq!(error.to_string(), "token id 270 has no token: the vocabulary has 265");
        assert!(engine.is_idle());
    }
}

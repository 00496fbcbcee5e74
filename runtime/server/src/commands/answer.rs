//! Streaming one answer to stdout, as `generate` and `chat` do.

use std::io::Write;
use std::ops::ControlFlow;

use tenon_engine::{FinishReason, Generation, Progress, Request, SpecialTokens, generate};

use crate::Failure;
use crate::interrupt::Answering;
use crate::load::Loaded;

/// Generates and writes one answer, with one newline at its end. Ctrl-C ends it early.
pub fn stream(loaded: &mut Loaded, request: Request) -> Result<Generation, Failure> {
    let answering = Answering::begin();
    let mut out = std::io::stdout().lock();
    let mut broken = None;
    let answer = generate(&mut loaded.engine, &loaded.tokenizer, request, SpecialTokens::Hide, |progress| {
        if let Progress::Text(text) = progress
            && let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        {
            broken = Some(error);
        }
        if broken.is_some() || answering.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    if !answer.text.ends_with('\n') {
        writeln!(out)?;
    }
    if answer.finish == FinishReason::Context {
        let (context, longest) = (loaded.engine.context(), loaded.info.max_position_embeddings);
        let way_out = if context < longest { format!("; --context makes it up to {longest}") } else { String::new() };
        eprintln!("note: the context of {context} tokens is full{way_out}");
    }
    Ok(answer)
}

/// Prints what an answer took to stderr.
pub fn print_stats(answer: &Generation, seed: u64) {
    let rate = |tokens: usize, time: std::time::Duration| tokens as f64 / time.as_secs_f64().max(1e-9);
    let (prompt, completion) = (answer.usage.prompt_tokens, answer.usage.completion_tokens);
    // The first token of an answer comes with the prompt's last step.
    let decoded = completion.saturating_sub(1);
    eprintln!(
        "prompt {prompt} tokens in {:.2} s ({:.1} tok/s), answer {completion} tokens, decode {:.2} s ({:.1} tok/s), {}, seed {seed}",
        answer.prompt_time.as_secs_f64(),
        rate(prompt, answer.prompt_time),
        answer.decode_time.as_secs_f64(),
        rate(decoded, answer.decode_time),
        answer.finish.as_str(),
    );
}

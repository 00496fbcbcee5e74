//! `tenon plan --launches`: a step as a command line writes it, and what it launches as people read it.

use std::fmt::Write as _;

use tenon_formats::StorageFormat;

use super::{BUCKETS, Deployment, Ending, Span, Step, launches};
use crate::diagnostic::thousands;
use crate::emit;
use crate::program::Program;

/// Reads `512`, or `17,1@96,1@40`: of each sequence the tokens of the step, and those that are in the cache already. The last token of each
/// sequence wants logits.
///
/// # Errors
/// What is not written so.
pub fn read(text: &str) -> Result<Step, String> {
    let span = |text: &str| {
        let (tokens, cached) = text.split_once('@').unwrap_or((text, "0"));
        // No context is longer than 32 bits count, and no sum of such numbers than 64.
        let number = |text: &str| text.trim().parse::<u32>().map(u64::from).ok();
        Some(Span { cached: number(cached)?, tokens: number(tokens).filter(|tokens| *tokens > 0)? })
    };
    let of = |part: &str| span(part).ok_or_else(|| format!("`{part}` is no span of tokens, such as 512 or 1@96"));
    let spans: Vec<Span> = text.split(',').map(of).collect::<Result<_, _>>()?;
    Ok(Step { logit_rows: spans.len() as u64, spans, ending: Ending::Logits })
}

/// What a step of each program that launches kernels launches. Weights are in `format` and caches of `kv_dtype`, or in what the spec allows
/// first.
///
/// # Errors
/// When the step is none of the model's, or it has no kernels.
pub fn shown(programs: &[Program<'_>], step: &Step, format: Option<&str>, kv_dtype: Option<&str>) -> Result<String, String> {
    let mut text = String::new();
    for program in programs.iter().filter(|program| program.target.launches()) {
        of_program(program, step, format, kv_dtype, &mut text)?;
    }
    if text.is_empty() { Err("the model is for no target that launches kernels".to_owned()) } else { Ok(text) }
}

fn of_program(
    program: &Program<'_>,
    step: &Step,
    format: Option<&str>,
    kv_dtype: Option<&str>,
    text: &mut String,
) -> Result<(), String> {
    let model = program.model;
    let accepted = &model.checkpoint.accept;
    let format = match format {
        None => accepted.first().copied().ok_or("a model accepts some format")?,
        Some(name) => StorageFormat::parse(name).ok_or_else(|| format!("`{name}` is no format"))?,
    };
    let kv_dtype = kv_dtype.unwrap_or_else(|| emit::default_dtype(program));
    let maxima = model.maxima(program.target);
    let deployment = Deployment {
        kv_dtype,
        largest_bucket: BUCKETS[BUCKETS.len() - 1].min(maxima.sequences).min(maxima.step_tokens),
        format: &|_, _| Ok(format),
    };
    let launches = launches(program, &deployment, step)?;
    let tokens: u64 = step.spans.iter().map(|span| span.tokens).sum();
    let _ = writeln!(
        text,
        "{} on {}: {} tokens of {} sequences, {} rows of logits, weights {}, cache {kv_dtype}",
        model.name,
        program.target.name(),
        thousands(tokens),
        thousands(step.spans.len() as u64),
        thousands(step.logit_rows),
        format.as_str()
    );
    for (name, times) in &launches.kernels {
        let _ = writeln!(text, "  {name:<50} x{times}");
    }
    let products: u64 = launches.products.values().sum();
    let _ = writeln!(text, "{} launches of {} kernels", thousands(launches.total()), launches.kernels.len());
    for (product, times) in &launches.products {
        let _ = writeln!(text, "  {product:<50} x{times}");
    }
    if products > 0 {
        let _ = writeln!(text, "{} products of the matrix library", thousands(products));
    }
    Ok(())
}

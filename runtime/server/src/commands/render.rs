//! `render`: the exact prompt of a request.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use tenon_core::model::ModelEntry;

use crate::cli::RenderArgs;
use crate::home::Home;
use crate::serve::{Served, render};
use crate::{Failure, load};

/// Prints what the model would read: what `serve` would tokenize, byte for byte, with nothing behind it.
pub fn run(args: &RenderArgs, models: &[&'static ModelEntry]) -> Result<(), Failure> {
    let info = load::entry(models, &args.name)?.info;
    let body = read(&args.request).map_err(|e| format!("{}: {e}", args.request.display()))?;
    let checkpoint = load::checkpoint(info, args.weights.as_ref(), &Home::find()?)?;
    let (tokenizer, template) = load::words(info, info.chat_template, &checkpoint, false)?;
    let served = Served {
        name: info.name.to_owned(),
        tokenizer,
        template,
        context: info.max_position_embeddings,
        sampling: info.sampling,
    };
    let prompt = render(&served, body).map_err(|e| format!("{}: {e}", args.request.display()))?;
    let mut out = std::io::stdout().lock();
    out.write_all(prompt.as_bytes())?;
    Ok(out.flush()?)
}

fn read(path: &Path) -> Result<Value, Failure> {
    Ok(tenon_formats::json::parse(&std::fs::read(path)?)?)
}

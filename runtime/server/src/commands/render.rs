//! `render`: the exact prompt of a request.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use tenon_core::model::ModelEntry;
use tenon_engine::template::{Clock, TemplateFiles, TemplateSource};
use tenon_formats::chat::ChatTemplate;

use crate::cli::RenderArgs;
use crate::home::Home;
use crate::serve::{Served, render, render_template};
use crate::{Failure, load};

/// Prints what the model would read: what `serve` would tokenize, byte for byte, with nothing behind it.
pub fn run(args: &RenderArgs, models: &[&'static ModelEntry]) -> Result<(), Failure> {
    let body = json_file(&args.request)?;
    let of_request = |e: String| format!("{}: {e}", args.request.display());
    let prompt = match (&args.template, &args.name) {
        (Some(path), _) if path.exists() => render_template(&template(path, args)?, body).map_err(of_request)?,
        (Some(path), _) if !models.iter().any(|entry| path.as_os_str() == entry.info.name) => {
            let names: Vec<_> = models.iter().map(|entry| entry.info.name).collect();
            let (shown, names) = (path.display(), names.join(", "));
            return Err(format!("`--template {shown}` is neither a file nor a model of this binary, which has {names}").into());
        }
        (None, None) => return Err("a model's name or `--template` is missing".into()),
        (Some(path), _) => of_model(&path.to_string_lossy(), args, models, body)?.map_err(of_request)?,
        (None, Some(name)) => of_model(name, args, models, body)?.map_err(of_request)?,
    };
    let mut out = std::io::stdout().lock();
    out.write_all(prompt.as_bytes())?;
    Ok(out.flush()?)
}

/// The prompt of a model that is compiled in. The request may leave out which, since that is said already.
fn of_model(
    name: &str,
    args: &RenderArgs,
    models: &[&'static ModelEntry],
    mut body: Value,
) -> Result<Result<String, String>, Failure> {
    for (flag, given) in [("--special-tokens", args.special_tokens.is_some()), ("--now", args.now.is_some())] {
        if given {
            return Err(format!("`{flag}` is for a template file; `{name}` has its own").into());
        }
    }
    let info = load::entry(models, name)?.info;
    let checkpoint = load::checkpoint(info, args.weights.as_ref(), &Home::find()?)?;
    let (tokenizer, template) = load::words(info, info.chat_template, &checkpoint, false)?;
    let served = Served {
        name: info.name.to_owned(),
        tokenizer,
        template,
        context: info.max_position_embeddings,
        sampling: info.sampling,
    };
    if let Some(fields) = body.as_object_mut() {
        fields.entry("model").or_insert_with(|| json!(info.name));
    }
    Ok(render(&served, body))
}

/// A template outside of a checkpoint, with the special tokens and the time of the command line.
fn template(path: &Path, args: &RenderArgs) -> Result<ChatTemplate, Failure> {
    if args.weights.is_some() {
        return Err("`--weights` is for a model, and `--template` names a file".into());
    }
    let shown = path.display();
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let (source, config) = if is_json {
        let config = json_file(path)?;
        let files = TemplateFiles { tokenizer_config: Some(&config), ..TemplateFiles::default() };
        let found = TemplateSource::of_files(&files).map_err(|e| format!("{shown}: {e}"))?;
        (found.ok_or_else(|| format!("{shown} has no `chat_template`"))?, Some(config))
    } else {
        (TemplateSource::new(std::fs::read_to_string(path).map_err(|e| format!("{shown}: {e}"))?), None)
    };
    let tokens = match (&args.special_tokens, config) {
        (Some(text), _) => special_tokens(text)?,
        (None, config) => named_tokens(config.as_ref()),
    };
    let clock = match &args.now {
        Some(now) => Clock::at(now).ok_or_else(|| format!("`--now {now}` is no date and time such as 2026-07-04T12:00:00Z"))?,
        None => Clock::System,
    };
    let reasoning = source.reasoning().first().copied();
    let compiled = ChatTemplate::compile(&source, &tokens, clock).map_err(|e| format!("{shown}: {e}"))?;
    Ok(compiled.with_reasoning(reasoning))
}

/// What `--special-tokens` gives: an object, or a file with one.
fn special_tokens(given: &str) -> Result<Vec<(String, String)>, Failure> {
    let value = if given.trim_start().starts_with('{') {
        tenon_formats::json::parse(given.as_bytes()).map_err(|e| format!("--special-tokens: {e}"))?
    } else {
        json_file(Path::new(given)).map_err(|e| format!("--special-tokens: {e}"))?
    };
    let Some(tokens) = value.as_object() else { return Err("--special-tokens must be an object of names and texts".into()) };
    if let Some((name, _)) =
        tokens.iter().find(|(name, token)| name.ends_with("_token") && !token.is_null() && text(token).is_none())
    {
        return Err(format!("--special-tokens: `{name}` is no text").into());
    }
    Ok(named_tokens(Some(&value)))
}

/// The special tokens with names that a file of a tokenizer has. Some files say more of a token than its text.
fn named_tokens(value: Option<&Value>) -> Vec<(String, String)> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    let tokens = entries.filter(|(name, _)| name.ends_with("_token"));
    tokens.filter_map(|(name, token)| Some((name.clone(), text(token)?.to_owned()))).collect()
}

fn text(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token.get("content")?.as_str())
}

fn json_file(path: &Path) -> Result<Value, Failure> {
    let read = || -> Result<Value, Failure> { Ok(tenon_formats::json::parse(&std::fs::read(path)?)?) };
    read().map_err(|e| format!("{}: {e}", path.display()).into())
}

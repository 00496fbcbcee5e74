//! Flags against the spec. A flag that says something else than the spec is refused unless `--override` stands beside it; what was
//! overridden is kept, printed and reported, so that nobody takes the answers for those of the spec.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::report::{CommandLine, Place, Refused, Report};

/// The id of every refusal here.
pub const ID: &str = "override-refused";
/// The flag that allows the others.
pub const OVERRIDE: &str = "--override";

/// What a spec states of which a flag can say something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated<'a> {
    /// The name of the model.
    pub model: &'a str,
    /// The longest context, in tokens.
    pub max_position_embeddings: u64,
    /// What the cache may store, the default first: code was compiled for these and no others.
    pub kv_cache_dtypes: Vec<&'a str>,
    /// Where the chat template comes from.
    pub chat_template: Template,
}

/// Where a spec takes the chat template from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// From the checkpoint.
    Checkpoint,
    /// From a file beside it.
    File,
    /// The model has no chat format.
    None,
}

/// What the flags of a command ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked<'a> {
    /// `--context`
    pub context: Option<u64>,
    /// `--kv-cache-dtype`
    pub kv_cache_dtype: Option<&'a str>,
    /// `--chat-template`: a path.
    pub chat_template: Option<&'a str>,
    /// `--override`; `None` where the command has no such flag.
    pub allowed: Option<bool>,
}

/// A statement of the spec that a flag replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The key of the spec.
    pub key: &'static str,
    /// What it says there.
    pub spec: String,
    /// What is done instead, as the flag asked for it.
    pub flag: String,
}

/// Everything that flags replace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides(pub Vec<Override>);

impl Overrides {
    /// A line for each, as it is printed at start.
    pub fn lines(&self) -> Vec<String> {
        self.0.iter().map(|o| format!("overridden: the spec says {} = {}, and {} was given", o.key, o.spec, o.flag)).collect()
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        self.0.iter().map(|o| json!({ "key": o.key, "spec": o.spec, "flag": o.flag })).collect()
    }
}

/// A flag that says something else than the spec.
struct Contradiction {
    flag: &'static str,
    value: String,
    table: &'static str,
    key: &'static str,
    spec: String,
    /// About the flag.
    label: &'static str,
    /// What overriding it would mean, or why it cannot be.
    note: String,
    /// What to do without overriding.
    help: String,
    /// Whether there is code that could do it.
    possible: bool,
}

/// What the flags replace.
///
/// # Errors
/// Everything that they contradict, where that is not allowed, or cannot be done at all.
pub fn settle(stated: &Stated<'_>, asked: &Asked<'_>, line: &CommandLine) -> Result<Overrides, Refused> {
    let contradictions: Vec<Contradiction> =
        [context(stated, asked), kv_cache_dtype(stated, asked), chat_template(stated, asked)].into_iter().flatten().collect();
    let is_allowed = |c: &Contradiction| c.possible && asked.allowed == Some(true);
    let refused: Vec<Report> =
        contradictions.iter().filter(|c| !is_allowed(c)).map(|c| refusal(c, stated.model, asked.allowed, line)).collect();
    if !refused.is_empty() {
        return Err(Refused(refused));
    }
    let kept = contradictions.into_iter().map(|c| Override { key: c.key, spec: c.spec, flag: format!("{} {}", c.flag, c.value) });
    Ok(Overrides(kept.collect()))
}

fn context(stated: &Stated<'_>, asked: &Asked<'_>) -> Option<Contradiction> {
    let longest = stated.max_position_embeddings;
    let context = asked.context.filter(|&context| context > longest)?;
    Some(Contradiction {
        flag: "--context",
        value: context.to_string(),
        table: "model",
        key: "max_position_embeddings",
        spec: longest.to_string(),
        label: "longer than the spec allows",
        note: "positions beyond it are computed by the same formulas, and the model has never seen them".to_owned(),
        help: format!("ask for at most `--context {longest}`"),
        possible: true,
    })
}

fn kv_cache_dtype(stated: &Stated<'_>, asked: &Asked<'_>) -> Option<Contradiction> {
    let listed = &stated.kv_cache_dtypes;
    let dtype = asked.kv_cache_dtype.filter(|dtype| !listed.contains(dtype))?;
    let names: Vec<String> = listed.iter().map(|dtype| format!("`{dtype}`")).collect();
    let quoted: Vec<String> = listed.iter().map(|dtype| format!("\"{dtype}\"")).collect();
    Some(Contradiction {
        flag: "--kv-cache-dtype",
        value: dtype.to_owned(),
        table: "mixer",
        key: "kv_cache_dtype",
        spec: format!("[{}]", quoted.join(", ")),
        label: "not in the list",
        note: format!("`{OVERRIDE}` does not help: code is compiled for what the spec lists, and for nothing else"),
        help: format!(
            "use {}, or add `{dtype}` to `kv_cache_dtype` after comparing logits of long contexts, and build again",
            names.join(" or ")
        ),
        possible: false,
    })
}

fn chat_template(stated: &Stated<'_>, asked: &Asked<'_>) -> Option<Contradiction> {
    let path = asked.chat_template?;
    const OF_ITS_OWN: &str = "the model was trained on what its own template renders, and answers worse to anything else";
    let (spec, label, note) = match stated.chat_template {
        Template::Checkpoint => ("\"checkpoint\"", "another one than the checkpoint's", OF_ITS_OWN),
        Template::File => ("the text of a file beside it", "another one than the spec's", OF_ITS_OWN),
        Template::None => ("\"none\"", "the model has no chat format", "what a template renders is continued as any other text"),
    };
    Some(Contradiction {
        flag: "--chat-template",
        value: path.to_owned(),
        table: "chat",
        key: "template",
        spec: spec.to_owned(),
        label,
        note: note.to_owned(),
        help: "leave `--chat-template` out, or name the file in the spec and build again".to_owned(),
        possible: true,
    })
}

fn refusal(c: &Contradiction, model: &str, allowed: Option<bool>, line: &CommandLine) -> Report {
    let stated = format!("{} = {}", c.key, c.spec);
    let of_spec = Place {
        of: format!("model-specs/{model}/MODEL.toml [{}], as compiled in", c.table),
        mark: Some(0..stated.len()),
        line: stated,
        label: "the spec says so".to_owned(),
    };
    let mut helps = vec![c.help.clone()];
    if c.possible && allowed.is_some() {
        helps.push(format!(
            "with `{OVERRIDE}` it is done all the same, and printed at start; a server reports it at `/debug/plan`"
        ));
    }
    Report {
        id: ID,
        message: format!("`{} {}` contradicts the spec of `{model}`", c.flag, c.value),
        places: vec![line.place(c.flag, c.label), of_spec],
        table: String::new(),
        notes: vec![c.note.clone()],
        helps,
    }
}

//! What a spec should say about a template.

use super::{ChatTemplate, Clock, Fault, Settings, TemplateError, TemplateSource, ToolSettings, prepare};

/// What was found out about a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detected {
    /// Settings that fit it.
    pub settings: Settings,
    /// It declares tools, in a format that no parser of this version reads where `settings` has none.
    pub declares_tools: bool,
    /// What keeps it from being used at all.
    pub faults: Vec<Fault>,
}

/// Stand-ins for the special tokens of a tokenizer, which templates print and never look at.
pub fn special_tokens() -> Vec<(String, String)> {
    let tokens = [("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")];
    tokens.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec()
}

/// Tries the parsers whose format a template teaches: the first that fits, with what the template does by itself.
pub fn detect(source: &TemplateSource) -> Detected {
    let tokens = special_tokens();
    let fits = |settings| prepare(source, &tokens, Clock::Fixed(0), settings);
    // A template may know the marks of several families, of which the first is its own.
    let plain = Settings { tools: None, reasoning: source.reasoning().first().copied() };
    if let Err(faults) = fits(plain) {
        return Detected { faults, ..Detected::default() };
    }
    let facts = ChatTemplate::compile(source, &tokens, Clock::Fixed(0)).and_then(|template| template.facts());
    let facts = match facts {
        Ok(facts) => facts,
        Err(TemplateError::Compile(place) | TemplateError::Render(place)) => {
            let fault = Fault::Probe { probe: "a conversation with a tool", place };
            return Detected { settings: plain, declares_tools: false, faults: vec![fault] };
        }
        // It refuses tools in its own words.
        Err(_) => return Detected { settings: plain, ..Detected::default() },
    };
    let candidates = facts.readers().into_iter().flat_map(|parser| {
        [(true, true), (true, false), (false, true), (false, false)].map(move |(steering, thinking)| {
            let tools = ToolSettings { parser, skip_template_tools: false, steering, thinking };
            Settings { tools: Some(tools), ..plain }
        })
    });
    let settings = candidates.into_iter().find(|settings| fits(*settings).is_ok()).unwrap_or(plain);
    Detected { settings, declares_tools: facts.declares_tools, faults: Vec::new() }
}

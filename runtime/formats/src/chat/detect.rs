//! What a spec should say about a template.

use super::{ChatTemplate, Clock, Fault, Settings, TemplateError, TemplateSource, ToolSettings, prepare};
use crate::tools::{Teaching, ToolParser};

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
    let first_fit = |parsers: Vec<ToolParser>| {
        let mut candidates = parsers.into_iter().flat_map(|parser| {
            [(true, true), (true, false), (false, true), (false, false)].map(move |(steering, thinking)| {
                let tools = ToolSettings { parser, skip_template_tools: false, steering, thinking };
                Settings { tools: Some(tools), ..plain }
            })
        });
        candidates.find(|settings| fits(*settings).is_ok())
    };
    match facts {
        Ok(facts) => {
            let settings = first_fit(facts.readers()).unwrap_or(plain);
            Detected { settings, declares_tools: facts.declares_tools, faults: Vec::new() }
        }
        Err(TemplateError::Compile(place) | TemplateError::Render(place)) => {
            // A parser whose prompt stands alone never gives it a tool to fail at.
            let alone = ToolParser::ALL.into_iter().filter(|parser| parser.teaching() == Teaching::OwnAlone).collect();
            match first_fit(alone) {
                Some(settings) => Detected { settings, declares_tools: true, faults: Vec::new() },
                None => {
                    let fault = Fault::Probe { probe: "a conversation with a tool", place };
                    Detected { settings: plain, declares_tools: false, faults: vec![fault] }
                }
            }
        }
        // It refuses tools in its own words.
        Err(_) => Detected { settings: plain, ..Detected::default() },
    }
}

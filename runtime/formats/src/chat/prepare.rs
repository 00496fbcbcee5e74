//! Compiling a template and trying it, before anything relies on it.

use serde_json::{Value, json};

use super::facts::{ASSISTANT, CITY, TOOL, USER, call, tool};
use super::{
    ChatTemplate, Clock, Conversation, Fault, Place, SourceConflict, TemplateError, TemplateSource, ToolFormat, ToolSource,
    message, prompt, tool_source,
};
use crate::tools::{ReasoningParser, Settings, Teaching, ToolSettings};

impl Settings {
    /// What contradicts itself, whatever the template.
    pub fn contradictions(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let Some(ToolSettings { parser, steering, thinking, .. }) = self.tools else { return faults };
        if steering && parser.opening().is_none() {
            faults.push(Fault::NoOpening { parser });
        }
        if thinking && self.reasoning.is_none() {
            faults.push(Fault::UnreadReasoning);
        }
        faults
    }
}

const SYSTEM: &str = "Quokka-31";
const RESULT: &str = "Ocelot-46";
const AGAIN: &str = "Ibis-93";

/// Compiles a template and tries it on small conversations, with the tools and the reasoning of a spec. What comes out has rendered
/// each kind of conversation without losing a message, and knows where instructions about tools come from.
///
/// # Errors
/// Every fault that was found.
pub fn prepare(
    source: &TemplateSource,
    special_tokens: &[(String, String)],
    clock: Clock,
    settings: Settings,
) -> Result<ChatTemplate, Vec<Fault>> {
    let contradictions = settings.contradictions();
    if !contradictions.is_empty() {
        return Err(contradictions);
    }
    let mut template = match ChatTemplate::compile(source, special_tokens, clock) {
        Ok(template) => template,
        Err(TemplateError::Compile(place)) => return Err(vec![Fault::Compile(place)]),
        Err(other) => return Err(vec![failed("a conversation", &other)]),
    };
    let mut faults = Vec::new();
    let user = || message("user", USER);
    try_out(&template, "a message of the user", &[user()], &[], &[("the user's message", USER)], &mut faults);
    // One that fails at the simplest conversation fails at the others too, and says nothing new.
    if !faults.is_empty() {
        return Err(faults);
    }
    let turns = [user(), message("assistant", ASSISTANT), message("user", AGAIN)];
    let shown = [("the user's message", USER), ("the assistant's answer", ASSISTANT), ("the last message", AGAIN)];
    try_out(&template, "a conversation of several turns", &turns, &[], &shown, &mut faults);
    let with_system = [message("system", SYSTEM), user()];
    let shown = [("the system message", SYSTEM), ("the user's message", USER)];
    // A template may refuse system messages in its own words, which the client of such a request is told.
    if !matches!(prompt(&template, &Conversation::new(&with_system)), Err(TemplateError::Refused(_))) {
        try_out(&template, "a system message and one of the user", &with_system, &[], &shown, &mut faults);
    }
    let written = source.reasoning();
    if !settings.reasoning.map_or(written.is_empty(), |parser| written.contains(&parser)) {
        faults.push(Fault::OtherReasoning { parser: settings.reasoning, written });
    }
    template.reasoning = settings.reasoning;
    if let Some(tools) = settings.tools
        && faults.is_empty()
    {
        try_tools(&mut template, tools, &mut faults);
    }
    if faults.is_empty() { Ok(template) } else { Err(faults) }
}

fn try_tools(template: &mut ChatTemplate, settings: ToolSettings, faults: &mut Vec<Fault>) {
    let ToolSettings { parser, skip_template_tools, steering, thinking } = settings;
    // A template that fails at tools is never given them where they are skipped, or where the parser's own prompt stands alone.
    let facts = match template.facts() {
        Ok(facts) => facts,
        Err(_) if skip_template_tools || parser.teaching() == Teaching::OwnAlone => template.facts_without_tools(),
        Err(error) => return faults.push(failed("a conversation with a tool", &error)),
    };
    let source = match tool_source(parser, skip_template_tools, &facts) {
        Ok(source) => source,
        Err(SourceConflict::Both) => return faults.push(Fault::TwoSources { parser, readers: facts.readers() }),
        Err(SourceConflict::Neither) => return faults.push(Fault::NoSource { parser }),
    };
    // A parser that leaves out what a template says by design does so for its own family, whose templates begin a call alike but
    // teach nothing that is read. At a template of another family, only the spec can say that this is meant.
    let is_of_family = facts.call.as_deref().is_some_and(|text| parser.is_opened_by(text));
    let is_read = match source {
        ToolSource::Template => facts.is_read_by(parser),
        ToolSource::Parser => skip_template_tools || !facts.declares_tools || is_of_family,
    };
    let begins = |length| facts.call.as_deref().map(|text| text.trim_start().chars().take(length).collect::<String>());
    if !is_read && facts.taught.contains(&parser) && facts.taught.len() == 1 {
        return faults.push(Fault::OtherHistory { parser, shown: begins(80).unwrap_or_default() });
    }
    if !is_read {
        return faults.push(Fault::OtherFormat { parser, readers: facts.readers() });
    }
    if source == ToolSource::Template
        && let Some(shown) = begins(40).filter(|text| steering && !parser.is_opened_by(text))
    {
        faults.push(Fault::Steering { parser, shown });
    }
    template.tools = Some(ToolFormat { parser, source, steering, thinking });
    let tools = [tool()];
    let asked = [message("user", USER)];
    try_out(template, "a conversation with a tool", &asked, &tools, &[("the tool", TOOL), ("the user's message", USER)], faults);
    let result = json!({"role": "tool", "tool_call_id": "abcdef012", "name": TOOL, "content": RESULT});
    let round = [message("user", USER), call(Value::Null), result];
    let shown = [("the user's message", USER), ("the arguments of the call", CITY), ("the tool's result", RESULT)];
    try_out(template, "a tool call and its result", &round, &tools, &shown, faults);
    if faults.is_empty() {
        let on = round.into_iter().chain([message("assistant", ASSISTANT), message("user", AGAIN)]).collect::<Vec<_>>();
        let shown = [("the tool's result", RESULT), ("the answer to it", ASSISTANT), ("the last message", AGAIN)];
        try_out(template, "a conversation that goes on after a tool's result", &on, &tools, &shown, faults);
    }
    if let Some(reasoning) = template.reasoning
        && faults.is_empty()
    {
        faults.extend(try_reasoning(template, reasoning));
    }
}

/// Where tools are declared, reasoning is off if the spec does not allow it, and wherever a call is begun.
fn try_reasoning(template: &mut ChatTemplate, reasoning: ReasoningParser) -> Option<Fault> {
    let format = template.tools?;
    let (tools, messages) = ([tool()], [message("user", USER)]);
    let conversation = Conversation { tools: Some(&tools), ..Conversation::new(&messages) };
    if !format.thinking {
        let switched_on = reasoning.variables(true);
        template.tools = Some(ToolFormat { thinking: true, ..format });
        let on = prompt(template, &Conversation { variables: Some(&switched_on), ..conversation });
        template.tools = Some(format);
        let off = prompt(template, &conversation);
        if on == off || off.is_ok_and(|text| reasoning.is_open_at_the_end_of(&text)) {
            return Some(Fault::NoSwitch { reasoning });
        }
    }
    // Without steering there is nothing to begin: the same conversation again.
    let begun = prompt(template, &Conversation { call_forced: true, ..conversation });
    let is_open = begun.is_ok_and(|text| reasoning.is_open_at_the_end_of(&text));
    (format.steering && is_open).then_some(Fault::SteeringInReasoning { reasoning })
}

/// Renders a conversation, in which each text must be found.
fn try_out(
    template: &ChatTemplate,
    probe: &'static str,
    messages: &[Value],
    tools: &[Value],
    shown: &[(&'static str, &str)],
    faults: &mut Vec<Fault>,
) {
    match prompt(template, &Conversation { tools: Some(tools), ..Conversation::new(messages) }) {
        Err(error) => faults.push(failed(probe, &error)),
        Ok(text) => {
            let missing = shown.iter().find(|(_, word)| !text.contains(word));
            faults.extend(missing.map(|(whose, _)| Fault::Dropped { probe, whose }));
        }
    }
}

fn failed(probe: &'static str, error: &TemplateError) -> Fault {
    let place = match error {
        TemplateError::Compile(place) | TemplateError::Render(place) => place.clone(),
        other => Place { message: other.to_string(), line: None, tool_use: false },
    };
    Fault::Probe { probe, place }
}

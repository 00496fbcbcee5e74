//! Real chat templates, from the folder that `TENON_CHAT_TEMPLATES` names: they render as transformers renders them, and what is
//! found out about their tool formats is right.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tenon_formats::chat::{
    ChatTemplate, Clock, Conversation, Settings, TemplateSource, ToolSettings, ToolSource, detect, prepare, prompt, verbatim,
};
use tenon_formats::tools::ToolParser;

/// 2026-07-04T12:00:00, for which the references were rendered.
const CLOCK: Clock = Clock::Fixed(1_783_166_400);

const CHATML: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
                      {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

struct Folder {
    path: PathBuf,
    cases: Value,
    tokens: Vec<(String, String)>,
}

impl Folder {
    fn open() -> Option<Self> {
        let Some(path) = std::env::var_os("TENON_CHAT_TEMPLATES").map(PathBuf::from) else {
            eprintln!("skipped: TENON_CHAT_TEMPLATES does not name a folder of templates and goldens");
            return None;
        };
        let cases = json(&path.join("cases.json"));
        assert_eq!(cases["now"], "2026-07-04T12:00:00");
        let tokens = cases["special_tokens"].as_object().unwrap();
        let tokens = tokens.iter().map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned())).collect();
        Some(Self { path, cases, tokens })
    }

    /// Every template with its name, sorted.
    fn templates(&self) -> BTreeMap<String, TemplateSource> {
        let files = std::fs::read_dir(&self.path).unwrap().map(|entry| entry.unwrap().path());
        let named = files.filter(|path| path.extension().is_some_and(|e| e == "jinja")).map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, TemplateSource::new(std::fs::read_to_string(&path).unwrap()))
        });
        let named: BTreeMap<_, _> = named.collect();
        assert!(!named.is_empty());
        named
    }

    /// Every template as a checkpoint has it: those for tools alone, which fail without any, beside one for conversations.
    fn checkpoints(&self) -> BTreeMap<String, TemplateSource> {
        let of_checkpoint = |(name, source): (String, TemplateSource)| match name.ends_with("tool_use") {
            true => (name, TemplateSource { tool_use: Some(source.default), ..TemplateSource::new(CHATML) }),
            false => (name, source),
        };
        self.templates().into_iter().map(of_checkpoint).collect()
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn real_templates_render_as_transformers_renders_them() {
    let Some(folder) = Folder::open() else { return };
    let (mut templates, mut cases, mut rendered, mut refused) = (0, 0, 0, 0);
    let mut different = Vec::new();
    for (name, source) in folder.templates() {
        templates += 1;
        let goldens = json(&folder.path.join(format!("{name}.golden.json")));
        let chat = ChatTemplate::compile(&source, &folder.tokens, CLOCK);
        for (case, golden) in goldens.as_object().unwrap() {
            cases += 1;
            let of_case = |chat| render_case(chat, &folder.cases["cases"][case]);
            let found = chat.as_ref().map_err(ToString::to_string).and_then(of_case);
            match (golden["rendered"].as_str(), found) {
                (Some(expected), Ok(text)) if text == expected => rendered += 1,
                (None, Err(_)) => refused += 1,
                (Some(expected), found) => different.push(format!("--- {name} {case}\n{}", first_difference(expected, &found))),
                (None, Ok(text)) => {
                    different.push(format!("--- {name} {case}\nexpected {}\nfound    {text:?}", golden["error"]));
                }
            }
        }
    }
    println!("{templates} templates, {cases} cases: {rendered} rendered as their golden, {refused} refused as by the reference");
    assert!(rendered > 0 && different.is_empty(), "{} of {cases} cases differ\n{}", different.len(), different.join("\n"));
}

fn render_case(chat: &ChatTemplate, case: &Value) -> Result<String, String> {
    let mut variables = case.as_object().unwrap().clone();
    let messages = variables.remove("messages").unwrap();
    let tools = variables.remove("tools");
    let add = variables.remove("add_generation_prompt");
    let conversation = Conversation {
        tools: tools.as_ref().map(|t| t.as_array().unwrap().as_slice()),
        add_generation_prompt: add.is_none_or(|v| v == true),
        variables: Some(&variables),
        ..Conversation::new(messages.as_array().unwrap())
    };
    verbatim(chat, &conversation).map_err(|e| e.to_string())
}

fn first_difference(expected: &str, found: &Result<String, String>) -> String {
    let found = match found {
        Err(e) => return format!("error: {e}"),
        Ok(text) => text,
    };
    let same = expected.bytes().zip(found.bytes()).take_while(|(a, b)| a == b).count();
    let from = (0..=same.saturating_sub(60)).rev().find(|&i| expected.is_char_boundary(i) && found.is_char_boundary(i));
    let part = |text: &str| text[from.unwrap_or(0)..].chars().take(160).collect::<String>();
    format!("expected {:?}\nfound    {:?}", part(expected), part(found))
}

/// The parsers that fit real templates, each without skipping what the template says. No other parser fits one of them, and none
/// fits a template that is not here: its format is one that this version does not know.
const FITS: [(&str, &[ToolParser], ToolSource); 18] = [
    ("Mistral-Small-3.2-24B-Instruct-2506", &[ToolParser::Mistral], ToolSource::Template),
    ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", &[ToolParser::Qwen3Coder], ToolSource::Template),
    ("NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", &[ToolParser::Hermes], ToolSource::Template),
    ("Qwen-Qwen2.5-7B-Instruct", &[ToolParser::Hermes], ToolSource::Template),
    ("Qwen-Qwen3-0.6B", &[ToolParser::Hermes], ToolSource::Template),
    ("Qwen3-Coder", &[ToolParser::Qwen3Coder], ToolSource::Template),
    ("Qwen3.5-4B", &[ToolParser::Qwen3Coder], ToolSource::Template),
    ("StepFun3.5-Flash", &[ToolParser::Qwen3Coder], ToolSource::Template),
    // These list no tools: whoever brings instructions of its own may be their parser.
    ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", &[ToolParser::BareJson, ToolParser::Deepseek], ToolSource::Parser),
    ("deepseek-ai-DeepSeek-V3.1", &[ToolParser::BareJson, ToolParser::Deepseek], ToolSource::Parser),
    // This one teaches the family's older form, which V3.1's parser leaves out by design.
    ("llama-cpp-deepseek-r1", &[ToolParser::Deepseek], ToolSource::Parser),
    ("ibm-granite-granite-4.0", &[ToolParser::Hermes], ToolSource::Template),
    ("meta-llama-Llama-3.1-8B-Instruct", &[ToolParser::Llama3Json], ToolSource::Template),
    ("meta-llama-Llama-3.2-3B-Instruct", &[ToolParser::Llama3Json], ToolSource::Template),
    ("meta-llama-Llama-3.3-70B-Instruct", &[ToolParser::Llama3Json], ToolSource::Template),
    ("mistralai-Ministral-3-14B-Reasoning-2512", &[ToolParser::Mistral], ToolSource::Template),
    ("mistralai-Mistral-Nemo-Instruct-2407", &[ToolParser::Mistral], ToolSource::Template),
    ("openai-gpt-oss-120b", &[ToolParser::GptOss], ToolSource::Template),
];

/// They open reasoning whatever they are asked, so that a call cannot be begun in the prompt.
const ALWAYS_REASON: [&str; 2] = ["StepFun3.5-Flash", "llama-cpp-deepseek-r1"];

#[test]
fn each_real_template_fits_the_parser_of_its_format_and_no_other() {
    let Some(folder) = Folder::open() else { return };
    let templates = folder.checkpoints();
    for (name, ..) in FITS {
        assert!(templates.contains_key(name), "{name} is not in the folder");
    }
    let mut wrong = Vec::new();
    for (name, source) in &templates {
        // Every one of them renders plain conversations, whatever it does with tools.
        let reasoning = source.reasoning().first().copied();
        if let Err(faults) = prepare(source, &folder.tokens, CLOCK, Settings { tools: None, reasoning }) {
            wrong.push(format!("{name}: {faults:?}"));
        }
        let expected = FITS.iter().find(|(of, ..)| of == name);
        for parser in ToolParser::ALL {
            let steering = parser.opening().is_some() && !ALWAYS_REASON.contains(&name.as_str());
            let thinking = reasoning.is_some();
            let tools = Some(ToolSettings { parser, skip_template_tools: false, steering, thinking });
            let found = prepare(source, &folder.tokens, CLOCK, Settings { tools, reasoning });
            let fits = expected.filter(|(_, parsers, _)| parsers.contains(&parser)).map(|(_, _, source)| *source);
            let source = found.as_ref().ok().and_then(|chat| chat.tools()).map(|tools| tools.source);
            if source != fits {
                wrong.push(format!("{name} with {parser}: {source:?}, not {fits:?}: {:?}", found.err()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `tenon new` writes these: of formats that templates teach, the parser; of others, none.
#[test]
fn the_parser_of_a_real_template_is_found() {
    let Some(folder) = Folder::open() else { return };
    for (name, source) in folder.checkpoints() {
        let found = detect(&source);
        assert_eq!(found.faults, [], "{name}");
        let expected = FITS.iter().find(|(of, ..)| *of == name).map(|(_, parsers, source)| (*source, *parsers));
        let parser = found.settings.tools.map(|tools| tools.parser);
        match expected {
            Some((ToolSource::Template, parsers)) => assert_eq!(parser.as_slice(), parsers, "{name}"),
            // What lists no tools says what it means by its calls alone.
            Some((ToolSource::Parser, parsers)) => {
                assert!(parser.is_none_or(|parser| parsers.contains(&parser)), "{name}: {parser:?}")
            }
            None => assert_eq!(parser, None, "{name}"),
        }
        let steers = found.settings.tools.is_some_and(|tools| tools.steering);
        let can_steer = parser.is_some_and(|parser| parser.opening().is_some()) && !ALWAYS_REASON.contains(&name.as_str());
        assert_eq!(steers, can_steer, "{name}");
    }
}

/// Skipping is a way out for every template that lets a result follow a text: then nothing of the template's own format is left.
#[test]
fn the_parsers_prompt_replaces_what_real_templates_say() {
    let Some(folder) = Folder::open() else { return };
    let bare = ToolSettings { parser: ToolParser::BareJson, skip_template_tools: true, steering: false, thinking: false };
    let mut refused = Vec::new();
    for (name, source) in folder.checkpoints() {
        let reasoning = source.reasoning().first().copied();
        let tools = Some(ToolSettings { thinking: reasoning.is_some(), ..bare });
        let Ok(chat) = prepare(&source, &folder.tokens, CLOCK, Settings { tools, reasoning }) else {
            refused.push(name);
            continue;
        };
        let case = &folder.cases["cases"]["tool_round_trip"];
        let tools = case["tools"].as_array().unwrap();
        let conversation = Conversation { tools: Some(tools), ..Conversation::new(case["messages"].as_array().unwrap()) };
        let text = prompt(&chat, &conversation).unwrap_or_else(|e| panic!("{name}: {e}"));
        let call = r#"{"name": "add", "arguments": {"a": 2, "b": 3.5, "tags": ["x", "é"]}}"#;
        assert!(text.contains(&ToolParser::BareJson.prompt(tools)) && text.contains(call), "{name}: {text}");
        for sign in
            ["<function=add>", "[TOOL_CALLS]", "<tool_call>\n{\"name\": \"add\"", "[AVAILABLE_TOOLS]", "<arg_key>a</arg_key>"]
        {
            assert!(!text.contains(sign), "{name} still has {sign}: {text}");
        }
    }
    // They insist on a call of their own form before a result, or on users and assistants taking turns.
    let insist = [
        "MiniMax-M3",
        "Mistral-Small-3.2-24B-Instruct-2506",
        "mistralai-Ministral-3-14B-Reasoning-2512",
        "mistralai-Mistral-Nemo-Instruct-2407",
        "openai-gpt-oss-120b",
    ];
    assert_eq!(refused, insist);
}

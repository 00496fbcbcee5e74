//! Templates render as in the environment that Hugging Face transformers builds: cases from public bug reports (`reported.json`),
//! cases that random templates have found (`found.json`), and with `TENON_JINJA_CASES` any file that `differential.py` has written.

use serde_json::{Map, Value};
use tenon_formats::chat::{ChatTemplate, Clock, Conversation, TemplateSource, verbatim};

/// 2026-07-04T12:00:00, for which the references were rendered.
const CLOCK: Clock = Clock::Fixed(1_783_166_400);

/// What a template renders with nothing but these variables.
fn render(template: &str, context: &Map<String, Value>) -> Result<String, String> {
    let chat = ChatTemplate::compile(&TemplateSource::new(template), &[], CLOCK).map_err(|e| e.to_string())?;
    verbatim(&chat, &Conversation { variables: Some(context), ..Conversation::new(&[]) }).map_err(|e| e.to_string())
}

/// What is wrong with a result, if anything.
fn fault(expected: &Value, found: &Result<String, String>) -> Option<String> {
    match (expected["rendered"].as_str(), found) {
        (Some(expected), Ok(found)) if expected == found => None,
        (Some(expected), found) => Some(format!("expected {expected:?}\nfound    {found:?}")),
        (None, Ok(found)) => Some(format!("expected an error: {}\nfound    {found:?}", expected["error"])),
        (None, Err(found)) => {
            let said = expected["message_contains"].as_str();
            said.filter(|said| !found.contains(said)).map(|said| format!("expected an error with {said:?}\nfound    {found}"))
        }
    }
}

fn check(cases: impl Iterator<Item = (String, Option<String>)>) {
    let (mut count, mut wrong) = (0, Vec::new());
    for (case, fault) in cases {
        count += 1;
        wrong.extend(fault.map(|fault| format!("--- {case}\n{fault}")));
    }
    println!("{count} cases");
    assert!(count > 0 && wrong.is_empty(), "{} of {count} cases differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn cases_from_public_reports_render_as_they_should() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("jinja/reported.json")).unwrap();
    check(cases.iter().map(|case| {
        let input = &case["input"];
        assert!(input.get("now").is_none_or(|now| now == "2026-07-04T12:00:00"));
        let found = render(input["template"].as_str().unwrap(), input["context"].as_object().unwrap());
        (format!("{} ({})", case["id"], case["what"]), fault(&case["expect"], &found))
    }));
}

fn of_file(file: &Value) {
    let shared = file["context"].as_object().unwrap();
    check(file["cases"].as_array().unwrap().iter().map(|case| {
        let mut context = shared.clone();
        context.extend(case["context"].as_object().cloned().unwrap_or_default());
        let template = case["template"].as_str().unwrap();
        (format!("{} {template}", case["id"]), fault(case, &render(template, &context)))
    }));
}

#[test]
fn cases_that_random_templates_found_render_as_in_jinja2() {
    of_file(&serde_json::from_str(include_str!("jinja/found.json")).unwrap());
}

#[test]
#[ignore = "needs a file of cases, which differential.py makes"]
fn cases_of_a_file_render_as_in_jinja2() {
    let path = std::env::var_os("TENON_JINJA_CASES").expect("TENON_JINJA_CASES names a file of cases");
    of_file(&serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap());
}

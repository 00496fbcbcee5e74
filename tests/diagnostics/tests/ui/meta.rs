//! What holds for all ids, pages and cases.

use std::collections::BTreeSet;

use tenon_compiler::diagnostic::{Diagnostic, Diagnostics, Format, Id};
use tenon_compiler::source::SourceMap;

use tenon_diagnostics::case::{Case, Files, build, check, diagnose, entries, relative, ui};
use tenon_diagnostics::deploy;
use tenon_diagnostics::stage::Stage;

/// Every id has a case, every folder is an id, and every folder of cases holds cases and nothing else.
pub fn folders(cases: &[Case]) -> Result<(), String> {
    let mut wrong = Vec::new();
    for id in Id::ALL {
        if !cases.iter().any(|case| case.id == *id) {
            wrong.push(format!("{id} has no case"));
        }
    }
    let known = |path: &str| cases.iter().any(|case| case.name == path);
    for folder in entries(&ui()) {
        let name = relative(&folder, &ui());
        if name == "base" {
            continue;
        }
        if name.parse::<Id>().is_err() {
            wrong.push(format!("ui/{name} is no id"));
        }
        for path in entries(&folder) {
            let below = relative(&path, &ui());
            if path.is_dir() && !known(&below) {
                wrong.push(format!("ui/{below} holds no case.toml"));
            }
            if path.is_file() && !(known(&name) && is_of_a_case(&path)) {
                wrong.push(format!("ui/{below} belongs to no case"));
            }
            if path.is_dir() {
                let strangers = entries(&path).into_iter().filter(|file| !is_of_a_case(file));
                wrong.extend(strangers.map(|file| format!("ui/{} belongs to no case", relative(&file, &ui()))));
            }
        }
    }
    none(wrong)
}

fn is_of_a_case(file: &std::path::Path) -> bool {
    file.is_file()
        && file.file_name().is_some_and(|name| ["case.toml", "expected.txt", "loaded.txt"].iter().any(|known| name == *known))
}

/// The bases have no error of their own, and each has cases.
pub fn bases(cases: &[Case]) -> Result<(), String> {
    let mut wrong = Vec::new();
    let specs = ui().join("base/model-specs");
    for folder in entries(&specs) {
        let name = relative(&folder, &specs);
        let sources = Files::base(&name).sources();
        wrong.extend(check(&sources).has_errors().then(|| check(&sources).render(&sources, Format::Human, false)));
        if !cases.iter().any(|case| case.mistake.base == name) {
            wrong.push(format!("no case has the base {name}"));
        }
    }
    none(wrong)
}

/// Every id has a page with its four sections in order.
pub fn pages() -> Result<(), String> {
    const SECTIONS: [&str; 4] = ["## What happened in the field", "## Why it is an error", "## How to fix it", "## Example"];
    let sections = |id: &Id| id.page().lines().filter(|line| line.starts_with("## ")).collect::<Vec<_>>();
    let right = |id: &&Id| id.page().starts_with(&format!("# {id}\n")) && sections(id) == SECTIONS;
    none(Id::ALL.iter().filter(|id| !right(id)).map(|id| format!("{id}: title and four sections")))
}

/// Messages, labels, notes and helps are each one line that follows the house style, and every diagnostic says where it stands.
pub fn wording(cases: &[Case]) -> Result<(), String> {
    let mut wrong = every_diagnostic(cases, |diagnostic, _| {
        let labels = diagnostic.labels.iter().map(|label| &label.text).filter(|text| !text.is_empty());
        let mut wrong = style(&diagnostic.message, labels.chain(&diagnostic.notes), &diagnostic.helps);
        if !diagnostic.labels.iter().any(|label| label.primary) {
            wrong.push(format!("points nowhere: {}", diagnostic.message));
        }
        wrong
    });
    for case in cases.iter().filter(|case| case.stage() == Stage::Deploy) {
        for report in deploy::refused(case)?.map(|refused| refused.0).unwrap_or_default() {
            let labels = report.places.iter().map(|place| &place.label);
            let found = style(&report.message, labels.chain(&report.notes), &report.helps);
            wrong.extend(found.into_iter().map(|why| format!("{}: {why}", case.name)));
        }
    }
    none(wrong)
}

/// What is wrong with the wording of one diagnostic.
fn style<'a>(message: &'a String, texts: impl Iterator<Item = &'a String>, helps: &'a [String]) -> Vec<String> {
    let mut wrong = Vec::new();
    if !message.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '`') {
        wrong.push(format!("begins with neither a small letter nor a name in backticks nor a number: {message}"));
    }
    if message.chars().count() > 110 {
        wrong.push(format!("is longer than a line should be: {message}"));
    }
    for text in [message].into_iter().chain(texts).chain(helps) {
        if text.ends_with('.') || text.contains('\n') || text.trim() != text || text.is_empty() {
            wrong.push(format!("is not one line without a period: {text:?}"));
        }
        if text.matches('`').count() % 2 != 0 {
            wrong.push(format!("has a backtick without its pair: {text}"));
        }
    }
    if helps.is_empty() {
        wrong.push(format!("names no way out: {message}"));
    }
    wrong
}

/// The other two forms say the same: one line each with a place, and JSON whose places lie in the files.
pub fn forms(cases: &[Case]) -> Result<(), String> {
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| is_compilers(case)) {
        let (found, sources) = found(case);
        let (diagnostics, short) = (found.sorted(), found.render(&sources, Format::Short, false));
        if short.lines().count() != diagnostics.len() {
            wrong.push(format!("{}: {} lines for {} diagnostics", case.name, short.lines().count(), diagnostics.len()));
        }
        for (line, diagnostic) in short.lines().zip(&diagnostics) {
            if !is_short(line, diagnostic, &sources) {
                wrong.push(format!("{}: not path:line:column: error[{}]: message: {line}", case.name, diagnostic.id));
            }
        }
        let json = found.render(&sources, Format::Json, false);
        if let Err(why) = is_json(&json, &diagnostics, &sources) {
            wrong.push(format!("{}: {why}: {json}", case.name));
        }
    }
    none(wrong)
}

fn is_short(line: &str, diagnostic: &Diagnostic, sources: &SourceMap) -> bool {
    let Some((place, message)) = line.split_once(&format!(": error[{}]: ", diagnostic.id)) else { return false };
    let mut parts = place.rsplitn(3, ':');
    let mut number = || parts.next().and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
    let (column, row) = (number(), number());
    let path = parts.next().unwrap_or_default();
    let file = sources.files().find(|(_, file)| file.path == path);
    let lines = file.map_or(0, |(_, file)| file.text.split('\n').count());
    message == diagnostic.message && column > 0 && (1..=lines).contains(&row)
}

fn is_json(json: &str, diagnostics: &[&Diagnostic], sources: &SourceMap) -> Result<(), &'static str> {
    let document: serde_json::Value = serde_json::from_str(json).map_err(|_| "no JSON")?;
    let listed = document["diagnostics"].as_array().ok_or("no list of diagnostics")?;
    if listed.len() != diagnostics.len() {
        return Err("another number of diagnostics");
    }
    for (entry, diagnostic) in listed.iter().zip(diagnostics) {
        if entry["id"] != diagnostic.id.as_str() || entry["message"] != diagnostic.message.as_str() {
            return Err("another id or message");
        }
        let labels = entry["labels"].as_array().ok_or("no labels")?;
        for (label, known) in labels.iter().zip(&diagnostic.labels) {
            let file = sources.files().find(|(_, file)| label["path"] == file.path.as_str()).ok_or("an unknown path")?.1;
            let byte = |key: &str| label[key].as_u64().and_then(|b| usize::try_from(b).ok()).ok_or("no byte");
            let text = file.text.get(byte("byte_start")?..byte("byte_end")?).ok_or("bytes outside the file")?;
            if text != sources.text(&known.span) {
                return Err("bytes of another place");
            }
        }
    }
    Ok(())
}

/// Every place of the compiler that makes a diagnostic is reached by a case: a guard that no mistake meets could be wrong, or gone,
/// and nobody would know.
pub fn sites(cases: &[Case]) -> Result<(), String> {
    let mut reached: BTreeSet<(String, u32)> = BTreeSet::new();
    for case in cases.iter().filter(|case| is_compilers(case)) {
        let (found, _) = found(case);
        reached.extend(found.sorted().iter().map(|d| (d.site.0.file().replace('\\', "/"), d.site.0.line())));
    }
    let root = ui().ancestors().nth(2).expect("tests/ui stands in the workspace").to_path_buf();
    let (mut missed, mut all) = (Vec::new(), 0);
    for file in rust_files(&root.join("compiler/src")) {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let name = relative(&file, &root);
        // Tests stand at the end of a file, or in files of their own.
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (line, _) in (1..).zip(code.lines()).filter(|(_, line)| line.contains("Diagnostic::new(")) {
            all += 1;
            if !reached.contains(&(name.clone(), line)) {
                missed.push(format!("{name}:{line}: no case of tests/ui reaches this refusal"));
            }
        }
    }
    if all < 80 {
        missed.push(format!("only {all} places that make a diagnostic were found"));
    }
    none(missed)
}

fn rust_files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let below = |path: std::path::PathBuf| if path.is_dir() { rust_files(&path) } else { vec![path] };
    let is_test = |path: &std::path::Path| {
        path.file_name().is_some_and(|n| n == "tests.rs") || path.components().any(|c| c.as_os_str() == "tests")
    };
    let files = entries(folder).into_iter().flat_map(below);
    files.filter(|path| path.extension().is_some_and(|e| e == "rs") && !is_test(path)).collect()
}

/// Every diagnostic of every case that the compiler checks.
fn every_diagnostic(cases: &[Case], look: impl Fn(&Diagnostic, &SourceMap) -> Vec<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| is_compilers(case)) {
        let (found, sources) = found(case);
        for diagnostic in found.sorted() {
            wrong.extend(look(diagnostic, &sources).into_iter().map(|why| format!("{}: {why}", case.name)));
        }
    }
    wrong
}

/// Whether the compiler finds it, from the sources, or from them and a checkpoint.
fn is_compilers(case: &Case) -> bool {
    matches!(case.stage(), Stage::Check | Stage::Build | Stage::Load)
}

/// Everything that it finds in a case, with the sources.
fn found(case: &Case) -> (Diagnostics, SourceMap) {
    if case.stage() == Stage::Load {
        return diagnose(&case.files());
    }
    let sources = case.files().sources();
    (build(&sources), sources)
}

fn none(wrong: impl IntoIterator<Item = String>) -> Result<(), String> {
    let wrong: Vec<String> = wrong.into_iter().collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

//! Mutants whose verdicts are known: what a run of the harness begins with.

use std::path::Path;

use super::change::{Change, Mutant, Origin, read};
use super::verdict::How;

/// A verdict by its name, and how a mutant is caught.
type Expected = (&'static str, Option<How>);

/// Mutants of a template, with the verdicts that they must get.
///
/// # Errors
/// An entry without a body.
pub fn self_tests(templates: &Path, template: &str) -> Result<Vec<(Mutant, Expected)>, String> {
    let file = format!("{template}.cu.jinja");
    let text = read(templates, template, &file)?;
    let body = text.find("@{ instance }@(").and_then(|at| Some(at + text[at..].find("{\n")? + 2));
    let body = body.ok_or_else(|| format!("{file} has no entry with a body"))?;
    let splice = |at: usize, replace: &str| Change::Splice { file: file.clone(), at, len: 0, replace: replace.to_owned() };
    let mutant = |name: &str, change: Change, expected: Expected| {
        let breaks = "the harness judges as it should".to_owned();
        (Mutant { name: format!("self-test-{name}"), origin: Origin::SelfTest, change, breaks }, expected)
    };
    let absent = Change::Replace { file: file.clone(), find: "no such text".to_owned(), replace: String::new() };
    Ok(vec![
        // Another kernel beside this one: other machine code that does the same.
        mutant("null", splice(text.len(), "extern \"C\" __global__ void null_mutant() {}\n"), ("missed", None)),
        mutant("broken", splice(text.len(), "this is no CUDA;\n"), ("unviable", None)),
        mutant("comment", splice(text.len(), "// nothing\n"), ("equivalent", None)),
        mutant("absent", absent, ("not-applied", None)),
        mutant("nothing", splice(body, "return;\n"), ("caught", Some(How::Assert))),
        mutant("trap", splice(body, "asm volatile(\"trap;\");\n"), ("caught", Some(How::Crash))),
        mutant("endless", splice(body, "for (;;) asm volatile(\"nanosleep.u32 1000;\");\n"), ("caught", Some(How::Timeout))),
    ])
}

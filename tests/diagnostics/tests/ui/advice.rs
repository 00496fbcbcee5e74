//! Advice that is followed must help: patches are applied, fixes that a reader would write are tried.

use tenon_compiler::diagnostic::Diagnostic;
use tenon_compiler::source::SourceMap;

use tenon_diagnostics::case::{Case, Files, check};

/// Applies the patches of each diagnostic by itself. It must be gone then, and where it was the only one, nothing may be left.
pub fn patches(case: &Case) -> Result<(), String> {
    let files = case.files();
    let sources = files.sources();
    let found = check(&sources);
    if found.sorted().iter().all(|d| d.patches.is_empty()) {
        return Err("the expected text shows a patch, and there is none".to_owned());
    }
    for diagnostic in found.sorted().into_iter().filter(|d| !d.patches.is_empty()) {
        let patched = patched(&files, diagnostic, &sources).sources();
        let left = check(&patched);
        let texts = |d: &Diagnostic, sources: &SourceMap| d.place().map(|p| (sources.file(p.file).path.clone(), p.range.start));
        let again = |d: &&Diagnostic| d.id == diagnostic.id && texts(d, &patched) == texts(diagnostic, &sources);
        let stays = left.sorted().into_iter().find(|d| again(d) || d.message == diagnostic.message);
        if stays.is_some() || (found.len() == 1 && left.has_errors()) {
            let rest = left.render(&patched, tenon_compiler::diagnostic::Format::Human, false);
            return Err(format!("after the fix of error[{}]: {}\n{rest}", diagnostic.id, diagnostic.message));
        }
    }
    Ok(())
}

/// Whether any diagnostic of a case comes with patches, as its expected text shows them: finding out otherwise would run the compiler
/// on every case before the first test.
pub fn has_patches(case: &Case) -> bool {
    case.expected().is_ok_and(|text| text.lines().any(|line| line.starts_with("help: ")))
}

/// The `[[fix]]` of a case leaves no error.
pub fn fix(case: &Case) -> Result<(), String> {
    let sources = case.mistake.fix.iter().fold(case.files(), Files::edited).sources();
    let left = check(&sources);
    match left.has_errors() {
        false => Ok(()),
        true => Err(left.render(&sources, tenon_compiler::diagnostic::Format::Human, false)),
    }
}

pub fn patched(files: &Files, diagnostic: &Diagnostic, sources: &SourceMap) -> Files {
    let mut patches: Vec<_> = diagnostic.patches.iter().collect();
    // From the back, so that places in front stay where they are.
    patches.sort_by(|a, b| b.span.cmp(&a.span));
    let mut files = files.clone();
    let mut sources = sources.clone();
    for patch in patches {
        let file = sources.file(patch.span.file);
        let mut text = file.text.clone();
        text.replace_range(patch.span.range.clone(), &patch.replacement);
        files = files.with(&file.path, &text);
        sources = files.sources();
    }
    files
}

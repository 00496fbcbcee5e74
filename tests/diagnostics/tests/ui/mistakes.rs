//! Mistakes that people make. Each is mended by what its own message says and by nothing else, and what comes out then is the model that
//! it was before the mistake: every generated file, byte for byte.

use tenon_compiler::diagnostic::{Diagnostic, Format};
use tenon_compiler::models;
use tenon_diagnostics::case::{Case, Edit, Files, check};

use crate::advice;

/// How many mistakes at least are followed to their end.
const LEAST: usize = 20;

/// There are enough of them, and no two are said to be the same.
pub fn enough(cases: &[Case]) -> Result<(), String> {
    let mut common: Vec<&str> = cases.iter().filter_map(|case| case.mistake.common.as_deref()).collect();
    let all = common.len();
    common.sort_unstable();
    common.dedup();
    match (all >= LEAST, all == common.len()) {
        (true, true) => Ok(()),
        (false, _) => Err(format!("{all} common mistakes, and at least {LEAST} are wanted")),
        (_, false) => Err("two cases have the same `common`".to_owned()),
    }
}

/// A reader who knows nothing but the message: patches are taken as they are; where there is none, the case's `[[fix]]` is what they
/// write, all of whose new words stand in the message.
pub fn mended(case: &Case) -> Result<(), String> {
    let mut files = case.files();
    let mut fixes = case.mistake.fix.as_slice();
    // Each round obeys one message; a mistake may hide another.
    for _ in 0..8 {
        let sources = files.sources();
        let found = check(&sources);
        if !found.has_errors() {
            return is_the_base(case, &files);
        }
        let with_patch: Option<&Diagnostic> = found.sorted().into_iter().find(|d| !d.patches.is_empty());
        match (with_patch, fixes) {
            (Some(diagnostic), _) => files = advice::patched(&files, diagnostic, &sources),
            (None, []) => return Err(format!("no way out is left\n{}", found.render(&sources, Format::Human, false))),
            (None, edits) => {
                let message = found.render(&sources, Format::Human, false);
                for edit in edits {
                    stands_in(edit, &message)?;
                    files = files.edited(edit);
                }
                fixes = &[];
            }
        }
    }
    Err("the advice leads in a circle".to_owned())
}

/// Words that a fix adds are words of the message: names, numbers and texts, without what TOML puts around them.
fn stands_in(edit: &Edit, message: &str) -> Result<(), String> {
    let words = |text: &str| -> Vec<String> {
        let apart = |c: char| c.is_whitespace() || "[]{}()\"'`,=;".contains(c);
        text.split(apart).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let known = [words(message), words(&edit.find)].concat();
    match words(&edit.replace).into_iter().find(|word| !known.contains(word)) {
        None => Ok(()),
        Some(word) => Err(format!("the fix writes `{word}`, which the message does not say\n{message}")),
    }
}

/// The same model again, not only one that compiles.
fn is_the_base(case: &Case, files: &Files) -> Result<(), String> {
    let emitted = |of: &Files| -> Result<Vec<(String, String)>, String> {
        let sources = of.sources();
        let models = models(&sources).map_err(|found| found.render(&sources, Format::Human, false))?;
        Ok(tenon_compiler::files(&models).into_iter().map(|file| (file.path, file.text)).collect())
    };
    let (mended, base) = (emitted(files)?, emitted(&Files::base(&case.mistake.base))?);
    match mended.iter().zip(&base).find(|(a, b)| a != b) {
        None if mended.len() == base.len() => Ok(()),
        None => Err("another number of generated files than before the mistake".to_owned()),
        Some((mended, _)) => Err(format!("{} is not what it was before the mistake", mended.0)),
    }
}

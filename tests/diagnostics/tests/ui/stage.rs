//! The text that is printed for a case.

use tenon_compiler::diagnostic::Format;
use tenon_diagnostics::case::{Case, diagnose};
use tenon_diagnostics::stage::Stage;

use crate::frozen;

/// The case's own id is among those reported, and the text is that of `expected.txt`.
pub fn run(case: &Case) -> Result<(), String> {
    let text = match case.stage() {
        Stage::Check | Stage::Load => {
            let (found, sources) = diagnose(&case.files());
            let text = found.render(&sources, Format::Human, false);
            if !found.sorted().iter().any(|d| d.id == case.id) {
                return Err(format!("{} is not reported\n{text}", case.id));
            }
            text
        }
        Stage::Frozen => frozen::text(case)?,
    };
    case.compare(&text)
}

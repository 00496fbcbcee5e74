//! The text that is printed for a case.

use tenon_compiler::diagnostic::Format;
use tenon_diagnostics::case::{Case, build, diagnose};
use tenon_diagnostics::deploy;
use tenon_diagnostics::stage::Stage;

use crate::{binary, frozen};

/// The case's own id is among those reported, and the text is that of `expected.txt`.
pub fn run(case: &Case) -> Result<(), String> {
    let text = match case.stage() {
        stage @ (Stage::Check | Stage::Build | Stage::Load) => {
            let files = case.files();
            let (mut found, sources) = diagnose(&files);
            if stage == Stage::Build {
                found = build(&sources);
            }
            let text = found.render(&sources, Format::Human, false);
            if !found.sorted().iter().any(|d| d.id == case.id) {
                return Err(format!("{} is not reported\n{text}", case.id));
            }
            if stage == Stage::Build {
                binary::refuses_build(case, &text)?;
            }
            text
        }
        Stage::Frozen => frozen::text(case)?,
        Stage::Deploy => {
            let refused = deploy::refused(case)?.ok_or("the command is not refused")?;
            if let Some(other) = refused.0.iter().find(|report| report.id != case.id.as_str()) {
                return Err(format!("{} is reported too", other.id));
            }
            refused.to_string()
        }
    };
    case.compare(&text)
}

//! UI tests of the diagnostics: the exact text of every case, and what holds for all of them. `TENON_BLESS=1` writes the texts.

mod advice;
mod binary;
mod faults;
mod frozen;
mod meta;
mod mistakes;
mod stage;

use std::process::ExitCode;
use std::sync::LazyLock;

use libtest_mimic::{Arguments, Trial};

use tenon_diagnostics::case::Case;
use tenon_diagnostics::stage::Stage;

static CASES: LazyLock<Vec<Case>> = LazyLock::new(Case::all);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = vec![
        trial("meta/every_id_has_cases_and_every_folder_an_id", || meta::folders(&CASES)),
        trial("meta/bases_are_good", || meta::bases(&CASES)),
        trial("meta/every_page_has_four_sections", meta::pages),
        trial("meta/wording", || meta::wording(&CASES)),
        trial("meta/every_refusal_has_a_case", || meta::sites(&CASES)),
        trial("meta/short_and_json", || meta::forms(&CASES)),
        trial("binary/explain_prints_pages", binary::explain),
        trial("meta/faults", || faults::page(&CASES)),
        trial("meta/every_id_has_a_mutant", faults::ids),
        trial("meta/common_mistakes", || mistakes::enough(&CASES)),
    ];
    for case in CASES.iter() {
        match case.stage() {
            Stage::Deploy => {
                trials.push(trial(&case.name, || stage::run(case)));
                trials.push(trial(&format!("{}/follow", case.name), || tenon_diagnostics::deploy::follow(case)));
                if case.mistake.command.as_ref().is_some_and(|command| command.starts_with("tenon plan ")) {
                    trials.push(trial(&format!("binary/{}", case.name), || binary::plans(case)));
                }
                continue;
            }
            Stage::Frozen => {
                trials.push(trial(&case.name, || stage::run(case)));
                continue;
            }
            Stage::Check | Stage::Build | Stage::Load => trials.push(trial(&case.name, || stage::run(case))),
        }
        if advice::has_patches(case) {
            trials.push(trial(&format!("{}/patches", case.name), || advice::patches(case)));
        }
        if !case.mistake.fix.is_empty() {
            trials.push(trial(&format!("{}/fix", case.name), || advice::fix(case)));
        }
        if case.mistake.common.is_some() {
            trials.push(trial(&format!("{}/mended", case.name), || mistakes::mended(case)));
        }
    }
    let several = CASES.iter().find(|case| case.name.ends_with("in_two_files")).expect("a case with errors in two files");
    trials.push(trial("binary/check_prints_all_forms", || binary::checks(several)));
    let of_checkpoint =
        CASES.iter().find(|case| case.name == "checkpoint-mismatch/config_value").expect("a case of a checkpoint");
    trials.push(trial("binary/check_compares_a_checkpoint", || binary::compares(of_checkpoint)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(name: &str, run: impl FnOnce() -> Result<(), String> + Send + 'static) -> Trial {
    Trial::test(name, move || run().map_err(Into::into))
}

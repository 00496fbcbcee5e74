//! The power of the goldens, shown by faults that they must catch (NUMERICS, Mutants): `cargo run -p tenon-mutants`.
//!
//! `list/*.toml` holds faults of the CPU kernels and of the compiler, as text to be found and replaced. All of them go into one copy
//! of the workspace, each behind a switch, so that it is built once; then each runs in a process of its own, on the goldens that it
//! names. Mutants of the lowering change what is emitted: the copy's build script compiles each one's goldens with its switch on, as
//! models beside the others. Mutants of the checks remove a guard, and the cases of `tests/ui/` must miss it; mutants of types remove a
//! guard that rustc is, and a wiring of `tests/compile_fail/` compiles. Guards of the runtime are missed by its unit tests. Nothing is edited in place.
//!
//! Names of mutants as arguments run those alone. `--places` builds nothing, and says whether every fault still has its place;
//! `--types` says which of them compile.

mod compile;
mod inject;
mod list;
mod report;
mod run;
mod types;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use serde_json::json;

use crate::compile::Built;
use crate::list::{Expect, Mutant, Suite};
use crate::report::{Row, Verdict};
use crate::run::{Ended, Job, Line};
use crate::workspace::Copy;

/// A mutant runs at most this many seconds longer than ten times what the control took.
const GRACE: f64 = 30.0;
/// The control may take this many seconds.
const CONTROL_LIMIT: f64 = 1200.0;
/// Builds that may fail for mutants that do not compile: an error of types hides those of lifetimes, and so on.
const BUILDS: usize = 6;

fn main() -> ExitCode {
    match all() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn root() -> Result<PathBuf, String> {
    here().ancestors().nth(2).map(Path::to_path_buf).ok_or_else(|| "tests/mutants/ stands in the workspace".to_owned())
}

/// Whether everything came out as expected.
fn all() -> Result<bool, String> {
    let start = Instant::now();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (options, names): (Vec<_>, Vec<_>) = arguments.iter().partition(|a| a.starts_with("--"));
    let mutants = list::read(&here().join("list"))?;
    if options.iter().any(|o| *o == "--places") {
        return check(&mutants).map(|()| true);
    }
    if let Some(name) = names.iter().find(|name| !mutants.iter().any(|m| m.name == ***name)) {
        return Err(format!("no mutant is named {name}"));
    }
    // A number belongs to a mutant whichever are run, so that the build is the same.
    let numbered: Vec<(u32, &Mutant)> = (1..).zip(&mutants).collect();
    let run = |mutant: &Mutant| names.is_empty() || names.iter().any(|name| **name == mutant.name);

    // The executable is in a folder of a profile.
    let own = env::current_exe().map_err(|e| e.to_string())?;
    let target = own.ancestors().nth(2).ok_or("an executable stands in target/")?;
    let folder = target.join("mutants");
    let mut found: BTreeMap<u32, Verdict> = BTreeMap::new();
    let only_check = options.iter().any(|o| *o == "--types");
    // A suite is built where a mutant that runs needs it.
    let suites: BTreeSet<Suite> = mutants.iter().filter(|m| run(m) && m.suite != Suite::Types).map(|m| m.suite).collect();
    // Types take no switch: the copy of the others does without their mutants.
    let (of_types, numbered_here): (Vec<_>, Vec<_>) = numbered.iter().copied().partition(|(_, m)| m.suite == Suite::Types);
    let mut tests: BTreeMap<Suite, PathBuf> = BTreeMap::new();
    for suite in suites {
        tests.insert(suite, built(suite, &folder, target, &numbered_here, &mut found, only_check)?);
    }
    if only_check {
        let unexpected = |(n, m): &&(u32, &Mutant)| found.get(n).is_some_and(|v| !v.is(m.expect));
        let wrong: Vec<&(u32, &Mutant)> = numbered.iter().filter(unexpected).collect();
        wrong.iter().for_each(|(n, m)| println!("{}: {}: {}", m.name, found[n].word(), found[n].details()));
        return Ok(wrong.is_empty());
    }
    let build_seconds = start.elapsed().as_secs_f64();
    let of_types: Vec<(u32, &Mutant)> = of_types.into_iter().filter(|(_, m)| run(m)).collect();
    let typed = types::run(&root()?, &folder.join("types"), target, &of_types)?;

    let results = folder.join("results");
    fs::create_dir_all(&results).map_err(|e| format!("{}: {e}", results.display()))?;
    let alive: Vec<&(u32, &Mutant)> = numbered_here.iter().filter(|(n, m)| run(m) && !found.contains_key(n)).collect();
    let mut control: BTreeMap<String, Line> = BTreeMap::new();
    for (suite, test) in &tests {
        control.extend(green(test, suite.is_libtest(), &results, alive.iter().filter(|(_, m)| m.suite == *suite)));
    }
    let control_seconds = start.elapsed().as_secs_f64() - build_seconds;

    let lowered = if tests.contains_key(&Suite::Goldens) { lowered(&folder)? } else { BTreeMap::new() };
    let mut jobs: Vec<Job> = Vec::new();
    for (number, mutant) in &alive {
        for (line, case) in mutant.lines().into_iter().zip(&mutant.cases) {
            let compiled = !mutant.is_lowered() || lowered.get(&(*number, case.clone())).is_some_and(|s| s == "emitted");
            if compiled && report::control(&line, &control).is_none() {
                let limit = GRACE + 10.0 * control[&line].seconds;
                let libtest = mutant.suite.is_libtest();
                jobs.push(Job { test: tests[&mutant.suite].clone(), number: *number, lines: vec![line], limit, libtest });
            }
        }
    }
    let ended = run::all(&results, &jobs);
    let of_job = |number: u32, line: &str| {
        let at = jobs.iter().position(|job| job.number == number && job.lines[0] == line)?;
        Some(&ended[at].0)
    };
    let mut rows = Vec::new();
    for (number, mutant) in numbered.iter().filter(|(_, m)| run(m)) {
        for (line, case) in mutant.lines().into_iter().zip(&mutant.cases) {
            if let Some(verdict) = typed.get(&(*number, case.clone())) {
                rows.push(Row { mutant, case, verdict: verdict.clone() });
                continue;
            }
            let status = lowered.get(&(*number, case.clone())).map(String::as_str);
            let verdict = match (found.get(number).cloned(), report::control(&line, &control), of_job(*number, &line)) {
                (Some(verdict), ..) | (None, Some(verdict), _) => verdict,
                (None, None, Some(ended)) => report::verdict(&line, ended),
                (None, None, None) => match status {
                    Some("same") => Verdict::Missed,
                    Some(other) => Verdict::Unviable(format!("the compiler {other}")),
                    None => Verdict::NotApplied("it was not compiled".to_owned()),
                },
            };
            rows.push(Row { mutant, case, verdict });
        }
    }
    let good = report::print(&rows);
    let seconds = start.elapsed().as_secs_f64();
    let times =
        json!({ "build": build_seconds, "control": control_seconds, "mutants": seconds - build_seconds - control_seconds });
    let file = folder.join("summary.json");
    fs::write(&file, format!("{:#}\n", report::summary(&rows, seconds, &times)))
        .map_err(|e| format!("{}: {e}", file.display()))?;
    println!(
        "{seconds:.0} s, of which {build_seconds:.0} s to build and {control_seconds:.0} s for the control; {}",
        file.display()
    );
    Ok(good)
}

/// Builds the copy with every mutant that has a place and compiles; what came of the others goes to `found`.
fn built(
    suite: Suite,
    folder: &Path,
    target: &Path,
    numbered: &[(u32, &Mutant)],
    found: &mut BTreeMap<u32, Verdict>,
    only_check: bool,
) -> Result<PathBuf, String> {
    let root = root()?;
    for _ in 0..BUILDS {
        let left: Vec<(u32, &Mutant)> = numbered.iter().filter(|(n, _)| !found.contains_key(n)).copied().collect();
        let (copy, misplaced) = Copy::write(&root, &folder.join("workspace"), &left)?;
        found.extend(misplaced.into_iter().map(|(n, why)| (n, Verdict::NotApplied(why))));
        match compile::build(&copy, suite, target, only_check)? {
            Built::Test(test) => return Ok(test),
            Built::Unviable(which) => {
                for (number, why) in &which {
                    let name = numbered.iter().find(|(n, _)| n == number).map_or("?", |(_, m)| &m.name);
                    println!("{name} does not compile: {why}");
                }
                found.extend(which.into_iter().map(|(n, why)| (n, Verdict::Unviable(why))));
            }
        }
    }
    Err(format!("after {BUILDS} builds there are still mutants that do not compile"))
}

/// The control: every line of trials of a suite once, without a mutant.
fn green<'m>(
    test: &Path,
    libtest: bool,
    results: &Path,
    alive: impl Iterator<Item = &'m &'m (u32, &'m Mutant)>,
) -> BTreeMap<String, Line> {
    let mut lines: Vec<String> = alive.flat_map(|(_, m)| m.lines()).collect();
    lines.sort();
    lines.dedup();
    let job =
        |line: &String| Job { test: test.to_path_buf(), number: 0, lines: vec![line.clone()], limit: CONTROL_LIMIT, libtest };
    let jobs: Vec<Job> = lines.iter().map(job).collect();
    let mut green = BTreeMap::new();
    for (job, (ended, _)) in jobs.iter().zip(run::all(results, &jobs)) {
        match ended {
            Ended::Results(results) => green.extend(results.lines.into_iter().map(|l| (l.line.clone(), l))),
            Ended::Crashed(how) => println!("control of {}: {how}", job.lines[0]),
            Ended::TimedOut => println!("control of {}: timeout", job.lines[0]),
        }
    }
    green
}

/// What the build script says of the mutants of the compiler, by number and case.
fn lowered(folder: &Path) -> Result<BTreeMap<(u32, String), String>, String> {
    let file = folder.join("workspace/tests/lowered.txt");
    let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let parse = |line: &str| {
        let mut words = line.split(' ');
        Some(((words.next()?.parse().ok()?, words.next()?.to_owned()), words.next()?.to_owned()))
    };
    Ok(text.lines().filter_map(parse).collect())
}

/// Whether every fault that should have a place has one.
fn check(mutants: &[Mutant]) -> Result<(), String> {
    let root = root()?;
    let mut wrong = Vec::new();
    for mutant in mutants.iter().filter(|m| m.expect != Expect::NotApplied) {
        for edit in &mutant.edit {
            let text = fs::read_to_string(root.join(&edit.file)).map_err(|e| format!("{}: {e}", edit.file))?;
            if let Err(why) = inject::place(&text, edit) {
                wrong.push(format!("{}: {}: {why}", mutant.list, mutant.name));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_fault_still_has_its_place() {
        let mutants = super::list::read(&super::here().join("list")).unwrap();
        assert!(mutants.iter().filter(|m| m.expect == super::Expect::Caught).count() >= 40);
        super::check(&mutants).unwrap();
    }
}

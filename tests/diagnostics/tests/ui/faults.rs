//! The page of the faults from the field is complete, and names nothing that is not there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tenon_compiler::diagnostic::Id;
use tenon_diagnostics::case::{Case, entries, ui};

/// How many rows the list of faults has.
const ROWS: usize = 36;

struct Row {
    number: usize,
    id: String,
    shown_by: String,
    mutants: String,
}

pub fn page(cases: &[Case]) -> Result<(), String> {
    let root = ui().ancestors().nth(2).expect("tests/ui stands in the workspace").to_path_buf();
    let file = root.join("tests/FAULTS.md");
    let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let rows: Vec<Row> = text.lines().filter_map(row).collect();
    let numbers: Vec<usize> = rows.iter().map(|row| row.number).collect();
    if numbers != (1..=ROWS).collect::<Vec<_>>() {
        return Err(format!("{}: the rows are {numbers:?}, not 1 to {ROWS}", file.display()));
    }
    let known = mutants(&root)?;
    let mut wrong = Vec::new();
    for row in &rows {
        let of_row = |why: String| format!("row {}: {why}", row.number);
        for id in named(&row.id) {
            if id.parse::<Id>().is_err() {
                wrong.push(of_row(format!("{id} is no id")));
            }
        }
        let shown = named(&row.shown_by);
        wrong.extend(shown.iter().filter_map(|name| exists(name, cases, &root).err()).map(of_row));
        let mutants = named(&row.mutants);
        let is_mutant = |name: &&String| known.contains_key(*name) || of_kernel(name).is_some_and(|of| is_mutant_of(of, &root));
        wrong.extend(mutants.iter().filter(|name| !is_mutant(name)).map(|name| of_row(format!("{name} is no mutant"))));
        // What a row shows needs the guard: a mutant of the row says so.
        let caught: BTreeSet<&String> = mutants.iter().filter_map(|name| known.get(name)).flatten().collect();
        for name in shown.iter().filter(|name| name.starts_with("ui:") || name.starts_with("wiring:")) {
            let case = name.split_once(':').map_or("", |(_, case)| case);
            if !caught.iter().any(|known| *known == case) {
                wrong.push(of_row(format!("no mutant of the row is caught by {name}")));
            }
        }
        // So does a mutant of the kernel whose case shows it.
        let kernels: BTreeSet<&str> = mutants.iter().filter_map(|name| of_kernel(name)).map(|(template, _)| template).collect();
        for (template, case) in shown.iter().filter_map(|name| of_device(name)) {
            if template != GOLDEN && !kernels.contains(template) {
                wrong.push(of_row(format!("no mutant of the row is one of the kernel of device:{template}/{case}")));
            }
        }
        if shown.is_empty() {
            wrong.push(of_row("nothing shows it".to_owned()));
        }
        if mutants.is_empty() {
            wrong.push(of_row("no mutant shows that its tests need the guard".to_owned()));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Every id has a guard that is known to be needed: a mutant that a case of the id catches.
pub fn ids() -> Result<(), String> {
    let root = ui().ancestors().nth(2).expect("tests/ui stands in the workspace").to_path_buf();
    let known = mutants(&root)?;
    let of_id = |id: &Id, case: &str| case == id.as_str() || case.starts_with(&format!("{id}/"));
    let lone = Id::ALL.iter().filter(|id| !known.values().flatten().any(|case| of_id(id, case)));
    let lone: Vec<String> = lone.map(|id| format!("{id}: no mutant of tests/mutants/list is caught by a case of it")).collect();
    if lone.is_empty() { Ok(()) } else { Err(lone.join("\n")) }
}

/// `| number | fault | id | guard | shown by | mutants |`
fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let [number, _, id, _, shown_by, mutants] = cells[..] else { return None };
    let text = str::to_owned;
    Some(Row { number: number.parse().ok()?, id: text(id), shown_by: text(shown_by), mutants: text(mutants) })
}

/// What stands in backticks.
fn named(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn exists(name: &str, cases: &[Case], root: &Path) -> Result<(), String> {
    let (found, what) = if let Some(case) = name.strip_prefix("ui:") {
        (cases.iter().any(|known| known.name == case), "no case of tests/ui")
    } else if let Some(wiring) = name.strip_prefix("wiring:") {
        (root.join(format!("tests/compile_fail/cases/{wiring}.rs")).is_file(), "no wiring of tests/compile_fail")
    } else if let Some(golden) = name.strip_prefix("golden:") {
        (root.join("tests/golden").join(golden).is_dir(), "no golden")
    } else if let Some((template, case)) = of_device(name) {
        let (file, what) = match template {
            GOLDEN => ("tests/device/src/goldens.rs".to_owned(), "no golden of a device"),
            template => (format!("kernel-templates/{template}/reference.rs"), "no case of a kernel"),
        };
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        (text.contains(&format!("\"{case}\"")), what)
    } else if let Some((file, test)) = name.split_once('#') {
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        (text.contains(&format!("fn {test}(")), "no test")
    } else {
        (false, "nothing that this page names")
    };
    if found { Ok(()) } else { Err(format!("{name} is {what}")) }
}

/// What stands for a template in `device:golden/NAME`.
const GOLDEN: &str = "golden";

/// Template and case of `device:TEMPLATE/CASE`.
fn of_device(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("device:")?.split_once('/')
}

/// Template and mutant of `kernel:TEMPLATE/MUTANT`.
fn of_kernel(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("kernel:")?.split_once('/')
}

fn is_mutant_of((template, mutant): (&str, &str), root: &Path) -> bool {
    let text = fs::read_to_string(root.join(format!("kernel-templates/{template}/mutants.toml"))).unwrap_or_default();
    let list: toml::Table = toml::from_str(&text).unwrap_or_default();
    let mutants = list.get("mutant").and_then(toml::Value::as_array);
    mutants.into_iter().flatten().any(|known| known.get("name").and_then(toml::Value::as_str) == Some(mutant))
}

/// The cases of all mutants, by name.
fn mutants(root: &Path) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut names = BTreeMap::new();
    let lists = entries(&root.join("tests/mutants/list"));
    for path in lists.iter().filter(|path: &&PathBuf| path.extension().is_some_and(|e| e == "toml")) {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let list: toml::Table = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let of = |mutant: &toml::Value| {
            let cases = mutant.get("cases")?.as_array()?.iter();
            let cases = cases.filter_map(|case| case.as_str().map(str::to_owned)).collect();
            Some((mutant.get("name")?.as_str()?.to_owned(), cases))
        };
        names.extend(list.get("mutant").and_then(toml::Value::as_array).into_iter().flatten().filter_map(of));
    }
    if names.is_empty() { Err("no mutant is listed".to_owned()) } else { Ok(names) }
}

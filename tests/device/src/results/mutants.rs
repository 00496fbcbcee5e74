//! Mutants: which faults were put into which kernels, which gates killed them, and what lives.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::page::table;
use super::{each, lines, text};

/// How a column of origins is headed. Others follow under their own names.
const ORIGINS: [(&str, &str); 5] = [
    ("written", "written"),
    ("parameter", "parameter step"),
    ("barrier", "barrier"),
    ("bound", "bound"),
    ("accumulator", "accumulator"),
];

/// The gates in the order in which they are asked. Others follow.
const GATES: [&str; 10] =
    ["build", "manifest", "crash", "timeout", "error-word", "untouched", "g1", "g2", "sanitizer", "goldens"];

/// Caught ones of those that count.
type Count = (usize, usize);

/// The section.
pub fn section(result: &Value) -> String {
    let mutants = each(result, "mutants");
    let (caught, viable) = counted(mutants);
    let mut page = format!(
        "{caught} of {viable} viable mutants were caught. What has the kernel's machine code, or does not build, is listed below and not counted.\n\n"
    );
    page += &verdicts(mutants);
    page += "\nCaught of viable ones, by template and by where the fault comes from:\n\n";
    page += &by_origin(mutants);
    page +=
        "\nThe kill matrix: how many mutants of a template each gate kills. A mutant counts for every gate that notices it.\n\n";
    page += &by_gate(mutants, &result["gates"]);
    let field: Vec<Vec<String>> = mutants.iter().filter(|mutant| mutant["field"].is_string()).map(of_the_field).collect();
    if !field.is_empty() {
        page += "\nFaults that are known from the field:\n\n";
        page += &table(&["fault", "mutant", "verdict", "killed by"], &field);
    }
    let named = |mutant: &Value, what: &str| {
        format!("{} / {} ({}): {what}", text(mutant, "template"), text(mutant, "mutant"), text(mutant, "origin"))
    };
    let of = |verdict: &str, key: &str| -> Vec<String> {
        mutants
            .iter()
            .filter(|mutant| text(mutant, "verdict") == verdict)
            .map(|mutant| named(mutant, text(mutant, key)))
            .collect()
    };
    page += &lines("Missed:", &of("missed", "breaks"));
    page += &lines("Caught, and not by the gate that was to catch them:", &of("caught-elsewhere", "text"));
    page += &lines("Alive, for a reason that the template states:", &of("survives", "text"));
    let others = mutants.iter().filter(|mutant| {
        mutant["passed"] != true && !["missed", "caught-elsewhere", "survives"].contains(&text(mutant, "verdict"))
    });
    let others = others.map(|mutant| named(mutant, &format!("{} {}", text(mutant, "verdict"), text(mutant, "text"))));
    page += &lines("Neither caught nor missed:", &others.collect::<Vec<_>>());
    let mut equal: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for mutant in mutants.iter().filter(|mutant| text(mutant, "verdict") == "equivalent") {
        equal.entry(text(mutant, "template")).or_default().push(text(mutant, "mutant"));
    }
    let equal: Vec<String> = equal.iter().map(|(template, names)| format!("{template}: {}", names.join(", "))).collect();
    page += &lines("Equivalent, since the machine code is the same:", &equal);
    let faults: Vec<String> = each(result, "faults").iter().filter_map(|fault| fault.as_str().map(str::to_owned)).collect();
    page + &lines("What is wrong with the run:", &faults)
}

/// The same machine code, or none, cannot be caught.
fn is_viable(mutant: &Value) -> bool {
    matches!(text(mutant, "verdict"), "caught" | "caught-elsewhere" | "missed" | "survives")
}

fn is_caught(mutant: &Value) -> bool {
    matches!(text(mutant, "verdict"), "caught" | "caught-elsewhere")
}

fn counted<'a>(mutants: impl IntoIterator<Item = &'a Value>) -> Count {
    let viable = mutants.into_iter().filter(|mutant| is_viable(mutant));
    viable.fold((0, 0), |(caught, all), mutant| (caught + usize::from(is_caught(mutant)), all + 1))
}

fn shown((caught, all): Count) -> String {
    if all == 0 { String::new() } else { format!("{caught}/{all}") }
}

fn templates(mutants: &[Value]) -> BTreeSet<&str> {
    mutants.iter().map(|mutant| text(mutant, "template")).collect()
}

/// The names that are known, and then those that only the results have.
fn known_first<'a>(known: impl Iterator<Item = &'a str>, found: BTreeSet<&'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = known.collect();
    all.extend(found.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
    all
}

fn verdicts(mutants: &[Value]) -> String {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for mutant in mutants {
        let of = counts.entry(text(mutant, "verdict")).or_default();
        *(if text(mutant, "origin") == "written" { &mut of.0 } else { &mut of.1 }) += 1;
    }
    let rows = counts.iter().map(|(name, (written, made))| vec![(*name).to_owned(), written.to_string(), made.to_string()]);
    table(&["verdict", "written", "automatic"], &rows.collect::<Vec<_>>())
}

fn by_origin(mutants: &[Value]) -> String {
    let found = mutants.iter().map(|mutant| text(mutant, "origin")).collect();
    let origins = known_first(ORIGINS.iter().map(|(origin, _)| *origin), found);
    let row = |name: &str, of: &dyn Fn(&Value) -> bool| -> Vec<String> {
        let count = |origin: &str| counted(mutants.iter().filter(|mutant| of(mutant) && text(mutant, "origin") == origin));
        let cells = origins.iter().map(|origin| shown(count(origin)));
        let all = shown(counted(mutants.iter().filter(|mutant| of(mutant))));
        [name.to_owned()].into_iter().chain(cells).chain([all]).collect()
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for template in templates(mutants) {
        rows.push(row(template, &|mutant| text(mutant, "template") == template));
    }
    rows.push(row("**all**", &|_| true));
    let titles = origins.iter().map(|origin| ORIGINS.iter().find(|(o, _)| o == origin).map_or(*origin, |(_, title)| *title));
    table(&["template"].into_iter().chain(titles).chain(["all"]).collect::<Vec<_>>(), &rows)
}

fn by_gate(mutants: &[Value], of_run: &Value) -> String {
    let killers = |mutant: &'_ Value| -> Vec<String> {
        each(mutant, "gates").iter().filter_map(|gate| gate.as_str().map(str::to_owned)).collect()
    };
    let found: BTreeSet<&str> = mutants.iter().flat_map(|mutant| each(mutant, "gates")).filter_map(Value::as_str).collect();
    let gates = known_first(GATES.into_iter(), found);
    let row = |name: &str, count: &dyn Fn(&str) -> usize| -> Vec<String> {
        let cells = gates.iter().map(|gate| count(gate)).map(|n| if n == 0 { String::new() } else { n.to_string() });
        [name.to_owned()].into_iter().chain(cells).collect()
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for template in templates(mutants) {
        let of: Vec<Vec<String>> = mutants.iter().filter(|mutant| text(mutant, "template") == template).map(killers).collect();
        rows.push(row(template, &|gate| of.iter().filter(|gates| gates.iter().any(|g| g == gate)).count()));
    }
    let all: Vec<Vec<String>> = mutants.iter().map(killers).collect();
    rows.push(row("**all**", &|gate| all.iter().filter(|gates| gates.iter().any(|g| g == gate)).count()));
    // The run's own account, where it has one: it knows of gates that killed nothing.
    let alone = |gate: &str| {
        let own = all.iter().filter(|gates| gates.len() == 1 && gates[0] == gate).count();
        of_run[gate]["alone"].as_u64().map_or(own, |alone| alone as usize)
    };
    rows.push(row("**killed by nothing else**", &alone));
    table(&["template"].into_iter().chain(gates.iter().copied()).collect::<Vec<_>>(), &rows)
}

fn of_the_field(mutant: &Value) -> Vec<String> {
    let gates: Vec<&str> = each(mutant, "gates").iter().filter_map(Value::as_str).collect();
    let name = format!("{} / {}", text(mutant, "template"), text(mutant, "mutant"));
    vec![text(mutant, "field").to_owned(), name, text(mutant, "verdict").to_owned(), gates.join(", ")]
}

//! Sanitizers: which kernels are clean under which tool, and which planted faults were seen.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::page::table;
use super::{each, lines, text};

/// The section.
pub fn section(result: &Value) -> String {
    let number = |key: &str| result[key].as_u64().map_or_else(|| "-".to_owned(), |n| n.to_string());
    let mut page = format!(
        "{}. {} of {} instances (at most {} of a template), {} runs of cases; {} cases are left out (at most {} of an instance). A cell counts the \
         instances that are clean of those that ran.\n\n",
        result["sanitizer"].as_str().unwrap_or("compute-sanitizer"),
        number("instances"),
        number("of_instances"),
        number("most_instances"),
        number("runs"),
        number("cases_left_out"),
        number("most_cases"),
    );
    let mut cells: BTreeMap<[&str; 3], (usize, usize)> = BTreeMap::new();
    let (mut templates, mut columns, mut faults) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for verdict in each(result, "verdicts") {
        let [template, instance, tool, build] = ["template", "instance", "tool", "build"].map(|key| text(verdict, key));
        templates.insert(template);
        // The release build stands first.
        columns.insert((build != "release", build, tool));
        let cell = cells.entry([template, build, tool]).or_default();
        let is_clean = verdict["clean"] == true;
        *cell = (cell.0 + usize::from(is_clean), cell.1 + 1);
        if !is_clean {
            let reports = each(verdict, "reports").iter().map(|report| text(report, "what"));
            let wrong = each(verdict, "faults").iter().filter_map(Value::as_str);
            let said: Vec<&str> = reports.chain(wrong).chain(verdict["untold"].as_str()).take(2).collect();
            let said = if said.is_empty() { "nothing ran".to_owned() } else { said.join("; ") };
            faults.push(format!("{instance} under {tool}, {build}: {said}"));
        }
    }
    let titles: Vec<String> = columns.iter().map(|(_, build, tool)| format!("{tool}, {build}")).collect();
    let head: Vec<&str> = ["template"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let cell = |template: &str, build: &str, tool: &str| {
        let cell = cells.get(&[template, build, tool]);
        cell.map_or_else(|| "not run".to_owned(), |(clean, all)| format!("{clean}/{all}"))
    };
    let row = |template: &&str| {
        let cells = columns.iter().map(|(_, build, tool)| cell(template, build, tool));
        [(*template).to_owned()].into_iter().chain(cells).collect()
    };
    page += &table(&head, &templates.iter().map(row).collect::<Vec<Vec<String>>>());
    page += &lines("What is not clean:", &faults);
    let planted = each(result, "planted").iter().map(|fault| {
        let seen = fault["seen"].as_str().map_or_else(|| format!("**not seen**: {}", text(fault, "instead")), str::to_owned);
        vec![text(fault, "name").to_owned(), text(fault, "watcher").to_owned(), text(fault, "instance").to_owned(), seen]
    });
    page += "\nFaults that were planted, to show that a run would see them:\n\n";
    page + &table(&["fault", "who must see it", "instance", "what was said"], &planted.collect::<Vec<_>>())
}

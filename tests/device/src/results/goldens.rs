//! Goldens: errors of whole small models against those of transformers in bf16.

use std::collections::BTreeMap;

use serde_json::Value;

use super::page::{most, share, table};
use super::{each, lines, text};

#[derive(Default)]
struct Case {
    tests: usize,
    passed: usize,
    median: Option<f64>,
    largest: f64,
    launches: u64,
}

/// The section.
pub fn section(result: &Value) -> String {
    let mut cases: BTreeMap<&str, Case> = BTreeMap::new();
    let mut faults = Vec::new();
    for golden in each(result, "goldens") {
        let test = text(golden, "test");
        let case = cases.entry(test.split('/').next().unwrap_or_default()).or_default();
        case.tests += 1;
        case.passed += usize::from(golden["passed"] == true);
        case.launches += golden["launches"].as_u64().unwrap_or(0);
        // A greedy continuation has no error: it counts steps that agree.
        if !test.ends_with("greedy") {
            let share = golden["value"].as_f64().zip(golden["bound"].as_f64()).map(|(value, bound)| value / bound);
            case.median = most(case.median, share);
            case.largest = case.largest.max(golden["largest"].as_f64().unwrap_or(0.0));
        }
        if let Some(fault) = golden["fault"].as_str() {
            faults.push(format!("{test}: {fault}"));
        }
    }
    let row = |(name, case): (&&str, &Case)| {
        let Case { tests, passed, median, largest, launches } = case;
        vec![
            (*name).to_owned(),
            tests.to_string(),
            passed.to_string(),
            share(*median),
            format!("{largest:.2e}"),
            launches.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = cases.iter().map(row).collect();
    let head = ["golden", "tests", "passed", "largest median / its bound", "largest error", "launches"];
    let page = "Chunkings, batch mixes and prefix hits, as graphs and as single launches; the bound is 1.5 times the median error of transformers in \
                bf16.\n\n";
    page.to_owned() + &table(&head, &rows) + &lines("What failed:", &faults)
}

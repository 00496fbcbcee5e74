//! Launches: what counters on the device say, beside what the plan has.

use serde_json::Value;

use super::page::table;
use super::{each, lines, text};

/// The section.
pub fn section(result: &Value) -> String {
    let (mut rows, mut faults, mut never) = (Vec::new(), Vec::new(), Vec::new());
    for model in each(result, "models") {
        let name = text(model, "model");
        let steps = each(model, "steps");
        let sum = |key: &str| steps.iter().filter_map(|step| step[key].as_u64()).sum::<u64>().to_string();
        let wrong: Vec<&Value> = steps.iter().filter(|step| step["fault"].is_string()).collect();
        let (loaded, unused) = (model["loaded"].as_u64().unwrap_or(0), each(model, "never_launched").len() as u64);
        rows.push(vec![
            name.to_owned(),
            steps.len().to_string(),
            (steps.len() - wrong.len()).to_string(),
            sum("expected"),
            sum("counted"),
            sum("told"),
            sum("products"),
            format!("{} of {loaded}", loaded.saturating_sub(unused)),
        ]);
        faults.extend(wrong.iter().map(|step| format!("{name}, {}: {}", text(step, "step"), text(step, "fault"))));
        faults.extend(model["fault"].as_str().map(|fault| format!("{name}: {fault}")));
        let names: Vec<&str> = each(model, "never_launched").iter().filter_map(Value::as_str).collect();
        if !names.is_empty() {
            never.push(format!("{name}: {}", names.join(", ")));
        }
    }
    let mut page = "Counters in the kernels, which count replays of captured graphs too, against the plan's launches of each step, instance by instance. \
                    Products are the matrix library's, which has no counters.\n\n"
        .to_owned();
    let head = [
        "model",
        "steps",
        "equal",
        "in the plan",
        "counted",
        "told by the runtime",
        "products",
        "instances launched of those loaded",
    ];
    page += &table(&head, &rows);
    page += &lines("What differs:", &faults);
    page + &lines("Instances that are loaded for other formats and sizes, and that no step launched:", &never)
}

//! `launches`: what was counted on the device beside what the plan says.

use serde_json::Value;
use tenon_device_tests::launches::{ModelCounts, models, name, run};

use crate::part;

/// Runs the steps of goldens whose names start so, or a part of them, prints a line for each model and one for each step that is wrong, and gives the results as JSON.
pub fn launches(only: &[String], shard: Option<&str>) -> Result<Value, String> {
    let is_meant = |(case, swapped): &(&str, bool)| {
        only.is_empty() || only.iter().any(|start| name(case, *swapped).starts_with(start.as_str()))
    };
    let models = part(models().filter(is_meant).collect(), shard)?;
    if models.is_empty() {
        return Err("no golden has such a name".to_owned());
    }
    let results = run(&models, |model: &ModelCounts| {
        println!("{}", model.line());
        if let Some(fault) = &model.fault {
            println!("     {fault}");
        }
        for step in model.steps.iter().filter(|step| !step.passed()) {
            let fault = step.fault.as_deref().unwrap_or_default();
            println!("     {}: {} of {} launches: {fault}", step.step, step.counted, step.expected);
        }
    })?;
    println!("{} steps as planned, {} not, on {}", results.passed, results.failed, results.device);
    serde_json::to_value(&results).map_err(|e| e.to_string())
}

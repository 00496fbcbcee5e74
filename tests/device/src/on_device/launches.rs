//! `launches`: what was counted on the device beside what the plan says.

use serde_json::Value;
use tenon_device_tests::launches::{ModelCounts, run};

/// Runs the steps of goldens, prints a line for each model and one for each step that is wrong, and gives the results as JSON.
pub fn launches(only: &[String]) -> Result<Value, String> {
    let results = run(only, |model: &ModelCounts| {
        println!("{}", model.line());
        if let Some(fault) = &model.fault {
            println!("     {fault}");
        }
        for step in model.steps.iter().filter(|step| !step.passed()) {
            let fault = step.fault.as_deref().unwrap_or_default();
            println!("     {}: {} of {} launches: {fault}", step.step, step.counted, step.expected);
        }
    })?;
    if results.models.is_empty() {
        return Err("no golden has such a name".to_owned());
    }
    println!("{} steps as planned, {} not, on {}", results.passed, results.failed, results.device);
    serde_json::to_value(&results).map_err(|e| e.to_string())
}

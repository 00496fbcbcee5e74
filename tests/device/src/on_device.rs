//! The commands that need a device.

mod bench;
mod launches;
mod ops;
mod product;

use serde_json::{Value, json};
use tenon_core::cuda::Device;
use tenon_device_tests::goldens;

use crate::part;

pub use bench::bench;
pub use launches::launches;
pub use ops::ops;

/// Runs goldens, and gives the results as JSON.
pub fn goldens(only: &[String], shard: Option<&str>) -> Result<Value, String> {
    let device = Device::open(0).map_err(|e| e.to_string())?;
    device.require("sm_90a", (9, 0)).map_err(|e| e.to_string())?;
    let mut tests = goldens::tests();
    tests.retain(|test| only.is_empty() || only.iter().any(|start| test.to_string().starts_with(start.as_str())));
    let (mut passed, mut outcomes) = (0, Vec::new());
    for test in part(tests, shard)? {
        let outcome = goldens::run(&device, &test);
        println!(
            "{} {:<52} {:.3e} of {:.3e}, largest {:.2e}, {} compared, {} launches{}",
            if outcome.passed { "ok  " } else { "FAIL" },
            outcome.test,
            outcome.value,
            outcome.bound,
            outcome.largest,
            outcome.compared,
            outcome.launches,
            outcome.fault.as_ref().map_or_else(String::new, |fault| format!(": {fault}"))
        );
        passed += usize::from(outcome.passed);
        outcomes.push(outcome);
    }
    let failed = outcomes.len() - passed;
    println!("{passed} passed, {failed} failed");
    Ok(json!({ "device": device.name(), "passed": passed, "failed": failed, "goldens": outcomes }))
}

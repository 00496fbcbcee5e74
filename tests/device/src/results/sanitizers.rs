//! Sanitizers.
use super::{each, lines};
use serde_json::Value;
/// The section.
pub fn section(result: &Value) -> String {
    lines("What failed:", &each(result, "faults").iter().map(Value::to_string).collect::<Vec<_>>())
}

//! The table for programs.

use serde_json::{Value, json};

use super::{Budget, Table};

impl Table {
    /// Every pool with its formula, the total, and where a budget is given, what there is and whether it fits.
    pub fn json(&self, budget: Option<&Budget>) -> Value {
        let pools: Vec<Value> =
            self.pools.iter().map(|p| json!({ "pool": p.name, "bytes": p.bytes, "formula": p.formula })).collect();
        let mut value = json!({ "pools": pools, "total_bytes": self.total() });
        if let Some(budget) = budget {
            value["available_bytes"] = budget.bytes.into();
            value["available_from"] = budget.from.as_str().into();
            value["fits"] = (self.total() <= budget.bytes).into();
        }
        value
    }
}

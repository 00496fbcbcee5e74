//! Kernels: the largest shares of the bounds of both gates.

use std::collections::BTreeMap;

use serde_json::Value;

use super::page::{most, share, table};
use super::{each, lines, text};

#[derive(Default)]
struct Shares {
    instances: usize,
    outputs: usize,
    faults: usize,
    g1: Option<f64>,
    g2: Option<f64>,
}

impl Shares {
    fn with(self, other: &Self) -> Self {
        Self {
            instances: self.instances + other.instances,
            outputs: self.outputs + other.outputs,
            faults: self.faults + other.faults,
            g1: most(self.g1, other.g1),
            g2: most(self.g2, other.g2),
        }
    }

    fn row(&self, name: &str) -> Vec<String> {
        let count = |n: usize| n.to_string();
        vec![name.to_owned(), count(self.instances), count(self.outputs), count(self.faults), share(self.g1), share(self.g2)]
    }
}

/// The section.
pub fn section(result: &Value) -> String {
    let (mut templates, mut classes): (BTreeMap<&str, Shares>, BTreeMap<&str, Shares>) = Default::default();
    let mut faults = Vec::new();
    for instance in each(result, "instances") {
        let name = text(instance, "instance");
        let of = templates.entry(text(instance, "template")).or_default();
        of.instances += 1;
        if let Some(error) = instance["error"].as_str() {
            of.faults += 1;
            faults.push(format!("{name}: {error}"));
        }
        for case in each(instance, "cases") {
            let output = &case["output"];
            let fault = output["fault"].as_str().or(case["g2"]["fault"].as_str());
            if let Some(fault) = fault {
                faults.push(format!("{name}, {}: {fault}", text(case, "case")));
            }
            for of in [&mut *of, classes.entry(text(case, "class")).or_default()] {
                of.outputs += 1;
                of.faults += usize::from(fault.is_some());
                // A share that is no number is infinite, and JSON has none such.
                of.g1 = most(of.g1, Some(output["share"].as_f64().unwrap_or(f64::INFINITY)));
                of.g2 = most(of.g2, case["g2"]["share"].as_f64());
            }
        }
        let counted: Vec<&str> = each(instance, "cases").iter().map(|case| text(case, "class")).collect();
        if let Some(class) = counted.first() {
            classes.entry(class).or_default().instances += 1;
        }
    }
    let head = ["template", "instances", "outputs", "faults", "G1", "G2"];
    let of = |shares: &BTreeMap<&str, Shares>| shares.iter().map(|(name, of)| of.row(name)).collect::<Vec<_>>();
    let mut page = "The largest share of its bound that an output uses: G1 against a sequential reference in double precision, G2 against the \
                    CPU's kernel in f32, where the CPU has one for the same op.\n\n"
        .to_owned();
    let mut rows = of(&templates);
    rows.push(templates.values().fold(Shares::default(), Shares::with).row("**all**"));
    page += &table(&head, &rows);
    page += "\n";
    page += &table(&["class", "instances", "outputs", "faults", "G1", "G2"], &of(&classes));
    page + &lines("What failed:", &faults)
}

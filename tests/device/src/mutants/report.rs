//! The results: a line per mutant, totals, the kill matrix, and JSON.
//!
//! The JSON of a run is one object:
//!
//! ```json
//! {
//!   "passed": 431, "failed": 0,
//!   "seconds": 148.2,
//!   "mutants": [{
//!     "template": "mamba2_scan", "mutant": "a_slot_below_0_is_used", "origin": "written",
//!     "breaks": "A span without a state gives zeros and touches no state.",
//!     "expects": "g1", "field": "a null row is slot 0",
//!     "instance": "mamba2_scan_hd64_s128_c64",
//!     "verdict": "caught", "how": "assert", "gates": ["untouched", "g1", "g2"],
//!     "text": "spans without a state: y: element 3: ...", "seconds": 0.61, "passed": true
//!   }],
//!   "gates": { "g1": { "kills": 390, "alone": 4 } },
//!   "faults": ["no mutant is killed by `timeout` alone"]
//! }
//! ```
//!
//! - `origin`: `written` (mutants.toml), or the operator that made it: `barrier`, `bound`, `accumulator`, `parameter`.
//! - `expects`: the gate that a written mutant names, where `g1` stands for all that the cases of reference.rs tell; `null` for automatic ones.
//! - `field`: which of the faults known from the field it is; `null` for most.
//! - `verdict`: `caught`, `missed`, `survives` (the template says why, which is then `text`), `caught-elsewhere` (not by the gate that it
//!   expects), `unviable`, `equivalent`, `not-applied`, `control-empty`, `control-red`, `broken`, `built` (nothing was run).
//! - `how`: how it was noticed first: `assert`, `non-finite`, `error-word`, `manifest`, `crash`, `timeout`, `build`, `memcheck`, `racecheck`,
//!   `synccheck`, `initcheck`; `null` where it was not.
//! - `gates`: every gate that noticed, of `build`, `manifest`, `crash`, `timeout`, `error-word`, `untouched`, `g1`, `g2`, `sanitizer`,
//!   `goldens`; empty where none did. A sanitizer runs only over what none of those before it noticed. What crashes or does not end has no
//!   outputs left for other gates.
//! - `seconds`: of building and running it, waiting for the device left out.
//! - `gates` of the run: for each gate, how many mutants it kills, and of how many it is the only killer.
//! - `failed` counts mutants that did not pass, and `faults` of the run as a whole. The file is written anew after each mutant: until the end
//!   one of the faults is that the run was cut.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::change::{Mutant, Origin};
use super::verdict::{Gate, Verdict};

/// One mutant and what became of it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Of which template.
    pub template: String,
    /// The fault.
    pub mutant: Mutant,
    /// The instance that tells.
    pub instance: Option<String>,
    /// What became of it.
    pub verdict: Verdict,
    /// How long it took, waiting left out.
    pub seconds: f64,
}

/// What a run as a whole must have.
#[derive(Clone, Copy, Debug)]
pub struct Demands {
    /// Every template has four viable mutants.
    pub four: bool,
    /// Every gate is the only killer of a mutant.
    pub gates: bool,
}

impl Row {
    /// A line to read.
    pub fn line(&self) -> String {
        let Self { template, mutant, instance, verdict, .. } = self;
        let how = verdict.kill().map_or_else(String::new, |kill| {
            let gates: Vec<&str> = kill.gates.iter().map(|gate| gate.name()).collect();
            format!(" by {} [{}]", kill.how.name(), gates.join(" "))
        });
        let mark = if verdict.passes(mutant.origin) { "ok  " } else { "FAIL" };
        let on = instance.as_ref().map_or_else(String::new, |name| format!(" on {name}"));
        let text = verdict.text();
        let text = if text.is_empty() { String::new() } else { format!(": {text}") };
        let breaks = if matches!(verdict, Verdict::Missed) { format!(": {}", mutant.breaks) } else { String::new() };
        format!("{mark} {template} / {}: {}{how}{on}{text}{breaks}", mutant.name, verdict.name())
    }

    fn json(&self) -> Value {
        let kill = self.verdict.kill();
        json!({
            "template": self.template, "mutant": self.mutant.name, "origin": self.mutant.origin, "breaks": self.mutant.breaks,
            "expects": self.mutant.gate, "field": self.mutant.field,
            "instance": self.instance, "verdict": self.verdict.name(), "how": kill.map(|kill| kill.how),
            "gates": kill.map_or(&[][..], |kill| &kill.gates), "text": self.verdict.text(),
            "seconds": (self.seconds * 1000.0).round() / 1000.0, "passed": self.verdict.passes(self.mutant.origin),
        })
    }
}

/// Everything that is wrong with a whole run.
pub fn faults(rows: &[Row], demands: Demands) -> Vec<String> {
    let mut faults = Vec::new();
    if demands.four {
        let mut viable: BTreeMap<&str, usize> = BTreeMap::new();
        for row in rows {
            *viable.entry(row.template.as_str()).or_default() += usize::from(row.verdict.is_viable());
        }
        faults.extend(viable.iter().filter(|(_, n)| **n < 4).map(|(t, n)| format!("{t} has {n} viable mutants, and needs four")));
    }
    if demands.gates {
        let kills = kills(rows);
        let idle = kills.iter().filter(|(_, (_, alone))| *alone == 0);
        faults.extend(idle.map(|(gate, _)| format!("no mutant is killed by `{}` alone", gate.name())));
    }
    faults
}

/// How many mutants each gate kills, and of how many it is the only killer.
fn kills(rows: &[Row]) -> BTreeMap<Gate, (usize, usize)> {
    let mut kills: BTreeMap<Gate, (usize, usize)> = Gate::ALL.into_iter().map(|gate| (gate, (0, 0))).collect();
    for kill in rows.iter().filter_map(|row| row.verdict.kill()) {
        for gate in &kill.gates {
            let (all, alone) = kills.entry(*gate).or_default();
            *all += 1;
            *alone += usize::from(kill.gates.len() == 1);
        }
    }
    kills
}

/// The totals as text, and everything as JSON.
pub fn totals(rows: &[Row], faults: &[String], seconds: f64) -> (String, Value) {
    let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for row in rows {
        *counts.entry((row.mutant.origin != Origin::Written, row.verdict.name())).or_default() += 1;
    }
    let mut text = String::new();
    for is_automatic in [false, true] {
        let of_these: Vec<String> =
            counts.iter().filter(|((a, _), _)| *a == is_automatic).map(|((_, name), n)| format!("{n} {name}")).collect();
        text += &format!("{}: {}\n", if is_automatic { "automatic" } else { "written" }, of_these.join(", "));
    }
    let kills = kills(rows);
    for (gate, (all, alone)) in &kills {
        text += &format!("gate {:<10} kills {all:>4}, {alone:>4} of them alone\n", gate.name());
    }
    faults.iter().for_each(|fault| text += &format!("FAIL {fault}\n"));
    let failed = rows.iter().filter(|row| !row.verdict.passes(row.mutant.origin)).count() + faults.len();
    let passed = rows.iter().filter(|row| matches!(row.verdict, Verdict::Caught(_))).count();
    text += &format!("{passed} caught, {failed} failed\n");
    let gates: serde_json::Map<String, Value> =
        kills.iter().map(|(gate, (all, alone))| (gate.name().to_owned(), json!({ "kills": all, "alone": alone }))).collect();
    let rows: Vec<Value> = rows.iter().map(Row::json).collect();
    let seconds = seconds.round();
    (text, json!({ "passed": passed, "failed": failed, "seconds": seconds, "mutants": rows, "gates": gates, "faults": faults }))
}

#[cfg(test)]
mod tests {
    use super::super::change::Change;
    use super::super::verdict::{How, Kill};
    use super::*;

    const ALL: Demands = Demands { four: true, gates: true };

    fn row(origin: Origin, verdict: Verdict) -> Row {
        let change = Change::Step { name: "dim".to_owned(), back: false, by: 1, values: Vec::new() };
        let mutant = Mutant::made("m".to_owned(), origin, change, "a guarantee".to_owned());
        Row { template: "op".to_owned(), mutant, instance: None, verdict, seconds: 0.25 }
    }

    fn caught(gates: &[Gate]) -> Verdict {
        Verdict::Caught(Kill { how: How::Assert, gates: gates.to_vec(), text: "out".to_owned() })
    }

    #[test]
    fn every_template_needs_four_and_every_gate_a_mutant_of_its_own() {
        let mut rows: Vec<Row> = Gate::ALL.iter().map(|gate| row(Origin::Bound, caught(&[*gate]))).collect();
        assert!(faults(&rows, ALL).is_empty());
        rows[1].verdict = caught(&[Gate::Manifest, Gate::G1]);
        assert_eq!(faults(&rows, ALL), ["no mutant is killed by `manifest` alone"]);
        assert!(faults(&rows, Demands { gates: false, ..ALL }).is_empty());
        rows.truncate(3);
        rows.push(row(Origin::Written, Verdict::Equivalent));
        assert_eq!(faults(&rows, Demands { gates: false, ..ALL }), ["op has 3 viable mutants, and needs four"]);
    }

    #[test]
    fn what_is_missed_fails_and_what_survives_for_a_reason_does_not() {
        let mut rows =
            vec![row(Origin::Written, caught(&[Gate::G1, Gate::G2])), row(Origin::Bound, Verdict::Survives("so".to_owned()))];
        let (text, json) = totals(&rows, &[], 2.0);
        assert!(
            text.starts_with("written: 1 caught\nautomatic: 1 survives\n") && text.ends_with("\n1 caught, 0 failed\n"),
            "{text}"
        );
        assert_eq!((&json["failed"], &json["gates"]["g1"]), (&json!(0), &json!({ "kills": 1, "alone": 0 })));
        assert_eq!(json["mutants"][0]["gates"], json!(["g1", "g2"]));
        assert_eq!((&json["mutants"][1]["text"], &json["mutants"][1]["gates"]), (&json!("so"), &json!([])));
        assert_eq!(rows[0].line(), "ok   op / m: caught by assert [g1 g2]: out");
        rows.push(row(Origin::Bound, Verdict::Missed));
        assert_eq!(totals(&rows, &[], 2.0).1["failed"], 1);
        assert_eq!(rows[2].line(), "FAIL op / m: missed: a guarantee");
    }
}

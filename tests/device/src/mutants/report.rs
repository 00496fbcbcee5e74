//! The results: a line per mutant, totals, and JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::change::{Mutant, Origin};
use super::verdict::Verdict;

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
}

impl Row {
    /// A line to read.
    pub fn line(&self) -> String {
        let Self { template, mutant, instance, verdict } = self;
        let how = if let Verdict::Caught(how, _) = verdict { format!(" by {}", how.name()) } else { String::new() };
        let mark = if verdict.passes(mutant.origin) { "ok  " } else { "FAIL" };
        let on = instance.as_ref().map_or_else(String::new, |name| format!(" on {name}"));
        let text = verdict.text();
        let text = if text.is_empty() { String::new() } else { format!(": {text}") };
        let breaks = if matches!(verdict, Verdict::Missed) { format!(": {}", mutant.breaks) } else { String::new() };
        format!("{mark} {template} / {}: {}{how}{on}{text}{breaks}", mutant.name, verdict.name())
    }

    fn json(&self) -> Value {
        let how = if let Verdict::Caught(how, _) = &self.verdict { Some(*how) } else { None };
        json!({
            "template": self.template, "mutant": self.mutant.name, "origin": self.mutant.origin, "breaks": self.mutant.breaks,
            "instance": self.instance, "verdict": self.verdict.name(), "how": how, "text": self.verdict.text(),
            "passed": self.verdict.passes(self.mutant.origin),
        })
    }
}

/// Everything that is wrong with a whole run: templates with fewer than four viable mutants, and too many survivors.
pub fn faults(rows: &[Row], compile_only: bool, survivors: f64) -> Vec<String> {
    let mut faults = Vec::new();
    let mut viable: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *viable.entry(row.template.as_str()).or_default() += usize::from(row.verdict.is_viable());
    }
    if !compile_only {
        faults.extend(viable.iter().filter(|(_, n)| **n < 4).map(|(t, n)| format!("{t} has {n} viable mutants, and needs four")));
    }
    let (all, alive) = survived(rows);
    if alive as f64 > survivors * all as f64 {
        faults.push(format!("{alive} of {all} automatic mutants survive, more than {:.0}%", 100.0 * survivors));
    }
    faults
}

/// Viable automatic mutants, and how many of them were missed.
fn survived(rows: &[Row]) -> (usize, usize) {
    let automatic = rows.iter().filter(|row| row.mutant.origin != Origin::Written && row.verdict.is_viable());
    automatic.fold((0, 0), |(all, alive), row| (all + 1, alive + usize::from(row.verdict == Verdict::Missed)))
}

/// The totals as text, and everything as JSON.
pub fn totals(rows: &[Row], faults: &[String]) -> (String, Value) {
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
    let (all, alive) = survived(rows);
    text += &format!("survivors: {alive} of {all} automatic mutants\n");
    faults.iter().for_each(|fault| text += &format!("FAIL {fault}\n"));
    let failed = rows.iter().filter(|row| !row.verdict.passes(row.mutant.origin)).count() + faults.len();
    let passed = rows.iter().filter(|row| matches!(row.verdict, Verdict::Caught(..))).count();
    text += &format!("{passed} caught, {failed} failed\n");
    let rows: Vec<Value> = rows.iter().map(Row::json).collect();
    (text, json!({ "passed": passed, "failed": failed, "mutants": rows, "faults": faults }))
}

#[cfg(test)]
mod tests {
    use super::super::change::Change;
    use super::super::verdict::How;
    use super::*;

    fn row(origin: Origin, verdict: Verdict) -> Row {
        let change = Change::Step { name: "dim".to_owned(), by: 1, values: Vec::new() };
        let mutant = Mutant { name: "m".to_owned(), origin, change, breaks: "a guarantee".to_owned() };
        Row { template: "op".to_owned(), mutant, instance: None, verdict }
    }

    #[test]
    fn survivors_fail_only_above_their_share() {
        let caught = || Verdict::Caught(How::Assert, "out".to_owned());
        let mut rows = vec![row(Origin::Written, caught()), row(Origin::Bound, caught()), row(Origin::Bound, Verdict::Missed)];
        assert_eq!(faults(&rows, false, 1.0), ["op has 3 viable mutants, and needs four"]);
        rows.push(row(Origin::Barrier, caught()));
        assert!(faults(&rows, false, 1.0).is_empty());
        assert_eq!(faults(&rows, false, 0.3), ["1 of 3 automatic mutants survive, more than 30%"]);
        let (text, json) = totals(&rows, &[]);
        assert!(text.ends_with("survivors: 1 of 3 automatic mutants\n3 caught, 0 failed\n"), "{text}");
        assert_eq!(json["failed"], 0);
        rows.push(row(Origin::Written, Verdict::Missed));
        assert_eq!(totals(&rows, &[]).1["failed"], 1);
        assert_eq!(rows[4].line(), "FAIL op / m: missed: a guarantee");
    }
}

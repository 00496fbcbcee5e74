//! The results: a line per instance with a verdict per tool and build, one per planted fault, and JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::process::Outcome;
use super::settings::{Fault, Skip};
use super::tool::{Build, Tool};

/// An instance under one tool, in one build.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its template.
    pub template: String,
    /// Its name.
    pub instance: String,
    /// The tool.
    pub tool: Tool,
    /// The build.
    pub build: Build,
    /// What is known.
    pub outcome: Outcome,
}

/// What became of a planted fault.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// What is wrong about it.
    pub why: String,
    /// Who had to see it.
    pub watcher: &'static str,
    /// Where it was planted.
    pub instance: String,
    /// What was reported, where it is what had to be.
    pub text: Option<String>,
    /// What there was instead.
    pub instead: String,
}

impl Seen {
    /// A fault is seen where its watcher says the words that it must: a tool of its kernel, an assertion through the driver.
    pub fn new(fault: &Fault, instance: &str, outcome: &Outcome) -> Self {
        let asserts = fault.watcher == super::settings::Watcher::DeviceAsserts;
        let reported: Vec<&str> = if asserts {
            outcome.faults.iter().map(String::as_str).filter(|text| text.contains("Assertion `")).collect()
        } else {
            let own = outcome.records.iter().filter(|record| record.kernel.as_deref() == Some(fault.name.as_str()));
            own.map(|record| record.what.as_str()).collect()
        };
        let text = reported.iter().find(|text| text.contains(&fault.shows)).map(|text| (*text).to_owned());
        let instead = if text.is_some() {
            String::new()
        } else {
            let all = outcome.records.iter().map(|r| r.what.as_str()).chain(outcome.faults.iter().map(String::as_str));
            let all: Vec<&str> = all.chain(outcome.untold.as_deref()).take(3).collect();
            format!("{} cases right{}{}", outcome.right.len(), if all.is_empty() { "" } else { "; " }, all.join("; "))
        };
        Self {
            name: fault.name.clone(),
            why: fault.why.clone(),
            watcher: fault.watcher.name(),
            instance: instance.to_owned(),
            text,
            instead,
        }
    }
}

/// The verdicts of one instance.
type Cells<'a> = BTreeMap<(Build, Tool), &'a Row>;

/// A whole run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The version of compute-sanitizer.
    pub version: String,
    /// How long it took on the device.
    pub seconds: f64,
    /// Instances of the templates that were asked for.
    pub instances: usize,
    /// Of a template so many instances, and of an instance so many cases, at most.
    pub caps: (usize, usize),
    /// In the order of names.
    pub rows: Vec<Row>,
    /// The planted faults.
    pub seen: Vec<Seen>,
    /// What tools were not run on.
    pub skipped: Vec<Skip>,
}

impl Row {
    /// The verdict in a word or two.
    fn cell(&self) -> String {
        let Outcome { right, faults, records, untold, .. } = &self.outcome;
        if self.outcome.is_clean() {
            format!("clean {}", right.len())
        } else if !records.is_empty() {
            format!("{} reports", records.len())
        } else if !faults.is_empty() {
            format!("{} wrong", faults.len())
        } else if untold.is_some() {
            "untold".to_owned()
        } else {
            "nothing ran".to_owned()
        }
    }

    fn json(&self) -> Value {
        let Outcome { right, faults, records, untold, left_out } = &self.outcome;
        json!({
            "template": self.template, "instance": self.instance, "tool": self.tool, "build": self.build, "clean": self.outcome.is_clean(),
            "cases": right, "left_out": left_out, "reports": records, "faults": faults, "untold": untold,
        })
    }
}

impl Report {
    /// What stands where a tool was not run.
    fn absent(&self, template: &str, tool: Tool) -> String {
        let is_skipped = self.skipped.iter().any(|skip| skip.template == template && skip.tool == tool);
        if is_skipped { "skipped".to_owned() } else { "-".to_owned() }
    }

    /// Text to read, and everything as JSON, whose `failed` counts what is not as it must be.
    pub fn texts(&self) -> (String, Value) {
        let mut text = String::new();
        let columns: Vec<(Build, Tool)> = {
            let mut all: Vec<_> = self.rows.iter().map(|row| (row.build, row.tool)).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let mut by_instance: BTreeMap<(&str, &str), Cells> = BTreeMap::new();
        for row in &self.rows {
            by_instance.entry((&row.template, &row.instance)).or_default().insert((row.build, row.tool), row);
        }
        for build in Build::ALL {
            let of_build: Vec<&(Build, Tool)> = columns.iter().filter(|(b, _)| *b == build).collect();
            if of_build.is_empty() {
                continue;
            }
            text += &format!("{:<52}", format!("build {build}"));
            of_build.iter().for_each(|(_, tool)| text += &format!(" {:>11}", tool.name()));
            text += "\n";
            for ((template, instance), cells) in &by_instance {
                text += &format!("{instance:<52}");
                for column in &of_build {
                    text +=
                        &format!(" {:>11}", cells.get(*column).map_or_else(|| self.absent(template, column.1), |row| row.cell()));
                }
                text += "\n";
            }
        }
        for skip in &self.skipped {
            text += &format!("skipped {} under {}: {}\n", skip.template, skip.tool, skip.why);
        }
        for row in self.rows.iter().filter(|row| !row.outcome.is_clean()) {
            let outcome = &row.outcome;
            text += &format!("FAIL {} under {}, {}: {}\n", row.instance, row.tool, row.build, row.cell());
            let records = outcome
                .records
                .iter()
                .map(|r| format!("{}, {} times, {}", r.what, r.count, r.case.as_deref().unwrap_or("no case")));
            let lines: Vec<String> = records.chain(outcome.faults.iter().cloned()).chain(outcome.untold.clone()).collect();
            lines.iter().take(4).for_each(|line| text += &format!("     {line}\n"));
            if lines.len() > 4 {
                text += &format!("     and {} more\n", lines.len() - 4);
            }
        }
        for seen in &self.seen {
            text += &match &seen.text {
                Some(what) => format!("seen {} by {} in {}: {what}\n", seen.name, seen.watcher, seen.instance),
                None => format!("FAIL {} is not seen by {} in {}: {}\n", seen.name, seen.watcher, seen.instance, seen.instead),
            };
        }
        let cases: usize = self.rows.iter().map(|row| row.outcome.right.len()).sum();
        let left_out: BTreeMap<&str, usize> = self.rows.iter().map(|row| (row.instance.as_str(), row.outcome.left_out)).collect();
        let clean = self.rows.iter().filter(|row| row.outcome.is_clean()).count();
        let seen = self.seen.iter().filter(|seen| seen.text.is_some()).count();
        let failed = self.rows.len() - clean + self.seen.len() - seen + usize::from(self.rows.is_empty());
        text += &format!(
            "{} of {} instances (at most {} of a template), of those all but {} cases (at most {} of an instance): {cases} runs of cases in {:.0} s\n",
            by_instance.len(),
            self.instances,
            self.caps.0,
            left_out.values().sum::<usize>(),
            self.caps.1,
            self.seconds
        );
        text += &format!(
            "{clean} of {} verdicts are clean, {seen} of {} planted faults seen, {} skipped, {failed} failed\n",
            self.rows.len(),
            self.seen.len(),
            self.skipped.len()
        );
        let faults: Vec<Value> = self
            .seen
            .iter()
            .map(|seen| {
                json!({ "name": seen.name, "why": seen.why, "watcher": seen.watcher, "instance": seen.instance, "seen": seen.text, "instead": seen.instead })
            })
            .collect();
        let skipped: Vec<Value> =
            self.skipped.iter().map(|skip| json!({ "template": skip.template, "tool": skip.tool, "why": skip.why })).collect();
        let json = json!({
            "sanitizer": self.version, "seconds": self.seconds, "passed": clean + seen, "failed": failed,
            "instances": by_instance.len(), "of_instances": self.instances, "most_instances": self.caps.0, "most_cases": self.caps.1,
            "cases_left_out": left_out.values().sum::<usize>(), "runs": cases,
            "verdicts": self.rows.iter().map(Row::json).collect::<Vec<_>>(), "planted": faults, "skipped": skipped,
        });
        (text, json)
    }
}

#[cfg(test)]
mod tests {
    use super::super::log::Record;
    use super::super::settings::Watcher;
    use super::*;

    fn row(instance: &str, tool: Tool, outcome: Outcome) -> Row {
        Row { template: "op".to_owned(), instance: instance.to_owned(), tool, build: Build::Release, outcome }
    }

    fn clean() -> Outcome {
        Outcome { right: vec!["x".to_owned(), "y".to_owned()], left_out: 1, ..Outcome::default() }
    }

    fn fault(watcher: Watcher, shows: &str) -> Fault {
        let text = String::new;
        let (name, template) = ("planted".to_owned(), "op".to_owned());
        Fault { name, watcher, template, find: text(), replace: text(), shows: shows.to_owned(), why: text() }
    }

    #[test]
    fn a_table_says_what_ran_and_what_is_wrong() {
        let record = Record { kernel: Some("op_b".to_owned()), case: None, what: "Race reported".to_owned(), count: 1 };
        let reported = Outcome { records: vec![record], ..clean() };
        let rows = vec![
            row("op_a", Tool::Memcheck, clean()),
            row("op_a", Tool::Racecheck, clean()),
            row("op_b", Tool::Racecheck, reported),
        ];
        let skipped = vec![Skip { tool: Tool::Memcheck, template: "op".to_owned(), why: "it takes too long".to_owned() }];
        let report = Report { instances: 5, caps: (2, 6), rows, ..Report::default() };
        let with_skip = Report { skipped, ..report.clone() }.texts().0;
        assert!(
            with_skip.contains("skipped op under memcheck: it takes too long\n") && with_skip.contains(", 1 skipped, 1 failed"),
            "{with_skip}"
        );
        assert_eq!(with_skip.lines().nth(2).unwrap_or_default().split_whitespace().nth(1), Some("skipped"));
        let (text, json) = report.texts();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["build", "release", "memcheck", "racecheck"]);
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["op_a", "clean", "2", "clean", "2"]);
        assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["op_b", "-", "1", "reports"]);
        assert_eq!(lines[3], "FAIL op_b under racecheck, release: 1 reports");
        assert!(
            text.contains(
                "2 of 5 instances (at most 2 of a template), of those all but 2 cases (at most 6 of an instance): 6 runs"
            ),
            "{text}"
        );
        assert!(text.ends_with("2 of 3 verdicts are clean, 0 of 0 planted faults seen, 0 skipped, 1 failed\n"), "{text}");
        assert_eq!((&json["failed"], &json["verdicts"][2]["clean"]), (&1.into(), &false.into()));
    }

    #[test]
    fn nothing_that_ran_is_no_green_run() {
        assert_eq!(Report::default().texts().1["failed"], 1);
        let nothing = row("op_a", Tool::Memcheck, Outcome::default());
        assert_eq!(nothing.cell(), "nothing ran");
        assert_eq!(Report { rows: vec![nothing], ..Report::default() }.texts().1["failed"], 1);
    }

    #[test]
    fn a_fault_is_seen_by_its_watcher_and_in_its_kernel_alone() {
        let seen = |watcher, outcome: &Outcome| Seen::new(&fault(watcher, "Race"), "op_a", outcome).text;
        let of = |kernel: &str, what: &str| Outcome {
            records: vec![Record { kernel: Some(kernel.to_owned()), case: None, what: what.to_owned(), count: 1 }],
            ..clean()
        };
        assert_eq!(seen(Watcher::Racecheck, &of("planted", "Race reported")).as_deref(), Some("Race reported"));
        assert_eq!(seen(Watcher::Racecheck, &of("op_b", "Race reported")), None);
        assert_eq!(seen(Watcher::Racecheck, &of("planted", "Invalid read")), None);
        assert_eq!(seen(Watcher::DeviceAsserts, &of("planted", "Race reported")), None);
        let failed = Outcome { faults: vec!["x: CUDA_ERROR_ASSERT; f.cuh:7: Assertion `(Race)` failed.".to_owned()], ..clean() };
        assert!(seen(Watcher::DeviceAsserts, &failed).is_some());
        assert_eq!(seen(Watcher::Racecheck, &failed), None);
        let missed = Report { rows: vec![row("op_a", Tool::Memcheck, clean())], ..Report::default() };
        let missed = Report { seen: vec![Seen::new(&fault(Watcher::Memcheck, "Invalid"), "op_a", &clean())], ..missed };
        let (text, json) = missed.texts();
        assert!(text.contains("FAIL planted is not seen by memcheck in op_a: 2 cases right\n"), "{text}");
        assert_eq!(json["failed"], 1);
    }
}

//! Verdicts, the table, and the summary.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::list::{Expect, Mutant};
use crate::run::{Ended, Line};

/// What came of a mutant and one of its cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A trial failed: which, and how.
    Caught(String, String),
    /// All trials passed.
    Missed,
    /// It does not compile.
    Unviable(String),
    /// Its place was not found.
    NotApplied(String),
    /// No trial was selected.
    ControlEmpty,
    /// The trials fail without any mutant.
    ControlRed(String),
}

impl Verdict {
    /// Its word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Caught(..) => "caught",
            Self::Missed => "missed",
            Self::Unviable(_) => "unviable",
            Self::NotApplied(_) => "not-applied",
            Self::ControlEmpty => "control-empty",
            Self::ControlRed(_) => "control-red",
        }
    }

    /// What it says beside.
    pub fn details(&self) -> String {
        match self {
            Self::Caught(trial, how) => format!("{how} ({trial})"),
            Self::Missed | Self::ControlEmpty => String::new(),
            Self::Unviable(why) | Self::NotApplied(why) | Self::ControlRed(why) => why.clone(),
        }
    }

    /// Whether it is what a mutant was expected to come to.
    pub fn is(&self, expected: Expect) -> bool {
        matches!(
            (self, expected),
            (Self::Caught(..), Expect::Caught)
                | (Self::Missed, Expect::Missed)
                | (Self::Unviable(_), Expect::Unviable)
                | (Self::NotApplied(_), Expect::NotApplied)
                | (Self::ControlEmpty, Expect::ControlEmpty)
        )
    }
}

/// What the pristine build made of a line of trials, if it is of no use.
pub fn control(line: &str, control: &BTreeMap<String, Line>) -> Option<Verdict> {
    match control.get(line) {
        None => Some(Verdict::ControlRed("the control did not end".to_owned())),
        Some(Line { failed: Some(failed), .. }) => Some(Verdict::ControlRed(format!("{}: {}", failed.trial, failed.message))),
        Some(Line { ran: 0, .. }) => Some(Verdict::ControlEmpty),
        Some(_) => None,
    }
}

/// What a mutant's process made of one of its lines.
pub fn verdict(line: &str, ended: &Ended) -> Verdict {
    match ended {
        Ended::TimedOut => Verdict::Caught(line.to_owned(), "timeout".to_owned()),
        Ended::Crashed(how) => Verdict::Caught(line.to_owned(), format!("crash: {how}")),
        Ended::Results(results) => match results.lines.iter().find(|l| l.line == line) {
            Some(Line { failed: Some(failed), .. }) => Verdict::Caught(failed.trial.clone(), failed.how.clone()),
            Some(Line { ran: 0, .. }) => Verdict::ControlEmpty,
            Some(_) => Verdict::Missed,
            None => Verdict::Caught(line.to_owned(), "crash: no result".to_owned()),
        },
    }
}

/// One row of the table.
pub struct Row<'a> {
    /// The fault.
    pub mutant: &'a Mutant,
    /// Its case.
    pub case: &'a str,
    /// What came of it.
    pub verdict: Verdict,
}

/// Prints the table. Returns whether everything came out as expected.
pub fn print(rows: &[Row<'_>]) -> bool {
    let width = |of: &dyn Fn(&Row<'_>) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (names, cases) = (width(&|r| r.mutant.name.len()), width(&|r| r.case.len()));
    let mut list = "";
    for row in rows {
        if row.mutant.list != list {
            list = &row.mutant.list;
            println!("{list}");
        }
        let good = row.verdict.is(row.mutant.expect);
        let (mark, word, details) = (if good { ' ' } else { '!' }, row.verdict.word(), row.verdict.details());
        println!(
            "{mark} {:<names$}  {:<cases$}  {word:<13} {}",
            row.mutant.name,
            row.case,
            details.lines().next().unwrap_or_default()
        );
    }
    let bad = rows.iter().filter(|r| !r.verdict.is(r.mutant.expect)).count();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    rows.iter().filter(|r| r.mutant.expect == Expect::Caught).for_each(|r| *counts.entry(r.verdict.word()).or_default() += 1);
    let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let tests = rows.iter().filter(|r| r.mutant.expect != Expect::Caught).count();
    let mut mutants: Vec<&str> =
        rows.iter().filter(|r| r.mutant.expect == Expect::Caught).map(|r| r.mutant.name.as_str()).collect();
    mutants.dedup();
    println!(
        "{} mutants, {} with a case each; {tests} tests of the harness; {bad} not as expected",
        mutants.len(),
        counts.join(", ")
    );
    bad == 0
}

/// The summary as JSON.
pub fn summary(rows: &[Row<'_>], seconds: f64, times: &Value) -> Value {
    let row = |r: &Row<'_>| {
        json!({
            "mutant": r.mutant.name,
            "list": r.mutant.list,
            "breaks": r.mutant.breaks,
            "case": r.case,
            "verdict": r.verdict.word(),
            "details": r.verdict.details(),
            "as_expected": r.verdict.is(r.mutant.expect),
        })
    };
    json!({ "seconds": seconds, "times": times, "rows": rows.iter().map(row).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Failure, Results};

    fn line(name: &str, ran: usize, failed: bool) -> Line {
        let failed =
            failed.then(|| Failure { trial: "t".to_owned(), how: "panic".to_owned(), message: "at the disco".to_owned() });
        Line { line: name.to_owned(), ran, failed, seconds: 0.1 }
    }

    #[test]
    fn a_control_is_green_and_not_empty() {
        let lines = [line("good", 3, false), line("empty", 0, false), line("red", 1, true)];
        let lines: BTreeMap<String, Line> = lines.into_iter().map(|l| (l.line.clone(), l)).collect();
        assert_eq!(control("good", &lines), None);
        assert_eq!(control("empty", &lines), Some(Verdict::ControlEmpty));
        assert_eq!(control("red", &lines), Some(Verdict::ControlRed("t: at the disco".to_owned())));
        assert_eq!(control("gone", &lines).unwrap().word(), "control-red");
    }

    #[test]
    fn what_does_not_fail_is_missed_and_what_does_not_answer_is_caught() {
        let ended =
            Ended::Results(Results { mutant: 1, lines: vec![line("a", 2, false), line("b", 1, true), line("c", 0, false)] });
        assert_eq!(verdict("a", &ended), Verdict::Missed);
        assert_eq!(verdict("b", &ended), Verdict::Caught("t".to_owned(), "panic".to_owned()));
        assert_eq!(verdict("c", &ended), Verdict::ControlEmpty);
        assert_eq!(verdict("a", &Ended::TimedOut).details(), "timeout (a)");
        assert_eq!(verdict("a", &Ended::Crashed("signal 9".to_owned())).details(), "crash: signal 9 (a)");
    }
}

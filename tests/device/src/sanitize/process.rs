//! A plan under a tool: as many processes as it takes, each watched and ended where it does not end by itself.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::log::{self, Log, Record};
use super::plan::{Line, Plan, State, lines, result_of};
use super::tool::Tool;

/// What compute-sanitizer returns where its tool has found something, and nothing else does.
const FOUND: i32 = 77;

/// How a plan is run.
pub struct Runner<'a> {
    /// compute-sanitizer.
    pub sanitizer: &'a Path,
    /// This binary.
    pub program: PathBuf,
    /// After this long a process is ended.
    pub timeout: Duration,
    /// No process starts after this, and none goes on.
    pub deadline: Option<Instant>,
}

/// What is known of one unit of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Cases whose kernel ended with the right results.
    pub right: Vec<String>,
    /// What went wrong without the tool: results, the driver, the end of the process.
    pub faults: Vec<String>,
    /// What the tool reports of its kernel.
    pub records: Vec<Record>,
    /// Why what the tool says is not the whole truth.
    pub untold: Option<String>,
    /// Cases that the cap leaves out.
    pub left_out: usize,
}

impl Outcome {
    /// Everything ran, the tool saw it, and nothing is wrong.
    pub fn is_clean(&self) -> bool {
        !self.right.is_empty() && self.faults.is_empty() && self.records.is_empty() && self.untold.is_none()
    }
}

impl Runner<'_> {
    /// Runs a plan, whose files go to `folder`.
    ///
    /// # Errors
    /// Files that cannot be written, and a program that does not start.
    pub fn run(&self, tool: Tool, plan: &Plan, folder: &Path) -> Result<Vec<Outcome>, String> {
        let io = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
        std::fs::create_dir_all(folder).map_err(|e| io(folder, e))?;
        let path = folder.join("plan.json");
        let text = serde_json::to_string(plan).map_err(|e| e.to_string())?;
        std::fs::write(&path, text).map_err(|e| io(&path, e))?;
        let mut outcomes = Vec::new();
        while outcomes.len() < plan.units.len() {
            if self.deadline.is_some_and(|at| Instant::now() >= at) {
                let late = Outcome { untold: Some("no time was left".to_owned()), ..Outcome::default() };
                outcomes.resize(plan.units.len(), late);
                break;
            }
            let skip = outcomes.len();
            let run = self.once(tool, folder, skip)?;
            let mut of_run = outcomes_of(plan, skip, &run);
            // A process that ended without a word has nothing to say of any further unit: the next one begins after the first.
            of_run.truncate(run.reached(skip, plan.units.len()));
            outcomes.extend(of_run);
        }
        Ok(outcomes)
    }

    fn once(&self, tool: Tool, folder: &Path, skip: usize) -> Result<Run, String> {
        let (result, log, said) = (result_of(folder), folder.join(format!("log.{skip}")), folder.join(format!("said.{skip}")));
        let _ = std::fs::remove_file(&result);
        let _ = std::fs::remove_file(&log);
        let mut command = Command::new(self.sanitizer);
        command.args(["--tool", tool.name(), "--error-exitcode", &FOUND.to_string()]).args(tool.options());
        command.args(log::OPTIONS);
        command.arg(&self.program).arg("sanitize-case").arg("--plan").arg(folder.join("plan.json"));
        command.arg("--result").arg(&result).args(["--skip", &skip.to_string()]);
        let errors = File::create(&said).map_err(|e| format!("{}: {e}", said.display()))?;
        // The tool and the process that it watches write to the same file, each at its end.
        let output = File::options().create(true).append(true).open(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
        let child = child.map_err(|e| format!("{}: {e}", self.sanitizer.display()))?;
        let left = self.deadline.map_or(self.timeout, |at| at.saturating_duration_since(Instant::now()).min(self.timeout));
        let ended = wait(child, left);
        let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        Ok(Run { ended, lines: lines(&read(&result)), log: log::read(&read(&log)), said: read(&said) })
    }
}

/// How a process ended: its status, or why it has none.
fn wait(mut child: Child, timeout: Duration) -> Result<i32, String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.code().ok_or_else(|| format!("the tool ended by {status}")),
            Ok(None) if start.elapsed() > timeout => {
                // It may have ended since; either way it is gone afterwards.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("ended after {:.0} s", timeout.as_secs_f64()));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(e) => return Err(format!("it cannot be waited for: {e}")),
        }
    }
}

/// What one process left.
#[derive(Debug)]
pub struct Run {
    /// Its exit status, or why there is none.
    pub ended: Result<i32, String>,
    /// What it said of its cases.
    pub lines: Vec<Line>,
    /// What the tool said.
    pub log: Log,
    /// Its standard error: where the driver prints assertions.
    pub said: String,
}

impl Run {
    fn is_over(&self) -> bool {
        self.lines.last().is_some_and(|line| line.state == State::Over)
    }

    /// How many units from `skip` on this process has dealt with: all, or up to the one in which it ended.
    fn reached(&self, skip: usize, units: usize) -> usize {
        if self.is_over() {
            return units - skip;
        }
        self.lines.last().map_or(1, |line| line.unit + 1 - skip)
    }
}

/// What a process says of the units from `skip` on that it has reached.
fn outcomes_of(plan: &Plan, skip: usize, run: &Run) -> Vec<Outcome> {
    let mut outcomes = vec![Outcome::default(); plan.units.len() - skip];
    let mut launched: BTreeSet<usize> = BTreeSet::new();
    for line in run.lines.iter().filter(|line| line.unit < plan.units.len()) {
        let outcome = &mut outcomes[line.unit - skip];
        match &line.state {
            State::LeftOut(cases) => outcome.left_out = *cases,
            State::Started => _ = launched.insert(line.unit),
            State::Right => outcome.right.push(line.case.clone()),
            State::Wrong(text) => outcome.faults.push(format!("{}: {text}", line.case)),
            State::Failed(text) => outcome.faults.push(format!("{}: {text}{}", line.case, asserted(&run.said))),
            State::Over => {}
        }
    }
    if let Some(line) = run.lines.last().filter(|line| matches!(line.state, State::Started | State::LeftOut(_))) {
        let how = run.ended.as_ref().map_or_else(String::clone, |code| format!("exit status {code}"));
        outcomes[line.unit - skip].faults.push(format!("{}: the process ended, {how}{}", line.case, asserted(&run.said)));
    }
    for (at, outcome) in outcomes.iter_mut().enumerate() {
        let unit = &plan.units[skip + at];
        outcome.records = run.log.records.iter().filter(|record| record.kernel.as_ref() == Some(&unit.kernel)).cloned().collect();
        if !launched.contains(&(skip + at)) {
            outcome.untold = Some(format!("no case ran{}", last_line(&run.said)));
        }
    }
    // What belongs to no kernel of the plan belongs to the process: it stands with the first unit, so that it is not lost.
    let is_known =
        |record: &&Record| record.kernel.as_ref().is_some_and(|name| plan.units.iter().any(|unit| unit.kernel == *name));
    let strangers: Vec<Record> = run.log.records.iter().filter(|record| !is_known(record)).cloned().collect();
    if let Some(first) = outcomes.first_mut() {
        first.records.extend(strangers);
    }
    // What makes everything that the tool says of this process doubtful stands with all of its units.
    if let Some(why) = doubt(plan, run, outcomes.last()) {
        outcomes.iter_mut().for_each(|outcome| _ = outcome.untold.get_or_insert_with(|| why.clone()));
    }
    outcomes
}

/// Why the tool may not have seen everything that a process did.
fn doubt(plan: &Plan, run: &Run, last: Option<&Outcome>) -> Option<String> {
    match (run.log.errors, &run.ended) {
        (None, ended) => return Some(format!("the tool has no summary, {ended:?}{}", last_line(&run.said))),
        (Some(errors), _) if errors > 0 && run.log.records.is_empty() => {
            return Some(format!("the tool counts {errors} errors, and tells none"));
        }
        (Some(0), Ok(FOUND)) => return Some("the tool found something, and counts no error".to_owned()),
        (Some(_), Ok(0 | FOUND)) => {}
        (Some(_), ended) => return Some(format!("the tool ended with {ended:?}{}", last_line(&run.said))),
    }
    // A process that ended early is followed by one that comes to the fault.
    let shows = plan.shows.as_ref().filter(|_| run.is_over())?;
    let is_seen = last.is_some_and(|outcome| outcome.records.iter().any(|record| record.what.contains(shows)));
    (!is_seen).then(|| "the tool does not see the fault that is planted at the end of its process".to_owned())
}

/// The assertion that the driver has printed, if it has.
fn asserted(said: &str) -> String {
    let at = said.lines().find(|line| line.contains("Assertion `"));
    at.map_or_else(String::new, |line| format!("; {}", line.trim()))
}

fn last_line(said: &str) -> String {
    said.lines().rfind(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(": {line}"))
}

#[cfg(test)]
mod tests {
    use super::super::plan::Unit;
    use super::*;

    fn plan() -> Plan {
        let unit = |name: &str| Unit {
            template: "op".to_owned(),
            instance: name.to_owned(),
            kernel: name.to_owned(),
            cubin: PathBuf::new(),
            cases: 9,
        };
        Plan { units: vec![unit("op_a"), unit("op_b")], ..Plan::default() }
    }

    fn line(unit: usize, case: &str, state: State) -> Line {
        Line { unit, case: case.to_owned(), ms: 0, state }
    }

    /// Both units with one case each, seen by the tool.
    fn good() -> Run {
        let lines = vec![
            line(0, "", State::LeftOut(2)),
            line(0, "x", State::Started),
            line(0, "x", State::Right),
            line(1, "y", State::Started),
            line(1, "y", State::Right),
            line(2, "", State::Over),
        ];
        Run { ended: Ok(0), lines, log: Log { errors: Some(0), records: Vec::new() }, said: String::new() }
    }

    fn record(kernel: &str) -> Record {
        Record { kernel: Some(kernel.to_owned()), case: None, what: "Race reported".to_owned(), count: 1 }
    }

    #[test]
    fn clean_is_what_ran_was_seen_and_is_right() {
        let outcomes = outcomes_of(&plan(), 0, &good());
        assert!(outcomes.iter().all(Outcome::is_clean), "{outcomes:?}");
        assert_eq!((outcomes[0].right.as_slice(), outcomes[0].left_out), (["x".to_owned()].as_slice(), 2));
        assert_eq!(good().reached(0, 2), 2);
    }

    #[test]
    fn a_report_belongs_to_its_kernel() {
        let mut run = good();
        run.log.records = vec![record("op_b")];
        run.log.errors = Some(1);
        run.ended = Ok(FOUND);
        let outcomes = outcomes_of(&plan(), 0, &run);
        assert!(outcomes[0].is_clean() && outcomes[1].records == [record("op_b")], "{outcomes:?}");
        // One of no kernel of the plan is not lost.
        run.log.records = vec![record("stranger")];
        let outcomes = outcomes_of(&plan(), 0, &run);
        assert!(outcomes[0].records == [record("stranger")] && outcomes[1].is_clean());
    }

    #[test]
    fn a_tool_that_did_not_end_well_has_not_told_all() {
        let untold = |change: &dyn Fn(&mut Run)| {
            let mut run = good();
            change(&mut run);
            outcomes_of(&plan(), 0, &run).into_iter().find_map(|outcome| outcome.untold).unwrap_or_default()
        };
        assert_eq!(untold(&|_| ()), "");
        assert!(untold(&|run| run.log.errors = None).starts_with("the tool has no summary"));
        assert_eq!(untold(&|run| run.log.errors = Some(3)), "the tool counts 3 errors, and tells none");
        assert!(untold(&|run| run.ended = Ok(FOUND)).starts_with("the tool found something"));
        assert!(untold(&|run| run.ended = Ok(1)).starts_with("the tool ended with"));
        assert!(untold(&|run| run.ended = Err("ended after 9 s".to_owned())).contains("after 9 s"));
        let nothing = |run: &mut Run| {
            run.lines.clear();
            run.said = "cannot connect\n".to_owned();
        };
        assert_eq!(untold(&nothing), "no case ran: cannot connect");
    }

    #[test]
    fn a_planted_fault_at_the_end_must_be_seen() {
        let plan = Plan { shows: Some("Race".to_owned()), ..plan() };
        let outcomes = outcomes_of(&plan, 0, &good());
        assert!(outcomes.iter().all(|outcome| outcome.untold.is_some()), "{outcomes:?}");
        let mut run = good();
        run.log = Log { errors: Some(1), records: vec![record("op_b")] };
        run.ended = Ok(FOUND);
        assert!(outcomes_of(&plan, 0, &run)[0].is_clean());
        // A process that did not come to it is followed by another.
        run.log = Log { errors: Some(0), records: Vec::new() };
        run.ended = Ok(0);
        run.lines.truncate(3);
        assert!(outcomes_of(&plan, 0, &run)[0].is_clean());
    }

    #[test]
    fn a_process_that_ends_early_is_not_the_last() {
        let mut run = good();
        run.lines.truncate(2);
        run.ended = Ok(139);
        run.said = "op.cuh:7: f: Assertion `(a < b)` failed.\n".to_owned();
        assert_eq!(run.reached(0, 2), 1);
        let outcomes = outcomes_of(&plan(), 0, &run);
        assert_eq!(outcomes[0].faults, ["x: the process ended, exit status 139; op.cuh:7: f: Assertion `(a < b)` failed."]);
        // The second process begins with the second unit.
        let mut rest = good();
        rest.lines.drain(..3);
        assert!(outcomes_of(&plan(), 1, &rest)[0].is_clean());
        assert_eq!(rest.reached(1, 2), 1);
        // Without a word it has dealt with one unit all the same, so that the run comes to its end.
        rest.lines.clear();
        assert_eq!(rest.reached(1, 2), 1);
    }

    #[test]
    fn what_the_driver_says_stands_with_the_case() {
        let mut run = good();
        run.lines[2].state = State::Failed("run: CUDA_ERROR_ASSERT".to_owned());
        run.lines[4].state = State::Wrong("y: element 3".to_owned());
        let outcomes = outcomes_of(&plan(), 0, &run);
        assert_eq!(
            (outcomes[0].faults[0].as_str(), outcomes[1].faults[0].as_str()),
            ("x: run: CUDA_ERROR_ASSERT", "y: y: element 3")
        );
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let sleeps = Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(wait(sleeps, Duration::from_millis(50)), Err("ended after 0 s".to_owned()));
        let fails = Command::new("sh").args(["-c", "exit 77"]).spawn().unwrap();
        assert_eq!(wait(fails, Duration::from_secs(60)), Ok(FOUND));
    }
}

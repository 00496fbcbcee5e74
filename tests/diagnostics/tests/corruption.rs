//! Corrupts every golden spec in one place at a time and judges each result against the golden's own checkpoint. A corruption must be
//! refused, by parse, by check or by the comparison with the checkpoint, or leave the model as it was; none may load and compute
//! something else. Prints the counts. `TENON_CORRUPTIONS=all` takes all of them, and without it one in a few is taken;
//! `TENON_CORRUPTIONS_LOG` names a file for a line about each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};
use std::time::Instant;

use libtest_mimic::{Arguments, Failed, Trial};
use tenon_compiler::architecture::ARCHITECTURES;
use tenon_compiler::diagnostic::Id;
use tenon_diagnostics::apart::APART;
use tenon_diagnostics::corrupt::{self, Corruption, Kind, Lexicon, Places};
use tenon_diagnostics::subjects;
use tenon_diagnostics::verdict::{Subject, Verdict};
use tenon_formats::CanonicalConfig;

/// So many at least, whatever the stride.
const AT_LEAST: usize = 10_000;

/// Without `TENON_CORRUPTIONS=all`, one in so many. A prime, so that operators which come in pairs or fours all have their turn.
const STRIDE: usize = 11;

/// Keys whose corruption loads and computes something else, and why nothing can refuse it.
const EXPLAINED: &[(&str, &str)] = &[
    (
        "mixer.*.kv_cache_dtype",
        "its first dtype is that of the cache where no flag chooses one: the author's choice, of which no checkpoint says anything",
    ),
    (
        "model.targets",
        "which machines the model is compiled for: the author's choice; on a further one it is the same model, in that one's precision",
    ),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = vec![
        Trial::test("none_loads_and_computes_something_else", corruptions),
        Trial::test("what_computes_something_else_is_seen", seen),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A corruption of one file of one subject.
struct Case<'s> {
    subject: &'s Subject,
    of_kernel: bool,
    corruption: Corruption,
}

impl<'s> Case<'s> {
    fn all(subject: &'s Subject, lexicon: &Lexicon) -> impl Iterator<Item = Self> {
        let case = move |of_kernel| move |corruption| Self { subject, of_kernel, corruption };
        let model = corrupt::every(&subject.text, lexicon).into_iter().map(case(false));
        let kernel = subject.kernel.iter().flat_map(|kernel| corrupt::every(kernel, lexicon));
        model.chain(kernel.map(case(true)))
    }

    fn judge(&self) -> Verdict {
        let Subject { text, kernel, .. } = self.subject;
        match kernel {
            Some(kernel) if self.of_kernel => self.subject.judge(text, Some(&self.corruption.apply(kernel))),
            kernel => self.subject.judge(&self.corruption.apply(text), kernel.as_deref()),
        }
    }

    /// The key or table, without names that the author chose.
    fn place(&self) -> String {
        corrupt::general(&self.corruption.place)
    }
}

fn corruptions() -> Result<(), Failed> {
    let subjects = subjects::all();
    let lexicon = lexicon(&subjects);
    let all: Vec<Case<'_>> = subjects.iter().flat_map(|subject| Case::all(subject, &lexicon)).collect();
    let whole = std::env::var_os("TENON_CORRUPTIONS").is_some_and(|which| which == "all");
    let (total, stride) = (all.len(), if whole { 1 } else { STRIDE });
    let cases: Vec<Case<'_>> = all.into_iter().step_by(stride).collect();

    let started = Instant::now();
    let verdicts = judge(&cases);
    let (count, seconds) = (cases.len(), started.elapsed().as_secs_f64());
    let report = Report::new(&cases, &verdicts);
    println!("{count} corruptions (of {total}) of {} specs in {seconds:.0} s\n{}", subjects.len(), report.table());
    if let Some(path) = std::env::var_os("TENON_CORRUPTIONS_LOG") {
        fs::write(path, log(&cases, &verdicts))?;
    }
    if count < AT_LEAST {
        return Err(format!("{count} corruptions are too few").into());
    }
    report.unexplained(whole)
}

/// The judgement itself can fail: with a config that says the same, a changed spec loads and computes something else.
fn seen() -> Result<(), Failed> {
    let mut subject = subjects::all().into_iter().find(|subject| subject.name == "llama-gqa").ok_or("it is a golden")?;
    let config = subject.checkpoint.config.text.clone();
    for (in_spec, in_config) in [
        (["rope_theta = 10000.0", "rope_theta = 10001.0"], ["10000.0", "10001.0"]),
        (["rms_norm_eps = 1e-6", "rms_norm_eps = 1.0001e-6"], ["1e-06", "1.0001e-06"]),
        (["max_position_embeddings = 512", "max_position_embeddings = 511"], ["512", "511"]),
    ] {
        let changed = subject.text.replacen(in_spec[0], in_spec[1], 1);
        subject.checkpoint.config.text = config.replacen(in_config[0], in_config[1], 1);
        subject.checkpoint.checkpoint.config = CanonicalConfig::from_hf_text(subject.checkpoint.config.text.as_bytes())?;
        let verdicts = [&changed, &subject.text].map(|text| subject.judge(text, subject.kernel.as_deref()));
        if !matches!(verdicts, [Verdict::Different(_), Verdict::Checkpoint(Id::CheckpointMismatch)]) {
            return Err(format!("{in_spec:?}: {verdicts:?}").into());
        }
    }
    Ok(())
}

/// On all cores; the compiler's panics are verdicts and are not printed.
fn judge(cases: &[Case<'_>]) -> Vec<Verdict> {
    std::panic::set_hook(Box::new(|_| {}));
    let next = AtomicUsize::new(0);
    let some = || {
        let mut verdicts = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return verdicts };
            verdicts.push((at, case.judge()));
        }
    };
    let mut verdicts: Vec<(usize, Verdict)> = scope(|scope| {
        let threads: Vec<_> = (0..available_parallelism().map_or(1, usize::from)).map(|_| scope.spawn(some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("panics are caught")).collect()
    });
    let _ = std::panic::take_hook();
    verdicts.sort_by_key(|(at, _)| *at);
    verdicts.into_iter().map(|(_, verdict)| verdict).collect()
}

/// Counts by outcome.
#[derive(Default)]
struct Report {
    outcomes: [usize; 6],
    /// Below an outcome, by diagnostic or by what differs.
    details: [BTreeMap<String, usize>; 6],
    /// By place: those that compute something else, and those at which the compiler panicked.
    bad: BTreeMap<String, Vec<String>>,
}

const OUTCOMES: [&str; 6] = [
    "refused by parse",
    "refused by check",
    "refused against the checkpoint",
    "accepted, the same model",
    "accepted, differs only in what no logit depends on",
    "accepted, computes something else",
];

impl Report {
    fn new(cases: &[Case<'_>], verdicts: &[Verdict]) -> Self {
        let mut report = Self::default();
        for (case, verdict) in cases.iter().zip(verdicts) {
            let (outcome, detail) = match verdict {
                Verdict::Parse(id) => (0, id.as_str().to_owned()),
                Verdict::Check(id) => (1, id.as_str().to_owned()),
                Verdict::Checkpoint(id) => (2, id.as_str().to_owned()),
                Verdict::Same => (3, String::new()),
                Verdict::Apart(names) => (4, names.join(", and ")),
                Verdict::Different(_) | Verdict::Panicked(_) => {
                    let what =
                        format!("{}: {} {}: {verdict:?}", case.subject.name, case.corruption.operator, case.corruption.what());
                    report.bad.entry(case.place()).or_default().push(what);
                    (5, case.place())
                }
            };
            report.outcomes[outcome] += 1;
            if !detail.is_empty() {
                *report.details[outcome].entry(detail).or_default() += 1;
            }
        }
        report
    }

    fn table(&self) -> String {
        let mut table = String::new();
        for (outcome, (count, details)) in OUTCOMES.iter().zip(self.outcomes.iter().zip(&self.details)) {
            let _ = writeln!(table, "{count:8}  {outcome}");
            let mut details: Vec<_> = details.iter().collect();
            details.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (detail, count) in details {
                let why = APART.iter().find(|apart| apart.name == detail).map_or("", |apart| apart.why);
                let why = EXPLAINED.iter().find(|(place, _)| place == detail).map_or(why, |(_, why)| why);
                let _ = writeln!(table, "{count:16}  {detail}{}{why}", if why.is_empty() { "" } else { ": " });
            }
        }
        table
    }

    /// What computes something else is explained; and of all, what is explained is there.
    fn unexplained(&self, whole: bool) -> Result<(), Failed> {
        let explained: BTreeSet<&str> = EXPLAINED.iter().map(|(place, _)| *place).collect();
        let found: BTreeSet<&str> = self.bad.keys().map(String::as_str).collect();
        let mut text = String::new();
        for place in found.difference(&explained) {
            let _ = writeln!(text, "{place} loads and computes something else:");
            self.bad[*place].iter().take(5).for_each(|case| text.extend(["  ", case.as_str(), "\n"]));
        }
        for place in explained.difference(&found).filter(|_| whole) {
            let _ = writeln!(text, "{place} is explained, and no corruption of it computes something else");
        }
        if text.is_empty() { Ok(()) } else { Err(text.into()) }
    }
}

fn log(cases: &[Case<'_>], verdicts: &[Verdict]) -> String {
    let mut log = String::new();
    for (Case { subject, corruption, .. }, verdict) in cases.iter().zip(verdicts) {
        let what = corruption.what();
        let _ = writeln!(log, "{verdict:?}\t{}\t{}\t{}\t{what}", subject.name, corruption.place, corruption.operator);
    }
    log
}

/// What stands in the subjects, and the names that the compiler says are legal where a strange one stands.
fn lexicon(subjects: &[Subject]) -> Lexicon {
    let mut lexicon = Lexicon::default();
    for subject in subjects {
        lexicon.read(&subject.text);
        subject.kernel.iter().for_each(|kernel| lexicon.read(kernel));
        let places = Places::of(&subject.text);
        for entry in &places.entries {
            let value = match &entry.kind {
                Kind::Text(_) => entry.value.clone(),
                Kind::List(elements) if !elements.is_empty() => elements[0].0.clone(),
                _ => continue,
            };
            let mut text = subject.text.clone();
            text.replace_range(value, "\"qqq\"");
            lexicon.add_names(&entry.general, subject.legal_names(&text));
            lexicon.add_names(&entry.general, ["none", "checkpoint", "default"].map(str::to_owned));
            if entry.path == "checkpoint.model_type" {
                lexicon.add_names(&entry.general, ARCHITECTURES.iter().map(|a| a.model_type.to_owned()));
            }
            if entry.path.starts_with("layers.") {
                let names = places.tables.iter().filter_map(|table| table.path.rsplit('.').next());
                lexicon.add_names(&entry.general, names.map(str::to_owned));
            }
        }
    }
    lexicon
}

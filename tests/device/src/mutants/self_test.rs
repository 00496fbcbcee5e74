//! Mutants whose verdicts are known: what a run of the harness begins with.

use crate::parallel::{in_parallel, threads};

use super::change::{Change, Mutant, Origin, apply, read};
use super::harness::Harness;
use super::plan::{Plan, Start};
use super::verdict::{Gate, How, Verdict};
use super::{Survivor, change};

/// A verdict by its name, and how a mutant is caught.
type Expected = (&'static str, Option<How>);

/// One mutant, how the harness treats it, and what it must say.
struct Test {
    mutant: Mutant,
    plan: Which,
    expected: Expected,
}

/// What is tried with a mutant.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    /// The kernel as it is.
    Pristine,
    /// A kernel that is wrong as it is.
    Red,
    /// No case.
    Empty,
    /// A process that ends without a result.
    EndsEarly,
    /// A template that says why mutants of its first line survive.
    Explained,
}

/// Runs them over a plan of the simplest template. Each must get the verdict that it must get.
///
/// # Errors
/// The first that does not, and an entry without a body.
pub fn run<'a>(harness: &Harness, plan: impl Fn() -> Result<Plan<'a>, String>) -> Result<(), String> {
    let pristine = plan()?;
    let tests = tests(&pristine)?;
    let folder = harness.options.folder.join(&pristine.template.name).join("self-test-texts");
    let nothing = tests.iter().find(|test| test.mutant.name == "self-test-nothing").ok_or("a test is missing")?;
    apply(&nothing.mutant.change, pristine.texts, pristine.template, &folder)?;
    let (mut red, mut empty, mut ends_early, mut explained) = (plan()?, plan()?, plan()?, plan()?);
    (red.label, empty.label, ends_early.label, explained.label) = ("-red", "-empty", "-early", "-explained");
    red.texts = &folder;
    empty.start = Start { empty: true, ..Start::default() };
    ends_early.start = Start { ends_early: true, ..Start::default() };
    explained.survivors = vec![explanation(&pristine)?];
    let rows = in_parallel(&tests, threads(), |test| {
        let plan = match test.plan {
            Which::Pristine => &pristine,
            Which::Red => &red,
            Which::Empty => &empty,
            Which::EndsEarly => &ends_early,
            Which::Explained => &explained,
        };
        harness.one(plan, &test.mutant)
    });
    for (row, test) in rows.iter().zip(&tests) {
        let got = (row.verdict.name(), row.verdict.kill().map(|kill| kill.how));
        let needs_device = !matches!(test.expected, ("unviable" | "equivalent" | "not-applied", _) | (_, Some(How::Build)));
        let expected = if harness.options.compile_only && needs_device { ("built", None) } else { test.expected };
        if got != expected {
            return Err(format!("the harness misjudges, and should say {expected:?}: {}", row.line()));
        }
        // One fault for one gate: what tells it from the kernel must not be another.
        let alone = row.verdict.kill().is_none_or(|kill| kill.gates.len() == 1 || kill.how == How::Assert);
        if !alone && matches!(row.verdict, Verdict::Caught(_)) {
            return Err(format!("more gates than one notice: {}", row.line()));
        }
    }
    println!("the harness judges {} mutants of {} as it should", tests.len(), pristine.template.name);
    Ok(())
}

/// That mutants of the first line of the entry survive.
fn explanation(plan: &Plan) -> Result<Survivor, String> {
    let file = format!("{}.cu.jinja", plan.template.name);
    let text = read(plan.texts, &plan.template.name, &file)?;
    let line = text.lines().next().unwrap_or_default().trim().to_owned();
    Ok(Survivor { file, line, origin: Origin::SelfTest, because: "it changes nothing".to_owned() })
}

fn tests(plan: &Plan) -> Result<Vec<Test>, String> {
    let file = format!("{}.cu.jinja", plan.template.name);
    let text = read(plan.texts, &plan.template.name, &file)?;
    let body = text.find("@{ instance }@(").and_then(|at| Some(at + text[at..].find("{\n")? + 2));
    let body = body.ok_or_else(|| format!("{file} has no entry with a body"))?;
    let splice = |at: usize, replace: &str| Change::Splice { file: file.clone(), at, len: 0, replace: replace.to_owned() };
    let test = |name: &str, plan: Which, change: Change, expected: Expected| {
        let breaks = "the harness judges as it should".to_owned();
        let mutant = Mutant::made(format!("self-test-{name}"), Origin::SelfTest, change, breaks);
        Test { mutant, plan, expected }
    };
    let plain = |name: &str, change: Change, expected: Expected| test(name, Which::Pristine, change, expected);
    let for_gate = |gate: Gate, test: Test| Test { mutant: Mutant { gate: Some(gate), ..test.mutant }, ..test };
    let in_body = |code: &str| splice(body, code);
    let caught = |how: How| ("caught", Some(how));
    // Another kernel beside this one: other machine code that does the same.
    let other = "extern \"C\" __global__ void null_mutant() {}\n";
    let absent = change::Change::Replace { file: file.clone(), find: "no such text".to_owned(), replace: String::new() };
    Ok(vec![
        plain("null", splice(text.len(), other), ("missed", None)),
        plain("broken", splice(text.len(), "this is no CUDA;\n"), ("unviable", None)),
        plain("comment", splice(text.len(), "// nothing\n"), ("equivalent", None)),
        plain("absent", absent, ("not-applied", None)),
        plain("nothing", in_body("return;\n"), caught(How::Assert)),
        plain("trap", in_body("asm volatile(\"trap;\");\n"), caught(How::Crash)),
        plain("endless", in_body("for (;;) asm volatile(\"nanosleep.u32 1000;\");\n"), caught(How::Timeout)),
        plain("race", in_body(RACE), caught(How::Racecheck)),
        plain("outside", in_body(OUTSIDE), caught(How::Memcheck)),
        plain("half-a-barrier", in_body(HALF_A_BARRIER), caught(How::Synccheck)),
        for_gate(Gate::Build, plain("refused", splice(text.len(), "static_assert(false, \"no\");\n"), caught(How::Build))),
        plain("refused-unasked", splice(text.len(), "static_assert(false, \"no\");\n"), ("unviable", None)),
        for_gate(Gate::ErrorWord, plain("elsewhere", in_body("return; // elsewhere\n"), ("caught-elsewhere", Some(How::Assert)))),
        test("explained", Which::Explained, splice(0, other), ("survives", None)),
        test("no-result", Which::EndsEarly, splice(text.len(), other), caught(How::Crash)),
        test("no-case", Which::Empty, splice(text.len(), other), ("control-empty", None)),
        test("red", Which::Red, splice(0, other), ("control-red", None)),
    ])
}

/// Threads of a block write and read one word that nothing orders; the result does not depend on it.
const RACE: &str = "__shared__ volatile unsigned room; room = threadIdx.x; if (room > 1024) return;\n";
/// A word after the end of `x` is read, which is within what the driver hands out at once.
const OUTSIDE: &str = "if (*reinterpret_cast<volatile float*>(x + (rows + 2) * dim) == 12345.0f) return;\n";
/// Half of the lanes of a warp wait where the others do not.
const HALF_A_BARRIER: &str = "if (threadIdx.x % 32 < 16) __syncthreads();\n";

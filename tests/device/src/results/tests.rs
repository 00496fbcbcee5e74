use serde_json::json;

use super::*;

fn part(result: Value) -> Part {
    let run = Run {
        card: "NVIDIA H200".to_owned(),
        driver: "580.1".to_owned(),
        cuda: "13.0.88".to_owned(),
        commit: "abc".to_owned(),
        clean: Some(true),
        date: "2025-12-01 10:00 UTC".to_owned(),
        seconds: 12.4,
    };
    Part { run, error: None, result }
}

fn goals() -> Goals {
    Goals::parse(
        r#"
[[goal]]
work = "linear, 1 row"
instance = "linear_bf16_r1"
size = "24576 x 4096"
unit = "TB/s"
must = 3.8
anchor = "cuBLAS"
peers = [{ kind = "product", library = "cuBLAS", rows = 1, out = 24576, in = 4096 }]
[[goal]]
work = "scan"
instance = "scan"
size = "long"
unit = "ms"
must = 1.3
anchor = 0.877
[[goal]]
work = "experts"
instance = "experts"
size = "few"
unit = "x dense"
dense = "linear, 1 row"
must = 1.3
[[goal]]
work = "product, 64 rows"
product = { rows = 64, out = 24576, in = 4096 }
unit = "TFLOP/s"
[[goal]]
work = "llama, decode"
model = { name = "llama", phase = "decode", prompt = 512, sequences = 8 }
unit = "tok/s"
anchor = 1000
[[goal]]
work = "llama, prefill"
model = { name = "llama", phase = "prefill", prompt = 4096, sequences = 4, flops_per_token = 10e9 }
unit = "of cuBLAS"
must = 0.55
"#,
    )
    .unwrap()
}

fn speed() -> Value {
    json!({
        "copy_tb_s": 4.27, "product_tflop_s": 800.0, "faults": ["odd is not timed: 1 of its 3 cases are wrong"],
        "passed": 4, "failed": 1,
        "benches": [
            { "instance": "linear_bf16_r1", "size": "24576 x 4096", "us": 50.0, "tb_s": 4.03, "tflop_s": 4.0, "of_copy": 0.94, "of_product": 0.005 },
            { "instance": "scan", "size": "long", "us": 2600.0, "tb_s": 0.3, "tflop_s": 50.0, "of_copy": 0.07, "of_product": 0.06 },
            { "instance": "experts", "size": "few", "us": 10.0, "tb_s": 3.1, "tflop_s": 3.0, "of_copy": 0.7, "of_product": 0.004 }],
        "products": [{ "rows": 64, "out": 24576, "in": 4096, "us": 60.0, "tb_s": 3.4, "tflop_s": 214.7, "of_copy": 0.8, "of_product": 0.27 }],
        "peers": {
            "versions": { "torch": "2.11", "cudnn": "9.1.0" },
            "results": [{ "name": "linear, 1 row, cuBLAS", "us": 70.0, "tb_s": 2.88, "tflop_s": 2.8 }] },
    })
}

fn page(parts: impl IntoIterator<Item = (Name, Part)>) -> String {
    Results { parts: parts.into_iter().collect() }.markdown(&goals())
}

/// The lines of a page with a text in them.
fn with<'a>(page: &'a str, text: &str) -> Vec<&'a str> {
    page.lines().filter(|line| line.contains(text)).collect()
}

#[test]
fn what_did_not_run_is_said_and_goals_stand_there_all_the_same() {
    let page = page([]);
    for name in Name::ALL {
        assert!(page.contains(&format!("| {} | not run |  |\n", name.title())), "{page}");
        assert!(page.contains(&format!("## {}\n\nNot run.\n", name.title())), "{page}");
    }
    assert!(page.contains("Of 3 goals that must be reached, 0 are met, 0 are under and 3 are not measured.\n"), "{page}");
    for goal in goals().goals {
        assert!(with(&page, &format!("| {} | not measured", goal.work)).len() == 1, "{}: {page}", goal.work);
    }
    assert!(!Results::default().passed());
}

#[test]
fn a_run_is_stated_and_parts_of_several_runs_are_told_apart() {
    let ops = part(json!({ "passed": 3, "failed": 0, "instances": [] }));
    let mut later = part(json!({ "passed": 2, "failed": 1, "goldens": [] }));
    let first = page([(Name::Ops, ops.clone())]);
    assert!(first.contains("| commit | abc, nothing changed |\n| date | 2025-12-01 10:00 UTC |\n"), "{first}");
    assert!(first.contains("| Kernels against their references | 3 passed, 0 failed | 12 |\n"), "{first}");
    (later.run.date, later.run.commit, later.run.clean) = ("2025-12-01 11:00 UTC".to_owned(), "def".to_owned(), Some(false));
    let both = page([(Name::Ops, ops.clone()), (Name::Goldens, later.clone())]);
    assert!(both.contains("| commit | abc, nothing changed; then def, with changes |\n"), "{both}");
    assert!(both.contains("| date | 2025-12-01 10:00 UTC to 2025-12-01 11:00 UTC |\n"), "{both}");
    // Only an unchanged commit is known to be the same program.
    assert!(ops.run.serves(&ops.run) && !ops.run.serves(&later.run) && !later.run.serves(&later.run));
}

#[test]
fn a_part_without_a_result_says_why() {
    let broken = Part { error: Some("exit status: 101 without a result: boom".to_owned()), ..part(Value::Null) };
    assert!(!broken.passed());
    let page = page([(Name::Mutants, broken)]);
    assert!(page.contains("## Mutants\n\nFailed: exit status: 101 without a result: boom\n"), "{page}");
    assert!(page.contains("| Mutants | failed: exit status: 101 without a result: boom | 12 |\n"), "{page}");
}

#[test]
fn shares_of_bounds_are_the_largest_of_a_template_and_of_a_class() {
    let output = |share: Value, fault: Value| json!({ "share": share, "fault": fault });
    let case = |class: &str, output: Value, g2: Value| json!({ "case": "c", "class": class, "output": output, "g2": g2 });
    let ok = |share: f64| output(share.into(), Value::Null);
    let result = json!({ "passed": 2, "failed": 1, "instances": [
        { "instance": "add_1", "template": "add", "cases": [
            case("elementwise", ok(0.25), ok(0.125)), case("elementwise", ok(0.5), Value::Null)] },
        { "instance": "sum_1", "template": "sum", "cases": [case("sums", ok(0.75), output(2.0.into(), "element 3".into()))] },
        { "instance": "sum_2", "template": "sum", "error": "it does not compile" }] });
    let page = page([(Name::Ops, part(result))]);
    assert!(page.contains("| add | 1 | 2 | 0 | 0.500 | 0.125 |\n"), "{page}");
    assert!(page.contains("| sum | 2 | 1 | 2 | 0.750 | 2.000 |\n"), "{page}");
    assert!(page.contains("| **all** | 3 | 3 | 2 | 0.750 | 2.000 |\n"), "{page}");
    assert!(page.contains("| elementwise | 1 | 2 | 0 | 0.500 | 0.125 |\n"), "{page}");
    assert!(page.contains("What failed:\n\n- sum_1, c: element 3\n- sum_2: it does not compile\n"), "{page}");
}

#[test]
fn goldens_are_by_case_and_greedy_steps_are_no_errors() {
    let golden = |test: &str, passed: bool, value: f64, fault: Value| json!({ "test": test, "passed": passed, "value": value, "bound": 0.02, "largest": 0.5, "launches": 7, "fault": fault });
    let result = json!({ "passed": 2, "failed": 1, "goldens": [
        golden("llama/whole", true, 0.01, Value::Null), golden("llama/greedy", true, 12.0, Value::Null),
        golden("mla/whole", false, 0.03, "median".into())] });
    let page = page([(Name::Goldens, part(result))]);
    assert!(page.contains("| llama | 2 | 2 | 0.500 | 5.00e-1 | 14 |\n"), "{page}");
    assert!(page.contains("| mla | 1 | 0 | 1.500 | 5.00e-1 | 7 |\n"), "{page}");
    assert!(page.contains("- mla/whole: median\n"), "{page}");
}

#[test]
fn the_matrices_of_mutants_count_viable_ones_and_name_the_others() {
    let mutant = |name: &str, origin: &str, verdict: &str, gates: &[&str]| {
        json!({ "template": "add", "mutant": name, "origin": origin, "verdict": verdict, "gates": gates, "text": "why", "breaks": "a guarantee",
            "field": if name == "w1" { "a null row is slot 0".into() } else { Value::Null }, "passed": matches!(verdict, "caught" | "equivalent" | "survives") })
    };
    let result = json!({ "passed": 3, "failed": 3, "faults": ["no mutant is killed by `timeout` alone"],
        "gates": { "g1": { "kills": 2, "alone": 1 }, "timeout": { "kills": 1, "alone": 0 } },
        "mutants": [
            mutant("w1", "written", "caught", &["g1", "g2"]), mutant("b1", "barrier", "caught", &["timeout"]),
            mutant("b2", "barrier", "missed", &[]), mutant("b3", "barrier", "survives", &[]), mutant("e1", "bound", "equivalent", &[]),
            mutant("u1", "written", "unviable", &[]), mutant("c1", "written", "caught-elsewhere", &["g1"]),
            mutant("s1", "swapped", "caught", &["new-gate"])] });
    let page = page([(Name::Mutants, part(result))]);
    assert!(page.contains("4 of 6 viable mutants were caught."), "{page}");
    assert!(page.contains("| template | written | parameter step | barrier | bound | accumulator | swapped | all |\n"), "{page}");
    assert!(page.contains("| add | 2/2 |  | 1/3 |  |  | 1/1 | 4/6 |\n"), "{page}");
    assert!(page.contains("| g1 | g2 | sanitizer | goldens | new-gate |\n"), "{page}");
    assert!(page.contains("| add |  |  |  | 1 |  |  | 2 | 1 |  |  | 1 |\n"), "{page}");
    assert!(page.contains("| **killed by nothing else** |  |  |  |  |  |  | 1 |  |  |  | 1 |\n"), "{page}");
    assert!(page.contains("| a null row is slot 0 | add / w1 | caught | g1, g2 |\n"), "{page}");
    assert!(page.contains("Missed:\n\n- add / b2 (barrier): a guarantee\n"), "{page}");
    assert!(page.contains("the template states:\n\n- add / b3 (barrier): why\n"), "{page}");
    assert!(page.contains("to catch them:\n\n- add / c1 (written): why\n"), "{page}");
    assert!(page.contains("- add / u1 (written): unviable why\n") && page.contains("- add: e1\n"), "{page}");
    assert!(page.contains("- no mutant is killed by `timeout` alone\n"), "{page}");
}

#[test]
fn sanitizers_are_by_template_tool_and_build_and_planted_faults_must_be_seen() {
    let verdict = |instance: &str, tool: &str, build: &str, clean: bool, reports: Value, untold: Value| {
        json!({ "template": "add", "instance": instance, "tool": tool, "build": build, "clean": clean, "cases": ["a"], "left_out": 0,
            "reports": reports, "faults": [], "untold": untold })
    };
    let result = json!({
        "sanitizer": "2025.3", "passed": 3, "failed": 3, "instances": 2, "of_instances": 9, "most_instances": 2, "most_cases": 6,
        "cases_left_out": 4, "runs": 3,
        "verdicts": [
            verdict("add_1", "memcheck", "device-asserts", true, json!([]), Value::Null),
            verdict("add_1", "memcheck", "release", true, json!([]), Value::Null),
            verdict("add_2", "memcheck", "release", false, json!([{ "what": "Invalid read" }]), Value::Null),
            verdict("add_2", "racecheck", "release", false, json!([]), Value::Null)],
        "planted": [
            { "name": "race", "watcher": "racecheck", "instance": "sum", "seen": "a hazard", "instead": "" },
            { "name": "hole", "watcher": "memcheck", "instance": "sum", "seen": null, "instead": "3 cases right" }] });
    let page = page([(Name::Sanitizers, part(result))]);
    assert!(page.contains("2025.3. 2 of 9 instances (at most 2 of a template), 3 runs of cases; 4 cases are left out"), "{page}");
    assert!(page.contains("| template | memcheck, release | racecheck, release | memcheck, device-asserts |\n"), "{page}");
    assert!(page.contains("| add | 1/2 | 0/1 | 1/1 |\n"), "{page}");
    assert!(
        page.contains("- add_2 under memcheck, release: Invalid read\n- add_2 under racecheck, release: nothing ran\n"),
        "{page}"
    );
    assert!(
        page.contains("| race | racecheck | sum | a hazard |\n| hole | memcheck | sum | **not seen**: 3 cases right |\n"),
        "{page}"
    );
}

#[test]
fn counted_launches_stand_beside_the_plans() {
    let step = |step: &str, expected: u64, counted: u64, fault: Value| json!({ "step": step, "expected": expected, "counted": counted, "told": counted, "instances": 5, "products": 2, "differences": [], "fault": fault });
    let result = json!({ "device": "NVIDIA H200", "passed": 1, "failed": 1, "models": [{
        "model": "llama", "loaded": 12, "never_launched": ["add_q4_0"], "fault": null,
        "steps": [step("prefill", 40, 40, Value::Null), step("decode", 30, 29, "add was not launched".into())] }] });
    let page = page([(Name::Launches, part(result))]);
    assert!(page.contains("| llama | 2 | 1 | 70 | 69 | 69 | 4 | 11 of 12 |\n"), "{page}");
    assert!(page.contains("What differs:\n\n- llama, decode: add was not launched\n"), "{page}");
    assert!(page.contains("no step launched:\n\n- llama: add_q4_0\n"), "{page}");
}

#[test]
fn goals_are_met_or_under_by_the_measurements_of_the_same_run() {
    let page = page([(Name::Speed, part(speed()))]);
    let row = |work: &str| with(&page, &format!("| {work} |"))[0].to_owned();
    let linear = row("linear, 1 row");
    assert!(
        linear.contains("| 50.0 us | 4.03 | 4 | 4.03 TB/s | 3.80 TB/s: met (106%) | cuBLAS 2.88 TB/s: met (139%) | "),
        "{linear}"
    );
    assert!(linear.contains("| cuBLAS 2.88 TB/s: 1.40x |"), "{linear}");
    // Less time is better, and so is a smaller multiple.
    assert!(row("scan").contains("| 2.600 ms | 1.300 ms: **under** (50%) | 0.877 ms: **under** (33%) |"), "{page}");
    assert!(row("experts").contains("| 1.30x dense | 1.30x dense: met (100%) |"), "{page}");
    assert!(row("product, 64 rows").contains("| 60.0 us | 3.40 | 215 | 215 TFLOP/s |  |  |  |  |"), "{page}");
    assert!(page.contains("a copy moves 4.27 TB/s") && page.contains("does 800 TFLOP/s"), "{page}");
    assert!(
        page.contains("The libraries are those of cudnn 9.1.0, torch 2.11.") || page.contains("torch 2.11, cudnn 9.1.0."),
        "{page}"
    );
    assert!(page.contains("Of 3 goals that must be reached, 2 are met, 1 are under (scan) and 0 are not measured.\n"), "{page}");
    assert!(page.contains("- odd is not timed: 1 of its 3 cases are wrong\n"), "{page}");
    let mut alone = speed();
    alone["peers"] = json!({ "error": "no module named torch" });
    let page = self::page([(Name::Speed, part(alone))]);
    assert!(page.contains("The libraries did not run: no module named torch"), "{page}");
    assert!(with(&page, "| linear, 1 row |")[0].contains("| cuBLAS: not measured | cuBLAS: not run |"), "{page}");
}

#[test]
fn whole_models_are_judged_by_the_rate_of_the_matrix_library_too() {
    let run = |prompt: u64, sequences: u64| {
        json!({ "prompt_tokens": prompt, "concurrency": sequences, "prompt_tokens_per_second": 48000.0, "decode_tokens_per_second": 900.0,
            "decode_bytes_per_second": 2e12, "decode_share_of_read_bandwidth": 0.47 })
    };
    let result = json!({ "passed": 1, "failed": 1, "models": [
        { "model": "llama", "runs": [run(512, 8), run(4096, 4)], "error": null },
        { "model": "large", "runs": [], "error": "no checkpoint" }] });
    let page = page([(Name::Models, part(result)), (Name::Speed, part(speed()))]);
    assert!(page.contains("| llama, decode | 900 tok/s |  | 1000 tok/s: **under** (90%) |  |\n"), "{page}");
    assert!(page.contains("| llama, prefill | 60% of cuBLAS | 55% of cuBLAS: met (109%) |  |  |\n"), "{page}");
    assert!(page.contains("Of 1 goals that must be reached, 1 are met, 0 are under and 0 are not measured.\n"), "{page}");
    assert!(page.contains("| llama | 512 | 8 | 48000 | 900.0 | 2000 | 47% |\n"), "{page}");
    assert!(page.contains("- large: no checkpoint\n"), "{page}");
}

#[test]
fn the_same_files_make_the_same_page_and_strange_ones_are_refused() {
    let folder = std::env::temp_dir().join(format!("tenon-results-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let written = part(speed());
    std::fs::write(Name::Speed.file(&folder), serde_json::to_string(&written).unwrap()).unwrap();
    let read = Results::read(&folder).unwrap();
    assert_eq!(read.parts.keys().collect::<Vec<_>>(), [&Name::Speed]);
    assert_eq!(read.markdown(&goals()), page([(Name::Speed, written)]));
    assert!(!read.passed());
    std::fs::write(Name::Ops.file(&folder), "{}").unwrap();
    assert!(Results::read(&folder).unwrap_err().contains("ops.json: missing field"));
    std::fs::remove_dir_all(&folder).unwrap();
}

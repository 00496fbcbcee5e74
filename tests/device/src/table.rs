//! The results of shards as one table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

/// The largest shares of the bounds of both gates, and how many outputs they are of.
#[derive(Default)]
struct Share {
    largest: f64,
    /// Where the CPU has such a kernel.
    by_cpu: Option<f64>,
    outputs: usize,
}

impl Share {
    fn columns(&self) -> String {
        let by_cpu = self.by_cpu.map_or_else(|| "-".to_owned(), |share| format!("{share:.3}"));
        format!("{:>8} {:>8.3} {by_cpu:>8}", self.outputs, self.largest)
    }
}

/// Mutants of one template: caught and all that count, of written and of automatic ones, and the names of the others.
#[derive(Default)]
struct Mutants {
    written: (usize, usize),
    automatic: (usize, usize),
    missed: Vec<String>,
}

/// Reads JSON files of `ops`, `goldens`, `bench` and `mutants`, and gives the table and whether everything in it passed.
///
/// # Errors
/// A file that is none of those.
pub fn merge(files: &[PathBuf]) -> Result<(String, bool), String> {
    let (mut passed, mut failed) = (0, 0);
    let mut classes: BTreeMap<String, Share> = BTreeMap::new();
    let mut templates: BTreeMap<String, (usize, Share)> = BTreeMap::new();
    let mut cases: BTreeMap<String, (usize, usize, f64)> = BTreeMap::new();
    let mut mutants: BTreeMap<String, Mutants> = BTreeMap::new();
    let (mut faults, mut benches) = (Vec::new(), Vec::new());
    for file in files {
        let bad = |what: &str| format!("{}: {what}", file.display());
        let text = std::fs::read_to_string(file).map_err(|e| bad(&e.to_string()))?;
        let json: Value = serde_json::from_str(&text).map_err(|e| bad(&e.to_string()))?;
        let list = |key: &str| json[key].as_array().cloned().unwrap_or_default();
        if ["instances", "goldens", "benches", "mutants"].iter().all(|key| json[key].is_null()) {
            return Err(bad("these are no results"));
        }
        passed += json["passed"].as_u64().unwrap_or(0);
        failed += json["failed"].as_u64().unwrap_or(0);
        for instance in list("instances") {
            let name = instance["instance"].as_str().unwrap_or_default().to_owned();
            if let Some(error) = instance["error"].as_str() {
                faults.push(format!("{name}: {error}"));
            }
            let template = instance["template"].as_str().unwrap_or(&name).to_owned();
            templates.entry(template.clone()).or_default().0 += 1;
            for case in instance["cases"].as_array().unwrap_or(&Vec::new()) {
                let share = case["output"]["share"].as_f64().unwrap_or(f64::INFINITY);
                let class = case["class"].as_str().unwrap_or_default().to_owned();
                for of in [classes.entry(class).or_default(), &mut templates.entry(template.clone()).or_default().1] {
                    of.largest = of.largest.max(share);
                    of.by_cpu = of.by_cpu.into_iter().chain(case["g2"]["share"].as_f64()).reduce(f64::max);
                    of.outputs += 1;
                }
                if let Some(fault) = case["output"]["fault"].as_str() {
                    faults.push(format!("{name} / {}: {fault}", case["case"].as_str().unwrap_or_default()));
                }
            }
        }
        for golden in list("goldens") {
            let name = golden["test"].as_str().unwrap_or_default();
            let case = name.split('/').next().unwrap_or_default().to_owned();
            let entry = cases.entry(case).or_default();
            entry.0 += 1;
            entry.1 += usize::from(golden["passed"] == true);
            let share = golden["value"].as_f64().zip(golden["bound"].as_f64()).map_or(f64::NAN, |(value, bound)| value / bound);
            if !name.ends_with("greedy") {
                entry.2 = entry.2.max(share);
            }
            if let Some(fault) = golden["fault"].as_str() {
                faults.push(format!("{name}: {fault}"));
            }
        }
        benches.extend(list("benches"));
        for mutant in list("mutants") {
            let text = |key: &str| mutant[key].as_str().unwrap_or_default().to_owned();
            let of = mutants.entry(text("template")).or_default();
            if mutant["passed"] != true {
                faults.push(format!("{} / {}: {} {}", text("template"), text("mutant"), text("verdict"), text("text")));
            }
            let is_written = text("origin") == "written";
            // What is the same machine code, or none, could not be caught.
            let counts = match text("verdict").as_str() {
                "equivalent" => false,
                "unviable" => is_written,
                _ => true,
            };
            if counts {
                let count = if is_written { &mut of.written } else { &mut of.automatic };
                count.0 += usize::from(text("verdict") == "caught");
                count.1 += 1;
                if text("verdict") != "caught" {
                    of.missed.push(text("mutant"));
                }
            }
        }
        faults.extend(list("faults").iter().filter_map(|fault| fault.as_str().map(str::to_owned)));
    }
    let mut text = String::new();
    if !templates.is_empty() {
        text += "shares of the bounds: g1 against a reference in double precision, g2 against the CPU's kernel\n";
        text += &format!("{:<26} {:>9} {:>8} {:>8} {:>8}\n", "template", "instances", "outputs", "g1", "g2");
        for (name, (instances, share)) in &templates {
            text += &format!("{name:<26} {instances:>9} {}\n", share.columns());
        }
        for (name, share) in &classes {
            text += &format!("{:<26} {:>9} {}\n", format!("class {name}"), "", share.columns());
        }
    }
    if !cases.is_empty() {
        text += &format!("{:<32} {:>6} {:>7} {:>26}\n", "golden", "tests", "passed", "largest median / its bound");
        for (name, (tests, good, share)) in &cases {
            text += &format!("{name:<32} {tests:>6} {good:>7} {share:>26.3}\n");
        }
    }
    if !mutants.is_empty() {
        text += &format!("{:<26} {:>9} {:>9}  {}\n", "mutants caught of", "written", "automatic", "not caught");
        let mut all = Mutants::default();
        for (name, Mutants { written, automatic, missed }) in &mutants {
            for (sum, one) in [(&mut all.written, written), (&mut all.automatic, automatic)] {
                *sum = (sum.0 + one.0, sum.1 + one.1);
            }
            text += &mutants_line(name, *written, *automatic, &missed.join(" "));
        }
        text += &mutants_line("all templates", all.written, all.automatic, "");
    }
    for bench in &benches {
        let number = |key: &str| bench[key].as_f64().unwrap_or(f64::NAN);
        let (copy, product) = (number("of_copy"), number("of_product"));
        let (share, of) = if copy > product { (copy, "copy") } else { (product, "cuBLAS") };
        text += &format!(
            "{:<56} {:<34} {:>9.2} us {:>6.2} TB/s {:>7.1} TFLOP/s, {:>4.0}% of {of}\n",
            bench["instance"].as_str().unwrap_or_default(),
            bench["size"].as_str().unwrap_or_default(),
            number("us"),
            number("tb_s"),
            number("tflop_s"),
            100.0 * share
        );
    }
    faults.iter().for_each(|fault| text += &format!("FAIL {fault}\n"));
    text += &format!("{passed} passed, {failed} failed\n");
    Ok((text, failed == 0 && faults.is_empty()))
}

fn mutants_line(name: &str, written: (usize, usize), automatic: (usize, usize), missed: &str) -> String {
    let of = |(caught, all): (usize, usize)| format!("{caught}/{all}");
    format!("{name:<26} {:>9} {:>9}  {missed}", of(written), of(automatic)).trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(texts: &[&str]) -> Result<(String, bool), String> {
        let folder = std::env::temp_dir().join(format!("tenon-table-{}-{:?}", std::process::id(), std::thread::current().id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |(i, text): (usize, &&str)| {
            let path = folder.join(format!("{i}.json"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let files: Vec<PathBuf> = texts.iter().enumerate().map(write).collect();
        let result = merge(&files);
        std::fs::remove_dir_all(&folder).unwrap();
        result
    }

    const OPS: &str = r#"{ "passed": 2, "failed": 0, "instances": [
        { "instance": "add", "template": "add", "cases": [
            { "case": "a", "class": "elementwise", "output": { "share": 0.25, "fault": null }, "g2": { "share": 0.125 } },
            { "case": "b", "class": "elementwise", "output": { "share": 0.5, "fault": null }, "g2": null }] }] }"#;

    #[test]
    fn shards_add_up() {
        let golden = r#"{ "passed": 1, "failed": 0, "goldens": [
            { "test": "llama-gqa/mixed_batch", "passed": true, "value": 0.01, "bound": 0.02, "fault": null }] }"#;
        let (text, passed) = merged(&[OPS, OPS, golden]).unwrap();
        assert!(passed);
        assert!(text.contains("add                                2        4    0.500    0.125\n"), "{text}");
        assert!(text.contains("llama-gqa                             1       1                      0.500\n"), "{text}");
        assert!(text.ends_with("5 passed, 0 failed\n"), "{text}");
    }

    #[test]
    fn a_fault_in_one_shard_is_told_and_fails_the_table() {
        let bad = r#"{ "passed": 0, "failed": 1, "instances": [{ "instance": "scale", "template": "scale", "error": "it does not compile" }] }"#;
        let (text, passed) = merged(&[OPS, bad]).unwrap();
        assert!(!passed && text.contains("FAIL scale: it does not compile\n"), "{text}");
        assert!(merged(&["{}"]).unwrap_err().ends_with("these are no results"));
    }

    #[test]
    fn mutants_of_shards_add_up() {
        let one = |origin: &str, verdict: &str, passed: bool| {
            format!(
                r#"{{ "template": "add", "mutant": "m-{verdict}", "origin": "{origin}", "verdict": "{verdict}", "passed": {passed}, "text": "" }}"#
            )
        };
        let file =
            |mutants: &[String]| format!(r#"{{ "passed": 1, "failed": 0, "mutants": [{}], "faults": [] }}"#, mutants.join(","));
        let good = file(&[one("written", "caught", true), one("written", "equivalent", true), one("bound", "missed", true)]);
        let (text, passed) = merged(&[&good, &good]).unwrap();
        assert!(passed);
        assert!(text.contains("add                              2/2       0/2  m-missed m-missed\n"), "{text}");
        assert!(text.contains("all templates                    2/2       0/2\n"), "{text}");
        let (text, passed) = merged(&[&file(&[one("written", "missed", false)])]).unwrap();
        assert!(!passed && text.contains("FAIL add / m-missed: missed"), "{text}");
    }
}

//! Every instance against its reference and against the CPU's kernel.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};
use tenon_device_cases::{Case, Expected};
use tenon_device_tests::REFERENCES;
use tenon_device_tests::cpu::cpu;
use tenon_device_tests::gpu::Gpu;
use tenon_device_tests::judge::{judge, numbers};
use tenon_device_tests::launch::{Held, geometry, run};

use crate::Compiled;

/// Runs every case of every instance, and gives the results as JSON.
pub fn ops(compiled: &[Compiled]) -> Result<Value, String> {
    let gpu = Gpu::open()?;
    let (mut passed, mut failed, mut rows) = (0, 0, Vec::new());
    let mut classes: BTreeMap<&str, Shares> = BTreeMap::new();
    let mut cases = in_parallel(compiled);
    for (at, one) in compiled.iter().enumerate() {
        let outcome = cases(at).and_then(|cases| instance(&gpu, one, cases));
        let (good, bad, shares, row) = match outcome {
            Ok(outcome) => outcome,
            Err(message) => {
                println!("FAILED {}: {message}", one.instance.name);
                // A fault of the device ends everything: a later call would only repeat it.
                if message.contains("ILLEGAL") || message.contains("FAILED") || message.contains("MISALIGNED") {
                    return Err(format!("{}: {message}", one.instance.name));
                }
                let row = json!({ "instance": one.instance.name, "template": one.template.name, "error": message });
                (0, 1, Shares { g1: f64::INFINITY, g2: None }, row)
            }
        };
        println!(
            "{} {:<64} {good}/{} cases, share of the bound {shares}",
            if bad == 0 { "ok  " } else { "FAIL" },
            one.instance.name,
            good + bad
        );
        classes.entry(&one.template.class).or_default().add(shares);
        passed += good;
        failed += bad;
        rows.push(row);
    }
    println!("{passed} passed, {failed} failed");
    for (class, shares) in &classes {
        println!("{class:<13} largest share of the bound {shares}");
    }
    let largest: BTreeMap<_, _> = classes.iter().map(|(class, s)| (class, json!({ "g1": s.g1, "g2": s.g2 }))).collect();
    Ok(json!({ "device": gpu.name(), "passed": passed, "failed": failed, "largest": largest, "instances": rows }))
}

/// The largest shares of the bounds of gate G1 and, where the CPU has such a kernel, of G2.
#[derive(Clone, Copy, Default)]
pub(super) struct Shares {
    g1: f64,
    g2: Option<f64>,
}

impl Shares {
    fn add(&mut self, other: Self) {
        self.g1 = self.g1.max(other.g1);
        self.g2 = self.g2.into_iter().chain(other.g2).reduce(f64::max);
    }
}

impl std::fmt::Display for Shares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "g1 {:.3}, g2 ", self.g1)?;
        match self.g2 {
            None => f.write_str("-"),
            Some(share) => write!(f, "{share:.3}"),
        }
    }
}

/// A case, and what the CPU computes from its inputs.
pub(super) type Both = (Case, Option<Vec<Expected>>);

/// The cases of each instance, asked for in order. References take longer than kernels, so as many as there are processors are
/// computed at once.
pub(super) fn in_parallel(compiled: &[Compiled]) -> impl FnMut(usize) -> Result<Vec<Both>, String> {
    let ahead = std::thread::available_parallelism().map_or(2, |n| n.get());
    let mut ready: VecDeque<Result<Vec<Both>, String>> = VecDeque::new();
    move |at| {
        if ready.is_empty() {
            let batch = &compiled[at..compiled.len().min(at + ahead)];
            std::thread::scope(|scope| {
                let threads: Vec<_> = batch.iter().map(|one| scope.spawn(|| cases(one))).collect();
                ready.extend(threads.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("its reference panics".to_owned()))));
            });
        }
        ready.pop_front().unwrap_or_else(|| Err("instances are asked for in order".to_owned()))
    }
}

fn cases(one: &Compiled) -> Result<Vec<Both>, String> {
    let reference = REFERENCES.iter().find(|r| r.template == one.template.name).ok_or("the template has no reference.rs")?;
    let cases = (reference.cases)(&one.instance.params);
    if cases.is_empty() {
        return Err("its reference has no case".to_owned());
    }
    let both = |case: Case| (case.clone(), cpu(&one.template.name, &one.instance.params, &case));
    Ok(cases.into_iter().map(both).collect())
}

/// Runs the cases of an instance: how many are good and how many bad, the shares, and all of it as JSON.
pub(super) fn instance(gpu: &Gpu, one: &Compiled, cases: Vec<Both>) -> Result<(usize, usize, Shares, Value), String> {
    let cubin = &one.cubin.as_ref().ok_or("it does not compile")?.bytes;
    let (mut good, mut bad, mut worst, mut rows) = (0, 0, Shares::default(), Vec::new());
    for (case, by_cpu) in &cases {
        let geometry = geometry(&one.template, &one.instance, &case.dims)?;
        let function = gpu.load(cubin, &one.instance.name, &one.instance.manifest(), geometry.shared_bytes)?;
        let mut held = Held::new(gpu, &one.template, &case.args)?;
        run(gpu, &function, geometry, &mut held).map_err(|e| format!("{}: {e}", case.name))?;
        let mut fault = None;
        if let Some(error) = &held.error {
            let bytes = gpu.download(error)?;
            let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            if word != case.error {
                fault = Some(format!("error word {word}, {} expected", case.error));
            }
        }
        for expected in &case.expected {
            let at = one.template.args.iter().position(|a| a.name == expected.arg).ok_or("an output that is no argument")?;
            let memory = held.memory[at].as_ref().ok_or("an output without memory")?;
            let (_, like) = case.args.iter().find(|(name, _)| *name == expected.arg).ok_or("an output that is no argument")?;
            let got = numbers(like, expected.values.len(), &gpu.download(memory)?);
            let exact = judge(expected, &got);
            let by_cpu = by_cpu.iter().flatten().find(|output| output.arg == expected.arg);
            let near = by_cpu.map(|output| judge(output, &got)).filter(|verdict| verdict.elements > 0 || verdict.fault.is_some());
            worst.add(Shares { g1: exact.share, g2: near.as_ref().map(|verdict| verdict.share) });
            for (gate, verdict) in [("g1", Some(&exact)), ("g2", near.as_ref())] {
                if let Some(text) = verdict.and_then(|verdict| verdict.fault.as_ref()) {
                    fault.get_or_insert(format!("{gate}: {}: {text}", expected.arg));
                }
            }
            rows.push(json!({ "case": case.name, "class": one.template.class, "output": exact, "g2": near }));
        }
        match fault {
            None => good += 1,
            Some(text) => {
                bad += 1;
                println!("     {} / {}: {text}", one.instance.name, case.name);
            }
        }
    }
    Ok((good, bad, worst, json!({ "instance": one.instance.name, "template": one.template.name, "cases": rows })))
}

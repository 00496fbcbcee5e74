//! What the process of one mutant does: every case of an instance, with machine code that it is given, through every gate.

use std::fs::File;

use tenon_device_cases::{Case, Expected, Value, from_bf16, from_e4m3};

use crate::REFERENCES;
use crate::cpu::cpu;
use crate::gpu::Gpu;
use crate::instance::Instance;
use crate::judge::{judge, numbers};
use crate::launch::{Held, geometry, run};
use crate::template::Template;

use super::ChildOptions;
use super::process::{Report, ready};
use super::verdict::{Gate, How};

/// Runs the cases, and writes what the gates noticed.
///
/// # Errors
/// When the result cannot be written.
pub fn child(options: &ChildOptions) -> Result<bool, String> {
    let mut report = Report::default();
    if let Err(why) = cases(options, &mut report) {
        report.broken = Some(why);
    }
    let text = serde_json::to_string(&report).map_err(|e| e.to_string())?;
    std::fs::write(&options.result, text).map_err(|e| format!("{}: {e}", options.result.display()))?;
    Ok(report.faults.is_empty() && report.broken.is_none())
}

/// An error is one of the harness; what the kernel does wrong is in the report.
fn cases(options: &ChildOptions, report: &mut Report) -> Result<(), String> {
    let templates = Template::all(&options.templates)?;
    let instances = Instance::listed(&templates, &options.instances, std::slice::from_ref(&options.template))?;
    let instance = instances.iter().find(|i| i.name == options.instance).ok_or("there is no such instance")?;
    let template = &templates[instance.template];
    let reference = REFERENCES.iter().find(|r| r.template == template.name).ok_or("the template has no reference.rs")?;
    let cubin = std::fs::read(&options.cubin).map_err(|e| format!("{}: {e}", options.cubin.display()))?;
    let mut cases = (reference.cases)(&instance.params);
    cases.truncate(options.cases);
    // Sanitizers judge by themselves, and take their time for every launch.
    let by_cpu = |case: &Case| if options.sanitized { None } else { cpu(&template.name, &instance.params, case) };
    let by_cpu: Vec<Option<Vec<Expected>>> = cases.iter().map(by_cpu).collect();
    let gpu = Gpu::open()?;
    let file = ready(&options.result);
    File::create(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    if options.ends_early {
        std::process::exit(0);
    }
    let stated = match gpu.manifest(&cubin, &instance.name, !instance.params.0.is_empty()) {
        Ok(stated) => stated,
        Err(e) if is_of_others(&e) => return Err(e),
        Err(e) => {
            report.notice(Gate::Crash, How::Crash, e);
            return Ok(());
        }
    };
    if stated != instance.manifest() {
        // A loader would refuse it. The other gates are asked all the same.
        let text = format!("the machine code states {stated:?}, and the launch has {:?}", instance.manifest());
        report.notice(Gate::Manifest, How::Manifest, text);
    }
    let subject = Subject { gpu: &gpu, template, instance, cubin: &cubin, stated, shared: options.shared };
    for (case, by_cpu) in cases.iter().zip(&by_cpu) {
        for _ in 0..options.repeat.max(1) {
            subject.run(case, by_cpu.as_deref(), report)?;
            // What crashed takes the process with it.
            if report.faults.iter().any(|fault| fault.gate == Gate::Crash) {
                return Ok(());
            }
        }
        report.cases += 1;
    }
    Ok(())
}

/// Other processes may have taken all memory: that says nothing about the kernel.
fn is_of_others(error: &str) -> bool {
    error.contains("OUT_OF_MEMORY")
}

/// The machine code that is judged.
struct Subject<'a> {
    gpu: &'a Gpu,
    template: &'a Template,
    instance: &'a Instance,
    cubin: &'a [u8],
    /// Its manifest.
    stated: Vec<u32>,
    /// The reference makes the same mistake.
    shared: bool,
}

impl Subject<'_> {
    fn run(&self, case: &Case, by_cpu: Option<&[Expected]>, report: &mut Report) -> Result<(), String> {
        let Self { gpu, template, instance, .. } = *self;
        let said = |text: &str| format!("{}: {text}", case.name);
        let geometry = geometry(template, instance, &case.dims)?;
        let function = match gpu.load(self.cubin, &instance.name, &self.stated, geometry.shared_bytes) {
            Ok(function) => function,
            Err(e) if is_of_others(&e) => return Err(e),
            Err(e) => {
                report.notice(Gate::Crash, How::Crash, said(&e));
                return Ok(());
            }
        };
        let mut held = Held::new(gpu, template, &case.args)?;
        if let Err(e) = run(gpu, &function, geometry, &mut held) {
            report.notice(Gate::Crash, How::Crash, said(&e));
            return Ok(());
        }
        if let Some(error) = &held.error {
            let bytes = gpu.download(error)?;
            let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            if word != case.error {
                report.notice(Gate::ErrorWord, How::ErrorWord, said(&format!("error word {word}, {} expected", case.error)));
            }
        }
        for expected in &case.expected {
            let at = template.args.iter().position(|a| a.name == expected.arg).ok_or("an output that is no argument")?;
            let memory = held.memory[at].as_ref().ok_or("an output without memory")?;
            let (_, like) = case.args.iter().find(|(name, _)| *name == expected.arg).ok_or("an output that is no argument")?;
            let got = numbers(like, expected.values.len(), &gpu.download(memory)?);
            let by_cpu = by_cpu.and_then(|outputs| outputs.iter().find(|output| output.arg == expected.arg));
            for (gate, expected) in parts(expected, by_cpu, like) {
                if self.shared && gate == Gate::G1 {
                    continue;
                }
                if let Some(text) = judge(&expected, &got).fault {
                    let is_none = |(got, wanted): (&f64, &f64)| !got.is_finite() && wanted.is_finite();
                    let broken = got.iter().zip(&expected.values).any(is_none);
                    let how = if broken { How::NonFinite } else { How::Assert };
                    report.notice(gate, how, said(&format!("{}: {text}", expected.arg)));
                }
            }
        }
        Ok(())
    }
}

/// What the gates demand of an output: what must stay as it was, and of the rest what the reference says, and what the CPU does.
fn parts(reference: &Expected, by_cpu: Option<&Expected>, before: &Value) -> Vec<(Gate, Expected)> {
    let before = initial(before, reference.values.len());
    let stays: Vec<bool> = (0..reference.values.len())
        .map(|i| reference.bounds.get(i) == Some(&0.0) && before.get(i) == Some(&reference.values[i]))
        .collect();
    // NaN says that anything may stand there.
    let only = |expected: &Expected, which: bool| {
        let pick = |(value, stays): (&f64, &bool)| if *stays == which { *value } else { f64::NAN };
        Expected { values: expected.values.iter().zip(&stays).map(pick).collect(), ..expected.clone() }
    };
    let own = [(Gate::Untouched, only(reference, true)), (Gate::G1, only(reference, false))];
    own.into_iter().chain(by_cpu.map(|by_cpu| (Gate::G2, only(by_cpu, false)))).collect()
}

/// The numbers that an output holds before the launch.
fn initial(value: &Value, len: usize) -> Vec<f64> {
    match value {
        Value::F32(values) => values.iter().map(|x| f64::from(*x)).collect(),
        Value::Bf16(bits) => bits.iter().map(|bits| from_bf16(*bits)).collect(),
        Value::I32(values) => values.iter().map(|x| f64::from(*x)).collect(),
        Value::U32(values) => values.iter().map(|x| f64::from(*x)).collect(),
        Value::Bytes(bytes) => bytes.iter().map(|byte| from_e4m3(*byte)).collect(),
        Value::Zeros(_) => vec![0.0; len],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_stay_is_not_left_to_the_references() {
        let reference = Expected { arg: "y", values: vec![2.0, 3.0, 4.0], bounds: vec![0.0, 0.0, 0.5], depth: 1 };
        let by_cpu = Expected { values: vec![2.0, 3.0, 4.25], ..reference.clone() };
        let parts = parts(&reference, Some(&by_cpu), &Value::F32(vec![2.0, 9.0, 4.0]));
        let judged = |got: &[f64]| -> Vec<Gate> {
            parts.iter().filter(|(_, expected)| judge(expected, got).fault.is_some()).map(|(gate, _)| *gate).collect()
        };
        assert_eq!(judged(&[2.0, 3.0, 4.25]), []);
        assert_eq!(judged(&[1.0, 3.0, 4.25]), [Gate::Untouched]);
        assert_eq!(judged(&[2.0, 9.0, 4.25]), [Gate::G1, Gate::G2]);
        assert_eq!(judged(&[2.0, 3.0, 3.6]), [Gate::G2]);
    }
}

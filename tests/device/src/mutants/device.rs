//! What a process of mutants does: every case of an instance, with machine code that it is given, through every gate.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use tenon_device_cases::{Case, Expected, Value, from_bf16, from_e4m3};

use crate::REFERENCES;
use crate::cpu::cpu;
use crate::gpu::Gpu;
use crate::instance::Instance;
use crate::judge::{judge, numbers};
use crate::launch::{Held, geometry, run};
use crate::template::Template;

use super::WorkerOptions;
use super::process::{Report, Task, ready};
use super::verdict::{Gate, How};

/// Cases of so many instances are kept: neighbouring tasks are of one template.
const KEPT: usize = 8;

/// Tasks that came and are not done.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Does the tasks that come line by line, until there are no more or a mutant has crashed: what it did to the context would be told of the
/// next one. Where the lines end before a task is done, nobody waits for it any more, and the process ends at once.
///
/// # Errors
/// A line that is no task, a file that cannot be read or written, and no device.
pub fn worker(options: &WorkerOptions) -> Result<bool, String> {
    let templates = Template::all(&options.templates)?;
    let mut worker = Worker { options, templates, instances: Vec::new(), gpu: None, kept: VecDeque::new() };
    let (send, tasks) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            OPEN.fetch_add(1, Ordering::SeqCst);
            if send.send(line).is_err() {
                return;
            }
        }
        // An endless kernel would hold the device, and a process that exits in good order waits for it.
        if OPEN.load(Ordering::SeqCst) > 0 {
            std::process::abort();
        }
    });
    for line in tasks {
        let task: Task = serde_json::from_str(&line).map_err(|e| e.to_string())?;
        let mut report = Report::default();
        if let Err(why) = worker.work(&task, &mut report) {
            report.broken = Some(why);
        }
        // Before the result is seen: whoever sees it may send no more.
        OPEN.fetch_sub(1, Ordering::SeqCst);
        report.write(&task.result)?;
        if report.broken.is_some() || report.crashed() {
            return Ok(false);
        }
    }
    Ok(true)
}

struct Worker<'a> {
    options: &'a WorkerOptions,
    templates: Vec<Template>,
    instances: Vec<Instance>,
    gpu: Option<Gpu>,
    kept: VecDeque<(String, Prepared)>,
}

/// The cases of an instance, each with what the CPU computes.
type Prepared = Vec<(Case, Option<Vec<Expected>>)>;

impl Worker<'_> {
    /// An error is one of the harness; what the kernel does wrong is in the report.
    fn work(&mut self, task: &Task, report: &mut Report) -> Result<(), String> {
        if !self.instances.iter().any(|instance| self.templates[instance.template].name == task.template) {
            let only = std::slice::from_ref(&task.template);
            self.instances.extend(Instance::listed(&self.templates, &self.options.instances, only)?);
        }
        let instance = self.instances.iter().find(|i| i.name == task.instance).ok_or("there is no such instance")?.clone();
        let template = self.templates[instance.template].clone();
        self.prepare(&template, &instance)?;
        let Some((_, cases)) = self.kept.back() else { return Err("its cases are gone".to_owned()) };
        let cases = &cases[..cases.len().min(task.cases)];
        let gpu = match &mut self.gpu {
            Some(gpu) => gpu,
            none => none.insert(Gpu::open()?),
        };
        let file = ready(&task.result);
        File::create(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        if task.ends_early {
            std::process::exit(0);
        }
        let Some(subject) = Subject::new(gpu, &template, &instance, &task.cubin, report)? else { return Ok(()) };
        let subject = Subject { shared: task.shared, ..subject };
        let mut noticed_by = None;
        for case in cases {
            for _ in 0..task.repeat.max(1) {
                subject.run(case, report)?;
                if report.crashed() {
                    return Ok(());
                }
            }
            report.cases += 1;
            if !report.faults.is_empty() {
                noticed_by.get_or_insert(case);
            }
        }
        // That the kernel is right here and now tells that the mutant is wrong, and not what others before it left in this process.
        if let (Some(case), Some(control)) = (noticed_by, &task.control) {
            let mut own = Report::default();
            if let Some(control) = Subject::new(gpu, &template, &instance, control, &mut own)? {
                control.run(case, &mut own)?;
            }
            report.poisoned = !own.faults.is_empty();
        }
        Ok(())
    }

    /// Computes the cases of an instance, unless they are kept, and puts them last.
    fn prepare(&mut self, template: &Template, instance: &Instance) -> Result<(), String> {
        let known = self.kept.iter().position(|(name, _)| *name == instance.name).and_then(|at| self.kept.remove(at));
        let prepared = match known {
            Some(known) => known,
            None => {
                let reference =
                    REFERENCES.iter().find(|r| r.template == template.name).ok_or("the template has no reference.rs")?;
                // Sanitizers judge by themselves.
                let by_cpu = |case: &Case| {
                    if self.options.sanitized { None } else { cpu(&template.name, &instance.params, case) }
                };
                let cases = (reference.cases)(&instance.params);
                (instance.name.clone(), cases.into_iter().map(|case| (case.clone(), by_cpu(&case))).collect())
            }
        };
        self.kept.push_back(prepared);
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
        Ok(())
    }
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
    cubin: Vec<u8>,
    /// Its manifest.
    stated: Vec<u32>,
    /// The reference makes the same mistake.
    shared: bool,
}

impl<'a> Subject<'a> {
    /// Reads machine code and its manifest. None where the driver refuses it, which is then in the report.
    fn new(
        gpu: &'a Gpu,
        template: &'a Template,
        instance: &'a Instance,
        cubin: &Path,
        report: &mut Report,
    ) -> Result<Option<Self>, String> {
        let cubin = std::fs::read(cubin).map_err(|e| format!("{}: {e}", cubin.display()))?;
        let stated = match gpu.manifest(&cubin, &instance.name, !instance.params.0.is_empty()) {
            Ok(stated) => stated,
            Err(e) if is_of_others(&e) => return Err(e),
            Err(e) => {
                report.notice(Gate::Crash, How::Crash, e);
                return Ok(None);
            }
        };
        if stated != instance.manifest() {
            // A loader would refuse it. The other gates are asked all the same.
            let text = format!("the machine code states {stated:?}, and the launch has {:?}", instance.manifest());
            report.notice(Gate::Manifest, How::Manifest, text);
        }
        Ok(Some(Self { gpu, template, instance, cubin, stated, shared: false }))
    }

    fn run(&self, (case, by_cpu): &(Case, Option<Vec<Expected>>), report: &mut Report) -> Result<(), String> {
        let Self { gpu, template, instance, .. } = *self;
        let said = |text: &str| format!("{}: {text}", case.name);
        let geometry = geometry(template, instance, &case.dims)?;
        let function = match gpu.load(&self.cubin, &instance.name, &self.stated, geometry.shared_bytes) {
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
            let by_cpu = by_cpu.as_ref().and_then(|outputs| outputs.iter().find(|output| output.arg == expected.arg));
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

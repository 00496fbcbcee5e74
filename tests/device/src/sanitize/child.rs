//! What a process under a tool does: cases of its instances one after another, and a line before and after each launch.

use std::fs::File;
use std::io::Write as _;
use std::time::Instant;

use tenon_device_cases::Case;

use crate::REFERENCES;
use crate::gpu::Gpu;
use crate::instance::Instance;
use crate::judge::{judge, numbers};
use crate::launch::{Held, geometry, run};
use crate::template::Template;

use super::ChildOptions;
use super::cases::{of_unwritten, smallest, unwritten};
use super::log::mark;
use super::plan::{Line, Plan, State, Unit};

/// Runs a plan up to its end, or until the driver takes no more calls. What kernels do wrong is in the lines.
///
/// # Errors
/// A plan that cannot be read, and lines that cannot be written.
pub fn child(options: &ChildOptions) -> Result<bool, String> {
    let start = Instant::now();
    let bad = |path: &std::path::Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = std::fs::read_to_string(&options.plan).map_err(|e| bad(&options.plan, &e))?;
    let plan: Plan = serde_json::from_str(&text).map_err(|e| bad(&options.plan, &e))?;
    let templates = Template::all(&plan.templates)?;
    let only: Vec<String> = plan.units.iter().map(|unit| unit.template.clone()).collect();
    let instances = Instance::listed(&templates, &plan.instances, &only)?;
    let mut file = File::create(&options.result).map_err(|e| bad(&options.result, &e))?;
    let mut say = |unit: usize, case: &str, state: State| -> Result<(), String> {
        let ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let line = serde_json::to_string(&Line { unit, case: case.to_owned(), ms, state }).map_err(|e| e.to_string())?;
        writeln!(file, "{line}").and_then(|()| file.flush()).map_err(|e| bad(&options.result, &e))
    };
    let gpu = Gpu::open()?;
    for (at, unit) in plan.units.iter().enumerate().skip(options.skip) {
        let instance =
            instances.iter().find(|i| i.name == unit.instance).ok_or_else(|| format!("no instance {}", unit.instance))?;
        let template = &templates[instance.template];
        let reference = REFERENCES.iter().find(|r| r.template == template.name).ok_or("the template has no reference.rs")?;
        let cubin = std::fs::read(&unit.cubin).map_err(|e| bad(&unit.cubin, &e))?;
        let all = (reference.cases)(&instance.params);
        let count = all.len();
        let cases = smallest(all, unit.cases);
        say(at, "", State::LeftOut(count - cases.len()))?;
        for case in cases {
            say(at, &case.name, State::Started)?;
            println!("{}", mark(&case.name));
            let state = one(&gpu, &plan, unit, template, instance, &cubin, &case);
            let failed = matches!(state, State::Failed(_));
            say(at, &case.name, state)?;
            // After some errors the driver takes no further calls from this process.
            if failed && gpu.settle().is_err() {
                return Ok(true);
            }
        }
    }
    say(plan.units.len(), "", State::Over)?;
    // The tool has its own exit status for what it found.
    Ok(true)
}

fn one(gpu: &Gpu, plan: &Plan, unit: &Unit, template: &Template, instance: &Instance, cubin: &[u8], case: &Case) -> State {
    let args: Vec<(String, String)> = template.args.iter().map(|arg| (arg.name.clone(), arg.ty.clone())).collect();
    let left = if plan.unwritten { unwritten(&args, &plan.reads, &unit.template, case) } else { Vec::new() };
    let launch = || -> Result<Held, String> {
        let geometry = geometry(template, instance, &case.dims)?;
        let function = gpu.load(cubin, &unit.kernel, &instance.manifest(), geometry.shared_bytes)?;
        let mut held = Held::without(gpu, template, &case.args, &left)?;
        run(gpu, &function, geometry, &mut held)?;
        Ok(held)
    };
    match launch().and_then(|held| wrong(gpu, template, case, &held, &left)) {
        Ok(None) => State::Right,
        Ok(Some(text)) => State::Wrong(text),
        Err(text) => State::Failed(text),
    }
}

/// What is wrong with the results, if anything.
fn wrong(gpu: &Gpu, template: &Template, case: &Case, held: &Held, unwritten: &[String]) -> Result<Option<String>, String> {
    if let Some(error) = &held.error {
        let bytes = gpu.download(error)?;
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if word != case.error {
            return Ok(Some(format!("error word {word}, {} expected", case.error)));
        }
    }
    for expected in &case.expected {
        let at = template.args.iter().position(|a| a.name == expected.arg).ok_or("an output that is no argument")?;
        let memory = held.memory[at].as_ref().ok_or("an output without memory")?;
        let (_, like) = case.args.iter().find(|(name, _)| *name == expected.arg).ok_or("an output that is no argument")?;
        let got = numbers(like, expected.values.len(), &gpu.download(memory)?);
        let is_unwritten = unwritten.iter().any(|arg| arg == expected.arg);
        let verdict = if is_unwritten { judge(&of_unwritten(expected, like), &got) } else { judge(expected, &got) };
        if let Some(text) = verdict.fault {
            return Ok(Some(format!("{}: {text}", expected.arg)));
        }
    }
    Ok(None)
}

//! What the process of one mutant does: every case of an instance, with machine code that it is given.

use std::fs::File;

use tenon_device_cases::Case;

use crate::REFERENCES;
use crate::gpu::Gpu;
use crate::instance::Instance;
use crate::judge::{judge, numbers};
use crate::launch::{Held, geometry, run};
use crate::template::Template;

use super::ChildOptions;
use super::process::{Fault, Report, ready};
use super::verdict::How;

/// Runs the cases up to the first fault, and writes what it found.
///
/// # Errors
/// When the result cannot be written.
pub fn child(options: &ChildOptions) -> Result<bool, String> {
    let report = cases(options).unwrap_or_else(|why| Report { broken: Some(why), ..Report::default() });
    let text = serde_json::to_string(&report).map_err(|e| e.to_string())?;
    std::fs::write(&options.result, text).map_err(|e| format!("{}: {e}", options.result.display()))?;
    Ok(report.fault.is_none() && report.broken.is_none())
}

/// An error is one of the harness; what the kernel does wrong is in the report.
fn cases(options: &ChildOptions) -> Result<Report, String> {
    let templates = Template::all(&options.templates)?;
    let instances = Instance::listed(&templates, &options.instances, std::slice::from_ref(&options.template))?;
    let instance = instances.iter().find(|i| i.name == options.instance).ok_or("there is no such instance")?;
    let template = &templates[instance.template];
    let reference = REFERENCES.iter().find(|r| r.template == template.name).ok_or("the template has no reference.rs")?;
    let cubin = std::fs::read(&options.cubin).map_err(|e| format!("{}: {e}", options.cubin.display()))?;
    let manifest = if options.manifest.is_empty() { instance.manifest() } else { options.manifest.clone() };
    let cases = (reference.cases)(&instance.params);
    let gpu = Gpu::open()?;
    let file = ready(&options.result);
    File::create(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut report = Report::default();
    for case in &cases {
        for _ in 0..options.repeat.max(1) {
            report.fault = one(&gpu, template, instance, &cubin, &manifest, case)?;
            if report.fault.is_some() {
                return Ok(report);
            }
        }
        report.cases += 1;
    }
    Ok(report)
}

fn one(
    gpu: &Gpu,
    template: &Template,
    instance: &Instance,
    cubin: &[u8],
    manifest: &[u32],
    case: &Case,
) -> Result<Option<Fault>, String> {
    let fault = |how, text: String| Ok(Some(Fault { how, text: format!("{}: {text}", case.name) }));
    let geometry = geometry(template, instance, &case.dims)?;
    let function = match gpu.load(cubin, &instance.name, manifest, geometry.shared_bytes) {
        Ok(function) => function,
        // Other processes may have taken all memory: that says nothing about the kernel.
        Err(e) if e.contains("OUT_OF_MEMORY") => return Err(e),
        Err(e) => return fault(How::Crash, e),
    };
    let mut held = Held::new(gpu, template, &case.args)?;
    if let Err(e) = run(gpu, &function, geometry, &mut held) {
        return fault(How::Crash, e);
    }
    if let Some(error) = &held.error {
        let bytes = gpu.download(error)?;
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if word != case.error {
            return fault(How::ErrorWord, format!("error word {word}, {} expected", case.error));
        }
    }
    for expected in &case.expected {
        let at = template.args.iter().position(|a| a.name == expected.arg).ok_or("an output that is no argument")?;
        let memory = held.memory[at].as_ref().ok_or("an output without memory")?;
        let (_, like) = case.args.iter().find(|(name, _)| *name == expected.arg).ok_or("an output that is no argument")?;
        let got = numbers(like, expected.values.len(), &gpu.download(memory)?);
        if let Some(text) = judge(expected, &got).fault {
            let is_none = |(got, wanted): (&f64, &f64)| !got.is_finite() && wanted.is_finite();
            let how = if got.iter().zip(&expected.values).any(is_none) { How::NonFinite } else { How::Assert };
            return fault(how, format!("{}: {text}", expected.arg));
        }
    }
    Ok(None)
}

//! How fast instances are, beside a copy and the matrix library in the same run. What is timed is checked first.

use serde_json::{Value, json};
use tenon_device_cases::{Bench, Value as Given};
use tenon_device_tests::REFERENCES;
use tenon_device_tests::goals::{Goals, Source};
use tenon_device_tests::gpu::Gpu;
use tenon_device_tests::judge::numbers;
use tenon_device_tests::launch::{Held, geometry};

use super::ops::{Both, in_parallel, instance};
use super::product;
use crate::Compiled;

/// Bytes that the buffers of a work rotate through, at least: more than the caches hold.
pub const ROTATED_BYTES: f64 = 256e6;

/// Milliseconds of a measurement, and how many there are, of which the median counts.
const MILLISECONDS: f64 = 20.0;
const REPEATS: usize = 5;

/// Times instances at the sizes of their references, or at those of the goals, and gives the results as JSON.
pub fn bench(compiled: &[Compiled], goals: Option<&Goals>) -> Result<Value, String> {
    let gpu = Gpu::open()?;
    let copy = copy_rate(&gpu)?;
    let large = product::large()?;
    println!("{}, copy {copy:.2} TB/s, cuBLASLt 8192^3 bf16 {large:.0} TFLOP/s", gpu.name());
    let is_wanted = |name: &str, size: &str| goals.is_none_or(|goals| goals.goals.iter().any(|goal| goal.is_at(name, size)));
    let (mut rows, mut products, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    let mut cases = in_parallel(compiled);
    for (at, one) in compiled.iter().enumerate() {
        let name = &one.instance.name;
        let Some(reference) = REFERENCES.iter().find(|r| r.template == one.template.name) else { continue };
        let cases = match cases(at).and_then(|cases| green(&gpu, one, cases)) {
            Ok(outputs) => outputs,
            Err(fault) => {
                faults.push(format!("{name} is not timed: {fault}"));
                continue;
            }
        };
        for size in (reference.bench)(&one.instance.params).iter().filter(|bench| is_wanted(name, &bench.name)) {
            match seconds(&gpu, one, size, &cases) {
                Err(fault) => faults.push(format!("{name}, {} is not timed: {fault}", size.name)),
                Ok(seconds) => {
                    let bytes = one.template.cost.bytes.value(&one.instance.params, &size.dims)?;
                    let flops = one.template.cost.flops.value(&one.instance.params, &size.dims)?;
                    let mut row = row(&format!("{name:<56} {:<34}", size.name), seconds, (bytes, flops), (copy, large));
                    (row["instance"], row["size"]) = (name.as_str().into(), size.name.as_str().into());
                    rows.push(row);
                }
            }
        }
    }
    for goal in goals.iter().flat_map(|goals| &goals.goals) {
        let Some(Source::Product(work)) = goal.source() else { continue };
        match product::seconds(work) {
            Err(fault) => faults.push(format!("{} is not timed: {fault}", goal.work)),
            Ok(seconds) => {
                let mut row = row(&format!("{:<91}", goal.work), seconds, work.cost(), (copy, large));
                (row["rows"], row["out"], row["in"]) = (work.rows.into(), work.out.into(), work.inputs.into());
                products.push(row);
            }
        }
    }
    faults.iter().for_each(|fault| println!("FAIL {fault}"));
    Ok(json!({
        "device": gpu.name(), "copy_tb_s": copy, "product_tflop_s": large, "benches": rows, "products": products,
        "passed": rows.len() + products.len(), "failed": faults.len(), "faults": faults,
    }))
}

/// A line for whoever waits, and the numbers of a measurement.
fn row(what: &str, seconds: f64, (bytes, flops): (f64, f64), (copy, product): (f64, f64)) -> Value {
    let (rate, speed) = (bytes / seconds / 1e12, flops / seconds / 1e12);
    // The one of the two that it is nearer to.
    let (share, of) = if rate / copy > speed / product { (rate / copy, "copy") } else { (speed / product, "cuBLAS") };
    println!("{what} {:>9.2} us {rate:>6.2} TB/s {speed:>7.1} TFLOP/s, {:>4.0}% of {of}", seconds * 1e6, 100.0 * share);
    json!({ "us": seconds * 1e6, "tb_s": rate, "tflop_s": speed, "of_copy": rate / copy, "of_product": speed / product })
}

/// Runs the cases of an instance, which must be right before anything is timed. Gives the arguments that are its outputs.
fn green(gpu: &Gpu, one: &Compiled, cases: Vec<Both>) -> Result<Vec<&'static str>, String> {
    let mut outputs: Vec<&str> = cases.iter().flat_map(|(case, _)| case.expected.iter().map(|expected| expected.arg)).collect();
    outputs.sort_unstable();
    outputs.dedup();
    let (good, bad, ..) = instance(gpu, one, cases)?;
    if bad > 0 { Err(format!("{bad} of its {} cases are wrong", good + bad)) } else { Ok(outputs) }
}

/// Seconds of one launch, whose outputs are looked at first.
fn seconds(gpu: &Gpu, one: &Compiled, bench: &Bench, outputs: &[&'static str]) -> Result<f64, String> {
    let cubin = &one.cubin.as_ref().ok_or("it does not compile")?.bytes;
    let geometry = geometry(&one.template, &one.instance, &bench.dims)?;
    let function = gpu.load(cubin, &one.instance.name, &one.instance.manifest(), geometry.shared_bytes)?;
    let bytes = one.template.cost.bytes.value(&one.instance.params, &bench.dims)?;
    let copies = (ROTATED_BYTES / bytes).ceil().clamp(1.0, 24.0) as usize;
    let mut held = (0..copies).map(|_| Held::new(gpu, &one.template, &bench.args)).collect::<Result<Vec<_>, _>>()?;
    gpu.launch(&function, geometry, &mut held[0].args)?;
    gpu.wait()?;
    written(gpu, one, bench, &held[0], outputs)?;
    let mut launches =
        |n: usize| -> Result<(), String> { (0..n).try_for_each(|i| gpu.launch(&function, geometry, &mut held[i % copies].args)) };
    median(gpu, copies, &mut launches)
}

/// The median of several measurements of a launch, each of whole rounds through the buffers.
fn median(gpu: &Gpu, copies: usize, launches: &mut dyn FnMut(usize) -> Result<(), String>) -> Result<f64, String> {
    launches(copies)?;
    gpu.wait()?;
    let round = gpu.time(|| launches(copies))?.max(1e-3);
    let n = copies * (MILLISECONDS / round).ceil().clamp(1.0, 500.0) as usize;
    let mut times = (0..REPEATS).map(|_| gpu.time(|| launches(n))).collect::<Result<Vec<_>, _>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[REPEATS / 2] / n as f64 / 1e3)
}

/// Outputs that began as zeros must be numbers, and not all of them zero any more: which of them a launch writes depends on its parts. A
/// sequential reference of this size would take minutes; that the kernel is right is what its cases say.
fn written(gpu: &Gpu, one: &Compiled, bench: &Bench, held: &Held, outputs: &[&'static str]) -> Result<(), String> {
    // Random bytes as stored quants have scales that are no numbers.
    let stored = |param: &str| one.instance.params.0.iter().find(|(name, _)| name == param);
    let is_plain = |param: &str| stored(param).is_none_or(|(_, format)| is_float(format));
    let is_finite = is_plain("format") && is_plain("kv_dtype");
    let is_output = |name: &str, given: &Given| matches!(given, Given::Zeros(_)) && outputs.contains(&name);
    let (mut began, mut changed) = (0, 0);
    for (name, _) in bench.args.iter().filter(|(name, given)| is_output(name, given)) {
        let at = one.template.args.iter().position(|arg| arg.name == *name).ok_or("an output that is no argument")?;
        let memory = held.memory[at].as_ref().ok_or("an output without memory")?;
        let bytes = gpu.download(memory)?;
        began += 1;
        changed += usize::from(bytes.iter().any(|byte| *byte != 0));
        if one.template.args[at].ty == "bf16*" && is_finite {
            let values = numbers(&Given::Bf16(Vec::new()), bytes.len() / 2, &bytes);
            if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                return Err(format!("element {at} of `{name}` is no number"));
            }
        }
    }
    if began > 0 && changed == 0 { Err("its outputs are all zeros".to_owned()) } else { Ok(()) }
}

fn is_float(param: &tenon_device_cases::Param) -> bool {
    matches!(param, tenon_device_cases::Param::Name(name) if ["f32", "f16", "bf16"].contains(&name.as_str()))
}

/// Bytes read and written by a copy on the device, per second, in 10^12.
fn copy_rate(gpu: &Gpu) -> Result<f64, String> {
    let bytes = 2usize << 30;
    let (from, to) = (gpu.pattern(bytes)?, gpu.zeros(bytes)?);
    let seconds = median(gpu, 1, &mut |n| (0..n).try_for_each(|_| gpu.copy(&to, &from)))?;
    Ok(2.0 * bytes as f64 / seconds / 1e12)
}

//! Command line: compile instances, run them against their references, time them.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tenon_compiler::driver::nvcc::{self, Cubin, Job, Nvcc};
use tenon_device_tests::REFERENCES;
use tenon_device_tests::instance::Instance;
use tenon_device_tests::template::Template;

/// Kernels on a GPU: correct, and how fast.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prints every instance, and how many cases it has.
    List(Which),
    /// Compiles every instance, and fails where one spills.
    Compile(Which),
    /// Runs every case of every instance on the device.
    Ops(Which),
    /// Times every instance on the device.
    Bench(Which),
}

#[derive(Args, Clone)]
struct Which {
    /// The folder of the templates.
    #[arg(long, default_value = "kernel-templates")]
    templates: PathBuf,
    /// Which instances are tested beside those of models.
    #[arg(long, default_value = "tests/device/instances.toml")]
    instances: PathBuf,
    /// Only templates with these names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// One of n equal parts of the instances, such as 1/4.
    #[arg(long)]
    shard: Option<String>,
    /// Where machine code is kept between runs.
    #[arg(long, default_value = "target/tenon-cubins")]
    cache: PathBuf,
    /// Where the results go as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::List(which) => list(&which),
        Command::Compile(which) => compile(&which).map(|compiled| compiled.iter().all(|c| c.cubin.is_some())),
        #[cfg(feature = "cuda")]
        Command::Ops(which) => compile(&which).and_then(|compiled| on_device::ops(&which, &compiled)),
        #[cfg(feature = "cuda")]
        Command::Bench(which) => compile(&which).and_then(|compiled| on_device::bench(&which, &compiled)),
        #[cfg(not(feature = "cuda"))]
        Command::Ops(_) | Command::Bench(_) => Err("built without a device: build with --features cuda".to_owned()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The instances asked for, with their templates.
fn chosen(which: &Which) -> Result<(Vec<Template>, Vec<Instance>), String> {
    let templates = Template::all(&which.templates)?;
    let mut instances = Instance::listed(&templates, &which.instances)?;
    if !which.only.is_empty() {
        instances.retain(|i| which.only.iter().any(|name| *name == templates[i.template].name));
    }
    if let Some(shard) = &which.shard {
        let parts = shard.split_once('/').and_then(|(i, n)| Some((i.parse::<usize>().ok()?, n.parse::<usize>().ok()?)));
        let (part, of) =
            parts.filter(|(i, n)| (1..=*n).contains(i)).ok_or_else(|| format!("`{shard}` is no part such as 1/4"))?;
        // Neighbours are alike, so each part gets some of all.
        let mut at = 0;
        instances.retain(|_| {
            at += 1;
            at % of == part - 1
        });
    }
    Ok((templates, instances))
}

fn list(which: &Which) -> Result<bool, String> {
    let (templates, instances) = chosen(which)?;
    let mut total = 0;
    for instance in &instances {
        let template = &templates[instance.template].name;
        let cases = REFERENCES.iter().find(|r| r.template == *template).map_or(0, |r| (r.cases)(&instance.params).len());
        total += cases;
        println!("{:<60} {cases} cases", instance.name);
    }
    println!("{} instances, {total} cases", instances.len());
    Ok(true)
}

/// An instance and its machine code, if it compiled as it must.
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "read where there is a device"))]
struct Compiled {
    template: Template,
    instance: Instance,
    cubin: Option<Cubin>,
}

fn compile(which: &Which) -> Result<Vec<Compiled>, String> {
    let (templates, instances) = chosen(which)?;
    let nvcc = Nvcc::new(&nvcc::find().map_err(|e| e.to_string())?, &which.cache)?;
    let mut jobs = Vec::new();
    for instance in &instances {
        let template = &templates[instance.template];
        jobs.push(Job {
            name: instance.name.clone(),
            source: instance.render(template)?,
            include: vec![template.folder.clone(), which.templates.join("include")],
            max_spill_bytes: template.max_spill_bytes,
            dynamic_shared_bytes: 0,
        });
    }
    let start = std::time::Instant::now();
    let results = nvcc.each(&jobs, std::thread::available_parallelism().map_or(2, |n| n.get()));
    let cached = results.iter().flatten().filter(|cubin| cubin.cached).count();
    println!("{} instances compiled in {:.1} s, {cached} of them before", jobs.len(), start.elapsed().as_secs_f64());
    let compiled = instances.into_iter().zip(results).map(|(instance, result)| {
        if let Err(failure) = &result {
            println!("{}", failure.to_string().lines().take(12).collect::<Vec<_>>().join("\n"));
        }
        Compiled { template: templates[instance.template].clone(), instance, cubin: result.ok() }
    });
    Ok(compiled.collect())
}

#[cfg(feature = "cuda")]
mod on_device {
    use std::collections::{BTreeMap, VecDeque};

    use serde_json::json;
    use tenon_compiler::driver::nvcc::Cubin;
    use tenon_device_cases::{Case, Expected};
    use tenon_device_tests::REFERENCES;
    use tenon_device_tests::cpu::cpu;
    use tenon_device_tests::gpu::Gpu;
    use tenon_device_tests::judge::{judge, numbers};
    use tenon_device_tests::launch::{Held, geometry, run};

    use super::{Compiled, Which};

    pub fn ops(which: &Which, compiled: &[Compiled]) -> Result<bool, String> {
        let gpu = Gpu::open()?;
        println!("{}", gpu.name());
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
                    (0, 1, Shares { g1: f64::INFINITY, g2: None }, json!({ "instance": one.instance.name, "error": message }))
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
        if let Some(path) = &which.json {
            let largest: BTreeMap<_, _> = classes.iter().map(|(class, s)| (class, json!({ "g1": s.g1, "g2": s.g2 }))).collect();
            let text = json!({ "device": gpu.name(), "passed": passed, "failed": failed, "largest": largest, "instances": rows })
                .to_string();
            std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(failed == 0)
    }

    /// The largest shares of the bounds of gate G1 and, where the CPU has such a kernel, of G2.
    #[derive(Clone, Copy, Default)]
    struct Shares {
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
            let by_cpu = self.g2.map_or_else(|| "-".to_owned(), |share| format!("{share:.3}"));
            write!(f, "g1 {:.3}, g2 {by_cpu}", self.g1)
        }
    }

    /// A case, and what the CPU computes from its inputs.
    type Both = (Case, Option<Vec<Expected>>);

    /// The cases of each instance, asked for in order. References take longer than kernels, so as many as there are processors are
    /// computed at once.
    fn in_parallel(compiled: &[Compiled]) -> impl FnMut(usize) -> Result<Vec<Both>, String> {
        let ahead = std::thread::available_parallelism().map_or(2, |n| n.get());
        let mut ready: VecDeque<Result<Vec<Both>, String>> = VecDeque::new();
        move |at| {
            if ready.is_empty() {
                let batch = &compiled[at..compiled.len().min(at + ahead)];
                std::thread::scope(|scope| {
                    let threads: Vec<_> = batch.iter().map(|one| scope.spawn(|| cases(one))).collect();
                    ready
                        .extend(threads.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("its reference panics".to_owned()))));
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

    fn instance(gpu: &Gpu, one: &Compiled, cases: Vec<Both>) -> Result<(usize, usize, Shares, serde_json::Value), String> {
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
                let (_, like) =
                    case.args.iter().find(|(name, _)| *name == expected.arg).ok_or("an output that is no argument")?;
                let got = numbers(like, expected.values.len(), &gpu.download(memory)?);
                let exact = judge(expected, &got);
                let by_cpu = by_cpu.iter().flatten().find(|output| output.arg == expected.arg);
                let near =
                    by_cpu.map(|output| judge(output, &got)).filter(|verdict| verdict.elements > 0 || verdict.fault.is_some());
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
        Ok((good, bad, worst, json!({ "instance": one.instance.name, "cases": rows })))
    }

    pub fn bench(which: &Which, compiled: &[Compiled]) -> Result<bool, String> {
        let gpu = Gpu::open()?;
        let copy = copy_rate(&gpu)?;
        println!("{}, copy {copy:.2} TB/s", gpu.name());
        let mut rows = Vec::new();
        for one in compiled {
            let Some(reference) = REFERENCES.iter().find(|r| r.template == one.template.name) else { continue };
            let Some(Cubin { bytes: cubin, .. }) = &one.cubin else { continue };
            for bench in (reference.bench)(&one.instance.params) {
                let geometry = geometry(&one.template, &one.instance, &bench.dims)?;
                let function = gpu.load(cubin, &one.instance.name, &one.instance.manifest(), geometry.shared_bytes)?;
                let bytes = one.template.cost.bytes.value(&one.instance.params, &bench.dims)?;
                let flops = one.template.cost.flops.value(&one.instance.params, &bench.dims)?;
                // Enough copies of everything that the caches do not hold the next one.
                let copies = (256e6 / bytes).ceil().clamp(1.0, 24.0) as usize;
                let mut held = (0..copies).map(|_| Held::new(&gpu, &one.template, &bench.args)).collect::<Result<Vec<_>, _>>()?;
                let mut launches = |n: usize| -> Result<(), String> {
                    (0..n).try_for_each(|i| gpu.launch(&function, geometry, &mut held[i % copies].args))
                };
                launches(3)?;
                gpu.wait()?;
                let once = gpu.time(|| launches(1))?.max(1e-3);
                let n = (30.0 / once).ceil().clamp(5.0, 2000.0) as usize;
                let mut times = (0..3).map(|_| gpu.time(|| launches(n))).collect::<Result<Vec<_>, _>>()?;
                times.sort_by(f64::total_cmp);
                let seconds = times[1] / n as f64 / 1e3;
                let (rate, speed) = (bytes / seconds / 1e12, flops / seconds / 1e12);
                println!(
                    "{:<56} {:<34} {:>9.2} us {rate:>6.2} TB/s {:>4.0}% of copy {speed:>7.1} TFLOP/s",
                    one.instance.name,
                    bench.name,
                    seconds * 1e6,
                    100.0 * rate / copy
                );
                rows.push(json!({ "instance": one.instance.name, "size": bench.name, "us": seconds * 1e6, "tb_s": rate, "tflop_s": speed, "of_copy": rate / copy }));
            }
        }
        if let Some(path) = &which.json {
            let text = json!({ "device": gpu.name(), "copy_tb_s": copy, "benches": rows }).to_string();
            std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(true)
    }

    /// Bytes read and written by a copy on the device, per second, in 10^12.
    fn copy_rate(gpu: &Gpu) -> Result<f64, String> {
        let bytes = 2usize << 30;
        let (from, to) = (gpu.zeros(bytes)?, gpu.zeros(bytes)?);
        gpu.copy(&to, &from)?;
        gpu.wait()?;
        let n = 10;
        let ms = gpu.time(|| (0..n).try_for_each(|_| gpu.copy(&to, &from)))?;
        Ok(2.0 * bytes as f64 * n as f64 / (ms / 1e3) / 1e12)
    }
}

//! Command line: compile instances, run them against their references, time them.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tenon_compiler::driver::nvcc::{self, Cubin, Job, Nvcc};
use tenon_device_tests::REFERENCES;
use tenon_device_tests::instance::Instance;
use tenon_device_tests::table;
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
    /// Runs every golden on the device: chunkings, batch mixes, prefix hits, graphs and single launches.
    Goldens(Suite),
    /// Puts the JSON files of shards into one table.
    Merge {
        /// The files.
        files: Vec<PathBuf>,
    },
}

#[derive(Args, Clone)]
struct Suite {
    /// Only cases that start so.
    #[arg(long)]
    only: Option<String>,
    /// One of n equal parts, such as 1/4.
    #[arg(long)]
    shard: Option<String>,
    /// Where the results go as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
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
        #[cfg(feature = "cuda")]
        Command::Goldens(suite) => on_device::goldens(&suite),
        Command::Merge { files } => table::merge(&files).map(|(text, passed)| {
            print!("{text}");
            passed
        }),
        #[cfg(not(feature = "cuda"))]
        Command::Ops(_) | Command::Bench(_) | Command::Goldens(_) => {
            Err("built without a device: build with --features cuda".to_owned())
        }
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
    let instances = Instance::listed(&templates, &which.instances, &which.only)?;
    Ok((templates, part(instances, which.shard.as_deref())?))
}

/// One of n parts of a list; neighbours are alike, so each part gets some of all.
fn part<T>(list: Vec<T>, shard: Option<&str>) -> Result<Vec<T>, String> {
    let Some(shard) = shard else { return Ok(list) };
    let parts = shard.split_once('/').and_then(|(i, n)| Some((i.parse::<usize>().ok()?, n.parse::<usize>().ok()?)));
    let (part, of) = parts.filter(|(i, n)| (1..=*n).contains(i)).ok_or_else(|| format!("`{shard}` is no part such as 1/4"))?;
    Ok(list.into_iter().skip(part - 1).step_by(of).collect())
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
    use std::collections::VecDeque;

    use serde_json::json;
    use tenon_compiler::driver::nvcc::Cubin;
    use tenon_core::cuda::Device;
    use tenon_device_cases::Case;
    use tenon_device_tests::REFERENCES;
    use tenon_device_tests::goldens;
    use tenon_device_tests::gpu::Gpu;
    use tenon_device_tests::judge::{judge, numbers};
    use tenon_device_tests::launch::{Held, geometry, run};

    use super::{Compiled, Suite, Which, part};

    pub fn ops(which: &Which, compiled: &[Compiled]) -> Result<bool, String> {
        let gpu = Gpu::open()?;
        println!("{}", gpu.name());
        let (mut passed, mut failed, mut rows) = (0, 0, Vec::new());
        let mut cases = in_parallel(compiled);
        for (at, one) in compiled.iter().enumerate() {
            let outcome = cases(at).and_then(|cases| instance(&gpu, one, cases));
            let (good, bad, share, row) = match outcome {
                Ok(outcome) => outcome,
                Err(message) => {
                    println!("FAILED {}: {message}", one.instance.name);
                    // A fault of the device ends everything: a later call would only repeat it.
                    if message.contains("ILLEGAL") || message.contains("FAILED") || message.contains("MISALIGNED") {
                        return Err(format!("{}: {message}", one.instance.name));
                    }
                    (
                        0,
                        1,
                        f64::INFINITY,
                        json!({ "instance": one.instance.name, "template": one.template.name, "error": message }),
                    )
                }
            };
            println!(
                "{} {:<64} {good}/{} cases, share of the bound {share:.3}",
                if bad == 0 { "ok  " } else { "FAIL" },
                one.instance.name,
                good + bad
            );
            passed += good;
            failed += bad;
            rows.push(row);
        }
        println!("{passed} passed, {failed} failed");
        if let Some(path) = &which.json {
            let text = json!({ "device": gpu.name(), "passed": passed, "failed": failed, "instances": rows }).to_string();
            std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(failed == 0)
    }

    /// The cases of each instance, asked for in order. References take longer than kernels, so as many as there are processors are
    /// computed at once.
    fn in_parallel(compiled: &[Compiled]) -> impl FnMut(usize) -> Result<Vec<Case>, String> {
        let ahead = std::thread::available_parallelism().map_or(2, |n| n.get());
        let mut ready: VecDeque<Result<Vec<Case>, String>> = VecDeque::new();
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

    fn cases(one: &Compiled) -> Result<Vec<Case>, String> {
        let reference = REFERENCES.iter().find(|r| r.template == one.template.name).ok_or("the template has no reference.rs")?;
        let cases = (reference.cases)(&one.instance.params);
        if cases.is_empty() { Err("its reference has no case".to_owned()) } else { Ok(cases) }
    }

    fn instance(gpu: &Gpu, one: &Compiled, cases: Vec<Case>) -> Result<(usize, usize, f64, serde_json::Value), String> {
        let cubin = &one.cubin.as_ref().ok_or("it does not compile")?.bytes;
        let (mut good, mut bad, mut worst, mut rows) = (0, 0, 0.0f64, Vec::new());
        for case in &cases {
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
                let verdict = judge(expected, &numbers(like, expected.values.len(), &gpu.download(memory)?));
                worst = worst.max(verdict.share);
                if let Some(text) = &verdict.fault {
                    fault.get_or_insert(format!("{}: {text}", expected.arg));
                }
                rows.push(json!({ "case": case.name, "class": one.template.class, "output": verdict }));
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

    pub fn goldens(suite: &Suite) -> Result<bool, String> {
        let device = Device::open(0).map_err(|e| e.to_string())?;
        device.require("sm_90a", (9, 0)).map_err(|e| e.to_string())?;
        println!("{}", device.name());
        let mut tests = goldens::tests();
        tests.retain(|test| suite.only.as_ref().is_none_or(|start| test.to_string().starts_with(start.as_str())));
        let (mut passed, mut outcomes) = (0, Vec::new());
        for test in part(tests, suite.shard.as_deref())? {
            let outcome = goldens::run(&device, &test);
            println!(
                "{} {:<52} {:.3e} of {:.3e}, largest {:.2e}, {} compared, {} launches{}",
                if outcome.passed { "ok  " } else { "FAIL" },
                outcome.test,
                outcome.value,
                outcome.bound,
                outcome.largest,
                outcome.compared,
                outcome.launches,
                outcome.fault.as_ref().map_or_else(String::new, |fault| format!(": {fault}"))
            );
            passed += usize::from(outcome.passed);
            outcomes.push(outcome);
        }
        let failed = outcomes.len() - passed;
        println!("{passed} passed, {failed} failed");
        if let Some(path) = &suite.json {
            let text = json!({ "device": device.name(), "passed": passed, "failed": failed, "goldens": outcomes }).to_string();
            std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(failed == 0)
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

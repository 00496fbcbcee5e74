//! `bench`: prompt and decode speed of a model on this machine, beside what the machine can read.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::{Value, json};
use tenon_core::cpu::{Cpu, Isa, physical_threads};
use tenon_core::memory::Flags;
use tenon_core::model::ModelEntry;
use tenon_engine::{Engine, EngineConfig, Event, EventKind, Request, SamplingParams, Tokenizer};
use tenon_formats::overrides::Asked;

use crate::Failure;
use crate::cli::BenchArgs;
use crate::load;
use crate::plan::Plan;
use crate::target::Place;

/// Bytes that the bandwidth is measured over: more than any cache of the machine keeps.
const STREAM_BYTES: usize = 512 << 20;

/// One measured load.
struct Run {
    prompt: usize,
    concurrency: usize,
    /// Tokens of prompts per second, over all sequences, until each has its first token.
    prompt_rate: f64,
    /// Tokens of answers per second, over all sequences, while all decode.
    decode_rate: f64,
    /// Bytes of cache that a decode step reads, over all sequences, at the middle of the answers.
    cache_bytes: f64,
}

/// Measures and prints.
pub fn run(args: &BenchArgs, models: &[&'static ModelEntry]) -> Result<(), Failure> {
    let entry = load::entry(models, &args.name)?;
    let info = entry.info;
    let longest = args.prompts.iter().max().copied().unwrap_or(0);
    if longest.saturating_add(args.decode) > info.max_position_embeddings {
        return Err(format!(
            "a prompt of {longest} and {} decoded tokens do not fit into the context of {} ({})",
            args.decode, info.name, info.max_position_embeddings
        )
        .into());
    }
    let threads = args.load.threads.unwrap_or_else(physical_threads);
    let most = args.concurrency.iter().max().copied().unwrap_or(1);
    let place = Place::choose(entry, &args.load)?;
    let settings = place.settings((longest + args.decode) as u64, most as u64);
    let flags = Flags { sequences: Some("--concurrency"), kv_cache_dtype: Some("--kv-cache-dtype"), ..Flags::default() };
    let plan = Plan::new(entry, place, &args.load, Asked::default(), settings, &flags)?;

    eprintln!("measuring the bandwidth of {}", plan.place.name());
    let bandwidth = plan.place.bandwidth(threads)?;
    // The buffer of that measurement is not the model's: Linux forgets the peak so far when told to.
    let forgotten = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let start = match Tokenizer::load(&plan.checkpoint) {
        Ok(_) => {
            eprintln!("starting a process of its own until its first token");
            Some(start_to_first_token(args)?)
        }
        Err(problem) => {
            eprintln!("no process of its own is timed, since it would have no text to answer: {problem}");
            None
        }
    };

    // Prompts are the same in every run, and each is to be computed.
    let mut engine = Engine::new(plan.load()?, EngineConfig { prefix_cache: false, ..plan.engine() })?;
    let memory = engine.model().memory();
    let dtype = args.load.kv_cache_dtype.unwrap_or(plan.place.kv_cache_dtypes(entry)[0]);
    let kv_bytes = info.kv_bytes_per_token(dtype);
    let mut runs = Vec::new();
    for &prompt in &args.prompts {
        for &concurrency in &args.concurrency {
            eprintln!("prompt {prompt}, {concurrency} at a time");
            runs.push(best(&mut engine, prompt, concurrency, args, kv_bytes)?);
        }
    }
    let file: u64 = plan.checkpoint.tensors().iter().map(|t| t.range.end - t.range.start).sum();
    let facts = Facts {
        args,
        place: &plan.place,
        threads,
        bandwidth,
        start,
        weights: memory.per_token,
        file,
        peak: peak_memory().filter(|_| forgotten),
    };
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&facts.json(&runs))?)?;
    } else {
        write!(out, "{}", facts.table(&runs))?;
    }
    Ok(())
}

/// The fastest of several runs: what disturbs a run only ever slows it down.
fn best(engine: &mut Engine, prompt: usize, concurrency: usize, args: &BenchArgs, kv_bytes: usize) -> Result<Run, Failure> {
    let mut best: Option<Run> = None;
    for _ in 0..args.runs.max(1) {
        let (prompt_time, decode_time, decoded) = once(engine, prompt, concurrency, args.decode)?;
        let run = Run {
            prompt,
            concurrency,
            prompt_rate: (prompt * concurrency) as f64 / prompt_time.as_secs_f64(),
            decode_rate: decoded as f64 / decode_time.as_secs_f64(),
            cache_bytes: (kv_bytes * concurrency) as f64 * (prompt as f64 + args.decode as f64 / 2.0),
        };
        best = Some(match best {
            None => run,
            Some(best) => Run {
                prompt_rate: best.prompt_rate.max(run.prompt_rate),
                decode_rate: best.decode_rate.max(run.decode_rate),
                ..best
            },
        });
    }
    Ok(best.expect("at least one run"))
}

/// Time until every sequence has its first token, time of the steps in which all decode, and the tokens of those.
fn once(engine: &mut Engine, prompt: usize, concurrency: usize, decode: usize) -> Result<(Duration, Duration, usize), Failure> {
    let vocab = engine.model().info().vocab_size as u64;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut token = || {
        // Any ids do: the arithmetic is the same for all. A multiplicative generator keeps runs alike.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % vocab) as u32
    };
    let started = Instant::now();
    for _ in 0..concurrency {
        let prompt = (0..prompt).map(|_| token()).collect();
        engine.submit(Request { max_tokens: Some(decode), ..Request::new(prompt, SamplingParams::GREEDY, Arc::from([])) })?;
    }
    let mut events: Vec<Event> = Vec::new();
    let (mut first, mut tokens, mut finished) = (0, 0, 0);
    let mut all_decode: Option<(Instant, usize)> = None;
    let mut last_of_all = started;
    let mut counted = 0;
    while !engine.is_idle() {
        events.clear();
        engine.step(&mut events)?;
        let now = Instant::now();
        for event in &events {
            match &event.kind {
                EventKind::Token(_) => tokens += 1,
                EventKind::Finished(..) => finished += 1,
                EventKind::Failed(problem) => return Err(format!("no token could be chosen: {problem}").into()),
                EventKind::Prompt { done, total } if done == total => first += 1,
                EventKind::Prompt { .. } => {}
            }
        }
        if first == concurrency && all_decode.is_none() {
            all_decode = Some((now, tokens));
        }
        if let Some((_, before)) = all_decode
            && finished == 0
        {
            last_of_all = now;
            counted = tokens - before;
        }
    }
    let (prefilled, _) = all_decode.ok_or("a prompt was never finished")?;
    if counted == 0 {
        return Err("the sequences never decode at the same time: give more --decode tokens or shorter prompts".into());
    }
    Ok((prefilled - started, last_of_all - prefilled, counted))
}

/// Bytes per second that the threads read from memory together: the best of a few passes over a large buffer.
pub fn read_bandwidth(threads: usize) -> Result<f64, Failure> {
    let cpu = Cpu::new(threads, Isa::detect())?;
    let words: Vec<u64> = (0..STREAM_BYTES / 8).map(|i| i as u64).collect();
    let part = words.len().div_ceil(threads);
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let started = Instant::now();
        cpu.run(threads, |thread| {
            let sums = words[(thread * part).min(words.len())..][..part.min(words.len() - (thread * part).min(words.len()))]
                .chunks_exact(16)
                .fold([0_u64; 16], |sums, words| std::array::from_fn(|i| sums[i].wrapping_add(words[i])));
            std::hint::black_box(sums);
        });
        best = best.min(started.elapsed());
    }
    Ok(STREAM_BYTES as f64 / best.as_secs_f64())
}

/// Seconds from the start of a process of its own to the first byte of its answer.
fn start_to_first_token(args: &BenchArgs) -> Result<f64, Failure> {
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    command.args(["generate", &args.name, "--raw", "--prompt", "The", "--max-tokens", "8", "--temperature", "0"]);
    if let Some(weights) = &args.load.weights {
        command.arg("--weights").arg(weights);
    }
    if let Some(threads) = args.load.threads {
        command.args(["--threads", &threads.to_string()]);
    }
    if let Some(isa) = args.load.isa {
        command.args(["--isa", &isa.to_string()]);
    }
    if let Some(dtype) = args.load.kv_cache_dtype {
        command.args(["--kv-cache-dtype", &dtype.to_string()]);
    }
    if let Some(target) = args.load.target.and_then(|target| target.to_possible_value()) {
        command.args(["--target", target.get_name()]);
    }
    if let Some(device) = args.load.device {
        command.args(["--device", &device.to_string()]);
    }
    if let Some(bytes) = args.load.memory {
        command.args(["--memory", &bytes.to_string()]);
    }
    let started = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut byte = [0];
    let read = child.stdout.take().ok_or("a piped stdout is there")?.read(&mut byte)?;
    let elapsed = started.elapsed();
    let output = child.wait_with_output()?;
    if read == 0 {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("the process that was to generate a first token said nothing ({}): {said}", output.status).into());
    }
    Ok(elapsed.as_secs_f64())
}

/// The most memory that this process held since the peak was forgotten, where the system says it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// What a run is set against.
struct Facts<'a> {
    args: &'a BenchArgs,
    place: &'a Place,
    threads: usize,
    bandwidth: f64,
    start: Option<f64>,
    weights: usize,
    file: u64,
    peak: Option<u64>,
}

impl Facts<'_> {
    /// Bytes per second that a decode reads: the weights once per step, and the cache of every sequence.
    fn decode_bytes(&self, run: &Run) -> f64 {
        run.decode_rate / run.concurrency as f64 * (self.weights as f64 + run.cache_bytes)
    }

    fn json(&self, runs: &[Run]) -> Value {
        let runs: Vec<Value> = runs
            .iter()
            .map(|run| {
                json!({
                    "prompt_tokens": run.prompt,
                    "concurrency": run.concurrency,
                    "prompt_tokens_per_second": run.prompt_rate,
                    "decode_tokens_per_second": run.decode_rate,
                    "decode_bytes_per_second": self.decode_bytes(run),
                    "decode_share_of_read_bandwidth": self.decode_bytes(run) / self.bandwidth,
                })
            })
            .collect();
        json!({
            "model": self.args.name,
            "target": self.place.name(),
            "threads": self.threads,
            "decode_tokens": self.args.decode,
            "read_bandwidth_bytes_per_second": self.bandwidth,
            "seconds_from_start_to_first_token": self.start,
            "weight_bytes_per_token": self.weights,
            "file_bytes": self.file,
            "peak_memory_bytes": self.peak,
            "peak_memory_over_file": self.peak.map(|peak| peak as f64 / self.file as f64),
            "runs": runs,
        })
    }

    fn table(&self, runs: &[Run]) -> String {
        let mega = |bytes: f64| bytes / 1e6;
        let (by, bandwidth) = if self.place.is_device() {
            (format!("on {}", self.place.name()), "copy bandwidth")
        } else {
            (format!("{} threads", self.threads), "read bandwidth")
        };
        let mut text = format!(
            "{}, {by}, {bandwidth} {:.1} GB/s, {:.1} MB of weights per token",
            self.args.name,
            self.bandwidth / 1e9,
            mega(self.weights as f64),
        );
        text += &self.start.map_or_else(|| "\n".to_owned(), |start| format!(", {start:.2} s from start to first token\n"));
        if let Some(peak) = self.peak {
            let ratio = peak as f64 / self.file as f64;
            text +=
                &format!("peak memory {:.0} MB, {ratio:.2} x the file's {:.0} MB\n", mega(peak as f64), mega(self.file as f64));
        }
        text += &format!(
            "{:>7} {:>6} {:>14} {:>14} {:>12} {:>9}\n",
            "prompt",
            "seqs",
            "prompt tok/s",
            "decode tok/s",
            "decode GB/s",
            if self.place.is_device() { "of copy" } else { "of read" }
        );
        for run in runs {
            let bytes = self.decode_bytes(run);
            text += &format!(
                "{:>7} {:>6} {:>14.1} {:>14.1} {:>12.2} {:>8.0}%\n",
                run.prompt,
                run.concurrency,
                run.prompt_rate,
                run.decode_rate,
                bytes / 1e9,
                100.0 * bytes / self.bandwidth
            );
        }
        text
    }
}

//! `serve`: a model over HTTP, until a signal ends it.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tenon_core::model::{ChatTemplate, Memory, ModelEntry, SamplingDefaults};
use tenon_engine::SamplingParams;
use tenon_engine::sampling::Sampler;
use tenon_formats::overrides::OVERRIDE;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::{ChoiceArgs, ServeArgs};
use crate::load::{CacheWanted, Wanted};
use crate::plan::Plan;
use crate::serve::{Limits, Served, Server};
use crate::{Failure, load};

/// Bytes of a request's body: several times the text of the longest context in use.
const MAX_BODY_BYTES: usize = 8 << 20;
/// Threads that read requests and write answers; the model has its own.
const IO_THREADS: usize = 2;

/// Serves until SIGINT or SIGTERM, then finishes what it has begun.
pub fn run(args: &ServeArgs, models: &[&'static ModelEntry]) -> Result<(), Failure> {
    let max_sequences = usize::from(args.max_sequences);
    let wanted = Wanted {
        name: &args.name,
        raw: false,
        load: &args.load,
        context: args.context,
        overrides: &args.overrides,
        sequences: max_sequences,
        sequences_flag: Some("--max-sequences"),
        cache: CacheWanted::default(),
    };
    let spec = load::entry(models, &args.name)?.info.sampling;
    let sampling = sampling(&args.choice, spec)?;
    let plan = load::plan(models, &wanted)?;
    eprint!("{}", plan.text());
    plan.overrides.lines().iter().for_each(|line| eprintln!("{line}"));
    if args.overrides.allowed && plan.overrides.0.is_empty() {
        eprintln!("note: {OVERRIDE} was given, and no flag contradicts the spec");
    }
    if sampling != spec {
        eprintln!("{}", other_sampling(sampling, spec));
    }
    let loaded = load::for_plan(&plan, &wanted)?;
    let (context, memory, queue) = (loaded.context, loaded.memory, usize::from(args.queue));
    let served =
        Served { name: loaded.info.name.to_owned(), tokenizer: loaded.tokenizer, template: loaded.template, context, sampling };
    let report = report(&plan, args, sampling, spec);
    let limits = Limits { max_sequences, queue, max_body_bytes: MAX_BODY_BYTES };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(IO_THREADS).enable_all().build()?;
    runtime.block_on(async {
        // Before anyone can send one.
        let signals = Signals::install()?;
        let (host, port) = (args.host.as_str(), args.port);
        let listener = TcpListener::bind((host, port)).await.map_err(|error| {
            format!(
                "cannot listen on port {port} of {host}: {error}; --host and --port choose others, and port 0 is any free one"
            )
        })?;
        let address = listener.local_addr()?;
        let server = Server::start(served, report, loaded.engine, limits)?;
        eprintln!("{}", ready(&args.name, address, memory, context, max_sequences, queue));
        Ok(server.run(listener, signals.drain()).await?)
    })
}

/// The sampling parameters of requests that state none. Another choice than the spec's is no contradiction: a request may make it too.
fn sampling(args: &ChoiceArgs, spec: SamplingDefaults) -> Result<SamplingDefaults, Failure> {
    let sampling = args.over(spec);
    let SamplingDefaults { temperature, top_p, top_k } = sampling;
    Sampler::new(SamplingParams { temperature, top_k, top_p, ..SamplingParams::GREEDY }, &[])?;
    Ok(sampling)
}

fn other_sampling(now: SamplingDefaults, spec: SamplingDefaults) -> String {
    format!(
        "requests that state none sample with temperature {}, top_p {}, top_k {}; the spec has {}, {}, {}",
        now.temperature, now.top_p, now.top_k, spec.temperature, spec.top_p, spec.top_k
    )
}

/// What the server answers when it is asked what is running.
fn report(plan: &Plan, args: &ServeArgs, sampling: SamplingDefaults, spec: SamplingDefaults) -> Value {
    let of = |s: SamplingDefaults| json!({ "temperature": s.temperature, "top_p": s.top_p, "top_k": s.top_k });
    let mut report = plan.json();
    report["deployment"]["queue"] = args.queue.into();
    report["sampling"] = json!({ "default": of(sampling), "spec": of(spec) });
    report["chat_template"] = match (&args.overrides.chat_template, plan.entry.info.chat_template) {
        (Some(path), _) => path.display().to_string().into(),
        (None, ChatTemplate::Checkpoint) => "checkpoint".into(),
        (None, ChatTemplate::Spec(_)) => "spec".into(),
        (None, ChatTemplate::None) => Value::Null,
    };
    report
}

/// The one line that says that requests can be sent, where, and what the server holds.
fn ready(name: &str, address: SocketAddr, memory: Memory, context: usize, max_sequences: usize, queue: usize) -> String {
    let mib = |bytes: usize| bytes as f64 / (1024.0 * 1024.0);
    let state = match memory.state + memory.snapshots {
        0 => String::new(),
        bytes => format!(" state {:.1},", mib(bytes)),
    };
    format!(
        "serving {name} at http://{address}; memory {:.1} MiB (weights {:.1}, cache {:.1},{state} scratch {:.1}); {max_sequences} requests at \
         a time of up to {context} tokens each, {queue} more may wait",
        mib(memory.total()),
        mib(memory.weights),
        mib(memory.cache),
        mib(memory.scratch + memory.rooms)
    )
}

/// The two signals that end a server.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn install() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// What a shell reports for a program that the next signal has ended.
    async fn next(&mut self) -> i32 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
        };
        128 + kind.as_raw_value()
    }

    /// Returns at the first signal; the second ends the process at once.
    async fn drain(mut self) {
        self.next().await;
        eprintln!("finishing the requests that are running; a second signal ends at once");
        tokio::spawn(async move {
            let code = self.next().await;
            std::process::exit(code);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_where_the_server_is_and_what_it_holds() {
        let memory = Memory { weights: 3 << 19, cache: 1 << 20, scratch: 1 << 18, rooms: 1 << 18, ..Memory::default() };
        let line = ready("m", "[::1]:80".parse().unwrap(), memory, 64, 2, 4);
        assert_eq!(
            line,
            "serving m at http://[::1]:80; memory 3.0 MiB (weights 1.5, cache 1.0, scratch 0.5); 2 requests at a time of up to 64 \
             tokens each, 4 more may wait"
        );
    }
}

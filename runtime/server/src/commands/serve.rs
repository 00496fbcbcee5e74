//! `serve`: a model over HTTP, until a signal ends it.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenon_core::model::{ChatTemplate, Memory, ModelEntry, SamplingDefaults};
use tenon_engine::SamplingParams;
use tenon_engine::sampling::Sampler;
use tenon_formats::overrides::OVERRIDE;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::cli::{AccessArgs, ChoiceArgs, ServeArgs};
use crate::config::API_KEY;
use crate::load::{CacheWanted, Wanted};
use crate::plan::Plan;
use crate::serve::{Access, Keys, Limits, Opening, Served, start_log};
use crate::{Failure, load};

/// Threads that read requests and write answers; the model has its own.
const IO_THREADS: usize = 2;
/// How long loading may take without a word, and then between two.
const LOADING_QUIET: Duration = Duration::from_secs(1);
const LOADING_PAUSE: Duration = Duration::from_secs(5);

/// Serves until SIGINT or SIGTERM, then finishes what it has begun.
pub fn run(args: &ServeArgs, models: &[&'static ModelEntry]) -> Result<(), Failure> {
    if args.print_config {
        return Ok(write!(std::io::stdout(), "{}", args.settings)?);
    }
    let Some(name) = args.model.as_deref() else {
        return Err("no model is named: `tenon-server serve NAME`, TENON_SERVER_MODEL, or `model` in the file of --config; `tenon-server list` \
                    shows those that are compiled in"
            .into());
    };
    start_log(args.log.log_format, args.log.log_level, std::io::stderr);
    let max_sequences = usize::from(args.max_sequences);
    let wanted = Wanted {
        name,
        raw: false,
        load: &args.load,
        context: args.context,
        overrides: &args.overrides,
        sequences: max_sequences,
        sequences_flag: Some("--max-sequences"),
        cache: CacheWanted {
            tokens: args.cache_tokens,
            tokens_flag: Some("--cache-tokens"),
            snapshots: args.snapshots,
            snapshots_flag: Some("--snapshots"),
            without_prefixes: args.no_prefix_cache,
        },
    };
    let spec = load::entry(models, name)?.info.sampling;
    let sampling = sampling(&args.choice, spec)?;
    let access = access(&args.access)?;
    let plan = load::plan(models, &wanted)?;
    eprint!("{}", plan.text());
    plan.overrides.lines().iter().for_each(|line| eprintln!("{line}"));
    if args.overrides.allowed && plan.overrides.0.is_empty() {
        eprintln!("note: {OVERRIDE} was given, and no flag contradicts the spec");
    }
    if sampling != spec {
        eprintln!("{}", other_sampling(sampling, spec));
    }
    let queue = usize::from(args.queue);
    let max_body_bytes = usize::try_from(args.http.max_body_bytes).unwrap_or(usize::MAX);
    let limits = Limits { max_sequences, queue, max_body_bytes };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(IO_THREADS)
        .max_blocking_threads(reading_threads())
        .enable_all()
        .build()?;
    let (signals, opening, address) = runtime.block_on(async {
        // Before anyone can send one.
        let signals = Signals::install()?.watch();
        let listener = listener(args, &access).await?;
        let address = listener.local_addr()?;
        let opening = Opening::start(listener, name, limits, args.http.limits(), access)?;
        Ok::<_, Failure>((signals, opening, address))
    })?;
    let loaded = {
        let _told = Loading::begin(name);
        load::for_plan(&plan, &wanted)?
    };
    let (context, memory) = (loaded.context, loaded.memory);
    let served =
        Served { name: loaded.info.name.to_owned(), tokenizer: loaded.tokenizer, template: loaded.template, context, sampling };
    let report = report(&plan, args, sampling, spec);
    runtime.block_on(async {
        let server = opening.ready(served, report, loaded.engine, limits)?;
        // Whoever waits for this line may send the first request.
        eprintln!("{}", ready(name, address, memory, context, max_sequences, queue));
        Ok(server.run(signals.drain()).await?)
    })
}

/// Threads that render and tokenize prompts and compile grammars: what more requests ask for waits, since it would take the processors from
/// the model.
fn reading_threads() -> usize {
    std::thread::available_parallelism().map_or(2, |count| count.get().div_ceil(2)).max(2)
}

/// The socket, which is not answered on yet. One that other machines reach needs keys, or a word that it needs none.
async fn listener(args: &ServeArgs, access: &Access) -> Result<TcpListener, Failure> {
    let (host, port) = (args.host.as_str(), args.port);
    let listener = TcpListener::bind((host, port)).await.map_err(|error| {
        format!("cannot listen on port {port} of {host}: {error}; --host and --port choose others, and port 0 is any free one")
    })?;
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() && access.keys.is_empty() {
        if !args.access.insecure_no_auth {
            return Err(format!(
                "other machines reach {address}, and everybody there could use this server: give it keys with --api-key-file or the \
                 variable {API_KEY}, listen on 127.0.0.1, or say with --insecure-no-auth that everybody may"
            )
            .into());
        }
        eprintln!("note: everybody who reaches {address} may use this server, as --insecure-no-auth says");
    }
    Ok(listener)
}

/// Who may ask. What keys are is never told, not even in errors.
fn access(args: &AccessArgs) -> Result<Access, Failure> {
    let mut keys = Keys::default();
    if let Some(path) = &args.api_key_file {
        let at = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| format!("--api-key-file {at}: {error}"))?;
        keys = Keys::read(&text).map_err(|error| format!("--api-key-file {at}: {error}"))?;
    }
    match std::env::var(API_KEY) {
        Ok(key) if !key.is_empty() => {
            keys = keys.with(Keys::read(&key).map_err(|error| format!("{API_KEY}: {error}"))?);
        }
        Err(std::env::VarError::NotUnicode(_)) => return Err(format!("{API_KEY} is not text").into()),
        _ => {}
    }
    Ok(Access { keys, origins: args.cors_origins.clone(), hosts: args.allowed_hosts.clone() })
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
        "serving {name} at http://{address}; memory {:.1} MiB (weights {:.1}, cache {:.1},{state} scratch {:.1}); {max_sequences} sequences at \
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

/// Signals that are watched.
struct Watched {
    /// The server runs, and has something to finish.
    serving: Arc<AtomicBool>,
    first: oneshot::Receiver<()>,
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

    /// While the model is loaded, a signal ends the process at once. Then the first one asks the server to end, and the second ends the
    /// process.
    fn watch(mut self) -> Watched {
        let serving = Arc::new(AtomicBool::new(false));
        let (tell, first) = oneshot::channel();
        let runs = Arc::clone(&serving);
        tokio::spawn(async move {
            let code = self.next().await;
            if !runs.load(Ordering::SeqCst) {
                std::process::exit(code);
            }
            // Whoever read it may be gone, which must not end what runs.
            let _ = writeln!(std::io::stderr(), "finishing the requests that are running; a second signal ends at once");
            let _ = tell.send(());
            let code = self.next().await;
            std::process::exit(code);
        });
        Watched { serving, first }
    }
}

impl Watched {
    /// Returns at the first signal from now on.
    async fn drain(self) {
        self.serving.store(true, Ordering::SeqCst);
        let _ = self.first.await;
    }
}

/// Tells that loading takes a while, where it does, until this is dropped.
struct Loading {
    done: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Loading {
    fn begin(name: &str) -> Self {
        let (done, ended) = mpsc::channel::<()>();
        let (name, started) = (name.to_owned(), Instant::now());
        let thread = std::thread::Builder::new().name("loading".to_owned()).spawn(move || {
            let mut pause = LOADING_QUIET;
            while ended.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("loading {name} ({} s)", started.elapsed().as_secs());
                pause = LOADING_PAUSE;
            }
        });
        // Without it, loading is quiet.
        Self { done: Some(done), thread: thread.ok() }
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        drop(self.done.take());
        // It has nothing to return.
        let _ = self.thread.take().map(JoinHandle::join);
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
            "serving m at http://[::1]:80; memory 3.0 MiB (weights 1.5, cache 1.0, scratch 0.5); 2 sequences at a time of up to 64 \
             tokens each, 4 more may wait"
        );
    }
}

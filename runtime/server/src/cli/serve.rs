//! Arguments of `serve`. Each takes its value from the command line, else from the environment, else from a file, else it has a
//! default (`config`), so that each takes a value: a switch is `--switch`, which is `--switch=true`, or `--switch=false`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::{ChoiceArgs, ContextArgs, LoadArgs, OverrideArgs};
use crate::config::Settings;
use crate::serve::{HttpLimits, LogFormat, LogLevel, Origin};

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The model, as `list` names it
    #[arg(value_name = "NAME")]
    pub model: Option<String>,
    /// A TOML file with settings: its keys are the names of these flags, and `model`. A flag counts before the environment
    /// (TENON_SERVER_<FLAG>, such as TENON_SERVER_PORT), and that before the file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print every setting, its value and where that comes from, as TOML that --config reads, and do nothing else
    #[arg(long)]
    pub print_config: bool,
    /// The address to listen on; other machines reach only an address that is not this machine's own loopback
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// The port to listen on; 0 takes a free one, which the line that says where the server is tells
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Sequences that compute at the same time: one for each answer to each prompt of a request
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_sequences: u16,
    /// Sequences that wait beside them; a request that does not find a place for all of its own is refused with 429
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub queue: u16,
    /// Tokens of the cache, which sequences share: one whole context at least [default: a whole context of every sequence]
    #[arg(long, value_name = "TOKENS")]
    pub cache_tokens: Option<u64>,
    /// Snapshots of recurrent states, by which prefixes are found again [default: two for each sequence, as far as they fit]
    #[arg(long, value_name = "N")]
    pub snapshots: Option<u64>,
    /// Compute every prompt, whatever an earlier one has left in the cache
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false, value_name = "BOOL")]
    #[arg(action = ArgAction::Set, hide_default_value = true, hide_possible_values = true)]
    pub no_prefix_cache: bool,
    #[command(flatten, next_help_heading = "Sampling")]
    pub choice: ChoiceArgs,
    #[command(flatten, next_help_heading = "Weights and memory")]
    pub load: LoadArgs,
    #[command(flatten, next_help_heading = "Weights and memory")]
    pub context: ContextArgs,
    #[command(flatten, next_help_heading = "Weights and memory")]
    pub overrides: OverrideArgs,
    #[command(flatten, next_help_heading = "Who may ask")]
    pub access: AccessArgs,
    #[command(flatten, next_help_heading = "Limits and times")]
    pub http: HttpArgs,
    #[command(flatten, next_help_heading = "Logs")]
    pub log: LogArgs,
    /// Where each of these comes from.
    #[arg(skip)]
    pub settings: Settings,
}

/// Who may ask.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// A file with API keys, one per line and behind a space its name if it has one; requests must show one of them, or that of
    /// the environment's TENON_API_KEY
    #[arg(long, value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
    /// Let everybody in who reaches an address that other machines reach
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false, value_name = "BOOL")]
    #[arg(action = ArgAction::Set, hide_default_value = true, hide_possible_values = true)]
    pub insecure_no_auth: bool,
    /// Let pages of this origin use the server from a browser, such as http://localhost:3000; `*` is all; may be given several times
    #[arg(long = "cors-origin", value_name = "ORIGIN")]
    pub cors_origins: Vec<Origin>,
    /// A further name under which a server on loopback is found, such as that of a proxy; may be given several times
    #[arg(long = "allowed-host", value_name = "NAME")]
    pub allowed_hosts: Vec<String>,
}

/// What a connection and a request may take.
#[derive(Debug, Args)]
pub struct HttpArgs {
    /// Bytes of a request's body
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_body_bytes: u64,
    /// How deep a body's JSON may be nested
    #[arg(long, value_name = "N", default_value_t = HttpLimits::default().max_json_depth as u16, value_parser = clap::value_parser!(u16).range(2..=100))]
    pub max_json_depth: u16,
    /// Headers of a request
    #[arg(long, value_name = "N", default_value_t = HttpLimits::default().max_headers as u16, value_parser = clap::value_parser!(u16).range(16..))]
    pub max_headers: u16,
    /// Bytes of a request's headers
    #[arg(long, value_name = "BYTES", default_value_t = HttpLimits::default().max_header_bytes as u32, value_parser = clap::value_parser!(u32).range(1024..=393_216))]
    pub max_header_bytes: u32,
    /// Connections at a time; further ones get 503
    #[arg(long, value_name = "N", default_value_t = HttpLimits::default().max_connections as u32, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_connections: u32,
    /// Time for a request's headers
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(HttpLimits::default().header_timeout))]
    pub header_timeout: Seconds,
    /// Time for a request's body
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(HttpLimits::default().body_timeout))]
    pub body_timeout: Seconds,
    /// Time between an answer and the next request of a connection
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(HttpLimits::default().idle_timeout))]
    pub idle_timeout: Seconds,
    /// Time for which a client may take nothing of its answer
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(HttpLimits::default().write_timeout))]
    pub write_timeout: Seconds,
    /// Time for a request, waiting and computing; what there is of the answer then is the answer [default: none]
    #[arg(long, value_name = "SECONDS")]
    pub request_timeout: Option<Seconds>,
    /// Silence after which an event stream gets a comment, so that what is between does not take it for dead
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(HttpLimits::default().sse_keep_alive))]
    pub sse_keep_alive: Seconds,
    /// Time that requests have to end once a signal has asked the server to
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(HttpLimits::default().drain_timeout))]
    pub drain_timeout: Seconds,
}

/// What is written to stderr.
#[derive(Clone, Copy, Debug, Args)]
pub struct LogArgs {
    /// How log lines look
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
    /// From which level on there are log lines
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: LogLevel,
}

impl HttpArgs {
    /// As the server takes them.
    pub fn limits(&self) -> HttpLimits {
        HttpLimits {
            max_connections: self.max_connections as usize,
            max_headers: self.max_headers.into(),
            max_header_bytes: self.max_header_bytes as usize,
            max_json_depth: self.max_json_depth.into(),
            header_timeout: self.header_timeout.0,
            body_timeout: self.body_timeout.0,
            idle_timeout: self.idle_timeout.0,
            write_timeout: self.write_timeout.0,
            sse_keep_alive: self.sse_keep_alive.0,
            request_timeout: self.request_timeout.map(|time| time.0),
            drain_timeout: self.drain_timeout.0,
        }
    }
}

/// A time in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl std::str::FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A year is longer than anything that a timeout is for, and far from what clocks overflow at.
        let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds >= 0.001 && *seconds <= 31_536_000.0);
        let wrong = || format!("`{text}` is no time: seconds, more than 0, such as 30 or 0.5");
        seconds.map(|seconds| Self(Duration::from_secs_f64(seconds))).ok_or_else(wrong)
    }
}

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_secs_f64().fmt(f)
    }
}

//! Logs: one line per request at its end, and what goes wrong in between. Prompts, answers and keys are never in them.

mod record;

pub(super) use record::{Record, current, scope, scope_sync};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// From which level on there are log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogLevel {
    /// None
    Off,
    /// What failed
    Error,
    /// And requests that this server could not answer
    Warn,
    /// And every other request, at its end
    #[default]
    Info,
    /// And probes and scrapes, and why connections ended
    Debug,
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Off => Self::OFF,
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
        }
    }
}

/// Writes the log of this process to `writer`, from now on; the first call counts.
pub fn start<W>(format: LogFormat, level: LogLevel, writer: W)
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    use tracing::subscriber::set_global_default;
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::from(level)).with_writer(writer).with_target(false);
    // Whoever reads the log may be gone, and a line about that would be written to the same place.
    let subscriber = subscriber.log_internal_errors(false);
    // A log that was started already stays as it is.
    let _ = match format {
        LogFormat::Text => set_global_default(subscriber.with_ansi(false).finish()),
        LogFormat::Json => {
            set_global_default(subscriber.json().flatten_event(true).with_current_span(true).with_span_list(false).finish())
        }
    };
}

//! What `tenon-server` does: fetches weights, talks to the models that were compiled in, serves them, and shows what they compute.
//!
//! The library exists so that tests can start [`serve::Server`] in their own process; everything else is the command line's.

mod cli;
mod commands;
mod config;
mod home;
mod interrupt;
mod load;
mod plan;
#[cfg(feature = "cuda")]
mod progress;
mod pull;
pub mod serve;
mod target;
#[cfg(test)]
mod testing;

use std::process::ExitCode;

use tenon_formats::report::Refused;

/// What a command reports when it cannot do its work: one message for a person, causes included.
type Failure = Box<dyn std::error::Error>;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match cli::parse().and_then(|cli| commands::run(cli.command, tenon_models::MODELS)) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has gone, and with him the purpose of writing more.
        Err(failure) if is_broken_pipe(&*failure) => ExitCode::SUCCESS,
        // It has its own form.
        Err(failure) if failure.is::<Refused>() => {
            eprint!("{failure}");
            ExitCode::FAILURE
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(failure: &(dyn std::error::Error + 'static)) -> bool {
    failure.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

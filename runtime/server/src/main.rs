//! `tenon-server`: fetches weights, talks to the models that were compiled in, and shows what they compute.

mod cli;
mod commands;
mod home;
mod interrupt;
mod load;
mod pull;
#[cfg(test)]
mod testing;

use std::process::ExitCode;

/// What a command reports when it cannot do its work: one message for a person, causes included.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let cli = <cli::Cli as clap::Parser>::parse();
    match commands::run(cli.command, tenon_models::MODELS) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has gone, and with him the purpose of writing more.
        Err(failure) if is_broken_pipe(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(failure: &(dyn std::error::Error + 'static)) -> bool {
    failure.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

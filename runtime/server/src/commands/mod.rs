//! One module per command.

mod answer;
mod bench;
mod chat;
mod generate;
mod list;
mod logits;
mod parse;
mod pull;
mod render;
mod serve;

use tenon_core::model::ModelEntry;

pub use bench::read_bandwidth;

use crate::Failure;
use crate::cli::Command;

/// Runs one command with the models that are compiled in.
pub fn run(command: Command, models: &[&'static ModelEntry]) -> Result<(), Failure> {
    match command {
        Command::List => list::run(models),
        Command::Pull(args) => pull::run(&args, models),
        Command::Generate(args) => generate::run(&args, models),
        Command::Chat(args) => chat::run(&args, models),
        Command::Serve(args) => serve::run(&args, models),
        Command::Render(args) => render::run(&args, models),
        Command::Bench(args) => bench::run(&args, models),
        Command::Logits(args) => logits::run(&args, models),
        Command::Parse(args) => parse::run(&args),
    }
}

//! The command line.

mod serve;

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use tenon_core::cpu::Isa;
use tenon_core::dtype::KvDtypeName;
use tenon_core::memory::parse_size;
use tenon_core::model::SamplingDefaults;
use tenon_formats::tools::{ReasoningParser, ToolParser};

pub use serve::{AccessArgs, ServeArgs};

use crate::{Failure, config};

/// Serves the models that were compiled into it.
#[derive(Debug, Parser)]
#[command(name = "tenon-server", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The command line of this process; what `serve` was not told there comes from the environment or a file.
///
/// # Errors
/// Settings of `serve` that do not exist or cannot be read. What is wrong with the command line itself ends the process.
pub fn parse() -> Result<Cli, Failure> {
    let matches = Cli::command().get_matches();
    let mut cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let (Command::Serve(args), Some(("serve", given))) = (&mut cli.command, matches.subcommand()) {
        **args = config::settle(given, &config::Environment::of_process())?;
    }
    Ok(cli)
}

/// One command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the models that are compiled in, and whether their weights are here
    List,
    /// Fetch the weights of a model from the sources that its spec lists
    Pull(PullArgs),
    /// Answer one prompt; only the text goes to stdout
    Generate(GenerateArgs),
    /// Talk to a model in the terminal
    Chat(ChatArgs),
    /// Serve a model over HTTP, with the routes of OpenAI's and Anthropic's APIs
    Serve(Box<ServeArgs>),
    /// Print the exact prompt of a request, as the model reads it
    Render(RenderArgs),
    /// Measure prompt and decode speed on this machine, beside what it can read from memory
    Bench(BenchArgs),
    /// Write the logits of given token ids, to compare with any reference
    Logits(LogitsArgs),
    /// Read a model's output on stdin and print its content, reasoning and calls as JSON
    Parse(ParseArgs),
}

/// Arguments of `pull`.
#[derive(Debug, Args)]
pub struct PullArgs {
    /// The model, as `list` names it
    pub name: String,
    /// Only this source of the spec, counted from 1
    #[arg(long, value_name = "N")]
    pub source: Option<usize>,
}

/// What runs a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// This machine's processors
    Cpu,
    /// A GPU of compute capability 9.0, such as an H200
    #[value(name = "sm_90a")]
    Sm90a,
}

/// Where weights are and how they run.
#[derive(Clone, Debug, Default, Args)]
pub struct LoadArgs {
    /// A checkpoint directory or a .gguf file [default: where `pull` puts them]
    #[arg(long, value_name = "PATH")]
    pub weights: Option<PathBuf>,
    /// What runs it [default: a GPU where there is one and this program was built with --features cuda, else cpu]
    #[arg(long)]
    pub target: Option<Target>,
    /// Which GPU, from 0 [default: 0]
    #[arg(long, value_name = "N")]
    pub device: Option<usize>,
    /// Threads that compute [default: one per physical core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// What the KV cache stores [default: the first that the spec allows]
    #[arg(long, value_name = "DTYPE", value_parser = kv_dtype)]
    pub kv_cache_dtype: Option<KvDtypeName>,
    /// Instruction set of the kernels [default: the fastest of this machine]
    #[arg(long)]
    pub isa: Option<Isa>,
    /// Memory that this may take, such as 24GiB; what needs more is refused before it is loaded [default: what this machine
    /// or its GPU has available]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
}

/// Flags that contradict the spec.
#[derive(Clone, Debug, Default, Args)]
pub struct OverrideArgs {
    /// A Jinja file in place of the spec's chat template; needs --override
    #[arg(long, value_name = "FILE")]
    pub chat_template: Option<PathBuf>,
    /// Do what flags ask for although the spec says otherwise; what they replace is printed
    #[arg(long = "override", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    #[arg(action = clap::ArgAction::Set, hide_default_value = true, hide_possible_values = true, value_name = "BOOL")]
    pub allowed: bool,
}

/// How long a conversation may be.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ContextArgs {
    /// Tokens that prompt and answer have room for, in whole pages [default: the model's, at most 8192]
    #[arg(long, value_name = "TOKENS")]
    pub context: Option<usize>,
}

/// How a token is chosen; what is not given is the spec's.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ChoiceArgs {
    /// 0 takes the most likely token
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub temperature: Option<f32>,
    /// Keep the fewest most likely tokens whose probability reaches this
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub top_p: Option<f32>,
    /// Keep that many of the most likely tokens; 0 keeps all
    #[arg(long, value_name = "K")]
    pub top_k: Option<u32>,
}

impl ChoiceArgs {
    /// With what is not given from the spec.
    pub fn over(&self, spec: SamplingDefaults) -> SamplingDefaults {
        SamplingDefaults {
            temperature: self.temperature.unwrap_or(spec.temperature),
            top_p: self.top_p.unwrap_or(spec.top_p),
            top_k: self.top_k.unwrap_or(spec.top_k),
        }
    }
}

/// How the tokens of one answer are chosen.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct SamplingArgs {
    #[command(flatten)]
    pub choice: ChoiceArgs,
    /// The same seed gives the same answer [default: another one each time]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Tokens of an answer at most [default: what the context holds]
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
}

/// Arguments of `generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// The model, as `list` names it
    pub name: String,
    /// What to answer
    #[arg(long, value_name = "TEXT")]
    pub prompt: String,
    /// The system message
    #[arg(long, value_name = "TEXT", conflicts_with = "raw")]
    pub system: Option<String>,
    /// Continue the prompt as it is, without the chat template
    #[arg(long)]
    pub raw: bool,
    /// Print times and counts to stderr
    #[arg(long)]
    pub stats: bool,
    #[command(flatten)]
    pub sampling: SamplingArgs,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub context: ContextArgs,
    #[command(flatten)]
    pub overrides: OverrideArgs,
}

/// Arguments of `chat`.
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// The model, as `list` names it
    pub name: String,
    /// The system message
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Print times and counts to stderr after each answer
    #[arg(long)]
    pub stats: bool,
    #[command(flatten)]
    pub sampling: SamplingArgs,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub context: ContextArgs,
    #[command(flatten)]
    pub overrides: OverrideArgs,
}

/// Arguments of `render`.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// The model, as `list` names it
    #[arg(required_unless_present = "template", conflicts_with = "template")]
    pub name: Option<String>,
    /// A template in place of a model's: a Jinja file, or a tokenizer_config.json or chat_template.json that has one. A model's
    /// name stands for the model
    #[arg(long, value_name = "FILE|NAME")]
    pub template: Option<PathBuf>,
    /// A file with the body of a request, in OpenAI's or Anthropic's form, tools included. For a template file it needs no `model`,
    /// and what no API knows is a variable of the template
    #[arg(long, value_name = "FILE")]
    pub request: PathBuf,
    /// Special tokens for a template file: an object such as {"bos_token": "<s>"}, or a file that has them, such as
    /// special_tokens_map.json [default: those of tokenizer_config.json, where that has the template]
    #[arg(long, value_name = "JSON")]
    pub special_tokens: Option<String>,
    /// The date and time that a template file prints, such as 2026-07-04T12:00:00Z [default: now, in UTC]
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<String>,
    /// A checkpoint directory or a .gguf file [default: where `pull` puts them]
    #[arg(long, value_name = "PATH")]
    pub weights: Option<PathBuf>,
}

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The model, as `list` names it
    pub name: String,
    /// Lengths of prompts
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', default_value = "16,128,401", value_parser = count)]
    pub prompts: Vec<usize>,
    /// Sequences at a time
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,4", value_parser = sequences)]
    pub concurrency: Vec<usize>,
    /// Tokens of each answer
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = count)]
    pub decode: usize,
    /// Runs of each load, of which the fastest counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = count)]
    pub runs: usize,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// A number of sequences that a machine may hold.
fn sequences(text: &str) -> Result<usize, String> {
    count(text).and_then(|n| if n <= 1024 { Ok(n) } else { Err("must be at most 1024".to_owned()) })
}

/// A number of at least 1.
fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(e) => Err(format!("{e}")),
    }
}

/// Arguments of `logits`.
#[derive(Debug, Args)]
pub struct LogitsArgs {
    /// The model, as `list` names it
    pub name: String,
    /// A safetensors file with `input_ids`, i32 `[tokens]` or `[1, tokens]`
    #[arg(long, value_name = "FILE")]
    pub tokens: PathBuf,
    /// The safetensors file to write, with `logits`, f32 `[tokens, vocab]`
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Tokens per step
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub chunk: usize,
    /// Tokens per page of the cache, a multiple of 16
    #[arg(long, value_name = "N", default_value_t = crate::load::PAGE_SIZE)]
    pub page: usize,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Arguments of `parse`.
#[derive(Debug, Args)]
pub struct ParseArgs {
    /// The wire format of the calls, as specs name it
    #[arg(long, value_name = "NAME")]
    pub parser: ToolParser,
    /// How reasoning is marked: think, mistral, harmony or none [default: harmony for gpt_oss, mistral for mistral, else think]
    #[arg(long, value_name = "NAME", value_parser = reasoning)]
    pub reasoning: Option<ReasoningName>,
    /// A file with the tools, in the form of OpenAI's or Anthropic's API: a list, or a request that has it [default: every name
    /// is a function]
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
    /// Feed that many characters at a time, and print what each piece added as `deltas`
    #[arg(long, value_name = "N", value_parser = count)]
    pub stream: Option<usize>,
    /// What the prompt has begun, so that its opening tag is not in the output
    #[arg(long, value_name = "WHAT")]
    pub begun: Option<BegunName>,
    /// The output was cut by a limit
    #[arg(long)]
    pub cut: bool,
    /// Read one call at most, as with `parallel_tool_calls` false
    #[arg(long)]
    pub one_call: bool,
}

/// What a prompt may have begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BegunName {
    /// Reasoning
    Reasoning,
    /// A call
    Call,
}

/// A reasoning parser, or none.
#[derive(Clone, Copy, Debug)]
pub struct ReasoningName(pub Option<ReasoningParser>);

fn reasoning(text: &str) -> Result<ReasoningName, String> {
    let found = ReasoningParser::ALL.into_iter().find(|parser| parser.as_str() == text);
    let names = || ReasoningParser::ALL.map(ReasoningParser::as_str).join(", ");
    match found {
        None if text != "none" => {
            Err(format!("no reasoning parser is named `{}`; these are: {}, none", text.escape_debug(), names()))
        }
        found => Ok(ReasoningName(found)),
    }
}

fn kv_dtype(text: &str) -> Result<KvDtypeName, String> {
    let known = KvDtypeName::ALL.map(KvDtypeName::as_str).join(", ");
    KvDtypeName::parse(text).ok_or_else(|| format!("there is no cache dtype `{text}`; {known} exist"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn unknown_names_are_refused_with_what_exists() {
        let parse = |flags: &[&str]| {
            let line = ["tenon-server", "generate", "m", "--prompt", "x"].iter().chain(flags);
            Cli::try_parse_from(line).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(parse(&["--kv-cache-dtype", "bf16", "--isa", "portable"]), Ok(()));
        assert!(
            parse(&["--kv-cache-dtype", "fp8"]).unwrap_err().contains("there is no cache dtype `fp8`; f32, bf16, fp8_e4m3 exist")
        );
        assert!(parse(&["--isa", "neon"]).unwrap_err().contains("neon"));
        let serve = |flags: &[&str]| {
            let line = ["tenon-server", "serve", "m"].iter().chain(flags);
            Cli::try_parse_from(line).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(serve(&["--port", "0", "--queue", "0", "--context", "64"]), Ok(()));
        assert!(
            serve(&["--drain-timeout", "0"]).unwrap_err().contains("`0` is no time: seconds, more than 0, such as 30 or 0.5")
        );
        assert!(serve(&["--cors-origin", "app.example"]).unwrap_err().contains("`app.example` is no origin"));
        assert!(serve(&["--max-sequences", "0"]).unwrap_err().contains("0 is not in 1..=65535"));
        assert_eq!(serve(&["--memory", "1.5GiB", "--override", "--temperature", "0.2"]), Ok(()));
        assert!(serve(&["--memory", "lots"]).unwrap_err().contains("`lots` is no size: a number with KiB"));
        assert!(parse(&["--raw", "--system", "x"]).unwrap_err().contains("cannot be used with"));
    }
}

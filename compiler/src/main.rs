//! `tenon`: checks specs, writes generated code, prints plans and explains errors.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::Value;
use tenon_compiler::diagnostic::{Diagnostics, Format, Id, did_you_mean, quoted};
use tenon_compiler::driver::DiffError;
use tenon_compiler::emit::{Ask, Unplanned};
use tenon_compiler::model::{CheckpointFormat, Model};
use tenon_compiler::source::SourceMap;
use tenon_compiler::{driver, emit, emittable, files, launches, models, programs};
use tenon_formats::memory::{Budget, device, parse_size};

/// Compiles MODEL.toml and KERNEL.toml into dimension-specialised Rust.
#[derive(Parser)]
#[command(name = "tenon", version, arg_required_else_help = true)]
struct Cli {
    /// The workspace: the folder that holds model-specs/, kernel-templates/ and generated/. Default: found upwards from here.
    #[arg(long, global = true, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Parse and check specs; exit 1 with every diagnostic.
    Check {
        /// Models to report on; all when none is named.
        names: Vec<String>,
        /// Compare this checkpoint with the spec of the one model that is named: its config, and its tensors where they are there.
        #[arg(long, value_name = "DIR|FILE.gguf")]
        checkpoint: Option<PathBuf>,
        /// How to print diagnostics.
        #[arg(long, value_enum, default_value = "human")]
        format: Style,
    },
    /// Check, then write generated/.
    Build {
        /// Write nothing; exit 1 when generated/ is not what the specs say.
        #[arg(long)]
        frozen: bool,
    },
    /// What a change of specs changes: dims, scales, dtypes, kernels, bytes and memory, then generated files.
    ///
    /// Without --against, the specs of the working tree are compared with those of HEAD, and what they emit with what stands in
    /// generated/. Exit 0, whether anything differs or not; 2 when specs do not compile.
    Diff {
        /// Models to report on; all when none is named.
        names: Vec<String>,
        /// A revision of git. Its specs and templates are compiled by this compiler, and so are the working tree's.
        #[arg(long, value_name = "REV")]
        against: Option<String>,
        /// How to print it.
        #[arg(long, value_enum, default_value = "human")]
        format: DiffStyle,
        /// The unified difference of every generated file too.
        #[arg(long)]
        full: bool,
        /// Exit 1 when anything differs.
        #[arg(long)]
        exit_code: bool,
    },
    /// What a model costs: parameters, weights, cache bytes per token, a decode step; and the memory of a deployment, pool by
    /// pool. Exit 1 when that does not fit.
    Plan {
        /// The model.
        name: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// The kernel of each op instead: which one, why, why no other, and how it is launched at the largest step.
        #[arg(long, conflicts_with = "json")]
        kernels: bool,
        /// The instances that a step launches on a GPU instead, and how often. Of each sequence the tokens of the step and those in the
        /// cache: 512, or 17,1@96,1@40
        #[arg(long, value_name = "SPANS", conflicts_with_all = ["json", "kernels"])]
        launches: Option<String>,
        #[command(flatten)]
        deployment: DeploymentArgs,
    },
    /// Write model-specs/NAME/MODEL.toml from a checkpoint: a folder with config.json or params.json, or a GGUF file.
    New {
        /// How the model is called: the name of its folder.
        name: String,
        /// The checkpoint. Its weights may be missing: the config is enough.
        #[arg(long, value_name = "DIR|FILE.gguf")]
        from: PathBuf,
    },
    /// The page of one diagnostic; without an id, the list of all.
    Explain {
        /// Such as `head-group`.
        id: Option<String>,
    },
}

/// A deployment whose memory is planned.
#[derive(Args)]
struct DeploymentArgs {
    /// Tokens that one sequence has room for [default: the model's, at most 8192]
    #[arg(long, value_name = "TOKENS")]
    context: Option<u64>,
    /// Sequences at a time [default: 1]
    #[arg(long, value_name = "N")]
    sequences: Option<u64>,
    /// Snapshots of recurrent states [default: 0]
    #[arg(long, value_name = "N")]
    snapshots: Option<u64>,
    /// What the KV cache stores [default: the first that the spec allows]
    #[arg(long, value_name = "DTYPE")]
    kv_cache_dtype: Option<String>,
    /// The format of every matrix [default: the first that the spec accepts]
    #[arg(long, value_name = "FORMAT")]
    weights_format: Option<String>,
    /// Threads that compute [default: 2]
    #[arg(long, value_name = "N")]
    threads: Option<u64>,
    /// A device whose memory it must fit into
    #[arg(long, value_name = "NAME", value_parser = on_device, conflicts_with = "memory")]
    device: Option<Budget>,
    /// Memory that it must fit into, such as 24GiB
    #[arg(long, value_name = "SIZE", value_parser = of_size)]
    memory: Option<Budget>,
}

fn on_device(name: &str) -> Result<Budget, String> {
    let known = device::DEVICES.map(|device| device.name);
    match device::device(name) {
        Some(device) => Ok(Budget { bytes: device.bytes, from: device.name.to_owned() }),
        None => Err(did_you_mean(name, known).unwrap_or_else(|| format!("there are {}", known.join(", ")))),
    }
}

fn of_size(size: &str) -> Result<Budget, String> {
    Ok(Budget { bytes: parse_size(size)?, from: "--memory".to_owned() })
}

#[derive(Clone, Copy, ValueEnum)]
enum Style {
    /// With snippets.
    Human,
    /// One line each.
    Short,
    /// One JSON document.
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffStyle {
    /// Summary, then files.
    Human,
    /// One JSON document.
    Json,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode, String> {
    if let Command::Explain { id } = &cli.command {
        return explain(id.as_deref());
    }
    let root = match &cli.root {
        Some(root) => root.clone(),
        None => find_root()?,
    };
    if let Command::New { name, from } = &cli.command {
        return new(&root, name, from);
    }
    if let Command::Diff { names, against, format, full, exit_code } = &cli.command {
        return diff(&root, names, against.as_deref(), *format, *full, *exit_code);
    }
    let sources = driver::read(&root, "model-specs", "kernel-templates").map_err(|e| e.to_string())?;
    match &cli.command {
        Command::Check { names, checkpoint, format } => {
            let format = match format {
                Style::Human => Format::Human,
                Style::Short => Format::Short,
                Style::Json => Format::Json,
            };
            match (checkpoint, names.as_slice()) {
                (None, _) => check(&sources, names, format),
                (Some(path), [name]) => check_checkpoint(&sources, name, path, format),
                (Some(_), _) => Err("--checkpoint is compared with one spec: name the model".to_owned()),
            }
        }
        Command::Build { frozen } => build(&root, &sources, *frozen),
        Command::Plan { name, json, kernels, launches, deployment } => {
            let names = std::slice::from_ref(name);
            let Some(checked) = checked(&sources, names, Format::Human)? else { return Ok(ExitCode::FAILURE) };
            let mut fits = true;
            for model in &checked {
                if let Some(spans) = launches {
                    let (format, dtype) = (deployment.weights_format.as_deref(), deployment.kv_cache_dtype.as_deref());
                    show(&launches::shown(&programs(model), &launches::read(spans)?, format, dtype)?)?;
                } else if *kernels {
                    show(&emit::kernels_text(&programs(model)))?;
                } else {
                    fits &= plan(model, *json, deployment)?;
                }
            }
            Ok(if fits { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::Diff { .. } | Command::Explain { .. } | Command::New { .. } => unreachable!("handled above"),
    }
}

/// Upwards from the current folder, the first that holds model-specs/.
fn find_root() -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|e| format!("the current folder is not readable: {e}"))?;
    here.ancestors()
        .find(|dir| dir.join("model-specs").is_dir())
        .map(Path::to_path_buf)
        .ok_or_else(|| format!("no model-specs/ in {} or above; pass --root DIR", here.display()))
}

fn check(sources: &SourceMap, names: &[String], format: Format) -> Result<ExitCode, String> {
    let Some(checked) = checked(sources, names, format)? else { return Ok(ExitCode::FAILURE) };
    let lines: Vec<String> = checked.iter().map(|model| format!("{}: ok", model.name)).collect();
    accepted(sources, &lines, format);
    Ok(ExitCode::SUCCESS)
}

/// Checks one model, and a checkpoint against it.
fn check_checkpoint(sources: &SourceMap, name: &str, path: &Path, format: Format) -> Result<ExitCode, String> {
    let names = &[name.to_owned()];
    let Some(checked) = checked(sources, names, format)? else { return Ok(ExitCode::FAILURE) };
    let is_native = checked.iter().any(|model| model.checkpoint.format == CheckpointFormat::Mistral);
    let files = driver::checkpoint_files(path, is_native.then_some(CheckpointFormat::Mistral))?;
    let mut sources = named(sources, names)?;
    let model = match tenon_compiler::model_of(&mut sources, name, &files) {
        Ok(model) => model,
        Err(diags) => {
            complain(&diags, &sources, format);
            return Ok(ExitCode::FAILURE);
        }
    };
    let what = match &files.tensors {
        Some(tensors) => format!("its config and its {} tensors are what the spec says", tensors.len()),
        None => "its config is what the spec says; its weights are not all there, and were not compared".to_owned(),
    };
    let mut lines = vec![format!("{name}: ok, and {}: {what}", path.display())];
    lines.extend(model.deviations.iter().map(|one| format!("  deviates: {one}")));
    accepted(&sources, &lines, format);
    Ok(ExitCode::SUCCESS)
}

/// Prints that there is nothing to report.
fn accepted(sources: &SourceMap, lines: &[String], format: Format) {
    if matches!(format, Format::Json) {
        println!("{}", Diagnostics::default().render(sources, format, false));
    } else {
        lines.iter().for_each(|line| println!("{line}"));
    }
}

/// The sources of the named models, or of all.
fn named(sources: &SourceMap, names: &[String]) -> Result<SourceMap, String> {
    let known = driver::model_names(sources);
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let hint = did_you_mean(unknown, known.iter().copied()).unwrap_or_else(|| format!("there are {}", quoted(&known)));
        return Err(format!("no model `{unknown}` in model-specs/; {hint}"));
    }
    Ok(if names.is_empty() { sources.clone() } else { driver::only(sources, names) })
}

/// Checks the named models, or all. Prints every diagnostic and gives `None` when there are any.
fn checked(sources: &SourceMap, names: &[String], format: Format) -> Result<Option<Vec<Model>>, String> {
    let sources = named(sources, names)?;
    match models(&sources) {
        Ok(models) => Ok(Some(models)),
        Err(diags) => {
            complain(&diags, &sources, format);
            Ok(None)
        }
    }
}

/// Prints diagnostics: for people and scripts to stderr, JSON to stdout.
fn complain(diags: &Diagnostics, sources: &SourceMap, format: Format) {
    let text = diags.render(sources, format, color());
    if matches!(format, Format::Json) { println!("{text}") } else { eprint!("{text}") }
}

/// Whether stderr takes escapes.
fn color() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none()
}

fn diff(
    root: &Path,
    names: &[String],
    against: Option<&str>,
    style: DiffStyle,
    full: bool,
    exit_code: bool,
) -> Result<ExitCode, String> {
    let report = match driver::difference(root, names, against) {
        Ok(report) => report,
        Err(DiffError::Message(message)) => return Err(message),
        Err(DiffError::Broken(sources, diags)) => {
            // 1 would say that the sides differ.
            match style {
                DiffStyle::Human => eprint!("{}", diags.render(&sources, Format::Human, color())),
                DiffStyle::Json => show(&diags.render(&sources, Format::Json, false))?,
            }
            return Ok(ExitCode::from(2));
        }
    };
    show(&if style == DiffStyle::Json { report.json(full) } else { report.text(full) })?;
    Ok(if exit_code && !report.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn build(root: &Path, sources: &SourceMap, frozen: bool) -> Result<ExitCode, String> {
    let Some(checked) = checked(sources, &[], Format::Human)? else { return Ok(ExitCode::FAILURE) };
    if let Err(diags) = emittable(sources, &checked) {
        complain(&diags, sources, Format::Human);
        return Ok(ExitCode::FAILURE);
    }
    let into = root.join("generated");
    let files = files(&checked);
    let differences = driver::compare(&files, &into).map_err(|e| e.to_string())?;
    if frozen {
        for difference in &differences {
            eprintln!("generated/{difference}");
        }
        if !differences.is_empty() {
            eprintln!(
                "error[generated-stale]: generated/ is not what the specs say; run `cargo build` or `tenon build` and commit"
            );
            return Ok(ExitCode::FAILURE);
        }
    } else {
        driver::write(&files, &into, &differences).map_err(|e| e.to_string())?;
        for difference in &differences {
            println!("wrote generated/{}", difference.path);
        }
    }
    println!("{} models, {} files, {} changed", checked.len(), files.len(), differences.len());
    Ok(ExitCode::SUCCESS)
}

/// Prints the plan with the memory of the deployment, and says whether that fits.
fn plan(model: &Model, json: bool, args: &DeploymentArgs) -> Result<bool, String> {
    let programs = programs(model);
    let Some(program) = programs.first() else { return Err(format!("{} has no target that is planned", model.name)) };
    let ask = Ask {
        context: args.context,
        sequences: args.sequences,
        snapshots: args.snapshots,
        kv_cache_dtype: args.kv_cache_dtype.clone(),
        weights_format: args.weights_format.clone(),
        threads: args.threads,
    };
    let budget = args.device.as_ref().or(args.memory.as_ref());
    let (table, refusal) = match emit::fit(program, &ask, budget) {
        Ok(table) => (table, None),
        Err(Unplanned::Ask(message)) => return Err(message),
        Err(Unplanned::Memory(refusal)) => (refusal.table.clone(), Some(refusal)),
    };
    if json {
        let facts: Result<Vec<Value>, _> = programs.iter().map(|p| serde_json::to_value(emit::deployment(p))).collect();
        let mut facts = facts.map_err(|e| e.to_string())?;
        facts[0]["deployment"] = table.json(budget);
        // One target is one object, so that `plan NAME --json` has the parameters at its top.
        let text = match facts.as_slice() {
            [one] => serde_json::to_string_pretty(one),
            several => serde_json::to_string_pretty(several),
        };
        show(&format!("{}\n", text.map_err(|e| e.to_string())?))?;
    } else {
        show(&emit::plan_text(&programs))?;
        if refusal.is_none() {
            let available = budget.map_or_else(String::new, |budget| budget.line("  "));
            show(&format!("\n{}\n{}{available}", table.title, table.text("  ")))?;
        }
    }
    if let Some(refusal) = &refusal {
        eprint!("{}", refusal.report(&model.name));
    }
    Ok(refusal.is_none())
}

fn new(root: &Path, name: &str, from: &Path) -> Result<ExitCode, String> {
    if !tenon_compiler::new::is_name(name) {
        return Err(format!("`{}` is no name of a folder: letters, digits, `-`, `_`, `.` and `+` are", name.escape_debug()));
    }
    let checkpoint = driver::checkpoint(from)?;
    let draft = match tenon_compiler::new::draft(name, &checkpoint) {
        Ok(draft) => draft,
        Err(refusals) => {
            for refusal in &refusals {
                eprintln!("error: {refusal}");
            }
            return Err(format!("no MODEL.toml can be written for {}", from.display()));
        }
    };
    let path = driver::create(root, name, &draft.text)?;
    println!("wrote {path}");
    if !draft.todo.is_empty() {
        println!("{} values are TODO, which `tenon check` refuses: {}", draft.todo.len(), draft.todo.join(", "));
    }
    println!("next: read it, then `tenon check {name}`");
    Ok(ExitCode::SUCCESS)
}

fn explain(id: Option<&str>) -> Result<ExitCode, String> {
    let Some(id) = id else {
        for id in Id::ALL {
            println!("{:<26} {}", id.as_str(), id.summary());
        }
        return Ok(ExitCode::SUCCESS);
    };
    let id: Id = id.parse().map_err(|e| format!("{e}"))?;
    show(&format!("{}\n", id.page().trim_end()))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints to stdout; a reader that has seen enough (`| head`) is no error.
fn show(text: &str) -> Result<(), String> {
    use std::io::Write as _;
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("stdout: {e}")),
        _ => Ok(()),
    }
}

//! Whole models: a checkpoint of random weights for each, and the server's bench on it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Options, built, limit, process};
use crate::goals::{Goals, Load, Phase, Source};

/// Tokens of an answer where decoding is timed, and where it is not.
const DECODED: [&str; 2] = ["64", "8"];

/// Times every model of the goals; those that an earlier result has without a fault are kept.
///
/// # Errors
/// The folder of checkpoints cannot be made.
pub fn models(options: &Options, goals: &Goals, earlier: Option<&Value>) -> Result<Value, String> {
    let mut loads: Vec<(&str, Vec<&Load>)> = Vec::new();
    for goal in &goals.goals {
        let Some(Source::Model(load)) = goal.source() else { continue };
        match loads.iter_mut().find(|(name, _)| *name == load.name) {
            None => loads.push((&load.name, vec![load])),
            // Goals in several units are of one run.
            Some((_, known)) if !known.iter().any(|other| same(other, load)) => known.push(load),
            Some(_) => {}
        }
    }
    if let Some(stranger) = options.only_models.iter().find(|only| !loads.iter().any(|(name, _)| name == only)) {
        return Err(format!("no goal is of a model `{stranger}`"));
    }
    let server = built(options, &options.server, &["-p", "tenon-server", "--features", "cuda"])?;
    loads.retain(|(name, _)| options.only_models.is_empty() || options.only_models.iter().any(|only| only == name));
    let folder = options.scratch.join(format!("tenon-random-{}", std::process::id()));
    std::fs::create_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let earlier = earlier.and_then(|earlier| earlier["models"].as_array()).into_iter().flatten();
    let mut models: Vec<Value> = earlier.filter(|model| model["error"].is_null()).cloned().collect();
    for (name, loads) in loads {
        if models.iter().any(|model| model["model"] == name) {
            continue;
        }
        let checkpoint = folder.join(name);
        let mut runs = Vec::new();
        let outcome =
            write(options, name, &checkpoint).and_then(|()| time(options, &server, name, &checkpoint, &loads, &mut runs));
        if checkpoint.exists() {
            std::fs::remove_dir_all(&checkpoint).map_err(|e| format!("{}: {e}", checkpoint.display()))?;
        }
        if let Err(error) = &outcome {
            println!("           {name}: {error}");
        }
        models.push(json!({ "model": name, "runs": runs, "error": outcome.err() }));
    }
    std::fs::remove_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let failed = models.iter().filter(|model| model["error"].is_string()).count();
    Ok(json!({ "models": models, "passed": models.len() - failed, "failed": failed }))
}

fn same(a: &Load, b: &Load) -> bool {
    (a.phase, a.prompt, a.sequences) == (b.phase, b.prompt, b.sequences)
}

/// Writes a checkpoint of random weights.
fn write(options: &Options, name: &str, checkpoint: &Path) -> Result<(), String> {
    let log = options.json_dir.join(format!("models.{name}.write.log"));
    let mut command = Command::new(&options.python);
    command.arg(options.scripts.join("random_checkpoint.py")).arg(name).arg(checkpoint);
    let ended = process::run(&mut command, &log, limit(options))?;
    if ended == "exit status: 0" { Ok(()) } else { Err(format!("no checkpoint: {ended}: {}", process::last(&log))) }
}

/// Times one model: a process per length of prompt, since a process multiplies lengths and numbers of sequences out.
fn time(
    options: &Options,
    server: &Path,
    name: &str,
    checkpoint: &Path,
    loads: &[&Load],
    runs: &mut Vec<Value>,
) -> Result<(), String> {
    let mut prompts: Vec<(u64, Phase)> = loads.iter().map(|load| (load.prompt, load.phase)).collect();
    prompts.dedup();
    for (prompt, phase) in prompts {
        let of_these = loads.iter().filter(|load| (load.prompt, load.phase) == (prompt, phase));
        let sequences: Vec<String> = of_these.map(|load| load.sequences.to_string()).collect();
        let mut command = Command::new(server);
        command.args(["bench", name, "--target", "sm_90a", "--json", "--weights"]).arg(checkpoint);
        command.args(["--prompts", &prompt.to_string(), "--concurrency", &sequences.join(",")]);
        command.args(["--decode", DECODED[usize::from(phase == Phase::Prefill)]]);
        let said = options.json_dir.join(format!("models.{name}.{prompt}.log"));
        let ended = process::run(&mut command, &said, limit(options))?;
        let answer = answer(&said).ok_or_else(|| format!("prompts of {prompt}: {ended}: {}", process::last(&said)))?;
        runs.extend(answer["runs"].as_array().into_iter().flatten().cloned());
    }
    Ok(())
}

/// The object that the server prints, behind the lines of what it is about.
fn answer(log: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(log).ok()?;
    let start = text.find("\n{\n").map(|at| at + 1).or(text.starts_with("{\n").then_some(0))?;
    serde_json::Deserializer::from_str(&text[start..]).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_found_among_what_the_server_says() {
        let log = std::env::temp_dir().join(format!("tenon-answer-{}", std::process::id()));
        let of = |text: &str| {
            std::fs::write(&log, text).unwrap();
            answer(&log)
        };
        let json = "{\n  \"runs\": [\n    {\n      \"concurrency\": 8\n    }\n  ]\n}\n";
        assert_eq!(of(json).unwrap()["runs"][0]["concurrency"], 8);
        assert_eq!(of(&format!("prompt 512, {{8}} at a time\n{json}warning: late\n")).unwrap()["runs"][0]["concurrency"], 8);
        assert_eq!(of("error: no such model\n"), None);
        assert_eq!(of("{\n  \"runs\": ["), None);
        std::fs::remove_file(&log).unwrap();
    }
}

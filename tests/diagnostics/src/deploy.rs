//! Commands that deploy a model: what they refuse, from its spec and their flags alone, through the functions that they call.

use tenon_compiler::emit::{self, Ask, Unplanned};
use tenon_compiler::model::{ChatTemplate, Model};
use tenon_formats::memory::{Budget, Flags, parse_size};
use tenon_formats::overrides::{Asked, Stated, Template, settle};
use tenon_formats::report::{CommandLine, Refused};

use crate::case::Case;

/// What `tenon-server serve` can be asked to make smaller.
const SERVE: Flags = Flags {
    context: Some("--context"),
    sequences: Some("--max-sequences"),
    cache_tokens: None,
    snapshots: None,
    kv_cache_dtype: Some("--kv-cache-dtype"),
};

/// What the command of a case refuses; nothing where it would go on.
///
/// # Errors
/// A case that is no such command, or a base that has errors.
pub fn refused(case: &Case) -> Result<Option<Refused>, String> {
    run(case, case.mistake.command.as_deref().ok_or("case.toml has no `command`")?)
}

/// Each way out that a refusal names is enough by itself: its flags are added to the command, which then goes on.
///
/// # Errors
/// Advice that does not help.
pub fn follow(case: &Case) -> Result<(), String> {
    let command = case.mistake.command.as_deref().ok_or("case.toml has no `command`")?;
    let Refused(reports) = refused(case)?.ok_or("nothing is refused")?;
    // Of several refusals, each names its own way out, and none is enough.
    let [report] = &reports[..] else { return Ok(()) };
    for help in &report.helps {
        let flags = help.split('`').nth(1).filter(|text| text.starts_with("--"));
        let is_enough = help.ends_with(" fits") || help.starts_with("with `") || help.starts_with("ask for at most `");
        let Some(flags) = flags.filter(|_| is_enough) else { continue };
        if let Some(refused) = run(case, &format!("{command} {flags}"))? {
            return Err(format!("with {flags} it is still refused:\n{refused}"));
        }
    }
    Ok(())
}

fn run(case: &Case, command: &str) -> Result<Option<Refused>, String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let (program, flags) = words.split_at_checked(3).ok_or("a command, what it does, and the model")?;
    if program[2] != case.mistake.base {
        return Err(format!("the base is {}, and the command is about {}", case.mistake.base, program[2]));
    }
    let flags = GivenFlags::read(flags)?;
    let models = tenon_compiler::models(&case.files().sources()).map_err(|_| "the base has errors")?;
    match program[..2] {
        ["tenon", "plan"] => memory(&models[0], &flags.ask()?, &flags),
        ["tenon-server", "serve"] => {
            let ask = flags.ask()?;
            let asked = Asked {
                context: ask.context,
                kv_cache_dtype: ask.kv_cache_dtype.as_deref(),
                chat_template: flags.value("--chat-template"),
                allowed: Some(flags.has("--override")),
            };
            match settle(&stated(&models[0]), &asked, &CommandLine::new(&words)) {
                Err(refused) => Ok(Some(refused)),
                // The rest is asked of the checkpoint too, and the spec has no longer context to plan with.
                Ok(overrides) if !overrides.0.is_empty() => Ok(None),
                Ok(_) => memory_of_server(&models[0], &ask, &flags),
            }
        }
        _ => Err(format!("{} is no command that deploys", program[..2].join(" "))),
    }
}

fn memory(model: &Model, ask: &Ask, flags: &GivenFlags<'_>) -> Result<Option<Refused>, String> {
    let programs = tenon_compiler::programs(model);
    match emit::fit(&programs[0], ask, flags.budget()?.as_ref()) {
        Ok(_) => Ok(None),
        Err(Unplanned::Ask(message)) => Err(message),
        Err(Unplanned::Memory(refusal)) => Ok(Some(refusal.report(&model.name).into())),
    }
}

fn memory_of_server(model: &Model, ask: &Ask, flags: &GivenFlags<'_>) -> Result<Option<Refused>, String> {
    let Some(budget) = flags.budget()? else { return Ok(None) };
    let programs = tenon_compiler::programs(model);
    let (needs, settings) = ask.settle(&programs[0])?;
    Ok(needs.fit(&settings, &budget, &SERVE).err().map(|refusal| refusal.report(&model.name).into()))
}

fn stated(model: &Model) -> Stated<'_> {
    let programs = tenon_compiler::programs(model);
    let (needs, _) = Ask::default().settle(&programs[0]).expect("nothing is asked for");
    Stated {
        model: &model.name,
        max_position_embeddings: model.max_position_embeddings as u64,
        kv_cache_dtypes: needs.kv.iter().map(|kv| kv.dtype).collect(),
        chat_template: match model.chat_template {
            ChatTemplate::Checkpoint => Template::Checkpoint,
            ChatTemplate::Text(_) => Template::File,
            ChatTemplate::None => Template::None,
        },
    }
}

/// Flags with their values; of several, the last counts.
struct GivenFlags<'a>(Vec<(&'a str, Option<&'a str>)>);

impl<'a> GivenFlags<'a> {
    fn read(words: &[&'a str]) -> Result<Self, String> {
        let mut words = words.iter();
        let mut flags = Vec::new();
        while let Some(flag) = words.next() {
            flags.push(match flag.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None if *flag == "--override" => (*flag, None),
                None => (*flag, Some(*words.next().ok_or("a flag without its value")?)),
            });
        }
        Ok(Self(flags))
    }

    fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == flag)
    }

    fn value(&self, flag: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(known, _)| *known == flag).and_then(|(_, value)| *value)
    }

    fn number(&self, flag: &str) -> Result<Option<u64>, String> {
        self.value(flag).map(|value| value.parse().map_err(|e| format!("{flag}: {e}"))).transpose()
    }

    fn ask(&self) -> Result<Ask, String> {
        Ok(Ask {
            context: self.number("--context")?,
            sequences: self.number("--sequences")?.or(self.number("--max-sequences")?),
            snapshots: self.number("--snapshots")?,
            kv_cache_dtype: self.value("--kv-cache-dtype").map(str::to_owned),
            weights_format: self.value("--weights-format").map(str::to_owned),
            threads: self.number("--threads")?,
        })
    }

    fn budget(&self) -> Result<Option<Budget>, String> {
        let Some(size) = self.value("--memory") else { return Ok(None) };
        Ok(Some(Budget { bytes: parse_size(size)?, from: "--memory".to_owned() }))
    }
}

//! `generate`: one prompt, one answer.

use tenon_core::model::ModelEntry;
use tenon_engine::Conversation;
use tenon_engine::template::{self, message};

use super::answer;
use crate::cli::GenerateArgs;
use crate::load::{CacheWanted, Loaded, Wanted};
use crate::{Failure, interrupt, load};

/// Answers the prompt on stdout.
pub fn run(args: &GenerateArgs, models: &[&'static ModelEntry]) -> Result<(), Failure> {
    if args.raw && args.overrides.chat_template.is_some() {
        return Err("--chat-template renders messages, and with --raw there are none".into());
    }
    let wanted = Wanted {
        name: &args.name,
        raw: args.raw,
        load: &args.load,
        context: args.context,
        overrides: &args.overrides,
        sequences: 1,
        sequences_flag: None,
        cache: CacheWanted::ONCE,
    };
    let mut loaded = load::for_text(models, &wanted)?;
    let prompt = prompt_ids(&loaded, args)?;
    let request = loaded.request(prompt, &args.sampling);
    let seed = request.sampling.seed;
    if args.stats {
        let memory = loaded.memory;
        let mib = |bytes: usize| bytes as f64 / (1024.0 * 1024.0);
        let state = match memory.state + memory.snapshots {
            0 => String::new(),
            bytes => format!(" state {:.1} MiB,", mib(bytes)),
        };
        eprintln!(
            "loaded {} in {:.2} s: weights {:.1} MiB, cache {:.1} MiB,{state} scratch {:.1} MiB",
            loaded.info.name,
            loaded.time.as_secs_f64(),
            mib(memory.weights),
            mib(memory.cache),
            mib(memory.scratch + memory.rooms)
        );
    }
    interrupt::install();
    let answer = answer::stream(&mut loaded, request)?;
    if args.stats {
        answer::print_stats(&answer, seed);
    }
    Ok(())
}

fn prompt_ids(loaded: &Loaded, args: &GenerateArgs) -> Result<Vec<u32>, Failure> {
    if args.raw {
        return Ok(loaded.tokenizer.encode_text(&args.prompt)?);
    }
    let Some(template) = &loaded.template else {
        return Err(format!("{} has no chat format; --raw continues the prompt as it is", args.name).into());
    };
    let system = args.system.as_deref().map(|text| message("system", text));
    let messages: Vec<_> = system.into_iter().chain([message("user", &args.prompt)]).collect();
    Ok(template::encode(template, &loaded.tokenizer, &Conversation::new(&messages))?)
}

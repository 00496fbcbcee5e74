//! `chat`: a conversation in the terminal, or one message per line of piped input.

use std::io::{BufRead, IsTerminal, Write};

use serde_json::Value;
use tenon_core::model::ModelEntry;
use tenon_engine::template::{self, message};
use tenon_engine::{ChatTemplate, Conversation, FinishReason};

use super::answer;
use crate::cli::ChatArgs;
use crate::load::{CacheWanted, Loaded, Wanted};
use crate::{Failure, interrupt, load};

const HELP: &str = "/reset forgets the conversation, /exit (or Ctrl-D) ends it, Ctrl-C stops an answer";

/// Answers line by line until the input ends.
pub fn run(args: &ChatArgs, models: &[&'static ModelEntry]) -> Result<(), Failure> {
    let wanted = Wanted {
        name: &args.name,
        raw: false,
        load: &args.load,
        context: args.context,
        overrides: &args.overrides,
        sequences: 1,
        sequences_flag: None,
        cache: CacheWanted::default(),
    };
    let mut loaded = load::for_text(models, &wanted)?;
    // Taken out, so that the rest can be borrowed while it renders.
    let Some(template) = loaded.template.take() else {
        return Err(format!("{} has no chat format; `generate --raw` continues a text", args.name).into());
    };
    interrupt::install();
    let terminal = std::io::stdin().is_terminal();
    if terminal {
        eprintln!("{}: {HELP}", args.name);
    }
    let mut history = History::new(args.system.as_deref());
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    loop {
        if terminal {
            eprint!("> ");
            std::io::stderr().flush()?;
        }
        line.clear();
        if input.read_line(&mut line)? == 0 {
            if terminal {
                eprintln!();
            }
            return Ok(());
        }
        match line.trim() {
            "" => {}
            "/exit" | "/quit" => return Ok(()),
            "/reset" => history.reset(),
            "/help" => eprintln!("{HELP}"),
            text => turn(args, &mut loaded, &template, &mut history, text)?,
        }
    }
}

/// One message and its answer. What goes wrong with it is reported, and the conversation goes on without that message.
fn turn(args: &ChatArgs, loaded: &mut Loaded, template: &ChatTemplate, history: &mut History, text: &str) -> Result<(), Failure> {
    history.messages.push(message("user", text));
    let prompt = match template::encode(template, &loaded.tokenizer, &Conversation::new(&history.messages)) {
        Ok(prompt) => prompt,
        Err(error) => {
            history.messages.pop();
            eprintln!("error: {error}");
            return Ok(());
        }
    };
    let request = loaded.request(prompt, &args.sampling);
    let seed = request.sampling.seed;
    match answer::stream(loaded, request) {
        Ok(answer) => {
            if answer.finish == FinishReason::Cancelled && answer.text.is_empty() {
                history.messages.pop();
            } else {
                history.messages.push(message("assistant", &answer.text));
            }
            if args.stats {
                answer::print_stats(&answer, seed);
            }
            Ok(())
        }
        Err(error) if error.is::<std::io::Error>() => Err(error),
        Err(error) => {
            history.messages.pop();
            eprintln!("error: {error}; /reset forgets the conversation so far");
            Ok(())
        }
    }
}

/// The messages so far.
struct History {
    messages: Vec<Value>,
    /// Messages that `/reset` keeps: the system message, if there is one.
    fixed: usize,
}

impl History {
    fn new(system: Option<&str>) -> Self {
        let messages: Vec<Value> = system.map(|text| message("system", text)).into_iter().collect();
        Self { fixed: messages.len(), messages }
    }

    fn reset(&mut self) {
        self.messages.truncate(self.fixed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_keeps_the_system_message() {
        for (system, kept) in [(None, 0), (Some("Be terse."), 1)] {
            let mut history = History::new(system);
            history.messages.extend([message("user", "a"), message("assistant", "b")]);
            history.reset();
            assert_eq!(history.messages.len(), kept);
        }
    }
}

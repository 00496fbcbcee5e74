//! The thread that owns the engine.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use tenon_engine::{Engine, Event, EventKind, FinishReason, SequenceId, Usage};
use tokio::sync::mpsc::{UnboundedReceiver, error::TryRecvError};

use super::{Client, Command, Job, News, Update};
use crate::serve::observe::{EngineObserver, Occurrence};

/// One sequence of the engine.
struct Sequence {
    client: Rc<Client>,
    /// Which of the client's.
    number: usize,
    /// The first part of the prompt is computed.
    is_admitted: bool,
    /// When the last token was chosen.
    last: Option<Instant>,
}

/// Steps that may fail one after the other.
const MOST_FAILURES: usize = 3;

type Sequences = BTreeMap<SequenceId, Sequence>;

/// Computes what it is sent, until there is nothing more to come.
pub(super) fn work(mut engine: Engine, mut commands: UnboundedReceiver<Command>, observer: &dyn EngineObserver) {
    let mut sequences = Sequences::new();
    let mut events = Vec::new();
    let mut draining = false;
    let mut failures = 0;
    loop {
        draining |= !take_commands(&mut engine, &mut commands, &mut sequences, draining);
        leave(&mut engine, &mut sequences);
        if engine.is_idle() {
            observer.stats(&engine.stats());
            if draining {
                return;
            }
            continue;
        }
        let stepped = engine.step(&mut events);
        failures = if stepped.is_ok() { 0 } else { failures + 1 };
        if let Err(error) = stepped {
            // What the step has told before still counts. It says nothing about a single sequence, so that none can go on.
            events.drain(..).for_each(|event| tell(event, &engine, &mut sequences));
            let message = error.to_string();
            tracing::error!(sequences = sequences.len(), "a step of the engine has failed: {message}");
            for (id, sequence) in std::mem::take(&mut sequences) {
                engine.cancel(id);
                sequence.failed(message.clone());
            }
        }
        events.drain(..).for_each(|event| tell(event, &engine, &mut sequences));
        observer.stats(&engine.stats());
        if failures == MOST_FAILURES {
            // A device that has failed once fails for ever: whoever watches the process must see it.
            tracing::error!("{failures} steps in a row have failed; the engine ends");
            return;
        }
    }
}

/// Takes what has arrived, and waits for something when there is nothing to compute. False when nothing more will come.
fn take_commands(
    engine: &mut Engine,
    commands: &mut UnboundedReceiver<Command>,
    sequences: &mut Sequences,
    draining: bool,
) -> bool {
    loop {
        let command = if engine.is_idle() && !draining {
            match commands.blocking_recv() {
                Some(command) => command,
                None => return false,
            }
        } else {
            match commands.try_recv() {
                Ok(command) => command,
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        };
        match command {
            Command::Drain => return false,
            Command::Generate(job) => submit(engine, *job, sequences),
        }
    }
}

/// All sequences of a request or none.
fn submit(engine: &mut Engine, job: Job, sequences: &mut Sequences) {
    let Job { sequences: requests, client } = job;
    let prompts: Vec<usize> = requests.iter().map(|request| request.prompt.len()).collect();
    let mut ids = Vec::new();
    for request in requests {
        match engine.submit(request) {
            Ok(id) => ids.push(id),
            Err(error) => {
                for id in ids {
                    engine.cancel(id);
                }
                client.places.free_all();
                client.tell(Update::Refused(error));
                return;
            }
        }
    }
    for prompt_tokens in prompts {
        client.observer.observe(Occurrence::Queued { prompt_tokens });
    }
    client.tell(Update::Accepted);
    let client = Rc::new(client);
    let each =
        (0..).zip(ids).map(|(number, id)| (id, Sequence { client: Rc::clone(&client), number, is_admitted: false, last: None }));
    sequences.extend(each);
}

/// Ends the sequences that nobody waits for any more, also those that wait themselves.
fn leave(engine: &mut Engine, sequences: &mut Sequences) {
    sequences.retain(|&id, sequence| {
        let left = sequence.client.has_left(sequence.number);
        if left {
            let usage = engine.cancel(id).unwrap_or_default();
            sequence.finished(FinishReason::Cancelled, usage);
        }
        !left
    });
}

fn tell(event: Event, engine: &Engine, sequences: &mut Sequences) {
    let Some(sequence) = sequences.get_mut(&event.sequence) else { return };
    let over = match event.kind {
        EventKind::Prompt { .. } => {
            sequence.admitted(engine.usage(event.sequence));
            return;
        }
        EventKind::Token(token) => {
            sequence.chosen();
            sequence.tell(News::Token(token));
            return;
        }
        EventKind::Finished(reason, usage) => Ok((reason, usage)),
        EventKind::Failed(error) => Err(error.to_string()),
    };
    let Some(sequence) = sequences.remove(&event.sequence) else { return };
    match over {
        Ok((reason, usage)) => sequence.finished(reason, usage),
        Err(message) => sequence.failed(message),
    }
}

impl Sequence {
    fn tell(&self, news: News) {
        self.client.tell(Update::Sequence(self.number, news));
    }

    /// Its first part is computed. A sequence that has ended in the same step has no usage any more, and tells it with its end.
    fn admitted(&mut self, usage: Option<Usage>) {
        if !std::mem::replace(&mut self.is_admitted, true) {
            self.client.observer.observe(Occurrence::Admitted { waited: self.client.queued.elapsed() });
            if let Some(usage) = usage {
                self.tell(News::Begun(usage.cached_tokens));
            }
        }
    }

    fn chosen(&mut self) {
        let now = Instant::now();
        let before = self.last.replace(now);
        let after = now.duration_since(before.unwrap_or(self.client.queued));
        self.client.observer.observe(Occurrence::Token { first: before.is_none(), after });
    }

    fn finished(&self, reason: FinishReason, usage: Usage) {
        self.client.observer.observe(Occurrence::Finished { reason, usage, took: self.client.queued.elapsed() });
        // Before the client can know that it is done, and send another request.
        self.client.places.free(self.number);
        self.tell(News::Finished(reason, usage));
    }

    fn failed(&self, message: String) {
        self.client.observer.observe(Occurrence::Failed { message: &message, took: self.client.queued.elapsed() });
        self.client.places.free(self.number);
        self.tell(News::Failed(message));
    }
}

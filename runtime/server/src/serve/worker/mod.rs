//! The way to the thread that owns the engine. It knows token ids only; text is the business of whoever asked.

mod places;
mod thread;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use tenon_engine::engine::SubmitError;
use tenon_engine::{ChosenToken, Engine, FinishReason, Request, Usage};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::error::ApiError;
use super::observe::{EngineObserver, Observer};
use places::Room;

pub(super) use places::Places;

/// Something about one request.
#[derive(Debug)]
pub(super) enum Update {
    /// The engine has taken all of its sequences.
    Accepted,
    /// The engine has refused it.
    Refused(SubmitError),
    /// Something about one of its sequences.
    Sequence(usize, News),
}

/// Something about one sequence.
#[derive(Debug)]
pub(super) enum News {
    /// The engine has begun with it, and found so many tokens of its prompt in the cache.
    Begun(usize),
    /// The next token.
    Token(ChosenToken),
    /// There are no more tokens.
    Finished(FinishReason, Usage),
    /// It cannot go on.
    Failed(String),
}

/// What the engine tells about one request. Dropping it cancels the request.
#[derive(Debug)]
pub(super) struct Updates {
    received: UnboundedReceiver<Update>,
    places: Places,
    left: Left,
}

/// Which sequences nobody waits for any more.
type Left = Arc<[AtomicBool]>;

impl Updates {
    /// The next one; `None` when the engine is gone.
    pub(super) async fn next(&mut self) -> Option<Update> {
        self.received.recv().await
    }

    /// Nothing more is wanted of one sequence: the engine's work for it ends with the step that runs.
    pub(super) fn leave(&mut self, sequence: usize) {
        if let Some(left) = self.left.get(sequence) {
            left.store(true, Ordering::Relaxed);
        }
        self.places.free(sequence);
    }
}

impl Drop for Updates {
    fn drop(&mut self) {
        self.received.close();
        self.places.free_all();
    }
}

/// One request.
struct Job {
    /// One for each answer.
    sequences: Vec<Request>,
    client: Client,
}

/// Who waits for the tokens.
struct Client {
    /// Unbounded, so that a slow reader never stalls the others; as many tokens as the answers may have at most.
    updates: UnboundedSender<Update>,
    places: Places,
    left: Left,
    observer: Arc<dyn Observer>,
    queued: Instant,
}

impl Client {
    /// Tells something. A client that has left is noticed before the next step.
    fn tell(&self, update: Update) {
        let _ = self.updates.send(update);
    }

    fn has_left(&self, sequence: usize) -> bool {
        self.updates.is_closed() || self.left.get(sequence).is_none_or(|left| left.load(Ordering::Relaxed))
    }
}

enum Command {
    Generate(Box<Job>),
    Drain,
}

/// The way to the thread.
#[derive(Debug)]
pub(super) struct Worker {
    commands: UnboundedSender<Command>,
    room: Room,
}

/// The thread itself.
#[derive(Debug)]
pub(super) struct Running {
    thread: JoinHandle<()>,
    ended: oneshot::Receiver<Infallible>,
}

/// Starts the thread. `places` sequences may run or wait at a time.
pub(super) fn start(engine: Engine, places: usize, observer: Arc<dyn EngineObserver>) -> std::io::Result<(Worker, Running)> {
    let (commands, received) = unbounded_channel();
    let (alive, ended) = oneshot::channel();
    let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
        // Dropped when the thread ends, however it ends.
        let _alive = alive;
        thread::work(engine, received, &*observer);
    })?;
    Ok((Worker { commands, room: Room::new(places) }, Running { thread, ended }))
}

impl Worker {
    /// How many sequences may run or wait at a time.
    pub(super) fn room(&self) -> usize {
        self.room.count()
    }

    /// Takes a place for each sequence of a request, or says why there are none.
    pub(super) fn places(&self, sequences: usize) -> Result<Places, ApiError> {
        self.room.take(sequences)
    }

    /// Hands a request to the engine, one sequence for each of its answers.
    pub(super) fn submit(
        &self,
        sequences: Vec<Request>,
        places: Places,
        observer: Arc<dyn Observer>,
    ) -> Result<Updates, ApiError> {
        let (updates, received) = unbounded_channel();
        let left: Left = sequences.iter().map(|_| AtomicBool::new(false)).collect();
        let client = Client { updates, places: places.clone(), left: Arc::clone(&left), observer, queued: Instant::now() };
        match self.commands.send(Command::Generate(Box::new(Job { sequences, client }))) {
            Ok(()) => Ok(Updates { received, places, left }),
            Err(_) => Err(self.gone()),
        }
    }

    /// Why the thread does not answer any more.
    pub(super) fn gone(&self) -> ApiError {
        if self.is_draining() { ApiError::draining() } else { ApiError::internal("the engine has stopped") }
    }

    /// From now on nothing new is accepted; the thread ends with its last request.
    pub(super) fn drain(&self) {
        self.room.close();
        // A thread that has ended has nothing to drain.
        let _ = self.commands.send(Command::Drain);
    }

    /// True once [`Worker::drain`] was called.
    pub(super) fn is_draining(&self) -> bool {
        self.room.is_closed()
    }
}

impl Running {
    /// Returns when the thread has ended.
    pub(super) async fn ended(&mut self) {
        if !self.thread.is_finished() {
            let Err(_) = (&mut self.ended).await;
        }
    }

    /// Waits for the end of a thread that is about to end. False when it panicked.
    pub(super) fn join(self) -> bool {
        self.thread.join().is_ok()
    }
}

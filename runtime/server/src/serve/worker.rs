//! The thread that owns the engine. It knows token ids only; text is the business of whoever asked.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tenon_engine::engine::SubmitError;
use tenon_engine::{ChosenToken, Engine, Event, EventKind, FinishReason, Request, SequenceId, Usage};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, error::TryRecvError, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};

use super::error::ApiError;

/// Something about one request.
#[derive(Debug)]
pub(super) enum Update {
    /// The engine has taken it.
    Accepted,
    /// The engine has refused it.
    Refused(SubmitError),
    /// The next token.
    Token(ChosenToken),
    /// There are no more tokens.
    Finished(FinishReason, Usage),
    /// It cannot go on.
    Failed(String),
}

/// A place among the requests that run or wait. It is free again as soon as one side is done: the engine, although a slow client
/// still reads, or the client, although the engine has not noticed yet.
#[derive(Clone, Debug)]
pub(super) struct Place(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Place {
    fn free(&self) {
        // A permit is whole also if somebody panicked beside it.
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// What the engine tells about one request. Dropping it cancels the request.
#[derive(Debug)]
pub(super) struct Updates {
    received: UnboundedReceiver<Update>,
    place: Place,
}

impl Updates {
    /// The next one; `None` when the engine is gone.
    pub(super) async fn next(&mut self) -> Option<Update> {
        self.received.recv().await
    }

    /// Nothing more is wanted: the engine's work ends with the step that runs.
    pub(super) fn leave(&mut self) {
        self.received.close();
        self.place.free();
    }
}

impl Drop for Updates {
    fn drop(&mut self) {
        self.leave();
    }
}

struct Job {
    request: Request,
    client: Client,
}

/// Who waits for the tokens.
struct Client {
    /// Unbounded, so that a slow reader never stalls the others; a context's worth of tokens at most.
    updates: UnboundedSender<Update>,
    place: Place,
}

enum Command {
    Generate(Box<Job>),
    Drain,
}

/// The way to the thread.
#[derive(Debug)]
pub(super) struct Worker {
    commands: UnboundedSender<Command>,
    places: Arc<Semaphore>,
    count: usize,
}

/// The thread itself.
#[derive(Debug)]
pub(super) struct Running {
    thread: JoinHandle<()>,
    ended: oneshot::Receiver<Infallible>,
}

/// Starts the thread. `places` requests may run or wait at a time.
pub(super) fn start(engine: Engine, places: usize) -> std::io::Result<(Worker, Running)> {
    let (commands, received) = unbounded_channel();
    let (alive, ended) = oneshot::channel();
    let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
        // Dropped when the thread ends, however it ends.
        let _alive = alive;
        work(engine, received);
    })?;
    Ok((Worker { commands, places: Arc::new(Semaphore::new(places)), count: places }, Running { thread, ended }))
}

impl Worker {
    /// Takes a place, or says why there is none.
    pub(super) fn place(&self) -> Result<Place, ApiError> {
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(permit) => Ok(Place(Arc::new(Mutex::new(Some(permit))))),
            Err(TryAcquireError::NoPermits) => Err(ApiError::full(self.count)),
            Err(TryAcquireError::Closed) => Err(ApiError::draining()),
        }
    }

    /// Hands a request to the engine.
    pub(super) fn submit(&self, request: Request, place: Place) -> Result<Updates, ApiError> {
        let (updates, received) = unbounded_channel();
        let job = Job { request, client: Client { updates, place: place.clone() } };
        match self.commands.send(Command::Generate(Box::new(job))) {
            Ok(()) => Ok(Updates { received, place }),
            Err(_) => Err(self.gone()),
        }
    }

    /// Why the thread does not answer any more.
    pub(super) fn gone(&self) -> ApiError {
        if self.is_draining() { ApiError::draining() } else { ApiError::internal("the engine has stopped") }
    }

    /// From now on nothing new is accepted; the thread ends with its last request.
    pub(super) fn drain(&self) {
        self.places.close();
        // A thread that has ended has nothing to drain.
        let _ = self.commands.send(Command::Drain);
    }

    /// True once [`Worker::drain`] was called.
    pub(super) fn is_draining(&self) -> bool {
        self.places.is_closed()
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

fn work(mut engine: Engine, mut commands: UnboundedReceiver<Command>) {
    let mut clients = BTreeMap::new();
    let mut events = Vec::new();
    let mut draining = false;
    loop {
        draining |= !take_commands(&mut engine, &mut commands, &mut clients, draining);
        leave(&mut engine, &mut clients);
        if engine.is_idle() {
            if draining {
                return;
            }
            continue;
        }
        if let Err(error) = engine.step(&mut events) {
            for (id, client) in std::mem::take(&mut clients) {
                engine.cancel(id);
                client.place.free();
                let _ = client.updates.send(Update::Failed(error.to_string()));
            }
        }
        for event in events.drain(..) {
            tell(event, &mut clients);
        }
    }
}

/// Takes what has arrived, and waits for something when there is nothing to compute. False when nothing more will come.
fn take_commands(
    engine: &mut Engine,
    commands: &mut UnboundedReceiver<Command>,
    clients: &mut BTreeMap<SequenceId, Client>,
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
            Command::Generate(job) => match engine.submit(job.request) {
                Ok(id) => {
                    let _ = job.client.updates.send(Update::Accepted);
                    clients.insert(id, job.client);
                }
                Err(error) => {
                    job.client.place.free();
                    let _ = job.client.updates.send(Update::Refused(error));
                }
            },
        }
    }
}

/// Ends the sequences of clients that have left, also those that wait.
fn leave(engine: &mut Engine, clients: &mut BTreeMap<SequenceId, Client>) {
    clients.retain(|&id, client| {
        let stays = !client.updates.is_closed();
        if !stays {
            engine.cancel(id);
        }
        stays
    });
}

fn tell(event: Event, clients: &mut BTreeMap<SequenceId, Client>) {
    let id = event.sequence;
    let (update, last) = match event.kind {
        EventKind::Prompt { .. } => return,
        EventKind::Token(token) => (Update::Token(token), false),
        EventKind::Finished(reason, usage) => (Update::Finished(reason, usage), true),
        EventKind::Failed(error) => (Update::Failed(error.to_string()), true),
    };
    let Some(client) = clients.get(&id) else { return };
    if last {
        // Before the client can know that it is done, and send another request.
        client.place.free();
    }
    // A client that has left is noticed before the next step.
    let _ = client.updates.send(update);
    if last {
        clients.remove(&id);
    }
}

//! Places among the sequences that run or wait.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::serve::error::ApiError;

/// All places of a server.
#[derive(Debug)]
pub(super) struct Room {
    places: Arc<Semaphore>,
    count: usize,
}

impl Room {
    /// This many.
    pub(super) fn new(count: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(count)), count }
    }

    /// Takes a place for each of some sequences, all or none, or says why there are none.
    pub(super) fn take(&self, sequences: usize) -> Result<Places, ApiError> {
        // More than can be counted are more than there are.
        let permits = u32::try_from(sequences).unwrap_or(u32::MAX);
        let mut permits = match Arc::clone(&self.places).try_acquire_many_owned(permits) {
            Ok(permits) => permits,
            Err(TryAcquireError::NoPermits) => return Err(ApiError::full(self.count)),
            Err(TryAcquireError::Closed) => return Err(ApiError::draining()),
        };
        let each = (1..sequences).map_while(|_| permits.split(1).map(Some)).collect::<Vec<_>>();
        let all = each.into_iter().chain([Some(permits)]).collect();
        Ok(Places(Arc::new(Mutex::new(all))))
    }

    /// How many there are, taken or not.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// From now on none is given.
    pub(super) fn close(&self) {
        self.places.close();
    }

    /// True after [`Room::close`].
    pub(super) fn is_closed(&self) -> bool {
        self.places.is_closed()
    }
}

/// The places of one request, one for each of its sequences. A place is free again as soon as one side is done: the engine, although
/// a slow client still reads, or the client, although the engine has not noticed yet.
#[derive(Clone, Debug)]
pub(in crate::serve) struct Places(Arc<Mutex<Vec<Option<OwnedSemaphorePermit>>>>);

impl Places {
    /// Frees that of one sequence.
    pub(super) fn free(&self, sequence: usize) {
        // A permit is whole also if somebody panicked beside it.
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(sequence).and_then(Option::take));
    }

    /// Frees all.
    pub(super) fn free_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(room: &Room, sequences: usize) -> &'static str {
        room.take(sequences).map_or_else(|error| error.code, |_| "ok")
    }

    #[test]
    fn a_request_gets_all_its_places_or_none() {
        let room = Room::new(4);
        let three = room.take(3).unwrap();
        assert_eq!((code(&room, 2), code(&room, 1)), ("queue_full", "ok"));
        three.free(1);
        three.free(1);
        assert_eq!((code(&room, 2), code(&room, 3)), ("ok", "queue_full"), "a place is freed once");
        three.clone().free_all();
        three.free(0);
        assert_eq!((code(&room, 4), code(&room, 5)), ("ok", "queue_full"));
        room.close();
        assert!(room.is_closed());
        assert_eq!(code(&room, 1), "shutting_down");
    }
}

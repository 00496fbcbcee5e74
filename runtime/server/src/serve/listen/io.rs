//! A connection that does not wait for ever: neither for a request's head nor for a client that does not read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Why a connection was closed from this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) enum Closed {
    /// The head of a request was not complete in time.
    Header,
    /// No further request came.
    Idle,
    /// The client did not read its answer.
    Write,
}

impl Closed {
    /// As metrics and logs call it.
    pub(in crate::serve) fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header_timeout",
            Self::Idle => "idle_timeout",
            Self::Write => "write_timeout",
        }
    }
}

/// How long each phase of a connection may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) header: Duration,
    pub(super) idle: Duration,
    pub(super) write: Duration,
}

/// What a connection waits for, as those who answer its requests tell it.
#[derive(Debug)]
pub(super) struct Progress {
    times: Times,
    phase: Mutex<Phase>,
    /// Who reads while a request is answered: nothing is due then, so that the end of the answer must tell when something is.
    reader: Mutex<Option<Waker>>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The rest of a request's head, until then.
    Head(Instant),
    /// The first byte of a request, until then.
    Idle(Instant),
    /// A request is answered; its body has a timeout of its own.
    Busy,
    /// It was closed, for this reason.
    Closed(Closed),
}

impl Progress {
    /// A connection that has just begun, whose first request is due.
    pub(super) fn new(times: Times) -> Arc<Self> {
        Arc::new(Self { times, phase: Mutex::new(Phase::Head(Instant::now() + times.header)), reader: Mutex::default() })
    }

    /// A request's head has arrived.
    pub(super) fn begin(&self) {
        *self.phase() = Phase::Busy;
    }

    /// Its answer has been handed over.
    pub(super) fn end(&self) {
        let mut phase = self.phase();
        if matches!(*phase, Phase::Busy) {
            *phase = Phase::Idle(Instant::now() + self.times.idle);
        }
        drop(phase);
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// The reader is woken when something is due again. False where that is so already.
    fn wait(&self, reader: &Waker) -> bool {
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader.clone());
        self.due().is_none()
    }

    /// Why it was closed from this side, if it was.
    pub(super) fn closed(&self) -> Option<Closed> {
        match *self.phase() {
            Phase::Closed(why) => Some(why),
            _ => None,
        }
    }

    /// When what it waits for is over, and what that is.
    fn due(&self) -> Option<(Instant, Closed)> {
        match *self.phase() {
            Phase::Head(until) => Some((until, Closed::Header)),
            Phase::Idle(until) => Some((until, Closed::Idle)),
            Phase::Busy | Phase::Closed(_) => None,
        }
    }

    /// Bytes have arrived.
    fn received(&self) {
        let mut phase = self.phase();
        if matches!(*phase, Phase::Idle(_)) {
            *phase = Phase::Head(Instant::now() + self.times.header);
        }
    }

    fn close(&self, why: Closed) -> io::Error {
        *self.phase() = Phase::Closed(why);
        io::Error::new(io::ErrorKind::TimedOut, why.as_str())
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        // Each change is one assignment.
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream with the timeouts of [`Progress`].
#[derive(Debug)]
pub(super) struct Guarded<T> {
    inner: T,
    progress: Arc<Progress>,
    reading: Pin<Box<Sleep>>,
    /// Set while the client takes nothing.
    writing: Option<Pin<Box<Sleep>>>,
}

impl<T> Guarded<T> {
    pub(super) fn new(inner: T, progress: Arc<Progress>) -> Self {
        Self { inner, progress, reading: Box::pin(sleep_until(Instant::now())), writing: None }
    }

    /// What a write has come to; one that waits for too long is an error, which ends the connection.
    fn write<R>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if result.is_ready() {
            self.writing = None;
            return result;
        }
        let until = Instant::now() + self.progress.times.write;
        let sleep = self.writing.get_or_insert_with(|| Box::pin(sleep_until(until)));
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(Err(self.progress.close(Closed::Write)))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Guarded<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        let result = Pin::new(&mut this.inner).poll_read(cx, buf);
        if buf.filled().len() > before {
            this.progress.received();
        }
        if result.is_pending() && this.progress.wait(cx.waker()) {
            return result;
        }
        let Some((until, what)) = this.progress.due() else { return result };
        if this.reading.deadline() != until {
            this.reading.as_mut().reset(until);
        }
        match result {
            // A head of which a byte comes now and then is ready each time that it is asked.
            Poll::Ready(result) if Instant::now() < until => Poll::Ready(result),
            Poll::Pending if this.reading.as_mut().poll(cx).is_pending() => Poll::Pending,
            _ => Poll::Ready(Err(this.progress.close(what))),
        }
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Guarded<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.write(cx, result)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write_vectored(cx, bytes);
        self.write(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What is not written yet was told by `poll_write`; a socket has nothing to flush.
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.write(cx, result)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    const TIMES: Times =
        Times { header: Duration::from_millis(60), idle: Duration::from_millis(200), write: Duration::from_millis(60) };

    async fn read(stream: &mut Guarded<tokio::io::DuplexStream>) -> io::Result<usize> {
        let mut bytes = [0; 16];
        poll_fn(|cx| {
            let mut buf = ReadBuf::new(&mut bytes);
            Pin::new(&mut *stream).poll_read(cx, &mut buf).map_ok(|()| buf.filled().len())
        })
        .await
    }

    async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| Pin::new(&mut *stream).poll_write(cx, bytes)).await
    }

    fn pair() -> (tokio::io::DuplexStream, Guarded<tokio::io::DuplexStream>, Arc<Progress>) {
        let (client, server) = tokio::io::duplex(16);
        let progress = Progress::new(TIMES);
        (client, Guarded::new(server, Arc::clone(&progress)), progress)
    }

    #[tokio::test]
    async fn a_head_that_trickles_is_cut_off_although_bytes_keep_coming() {
        let (mut client, mut server, progress) = pair();
        let started = Instant::now();
        let error = loop {
            let _ = write(&mut client, b"x").await;
            tokio::time::sleep(Duration::from_millis(7)).await;
            if let Err(error) = read(&mut server).await {
                break error;
            }
        };
        assert_eq!((error.kind(), progress.closed()), (io::ErrorKind::TimedOut, Some(Closed::Header)));
        assert!(started.elapsed() >= TIMES.header);
    }

    #[tokio::test]
    async fn each_phase_has_its_own_time() {
        let (mut client, mut server, progress) = pair();
        assert_eq!(write(&mut client, b"x").await.unwrap(), 1);
        assert_eq!(read(&mut server).await.unwrap(), 1);
        // While a request is answered, nothing is due.
        progress.begin();
        let waited = tokio::time::timeout(TIMES.idle * 2, read(&mut server)).await;
        assert!(waited.is_err(), "{waited:?}");
        progress.end();
        // The next head's time counts from its first byte.
        tokio::time::sleep(TIMES.header * 2).await;
        assert_eq!(write(&mut client, b"x").await.unwrap(), 1);
        assert_eq!(read(&mut server).await.unwrap(), 1);
        read(&mut server).await.unwrap_err();
        assert_eq!(progress.closed(), Some(Closed::Header));
        let (_client, mut server, progress) = pair();
        progress.begin();
        progress.end();
        read(&mut server).await.unwrap_err();
        assert_eq!(progress.closed(), Some(Closed::Idle));
    }

    /// The end of an answer is no event of the socket: whoever waits for bytes since before must notice it.
    #[tokio::test]
    async fn an_idle_connection_is_closed_although_nothing_happens_on_it() {
        let (_client, mut server, progress) = pair();
        progress.begin();
        let reading = tokio::spawn(async move { read(&mut server).await });
        tokio::time::sleep(TIMES.header).await;
        progress.end();
        let ended = tokio::time::timeout(TIMES.idle * 10, reading).await.unwrap().unwrap();
        assert_eq!((ended.unwrap_err().kind(), progress.closed()), (io::ErrorKind::TimedOut, Some(Closed::Idle)));
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_cut_off_and_one_that_takes_something_is_not() {
        let (mut client, mut server, progress) = pair();
        progress.begin();
        assert_eq!(write(&mut server, &[0; 32]).await.unwrap(), 16);
        let reader = tokio::spawn(async move {
            for _ in 0..4 {
                tokio::time::sleep(TIMES.write / 2).await;
                let mut bytes = [0; 16];
                let mut buf = ReadBuf::new(&mut bytes);
                poll_fn(|cx| Pin::new(&mut client).poll_read(cx, &mut buf)).await.unwrap();
            }
            client
        });
        for _ in 0..4 {
            assert_eq!(write(&mut server, &[0; 32]).await.unwrap(), 16);
        }
        let _client = reader.await.unwrap();
        let started = Instant::now();
        assert_eq!(write(&mut server, &[0; 32]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(progress.closed(), Some(Closed::Write));
        assert!(started.elapsed() >= TIMES.write);
    }
}

//! Ctrl-C: ends the answer that is being generated, and the program when there is none.

use std::sync::atomic::{AtomicBool, Ordering};

static ANSWERING: AtomicBool = AtomicBool::new(false);
static STOP: AtomicBool = AtomicBool::new(false);

/// What a shell reports for a program that SIGINT ended.
const EXIT_CODE: i32 = 128 + libc::SIGINT;

extern "C" fn on_interrupt(_: libc::c_int) {
    let stopping = STOP.swap(true, Ordering::Relaxed);
    if stopping || !ANSWERING.load(Ordering::Relaxed) {
        // SAFETY: `_exit` is async-signal-safe and has no precondition.
        unsafe { libc::_exit(EXIT_CODE) }
    }
}

/// Installs the handler. A second Ctrl-C during one answer ends the program.
pub fn install() {
    // SAFETY: the handler only uses lock-free atomics and `_exit`, both of which are async-signal-safe.
    unsafe { libc::signal(libc::SIGINT, on_interrupt as *const () as libc::sighandler_t) };
}

/// One answer: while this lives, the first Ctrl-C only sets [`Answering::is_stopped`].
#[derive(Debug)]
pub struct Answering(());

impl Answering {
    /// An answer begins.
    pub fn begin() -> Self {
        STOP.store(false, Ordering::Relaxed);
        ANSWERING.store(true, Ordering::Relaxed);
        Self(())
    }

    /// True once Ctrl-C was pressed.
    pub fn is_stopped(&self) -> bool {
        STOP.load(Ordering::Relaxed)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        ANSWERING.store(false, Ordering::Relaxed);
        STOP.store(false, Ordering::Relaxed);
    }
}

//! A fork-join pool for steps of a few microseconds: workers spin briefly for the next job, then park.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread::{JoinHandle, Thread};

/// Pauses before a waiting thread parks: some 50 microseconds, longer than the gaps between the operations of a step and
/// shorter than anybody would notice on an idle machine.
const SPINS: u32 = 2048;

/// A job: a closure that lives on the caller's stack until every worker is done with it.
struct Job {
    call: *const (dyn Fn(usize) + Sync),
    tasks: usize,
    caller: Thread,
}

struct Shared {
    /// Written by the caller while `pending` is 0, read by workers after they saw `epoch` change.
    job: UnsafeCell<Option<Job>>,
    /// Counts jobs; a change is the signal to start.
    epoch: AtomicUsize,
    /// Workers that are not yet done with the current job.
    pending: AtomicUsize,
    stop: AtomicBool,
    /// The first panic of a worker in the current job.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    threads: usize,
}

// SAFETY: `job` is the only field that is not Sync. It is written by the thread that holds `Pool::caller`, and only while
// `pending` is 0, that is, when no worker reads it; the release store of `epoch` orders the write before the reads. `call`
// points to a Sync closure, so that workers may call it at the same time.
unsafe impl Sync for Shared {}
// SAFETY: as above; the pointer in `job` is not tied to the thread that wrote it.
unsafe impl Send for Shared {}

/// `threads - 1` workers; the thread that calls [`Pool::run`] is the remaining one.
pub(super) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    caller: Mutex<()>,
}

impl Pool {
    /// Starts the workers.
    ///
    /// # Errors
    /// When the system refuses a thread; those already started end.
    pub(super) fn new(threads: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            job: UnsafeCell::new(None),
            epoch: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            panic: Mutex::new(None),
            threads,
        });
        let mut pool = Self { shared, workers: Vec::with_capacity(threads - 1), caller: Mutex::new(()) };
        for worker in 1..threads {
            let shared = Arc::clone(&pool.shared);
            let spawned = std::thread::Builder::new().name(format!("tenon-cpu-{worker}"));
            pool.workers.push(spawned.spawn(move || work(&shared, worker))?);
        }
        Ok(pool)
    }

    /// Threads that share the work, the caller included.
    pub(super) fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Calls `task(i)` once for each `i` in `0..tasks` and returns when all are done. Task `i` runs on thread `i % threads`,
    /// thread 0 being the caller.
    ///
    /// A pool that is busy (a call from another thread, or from inside a task) does not make the caller wait: it runs all of
    /// its tasks itself.
    ///
    /// # Panics
    /// With the payload of a task that panicked, after all threads have stopped.
    pub(super) fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        if tasks <= 1 || self.workers.is_empty() {
            return (0..tasks).for_each(task);
        }
        let outcome = match self.caller.try_lock() {
            Ok(_guard) => self.fork_join(tasks, task),
            Err(TryLockError::WouldBlock) => return (0..tasks).for_each(task),
            Err(TryLockError::Poisoned(_)) => unreachable!("panics of tasks are caught while the lock is held"),
        };
        if let Err(payload) = outcome {
            resume_unwind(payload);
        }
    }

    /// The caller holds `self.caller`.
    fn fork_join(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) -> Result<(), Box<dyn Any + Send>> {
        let shared = &*self.shared;
        // SAFETY: this only forgets the lifetime of the closure. Workers call it before they decrement `pending`, and this
        // function does not return before `pending` is 0.
        let call: *const (dyn Fn(usize) + Sync + 'static) = unsafe { std::mem::transmute(std::ptr::from_ref(task)) };
        // SAFETY: `pending` is 0, since the previous job waited for it, so no worker reads the job.
        unsafe { *shared.job.get() = Some(Job { call, tasks, caller: std::thread::current() }) };
        shared.pending.store(self.workers.len(), Ordering::Relaxed);
        shared.epoch.fetch_add(1, Ordering::Release);
        for worker in &self.workers {
            // Costs one atomic exchange unless the worker is parked.
            worker.thread().unpark();
        }
        let own = catch_unwind(AssertUnwindSafe(|| share(0, tasks, shared.threads, task)));
        wait(|| shared.pending.load(Ordering::Acquire) == 0);
        let theirs = shared.panic.lock().expect("nothing panics while this lock is held").take();
        own.and(theirs.map_or(Ok(()), Err))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.epoch.fetch_add(1, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            worker.join().expect("a worker catches the panics of its tasks");
        }
    }
}

/// The life of a worker.
fn work(shared: &Shared, worker: usize) {
    let mut seen = 0;
    loop {
        wait(|| shared.epoch.load(Ordering::Acquire) != seen);
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        seen += 1;
        // SAFETY: the caller wrote the job before it changed `epoch`, and writes again only after `pending` fell to 0.
        let job = unsafe { (*shared.job.get()).as_ref() }.expect("an epoch has a job");
        let caller = job.caller.clone();
        // SAFETY: the closure lives until `pending` is 0, which is after the decrement below.
        let task = unsafe { &*job.call };
        let outcome = catch_unwind(AssertUnwindSafe(|| share(worker, job.tasks, shared.threads, task)));
        if let Err(payload) = outcome {
            shared.panic.lock().expect("nothing panics while this lock is held").get_or_insert(payload);
        }
        if shared.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            caller.unpark();
        }
    }
}

fn share(thread: usize, tasks: usize, threads: usize, task: &(dyn Fn(usize) + Sync)) {
    (thread..tasks).step_by(threads).for_each(task);
}

/// Spins, then parks, until `done`. Whoever makes `done` true unparks this thread afterwards; a park may also return early.
fn wait(done: impl Fn() -> bool) {
    for _ in 0..SPINS {
        if done() {
            return;
        }
        std::hint::spin_loop();
    }
    while !done() {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pool: &Pool, tasks: usize) -> Vec<usize> {
        let counts: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
        pool.run(tasks, &|i| {
            counts[i].fetch_add(1, Ordering::Relaxed);
        });
        counts.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn each_task_runs_once_on_its_thread() {
        for threads in 1..=5 {
            let pool = Pool::new(threads).unwrap();
            for tasks in [0, 1, 2, 3, 7, 64] {
                assert_eq!(counts(&pool, tasks), vec![1; tasks], "{threads} threads, {tasks} tasks");
            }
            let owners: Vec<Mutex<Option<std::thread::ThreadId>>> = (0..2 * threads).map(|_| Mutex::new(None)).collect();
            pool.run(owners.len(), &|i| *owners[i].lock().unwrap() = Some(std::thread::current().id()));
            let owners: Vec<_> = owners.into_iter().map(|o| o.into_inner().unwrap().unwrap()).collect();
            assert_eq!(owners[..threads], owners[threads..], "the split is static");
            assert_eq!(owners[0], std::thread::current().id(), "the caller takes part");
        }
    }

    #[test]
    fn many_jobs_in_a_row_and_after_parking() {
        let pool = Pool::new(3).unwrap();
        let total = AtomicUsize::new(0);
        for round in 0..20_000 {
            if round % 5_000 == 0 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            pool.run(3, &|i| {
                total.fetch_add(i + 1, Ordering::Relaxed);
            });
        }
        assert_eq!(total.into_inner(), 6 * 20_000);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let pool = Pool::new(3).unwrap();
        for guilty in 0..3 {
            let caught = catch_unwind(AssertUnwindSafe(|| pool.run(3, &|i| assert!(i != guilty, "task {i} failed"))));
            let message = caught.unwrap_err().downcast::<String>().unwrap();
            assert_eq!(*message, format!("task {guilty} failed"));
            assert_eq!(counts(&pool, 9), vec![1; 9]);
        }
    }

    #[test]
    fn a_call_from_inside_a_task_or_from_two_threads_does_not_hang() {
        let pool = Pool::new(2).unwrap();
        let total = AtomicUsize::new(0);
        pool.run(4, &|_| {
            pool.run(4, &|_| {
                total.fetch_add(1, Ordering::Relaxed);
            });
        });
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        pool.run(4, &|_| {
                            total.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 16 + 3 * 500 * 4);
    }
}

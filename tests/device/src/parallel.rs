//! Work that is split: over threads, and over the shards of a run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// One of n parts of a list; neighbours are alike, so each part gets some of all.
///
/// # Errors
/// A text that is no part.
pub fn part<T>(list: Vec<T>, shard: Option<&str>) -> Result<Vec<T>, String> {
    let Some(shard) = shard else { return Ok(list) };
    let parts = shard.split_once('/').and_then(|(i, n)| Some((i.parse::<usize>().ok()?, n.parse::<usize>().ok()?)));
    let (part, of) = parts.filter(|(i, n)| (1..=*n).contains(i)).ok_or_else(|| format!("`{shard}` is no part such as 1/4"))?;
    Ok(list.into_iter().skip(part - 1).step_by(of).collect())
}

/// As many threads as there are processors.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get())
}

/// Works on all tasks on some threads; results come in the order of the tasks.
pub fn in_parallel<T: Sync, R: Send>(tasks: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, tasks.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(at) else { break };
                    let result = work(task);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one_and_together_are_all() {
        let list: Vec<usize> = (0..10).collect();
        let of = |shard| part(list.clone(), shard);
        assert_eq!(of(None).unwrap(), list);
        assert_eq!(of(Some("2/3")).unwrap(), [1, 4, 7]);
        let mut all: Vec<usize> = ["1/3", "2/3", "3/3"].into_iter().flat_map(|shard| of(Some(shard)).unwrap()).collect();
        all.sort_unstable();
        assert_eq!(all, list);
        assert!(["0/3", "4/3", "x", "1/0"].into_iter().all(|shard| of(Some(shard)).is_err()));
    }

    #[test]
    fn no_task_is_no_work_and_one_thread_is_enough() {
        assert_eq!(in_parallel(&[] as &[usize], 4, |n| *n), [0; 0]);
        assert_eq!(in_parallel(&[3, 1, 2], 0, |n| 2 * n), [6, 2, 4]);
    }
}

//! How many threads a compute-bound program should start.

use std::collections::BTreeSet;

/// One thread per physical core, and no more than affinity and cgroup limits allow.
///
/// Two hardware threads of one core share its vector units, so the second adds nothing to a matrix product.
pub fn physical_threads() -> usize {
    let allowed = std::thread::available_parallelism().map_or(1, |n| n.get());
    cores(|cpu| std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")).ok())
        .map_or(allowed, |cores| cores.min(allowed))
}

/// Distinct cores, given the list of hardware threads that share a core with each; `None` where the system does not say.
fn cores(siblings: impl Fn(usize) -> Option<String>) -> Option<usize> {
    let distinct: BTreeSet<String> = (0..).map_while(siblings).collect();
    (!distinct.is_empty()).then_some(distinct.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_threads_of_one_core_count_once() {
        let two_cores = ["0,2", "1,3", "0,2", "1,3"];
        assert_eq!(cores(|cpu| two_cores.get(cpu).map(|s| s.to_string())), Some(2));
        assert_eq!(cores(|_| None), None);
    }

    #[test]
    fn is_at_least_one_and_within_the_allowance() {
        let allowed = std::thread::available_parallelism().unwrap().get();
        assert!((1..=allowed).contains(&physical_threads()));
    }
}

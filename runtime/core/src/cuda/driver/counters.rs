//! Counters that kernels of a counting build keep on the device. A kernel counts in a variable of its own module, so that replays of a
//! captured graph count as launches do, and nothing that the host believes does.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys;

use crate::cuda::CudaError;

/// The kernels that are loaded on one device, and where each counts.
#[derive(Debug, Default)]
pub(in crate::cuda) struct Counters(Mutex<Vec<Loaded>>);

#[derive(Clone, Debug)]
struct Loaded {
    /// The module, by number: nothing is called with it here.
    module: usize,
    instance: String,
    /// `None` where it was compiled without a counter.
    counter: Option<sys::CUdeviceptr>,
}

impl Counters {
    fn all(&self) -> MutexGuard<'_, Vec<Loaded>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A kernel was loaded.
    pub(super) fn loaded(&self, module: sys::CUmodule, instance: &str, counter: Option<sys::CUdeviceptr>) {
        self.all().push(Loaded { module: module as usize, instance: instance.to_owned(), counter });
    }

    /// A module is about to be unloaded.
    pub(super) fn unloaded(&self, module: sys::CUmodule) {
        self.all().retain(|loaded| loaded.module != module as usize);
    }

    /// What the counters of all kernels say, or those of one instance, which `read` is given the place of: by instance. No module of the list is
    /// unloaded meanwhile.
    pub(super) fn sum(
        &self,
        only: Option<&str>,
        mut read: impl FnMut(sys::CUdeviceptr) -> Result<u64, CudaError>,
    ) -> Result<BTreeMap<String, u64>, CudaError> {
        let all = self.all();
        let mut counted = BTreeMap::new();
        for (instance, counter) in wanted(&all, only)? {
            *counted.entry(instance).or_default() += read(counter)?;
        }
        Ok(counted)
    }
}

/// Where the counters of some instances are: one instance may be loaded several times.
fn wanted(all: &[Loaded], only: Option<&str>) -> Result<Vec<(String, sys::CUdeviceptr)>, CudaError> {
    let of = |loaded: &&Loaded| only.is_none_or(|instance| loaded.instance == instance);
    let counter = |loaded: &Loaded| match loaded.counter {
        Some(counter) => Ok((loaded.instance.clone(), counter)),
        None => Err(CudaError::NotCounted { instance: loaded.instance.clone() }),
    };
    let found: Vec<_> = all.iter().filter(of).map(counter).collect::<Result<_, _>>()?;
    match only {
        Some(instance) if found.is_empty() => Err(CudaError::NotLoaded { instance: instance.to_owned() }),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(number: usize) -> sys::CUmodule {
        std::ptr::without_provenance_mut(number)
    }

    #[test]
    fn an_instance_is_counted_wherever_it_is_loaded() {
        let counters = Counters::default();
        counters.loaded(module(1), "add", Some(16));
        counters.loaded(module(2), "act_silu", Some(32));
        counters.loaded(module(3), "add", Some(48));
        // Each counter has counted as many as its address.
        let sum = |only| counters.sum(only, Ok).unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!(sum(Some("add")), [("add".to_owned(), 64)]);
        assert_eq!(sum(None), [("act_silu".to_owned(), 32), ("add".to_owned(), 64)]);
        counters.unloaded(module(1));
        assert_eq!(sum(None), [("act_silu".to_owned(), 32), ("add".to_owned(), 48)]);
    }

    #[test]
    fn what_does_not_count_is_an_error_and_no_zero() {
        let counters = Counters::default();
        assert_eq!(counters.sum(None, Ok), Ok(BTreeMap::new()));
        counters.loaded(module(1), "add", Some(16));
        counters.loaded(module(2), "act_silu", None);
        let error = |only| counters.sum(only, Ok).unwrap_err().to_string();
        assert!(counters.sum(Some("add"), Ok).is_ok());
        assert_eq!(error(Some("scale")), "kernel scale is not loaded on this device");
        let uncounted = "kernel act_silu does not count its launches: build with the feature count-launches";
        assert_eq!((error(Some("act_silu")).as_str(), error(None).as_str()), (uncounted, uncounted));
    }
}

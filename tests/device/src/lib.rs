//! What runs on a GPU: every kernel instance against a sequential reference in double precision, and its speed.

pub mod cpu;
pub mod goals;
pub mod goldens;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod instance;
pub mod judge;
#[cfg(feature = "cuda")]
pub mod launch;
#[cfg(feature = "cuda")]
pub mod launched;
pub mod launches;
pub mod mutants;
pub mod report;
pub mod results;
pub mod sanitize;
pub mod table;
pub mod template;

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

/// The reference of one template.
#[derive(Clone, Copy)]
pub struct Reference {
    /// The folder under `kernel-templates/`.
    pub template: &'static str,
    /// Inputs, and what must come out.
    pub cases: fn(&tenon_device_cases::Params) -> Vec<tenon_device_cases::Case>,
    /// Sizes at which the speed is stated.
    pub bench: fn(&tenon_device_cases::Params) -> Vec<tenon_device_cases::Bench>,
}

#[allow(clippy::duplicate_mod, reason = "references of kernels that belong together share their arithmetic")]
mod references {
    use super::Reference;
    include!(concat!(env!("OUT_DIR"), "/references.rs"));
}
pub use references::REFERENCES;

//! The counting build: instances that count their launches on the device, in a variable of their own module.
//!
//! A counter of the host sees what it was told; a graph that was captured once and runs many times tells it nothing. Here the kernel itself
//! counts, so that a replay counts like a launch. The counter is put into the CUDA text of each instance before nvcc reads it: templates do not
//! know of it, and one whose entry is not found is an error of the build, not a kernel without a counter. Generated files and every other
//! build stay what they are.

use super::{Failure, FailureKind, Job};

/// The variable of an instance's module that holds how often it was launched.
pub fn counter(instance: &str) -> String {
    format!("{instance}_launches")
}

/// The same instances, each of which counts its launches.
///
/// # Errors
/// Every instance in whose text the entry is not found.
pub fn counted(jobs: Vec<Job>) -> Result<Vec<Job>, Vec<Failure>> {
    let results = jobs.into_iter().map(|job| match count(&job.name, &job.source) {
        Ok(source) => Ok(Job { source, ..job }),
        Err(problem) => Err(Failure { name: job.name, kind: FailureKind::Uncounted(problem) }),
    });
    let (counted, failures): (Vec<_>, Vec<_>) = results.partition(Result::is_ok);
    if failures.is_empty() {
        Ok(counted.into_iter().filter_map(Result::ok).collect())
    } else {
        Err(failures.into_iter().filter_map(Result::err).collect())
    }
}

/// The CUDA text with a counter before the entry, and a statement that counts at the start of its body: before anything that could return, by
/// one thread of the whole grid. It adds atomically, because two launches of one kernel may overlap. No line is added, so that messages of
/// nvcc keep their numbers.
fn count(instance: &str, source: &str) -> Result<String, &'static str> {
    let entry = entry(instance, source)?;
    let counter = counter(instance);
    let declared = format!("extern \"C\" {{ __device__ unsigned long long {counter}; }} ");
    let counts = format!(
        " if ((threadIdx.x | threadIdx.y | threadIdx.z | blockIdx.x | blockIdx.y | blockIdx.z) == 0) atomicAdd(&{counter}, 1ull);"
    );
    let (before, head, body) = (&source[..entry.start], &source[entry.start..entry.body], &source[entry.body..]);
    Ok([before, &declared, head, &counts, body].concat())
}

/// Where the definition of an entry stands.
struct Entry {
    /// Its `extern "C"`.
    start: usize,
    /// Behind the brace that opens its body.
    body: usize,
}

/// Finds `extern "C" __global__ .. <instance>(..) {`, which must stand once.
fn entry(instance: &str, source: &str) -> Result<Entry, &'static str> {
    const HEAD: &str = "extern \"C\" __global__ ";
    let code = without_comments(source);
    if code.matches("__global__").count() != 1 {
        return Err("its text does not have one `__global__`");
    }
    let start = code.find(HEAD).ok_or("its `__global__` does not follow `extern \"C\"`")?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = code[start..]
        .match_indices(instance)
        .map(|(at, _)| start + at)
        .find(|&at| !code[..at].ends_with(is_part) && !code[at + instance.len()..].starts_with(is_part))
        .ok_or("its entry has another name")?;
    let behind = name + instance.len();
    let list = code[behind..].trim_start();
    if !list.starts_with('(') {
        return Err("its name is not followed by a list of parameters");
    }
    let mut depth = 0usize;
    let close = list.find(|c| {
        depth = match c {
            '(' => depth + 1,
            ')' => depth - 1,
            _ => depth,
        };
        depth == 0
    });
    let rest = list[close.ok_or("its list of parameters does not end")? + 1..].trim_start();
    let body = rest.strip_prefix('{').ok_or("its list of parameters is not followed by a body")?;
    Ok(Entry { start, body: code.len() - body.len() })
}

/// The same text with blanks in place of `//` comments, byte for byte as long.
fn without_comments(source: &str) -> String {
    let line = |line: &str| match line.find("//") {
        Some(at) => line[..at].to_owned() + &" ".repeat(line.len() - at),
        None => line.to_owned(),
    };
    source.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEXT: &str = "// About k. extern \"C\" __global__ void k(int x) {\n#include \"k.cuh\"\n\
        extern \"C\" __global__ void __launch_bounds__(Shape<k_wide>::THREADS)\nk(Step step, // (rows\n  int (*f)(int)) {\n    run(f);\n}\n";

    #[test]
    fn the_body_of_an_entry_begins_by_counting() {
        let counting = count("k", TEXT).unwrap();
        let expected = "// About k. extern \"C\" __global__ void k(int x) {\n#include \"k.cuh\"\n\
            extern \"C\" { __device__ unsigned long long k_launches; } extern \"C\" __global__ void \
            __launch_bounds__(Shape<k_wide>::THREADS)\nk(Step step, // (rows\n  int (*f)(int)) { if ((threadIdx.x | threadIdx.y | \
            threadIdx.z | blockIdx.x | blockIdx.y | blockIdx.z) == 0) atomicAdd(&k_launches, 1ull);\n    run(f);\n}\n";
        assert_eq!(counting, expected);
    }

    #[test]
    fn a_text_without_its_entry_is_no_build() {
        let problem = |text: &str| count("k", text).unwrap_err();
        assert_eq!(problem(""), "its text does not have one `__global__`");
        assert_eq!(problem(&format!("{TEXT}{TEXT}")), "its text does not have one `__global__`");
        assert_eq!(problem("// extern \"C\" __global__ void k() {}"), "its text does not have one `__global__`");
        assert_eq!(problem("static __global__ void k() {}"), "its `__global__` does not follow `extern \"C\"`");
        assert_eq!(problem("extern \"C\" __global__ void kk(int x) {}"), "its entry has another name");
        assert_eq!(problem("extern \"C\" __global__ void k {}"), "its name is not followed by a list of parameters");
        assert_eq!(problem("extern \"C\" __global__ void k(int (x {}"), "its list of parameters does not end");
        assert_eq!(problem("extern \"C\" __global__ void k(int x);"), "its list of parameters is not followed by a body");
        let job = |name: &str, source: &str| {
            let (name, source) = (name.to_owned(), source.to_owned());
            Job { name, source, include: Vec::new(), max_spill_bytes: 0, dynamic_shared_bytes: 0 }
        };
        let failures = counted(vec![job("k", TEXT), job("other", TEXT)]).unwrap_err();
        let [failure] = failures.as_slice() else { panic!("{failures:?}") };
        assert_eq!(
            failure.to_string(),
            "error[kernel-uncounted]: other cannot count its launches: its entry has another name\n\
             help: write the entry as `extern \"C\" __global__ void __launch_bounds__(..) @{ instance }@(..) {` in its template"
        );
    }

    /// No template may forget to count: every instance of the repository has its counter.
    #[test]
    fn every_instance_counts() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../generated/kernels/sm_90a");
        let mut seen = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let (name, text) = (path.file_stem().unwrap().to_str().unwrap(), std::fs::read_to_string(&path).unwrap());
            let counting = count(name, &text).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            assert_eq!(counting.matches(&counter(name)).count(), 2, "{name}");
            assert_eq!(counting.lines().count(), text.lines().count(), "{name}");
            seen += 1;
        }
        assert!(seen > 100, "{seen}");
    }
}

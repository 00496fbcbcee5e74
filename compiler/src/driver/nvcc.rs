//! Compiles CUDA instances to machine code: finds nvcc, runs it several times at once, caches by content, reads what ptxas reports.

mod cache;
mod count;
mod find;
mod ptxas;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, fs};

use crate::emit::Instance;

pub use count::{counted, counter};
pub use find::{NotFound, find};
pub use ptxas::Usage;

/// Shared memory of a block on sm_90a, in bytes, with the opt-in that all launches use.
const SHARED_BYTES: u64 = 232_448;

/// What every instance is compiled with. Contraction into fused multiply-adds is on, as the error models assume; fast-math is not.
const FLAGS: [&str; 6] = ["-std=c++17", "-O3", "-gencode=arch=compute_90a,code=sm_90a", "-cubin", "-Xptxas", "-v"];

/// What nvcc is given for these instances, whose templates are folders of `templates`.
pub fn jobs(instances: &[Instance], templates: &Path) -> Vec<Job> {
    let job = |instance: &Instance| Job {
        name: instance.name.clone(),
        source: instance.text.clone(),
        include: vec![templates.join(&instance.template), templates.join("include")],
        max_spill_bytes: instance.max_spill_bytes,
        dynamic_shared_bytes: instance.shared_bytes,
    };
    instances.iter().map(job).collect()
}

/// Compiles instances for a build script: each becomes `<out>/sm_90a/<name>.cubin`, and what does not compile is told as a build error.
///
/// Machine code is kept in `tenon-cubins` beside the profiles of the target folder, which every build shares. Instances of `left_out` become
/// empty files: no model that is compiled in launches them, and the table of all instances names them.
///
/// # Errors
/// No nvcc, and everything that is wrong with an instance, as text.
pub fn for_build_script(jobs: &[Job], left_out: &[String], out: &Path) -> Result<(), String> {
    let folder = out.join("sm_90a");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for name in left_out {
        let path = folder.join(format!("{name}.cubin"));
        fs::write(&path, []).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    if jobs.is_empty() {
        return Ok(());
    }
    // target/<profile>/build/<package>/out
    let target = out.ancestors().find(|path| path.ends_with("build")).and_then(|path| path.parent()?.parent());
    let cache = target.unwrap_or(out).join("tenon-cubins");
    let nvcc = Nvcc::new(&find().map_err(|e| e.to_string())?, &cache)?;
    let threads = std::env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let cubins = nvcc.compile(jobs, threads).map_err(|failures| told(&failures))?;
    for cubin in cubins {
        let path = folder.join(format!("{}.cubin", cubin.name));
        // An unchanged file keeps its time, so that nothing is linked again for it.
        if fs::read(&path).is_ok_and(|known| known == cubin.bytes) {
            continue;
        }
        fs::write(&path, &cubin.bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// Everything that is wrong with some instances, as text.
pub fn told(failures: &[Failure]) -> String {
    failures.iter().map(Failure::to_string).collect::<Vec<_>>().join("\n\n")
}

/// One instance to compile.
#[derive(Clone, Debug)]
pub struct Job {
    /// The name of the instance, which is also its entry.
    pub name: String,
    /// Its CUDA source.
    pub source: String,
    /// Where its headers are, searched in this order.
    pub include: Vec<PathBuf>,
    /// What its template allows, in bytes of a thread's stack frame: spilled registers, and arrays that are not in registers.
    pub max_spill_bytes: u64,
    /// Dynamic shared memory of its largest launch, in bytes.
    pub dynamic_shared_bytes: u64,
}

/// Machine code of one instance.
#[derive(Clone, Debug)]
pub struct Cubin {
    /// The name of the instance.
    pub name: String,
    /// The code.
    pub bytes: Vec<u8>,
    /// What it uses.
    pub usage: Usage,
    /// It was in the cache.
    pub cached: bool,
}

/// Why an instance has no machine code that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The name of the instance.
    pub name: String,
    /// What is wrong.
    pub kind: FailureKind,
}

/// What is wrong with an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// nvcc refuses it: a static_assert, most often. Its output.
    Refused(String),
    /// Registers do not suffice.
    Spills {
        /// Bytes of the stack frame.
        bytes: u64,
        /// What the template allows.
        most: u64,
    },
    /// More shared memory than a block can have.
    Shared {
        /// Static and dynamic bytes.
        bytes: u64,
    },
    /// A counting build does not find its entry.
    Uncounted(&'static str),
    /// A file could not be read or written, or nvcc not be run.
    Io(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.kind {
            FailureKind::Refused(output) => {
                write!(f, "error[kernel-refused]: nvcc does not compile {name}\n{}", output.trim_end())
            }
            FailureKind::Spills { bytes, most } => write!(
                f,
                "error[kernel-spills]: {name} keeps {bytes} bytes of each thread in local memory, and its template allows {most}\n\
                 help: choose smaller tiles in KERNEL.toml, or raise `max_spill_bytes` in its TEMPLATE.toml, with the reason"
            ),
            FailureKind::Shared { bytes } => write!(
                f,
                "error[kernel-shared-memory]: {name} needs {bytes} bytes of shared memory, and a block on sm_90a has {SHARED_BYTES}\n\
                 help: choose smaller tiles or fewer stages in KERNEL.toml"
            ),
            FailureKind::Uncounted(problem) => write!(
                f,
                "error[kernel-uncounted]: {name} cannot count its launches: {problem}\n\
                 help: write the entry as `extern \"C\" __global__ void __launch_bounds__(..) @{{ instance }}@(..) {{` in its template"
            ),
            FailureKind::Io(message) => write!(f, "error[kernel-io]: {name}: {message}"),
        }
    }
}

/// nvcc, and where results are kept.
#[derive(Clone, Debug)]
pub struct Nvcc {
    path: PathBuf,
    version: String,
    cache: PathBuf,
    flags: Vec<String>,
}

impl Nvcc {
    /// Asks `path` for its version. Results are kept in the folder `cache`.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn new(path: &Path, cache: &Path) -> Result<Self, String> {
        let output = Command::new(path).arg("--version").output().map_err(|e| format!("{}: {e}", path.display()))?;
        if !output.status.success() {
            return Err(format!("{} --version fails: {}", path.display(), String::from_utf8_lossy(&output.stderr).trim()));
        }
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let flags = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
        Ok(Self { path: path.to_owned(), version, cache: cache.to_owned(), flags })
    }

    /// Compiles another build of the same instances: each of `defines` is a macro, as `NAME` or `NAME=value`. Without any, machine code
    /// is that of every other run.
    #[must_use]
    pub fn with_defines<'a>(mut self, defines: impl IntoIterator<Item = &'a str>) -> Self {
        self.flags.extend(defines.into_iter().map(|define| format!("-D{define}")));
        self
    }

    /// Compiles all, `threads` at once, and gives them back in order.
    ///
    /// # Errors
    /// Every instance that does not compile, or uses what it may not.
    pub fn compile(&self, jobs: &[Job], threads: usize) -> Result<Vec<Cubin>, Vec<Failure>> {
        let results = self.each(jobs, threads);
        let failures: Vec<Failure> = results.iter().filter_map(|result| result.as_ref().err().cloned()).collect();
        if failures.is_empty() { Ok(results.into_iter().filter_map(Result::ok).collect()) } else { Err(failures) }
    }

    /// As [`Self::compile`], with a result for each.
    pub fn each(&self, jobs: &[Job], threads: usize) -> Vec<Result<Cubin, Failure>> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::with_capacity(jobs.len()));
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, jobs.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = jobs.get(at) else { break };
                        let result = self.one(job);
                        results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((at, result));
                    }
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn one(&self, job: &Job) -> Result<Cubin, Failure> {
        let failure = |kind| Failure { name: job.name.clone(), kind };
        let io = |e: std::io::Error| failure(FailureKind::Io(e.to_string()));
        let key = cache::key(&self.version, &self.flags, job).map_err(io)?;
        let (folder, cached) = (self.cache.join(&key), cache::read(&self.cache.join(&key)));
        let (bytes, report, cached) = match cached {
            Some((bytes, report)) => (bytes, report, true),
            None => {
                fs::create_dir_all(&folder).map_err(io)?;
                let (bytes, report) = self.run(job, &folder).map_err(failure)?;
                cache::write(&folder, &report).map_err(io)?;
                (bytes, report, false)
            }
        };
        let usage = Usage::read(&report);
        let shared = usage.shared_bytes + job.dynamic_shared_bytes;
        if usage.stack_bytes > job.max_spill_bytes {
            return Err(failure(FailureKind::Spills { bytes: usage.stack_bytes, most: job.max_spill_bytes }));
        }
        if shared > SHARED_BYTES {
            return Err(failure(FailureKind::Shared { bytes: shared }));
        }
        Ok(Cubin { name: job.name.clone(), bytes, usage, cached })
    }

    /// Runs nvcc in a folder of its own, and gives the machine code and what ptxas said.
    fn run(&self, job: &Job, folder: &Path) -> Result<(Vec<u8>, String), FailureKind> {
        let io = |e: std::io::Error| FailureKind::Io(e.to_string());
        // The name stands in messages of nvcc, so it is the one that people look for.
        let (source, cubin) = (folder.join(format!("{}.cu", job.name)), folder.join(cache::CODE));
        fs::write(&source, &job.source).map_err(io)?;
        let mut command = Command::new(&self.path);
        command.args(&self.flags);
        for include in &job.include {
            command.arg("-I").arg(include);
        }
        let output = command.arg(&source).arg("-o").arg(&cubin).output().map_err(io)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            let said = said.lines().filter(|line| !line.starts_with("ptxas info")).collect::<Vec<_>>().join("\n");
            return Err(FailureKind::Refused(said));
        }
        Ok((fs::read(&cubin).map_err(io)?, said))
    }
}

#[cfg(test)]
mod tests;

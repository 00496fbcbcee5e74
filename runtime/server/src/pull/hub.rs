//! Weights from a Hugging Face repository, with the variables that its own tools know: `HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME`,
//! `HF_HUB_CACHE` and `HF_HUB_OFFLINE`.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use hf_hub::Cache;
use hf_hub::api::Progress;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use indicatif::ProgressBar;
use serde_json::Value;

use super::{make_dir, move_to, verify};
use crate::Failure;

const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// Files that not every repository has.
const OPTIONAL: [&str; 4] = ["generation_config.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"];
/// Attempts to go on with a download that broke off after it had begun.
const ATTEMPTS: usize = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Fetches one file and moves it to `target`.
pub(super) fn fetch_file(
    settings: &HubSettings,
    repo: &str,
    file: &str,
    sha256: Option<&str>,
    downloads: &Path,
    target: &Path,
) -> Result<(), Failure> {
    Hub::new(repo, settings, downloads).fetch(file, sha256, target)
}

/// Fetches config, tokenizer and safetensors of a repository, and moves them to `target` together.
pub(super) fn fetch_repository(settings: &HubSettings, repo: &str, downloads: &Path, target: &Path) -> Result<(), Failure> {
    let hub = Hub::new(repo, settings, downloads);
    let staging = downloads.join("files");
    make_dir(&staging)?;
    let has = |file: &str| staging.join(file).exists();
    let fetch = |file: &str| if has(file) { Ok(()) } else { hub.fetch(file, None, &staging.join(file)) };

    let listed = hub.files()?;
    for file in [CONFIG, TOKENIZER] {
        fetch(file)?;
    }
    for file in OPTIONAL.into_iter().filter(|file| listed.contains(*file)) {
        fetch(file)?;
    }
    if listed.contains(INDEX) {
        fetch(INDEX)?;
        for shard in shards(&staging.join(INDEX))? {
            fetch(&shard)?;
        }
    } else {
        fetch(WEIGHTS)?;
    }
    if target.exists() {
        // An empty folder: one with files would have counted as complete.
        std::fs::remove_dir(target).map_err(|e| format!("{}: {e}", target.display()))?;
    }
    move_to(&staging, target)
}

/// The files that an index names. They are names, not paths: nothing may be written outside the folder.
fn shards(index: &Path) -> Result<BTreeSet<String>, Failure> {
    let named = |what: &dyn std::fmt::Display| format!("{}: {what}", index.display());
    let bytes = std::fs::read(index).map_err(|e| named(&e))?;
    let json: Value = serde_json::from_slice(&bytes).map_err(|e| named(&e))?;
    let map = json["weight_map"].as_object().ok_or_else(|| named(&"no `weight_map`"))?;
    let files = map.values().map(|file| match file.as_str() {
        Some(name) if !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']) => Ok(name.to_owned()),
        _ => Err(named(&format_args!("{file} is not the name of a file beside it")).into()),
    });
    files.collect()
}

/// What the environment says about the hub.
#[derive(Clone, Debug)]
pub(super) struct HubSettings {
    /// Another hub than the public one.
    endpoint: Option<String>,
    token: Option<String>,
    offline: bool,
    /// What the hub's own tools have fetched already; `None` where no home is known.
    shared: Option<Cache>,
}

impl HubSettings {
    /// The settings of this process.
    pub(super) fn from_env() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// A hub that nothing listens for.
    #[cfg(test)]
    pub(super) fn unreachable() -> Self {
        Self::from_variables(|name| (name == "HF_ENDPOINT").then(|| "http://127.0.0.1:1".to_owned()))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let hub = |home: String| Path::new(&home).join("hub");
        let cache = (set("HF_HUB_CACHE").map(PathBuf::from))
            .or_else(|| set("HF_HOME").map(hub))
            .or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache/huggingface/hub")));
        let shared = cache.map(Cache::new);
        Self {
            endpoint: set("HF_ENDPOINT").map(|url| url.trim_end_matches('/').to_owned()),
            token: set("HF_TOKEN").or_else(|| shared.as_ref().and_then(Cache::token)),
            offline: set("HF_HUB_OFFLINE").is_some_and(|v| !matches!(&*v.to_lowercase(), "0" | "false" | "no" | "off")),
            shared,
        }
    }
}

/// One repository.
struct Hub<'a> {
    repo: &'a str,
    settings: &'a HubSettings,
    /// Where this download keeps its parts.
    parts: PathBuf,
}

impl<'a> Hub<'a> {
    fn new(repo: &'a str, settings: &'a HubSettings, downloads: &Path) -> Self {
        Self { repo, settings, parts: downloads.join("hub") }
    }

    fn api(&self) -> Result<Api, Failure> {
        if self.settings.offline {
            return Err("HF_HUB_OFFLINE is set, and the file is not in the hub's cache".into());
        }
        let parts = Cache::new(self.parts.clone());
        let mut builder = ApiBuilder::from_cache(parts).with_token(self.settings.token.clone());
        if let Some(endpoint) = &self.settings.endpoint {
            builder = builder.with_endpoint(endpoint.clone());
        }
        Ok(builder.build()?)
    }

    fn files(&self) -> Result<BTreeSet<String>, Failure> {
        let repo = self.api()?.model(self.repo.to_owned());
        check_reachable(&repo.url(""))?;
        let info = repo.info().map_err(explain)?;
        Ok(info.siblings.into_iter().map(|s| s.rfilename).collect())
    }

    /// One file: from the cache of the hub's tools, or downloaded in parts that are kept to resume.
    fn fetch(&self, file: &str, sha256: Option<&str>, target: &Path) -> Result<(), Failure> {
        let cached = self.settings.shared.as_ref().and_then(|cache| cache.model(self.repo.to_owned()).get(file));
        if let Some(cached) = cached
            && self.adopt(&cached, sha256, target)?
        {
            return Ok(());
        }
        let repo = self.api()?.model(self.repo.to_owned());
        let pointer = self.download(&repo, file)?;
        let blob = std::fs::canonicalize(&pointer).map_err(|e| format!("{}: {e}", pointer.display()))?;
        // Large files are stored under their digest.
        let stored = blob.file_name().and_then(|name| name.to_str()).filter(|name| is_sha256(name));
        if let Some(expected) = sha256.or(stored)
            && let Some(problem) = verify::check_file(&blob, expected)?
        {
            // A second attempt must not take the same file again.
            std::fs::remove_file(&blob).map_err(|e| format!("{}: {e}", blob.display()))?;
            return Err(problem.into());
        }
        move_to(&blob, target)
    }

    /// Takes a file of the hub's own cache, as a link where the file system allows it. False when it is not the right one.
    fn adopt(&self, cached: &Path, sha256: Option<&str>, target: &Path) -> Result<bool, Failure> {
        let blob = std::fs::canonicalize(cached).map_err(|e| format!("{}: {e}", cached.display()))?;
        if let Some(sha256) = sha256
            && verify::check_file(&blob, sha256)?.is_some()
        {
            return Ok(false);
        }
        eprintln!("  using {}", cached.display());
        make_dir(&self.parts)?;
        let copy = self.parts.join("adopted");
        let _ = std::fs::remove_file(&copy);
        std::fs::hard_link(&blob, &copy)
            .or_else(|_| std::fs::copy(&blob, &copy).map(|_| ()))
            .map_err(|e| format!("{}: {e}", copy.display()))?;
        move_to(&copy, target)?;
        Ok(true)
    }

    /// Downloads to the parts folder. A download that breaks off goes on where it stopped, now or in the next `pull`.
    fn download(&self, repo: &ApiRepo, file: &str) -> Result<PathBuf, Failure> {
        check_reachable(&repo.url(file))?;
        let (mut attempt, mut restarted) = (1, false);
        loop {
            let received = Rc::new(Cell::new(0));
            let bar = Counted { bar: ProgressBar::new(0), received: Rc::clone(&received), resumed: false };
            match repo.download_with_progress(file, bar) {
                Ok(path) => return Ok(path),
                // An earlier attempt received everything and ended before it could say so: nothing is left to ask for.
                Err(error) if !restarted && cannot_resume(&error) => {
                    restarted = true;
                    let _ = std::fs::remove_dir_all(&self.parts);
                }
                Err(error) if received.get() > 0 && attempt < ATTEMPTS => {
                    attempt += 1;
                    eprintln!("  {file} broke off ({}); going on", explain(error));
                }
                Err(error) => return Err(format!("{file}: {}", explain(error)).into()),
            }
        }
    }
}

fn is_sha256(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

fn cannot_resume(error: &ApiError) -> bool {
    matches!(error, ApiError::InvalidResume) || error.to_string().contains("416")
}

/// Fails soon where a firewall swallows packets: the client itself would wait for minutes, and other sources behind it.
fn check_reachable(url: &str) -> Result<(), Failure> {
    let proxies = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    if proxies.iter().any(|name| std::env::var_os(name).is_some()) {
        return Ok(());
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(format!("HF_ENDPOINT: `{url}` is not a URL").into());
    };
    let host = rest.split('/').next().unwrap_or_default();
    let port = if scheme == "http" { 80 } else { 443 };
    let address = if host.rsplit(':').next().is_some_and(|p| p.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:{port}")
    };
    let mut last = None;
    for address in address.to_socket_addrs().map_err(|e| format!("{host}: {e}"))? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(|| format!("{host} has no address"), |e| format!("{host}: {e}")).into())
}

/// The error, with what a person can do about the common ones.
fn explain(error: ApiError) -> String {
    let text = error.to_string();
    let hint = match &text {
        t if t.contains("401") || t.contains("403") => "; accept its licence on the hub and set HF_TOKEN",
        t if t.contains("404") => "; it does not exist under that name, or needs HF_TOKEN",
        _ => "",
    };
    text + hint
}

/// A bar that also counts what arrived in this attempt.
struct Counted {
    bar: ProgressBar,
    received: Rc<Cell<usize>>,
    resumed: bool,
}

impl Progress for Counted {
    fn init(&mut self, size: usize, file: &str) {
        Progress::init(&mut self.bar, size, file);
        self.resumed = false;
    }

    fn update(&mut self, size: usize) {
        // The first update after `init` is what earlier attempts left.
        if self.resumed {
            self.received.set(self.received.get() + size);
        }
        self.resumed = true;
        self.bar.inc(size as u64);
    }

    fn finish(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests;

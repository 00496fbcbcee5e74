//! Specs and templates as a revision of git has them, through the `git` command: what is not installed or no repository is told
//! apart from a revision that does not exist.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::is_spec;
use crate::source::SourceMap;

/// Specs and templates of one commit.
#[derive(Clone, Debug)]
pub struct Revision {
    /// The revision and the first digits of its commit: `HEAD (1a2b3c4d5e)`.
    pub name: String,
    /// The files, with the paths that they have in the working tree.
    pub sources: SourceMap,
}

/// Reads the files that [`super::read`] reads, as they were in `revision`. `root` may be any folder of a repository.
///
/// # Errors
/// No `git`, no repository, no such revision, or a file that is not UTF-8; one line says which.
pub fn revision(root: &Path, revision: &str, specs: &str, templates: &str) -> Result<Revision, String> {
    // git would take it for an option.
    if revision.is_empty() || revision.starts_with('-') {
        return Err(format!("`{}` is no revision", revision.escape_debug()));
    }
    git(root, &["rev-parse", "--is-inside-work-tree"])?;
    let resolved = git(root, &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]);
    let commit = resolved.map_err(|_| format!("git knows no revision `{}`", revision.escape_debug()))?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    let listing = git(root, &["ls-tree", "-r", "-z", "--abbrev=64", &commit, "--", specs, templates])?;
    let (mut paths, mut ids) = (Vec::new(), Vec::new());
    for line in String::from_utf8_lossy(&listing).split('\0').filter(|line| !line.is_empty()) {
        // `<mode> <type> <id>\t<path>`, the path relative to `root`.
        let Some((object, path)) = line.split_once('\t') else { continue };
        let mut object = object.split(' ');
        let (mode, id) = (object.next().unwrap_or_default(), object.nth(1).unwrap_or_default());
        let is_file = mode.starts_with("100");
        if is_file && is_spec(path, specs, templates) {
            paths.push(path.to_owned());
            ids.push(id.to_owned());
        }
    }
    let mut sources = SourceMap::default();
    for (path, content) in paths.into_iter().zip(contents(root, &ids)?) {
        let text = String::from_utf8(content).map_err(|_| format!("{path} of {revision} is not UTF-8"))?;
        sources.add(path, text);
    }
    let short = commit.get(..10).unwrap_or(&commit);
    Ok(Revision { name: format!("{revision} ({short})"), sources })
}

fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    // Messages are read by people and never by this program; one language is enough.
    command.arg("-C").arg(root).args(arguments).env("LC_ALL", "C").stdin(Stdio::null());
    command
}

fn git(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let output = command(root, arguments).output().map_err(|e| format!("git cannot be run: {e}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("it failed").trim_start_matches("fatal: ");
    Err(format!("git {}: {first}", arguments[0]))
}

/// The contents of blobs, in the given order, from one process.
fn contents(root: &Path, ids: &[String]) -> Result<Vec<Vec<u8>>, String> {
    let failed = |e: std::io::Error| format!("git cat-file: {e}");
    let mut child = command(root, &["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("git cannot be run: {e}"))?;
    let (mut input, mut output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let asked: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let mut answer = Vec::new();
    std::thread::scope(|scope| {
        // Both pipes are finite: who writes all before it reads may wait for ever. A process that ended early is seen below.
        scope.spawn(move || drop(input.write_all(asked.as_bytes())));
        output.read_to_end(&mut answer)
    })
    .map_err(failed)?;
    child.wait().map_err(failed)?;
    let mut rest = answer.as_slice();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        // `<id> blob <size>`, a newline, the content, a newline.
        let blob = rest.iter().position(|b| *b == b'\n').and_then(|end| {
            let size = std::str::from_utf8(&rest[..end]).ok()?.strip_prefix(&format!("{id} blob "))?.parse::<usize>().ok()?;
            let content = rest.get(end + 1..end + 1 + size)?;
            rest = rest.get(end + 2 + size..)?;
            Some(content.to_vec())
        });
        found.push(blob.ok_or_else(|| format!("git cat-file: no content of {id}"))?);
    }
    Ok(found)
}

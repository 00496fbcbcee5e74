//! Cases: a base, a few edits to its files, and the text that the user reads.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tenon_compiler::diagnostic::{Diagnostics, Id};
use tenon_compiler::source::SourceMap;

use crate::checkpoint;
use crate::stage::Stage;

/// One mistake. Its folder is `ui/<id>` or `ui/<id>/<name>` and holds `case.toml` and `expected.txt`.
pub struct Case {
    /// Path of the folder below `ui/`.
    pub name: String,
    /// The diagnostic that the mistake must raise.
    pub id: Id,
    /// The mistake.
    pub mistake: Mistake,
    folder: PathBuf,
}

/// `case.toml`. Additions come first, then copies, then edits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mistake {
    /// A folder of `ui/base/model-specs/`; for mistakes about a checkpoint, one of `golden/`.
    pub base: String,
    /// What people do, if this is one of the mistakes that they really make. It must then be mended by what its message says.
    pub common: Option<String>,
    /// Whole files.
    #[serde(default)]
    add: Vec<Addition>,
    /// Files under a second name.
    #[serde(default)]
    copy: Vec<Copy>,
    /// Files that are not there.
    #[serde(default)]
    remove: Vec<String>,
    /// Replaced texts.
    #[serde(default)]
    edit: Vec<Edit>,
    /// The command line, where a command refuses its flags.
    pub command: Option<String>,
    /// What a reader of the message would do. The result must have no error left.
    #[serde(default)]
    pub fix: Vec<Edit>,
}

/// A whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Addition {
    path: String,
    text: String,
}

/// A file under a second name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Copy {
    from: String,
    to: String,
}

/// Replaces a text that stands exactly once in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// A path as messages print it, or the last parts of one.
    file: String,
    /// A text that stands there once.
    pub find: String,
    /// What stands there afterwards.
    pub replace: String,
}

/// Files by path, in the order in which the driver reads them: specs, then templates, each sorted.
#[derive(Clone)]
pub struct Files(Vec<(String, Vec<u8>)>);

impl Case {
    /// Every case, sorted by name. Folders that are no case are for the meta-tests to refuse.
    pub fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for id in Id::ALL {
            let folder = ui().join(id.as_str());
            let mut folders = vec![folder.clone()];
            folders.extend(entries(&folder).into_iter().filter(|path| path.is_dir()));
            for folder in folders.into_iter().filter(|folder| folder.join("case.toml").is_file()) {
                let text = String::from_utf8(read(&folder.join("case.toml"))).expect("case.toml is UTF-8");
                let mistake = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
                cases.push(Self { name: relative(&folder, &ui()), id: *id, mistake, folder });
            }
        }
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        cases
    }

    /// Who reports it.
    pub fn stage(&self) -> Stage {
        if checkpoint::golden(&self.mistake.base).is_dir() { Stage::Load } else { Stage::of(self.id) }
    }

    /// The base with the mistake.
    pub fn files(&self) -> Files {
        self.spoil(self.base())
    }

    /// The base, before the mistake.
    pub fn base(&self) -> Files {
        match self.stage() {
            Stage::Load => checkpoint::base(&self.mistake.base),
            _ => Files::base(&self.mistake.base),
        }
    }

    /// Whether the mistake is in the spec, and not in the checkpoint alone.
    pub fn edits_spec(&self) -> bool {
        self.mistake.edit.iter().any(|edit| edit.file.ends_with("MODEL.toml"))
    }

    /// Makes the mistake.
    pub fn spoil(&self, mut files: Files) -> Files {
        for addition in &self.mistake.add {
            files.add(&addition.path, addition.text.clone().into_bytes());
        }
        for copy in &self.mistake.copy {
            let content = files.0[files.find(&copy.from)].1.clone();
            files.add(&copy.to, content);
        }
        for path in &self.mistake.remove {
            let at = files.find(path);
            files.0.remove(at);
        }
        self.mistake.edit.iter().fold(files, Files::edited)
    }

    /// The text that the author of the mistake reads.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn expected(&self) -> Result<String, String> {
        self.text_of("expected.txt")
    }

    fn text_of(&self, name: &str) -> Result<String, String> {
        let path = self.folder.join(name);
        fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Compares a text with `expected.txt`, or writes it there when `TENON_BLESS=1`.
    pub fn compare(&self, text: &str) -> Result<(), String> {
        self.compare_with("expected.txt", text)
    }

    /// Compares what the loader says with `loaded.txt`, in the same way.
    pub fn compare_loaded(&self, text: &str) -> Result<(), String> {
        self.compare_with("loaded.txt", text)
    }

    fn compare_with(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(name);
        if std::env::var_os("TENON_BLESS").is_some_and(|bless| bless == "1") {
            return fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()));
        }
        let expected = self.text_of(name).map_err(|e| format!("{e}; TENON_BLESS=1 writes it:\n{text}"))?;
        if expected == text {
            return Ok(());
        }
        let same = expected.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
        Err(format!("{name} differs from line {}\n--- expected\n{expected}--- found\n{text}", same + 1))
    }
}

impl Files {
    /// A base: a model with its files, and the templates. They are templates of their own, so that a kernel that learns
    /// something new changes no message here.
    pub fn base(name: &str) -> Self {
        let is_wanted = |path: &str| !path.starts_with("model-specs/") || path.starts_with(&format!("model-specs/{name}/"));
        let mut files = Self::of(&ui().join("base"));
        files.0.retain(|(path, _)| is_wanted(path));
        files
    }

    /// The files of a folder.
    pub fn of(folder: &Path) -> Self {
        let mut files = Self(Vec::new());
        let mut folders = vec![folder.to_path_buf()];
        while let Some(next) = folders.pop() {
            for path in entries(&next) {
                if path.is_dir() { folders.push(path) } else { files.add(&relative(&path, folder), read(&path)) }
            }
        }
        files
    }

    pub(crate) fn add(&mut self, path: &str, content: Vec<u8>) {
        assert!(self.0.iter().all(|(known, _)| known != path), "{path} twice");
        self.0.push((path.to_owned(), content));
        self.0.sort_by_key(|(path, _)| {
            (path.starts_with("kernel-templates/"), path.split('/').map(str::to_owned).collect::<Vec<_>>())
        });
    }

    /// The one file whose path is this or ends with it.
    fn find(&self, path: &str) -> usize {
        let is = |full: &str| full.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
        let found: Vec<usize> = (0..self.0.len()).filter(|&i| is(&self.0[i].0)).collect();
        let [one] = found[..] else { panic!("{} files are called `{path}`", found.len()) };
        one
    }

    /// With a text replaced that must stand exactly once in its file. Works on bytes, so that headers of tensor files can be
    /// edited as well.
    pub fn edited(mut self, edit: &Edit) -> Self {
        let at = self.find(&edit.file);
        let content = &mut self.0[at].1;
        let places: Vec<usize> =
            content.windows(edit.find.len()).enumerate().filter(|(_, w)| *w == edit.find.as_bytes()).map(|(i, _)| i).collect();
        let [place] = places[..] else { panic!("{} times in {}: `{}`", places.len(), edit.file, edit.find) };
        content.splice(place..place + edit.find.len(), edit.replace.bytes());
        self
    }

    /// With the text of a file replaced.
    pub fn with(mut self, path: &str, text: &str) -> Self {
        let at = self.find(path);
        self.0[at].1 = text.as_bytes().to_vec();
        self
    }

    /// Path and content of each.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    /// As the compiler sees them; a checkpoint is none of the sources.
    pub fn sources(&self) -> SourceMap {
        let mut sources = SourceMap::default();
        for (path, content) in self.all().filter(|(path, _)| !path.starts_with(checkpoint::FOLDER)) {
            sources.add(path, String::from_utf8(content.to_vec()).expect("specs are UTF-8"));
        }
        sources
    }

    /// Makes a folder hold these files and no others.
    pub fn write(&self, folder: &Path) {
        if folder.exists() {
            fs::remove_dir_all(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        }
        for (path, content) in &self.0 {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
    }
}

/// What the compiler finds; nothing when it is content.
pub fn check(sources: &SourceMap) -> Diagnostics {
    tenon_compiler::models(sources).err().unwrap_or_default()
}

/// What the compiler finds in a case's files, with the sources that it points into.
pub fn diagnose(files: &Files) -> (Diagnostics, SourceMap) {
    if files.all().any(|(path, _)| path.starts_with(checkpoint::FOLDER)) {
        return checkpoint::diagnose(files);
    }
    let sources = files.sources();
    (check(&sources), sources)
}

/// What a build finds in models that have no other error.
pub fn build(sources: &SourceMap) -> Diagnostics {
    match tenon_compiler::models(sources) {
        Ok(models) => tenon_compiler::emittable(sources, &models).err().unwrap_or_default(),
        Err(diags) => diags,
    }
}

/// `tests/ui`
pub fn ui() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/").join("ui")
}

/// What a folder holds, sorted; nothing when it is not there.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths
}

/// A path below a folder, with forward slashes.
pub fn relative(path: &Path, folder: &Path) -> String {
    let parts = path.strip_prefix(folder).expect("a path below the folder").components();
    parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

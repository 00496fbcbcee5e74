//! The mutated copy of the workspace: what the goldens need of it, in a folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::inject::{self, Region};
use crate::list::Mutant;

const SWITCH: &str = include_str!("../parts/switch.rs");
const MIMIC: &str = include_str!("../parts/mimic.rs");
const BUILD: &str = include_str!("../parts/build.rs");
/// The goldens want the models of real weights, which are not compiled here.
const MODELS: &str = "//! No models.\npub const MODELS: &[&tenon_core::model::ModelEntry] = &[];\n";
const TESTS: &str = r#"
build = "build.rs"
[dependencies]
safetensors.workspace = true
serde_json.workspace = true
tenon-compiler.workspace = true
tenon-core.workspace = true
tenon-formats.workspace = true
tenon-models.workspace = true
tenon-mutant = { path = "../mutant" }
[build-dependencies]
tenon-compiler.workspace = true
tenon-mutant = { path = "../mutant" }
[dev-dependencies]
libtest-mimic = { path = "../libtest-mimic" }
[[test]]
name = "golden"
harness = false
"#;

/// What the workspace's build script lets the copy's call.
const ENTRANCES: &str = "
pub fn original() {
    main();
}
pub fn with_swapped(mut sources: SourceMap) -> SourceMap {
    swap_forms(&mut sources);
    sources
}
";

/// The copy.
pub struct Copy {
    /// Of the workspace that is copied.
    pub source: PathBuf,
    /// Of the copy.
    pub root: PathBuf,
    /// The code of each mutant: file, bytes, number.
    pub parts: Vec<(String, std::ops::Range<usize>, u32)>,
}

impl Copy {
    /// Makes or renews the copy with the mutants that have a number. Mutants that have no place lose it: their names and why.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn write(source: &Path, root: &Path, mutants: &[(u32, &Mutant)]) -> Result<(Self, BTreeMap<u32, String>), String> {
        let mut copy = Self { source: source.to_path_buf(), root: root.to_path_buf(), parts: Vec::new() };
        let mut misplaced = BTreeMap::new();
        let mut regions: BTreeMap<String, Vec<Region>> = BTreeMap::new();
        for (number, mutant) in mutants {
            let placed: Result<Vec<(String, Region)>, String> = mutant
                .edit
                .iter()
                .map(|edit| {
                    let text = copy.read(&edit.file)?;
                    let range = inject::place(&text, edit)?;
                    Ok((edit.file.clone(), Region { number: *number, range, replace: edit.replace.clone(), always: edit.always }))
                })
                .collect();
            match placed {
                Ok(placed) => placed.into_iter().for_each(|(file, region)| regions.entry(file).or_default().push(region)),
                Err(why) => drop(misplaced.insert(*number, why)),
            }
        }
        for folder in ["compiler/src", "runtime/formats/src", "runtime/core/src", "tests/src"] {
            for file in copy.files(folder)? {
                if !file.ends_with(".rs") {
                    let bytes = fs::read(source.join(&file)).map_err(|e| format!("{file}: {e}"))?;
                    copy.put(&file, &bytes)?;
                    continue;
                }
                let text = copy.read(&file)?;
                let text = match regions.remove(&file) {
                    None => text,
                    Some(regions) => {
                        let of = |number: u32| mutants.iter().find(|m| m.0 == number).map_or("?", |m| m.1.name.as_str());
                        let injected = inject::inject(&text, regions)
                            .map_err(|(a, b)| format!("{file}: {} and {} overlap", of(a), of(b)))?;
                        copy.parts.extend(injected.parts.into_iter().map(|(number, range)| (file.clone(), range, number)));
                        injected.text
                    }
                };
                copy.put(&file, &text)?;
            }
        }
        if let Some((file, _)) = regions.first_key_value() {
            return Err(format!("{file} is no source that is copied"));
        }
        let lowered: Vec<&(u32, &Mutant)> =
            mutants.iter().filter(|(n, m)| m.is_lowered() && !misplaced.contains_key(n)).collect();
        copy.manifests(&lowered)?;
        Ok((copy, misplaced))
    }

    fn manifests(&self, lowered: &[&(u32, &Mutant)]) -> Result<(), String> {
        let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        let root = self.read("Cargo.toml")?;
        let list = root.lines().find(|l| l.starts_with("members = ")).ok_or("Cargo.toml lists members on one line")?;
        let defaults = root.lines().find(|l| l.starts_with("default-members = ")).unwrap_or_default();
        let members = r#"members = ["compiler", "runtime/formats", "runtime/core", "generated", "tests", "tests/diagnostics", "mutant", "libtest-mimic"]"#;
        self.put("Cargo.toml", root.replacen(defaults, "", 1).replacen(list, members, 1))?;
        self.put("Cargo.lock", &self.read("Cargo.lock")?)?;
        for (krate, up) in [("compiler", ".."), ("runtime/formats", "../.."), ("runtime/core", "../..")] {
            let manifest = self.read(&format!("{krate}/Cargo.toml"))?;
            let with = format!("[dependencies]\ntenon-mutant = {{ path = \"{up}/mutant\" }}\n");
            self.put(&format!("{krate}/Cargo.toml"), manifest.replacen("[dependencies]\n", &with, 1))?;
        }
        self.put("mutant/Cargo.toml", package("tenon-mutant"))?;
        self.put("mutant/src/lib.rs", SWITCH)?;
        let mimic = "[dependencies]\nserde_json.workspace = true\ntenon-mutant = { path = \"../mutant\" }\n";
        self.put("libtest-mimic/Cargo.toml", &(package("libtest-mimic") + mimic))?;
        self.put("libtest-mimic/src/lib.rs", MIMIC)?;
        self.put("generated/Cargo.toml", &(package("tenon-models") + "[dependencies]\ntenon-core.workspace = true\n"))?;
        self.put("generated/src/lib.rs", MODELS)?;

        self.put("tests/Cargo.toml", &(package("tenon-tests") + TESTS))?;
        self.put("tests/build.rs", BUILD)?;
        let build = self.read("tests/build.rs")? + ENTRANCES;
        self.put("tests/golden_build.rs", &build)?;
        for file in self.files("tests/tests/golden")?.iter().map(String::as_str).chain(["tests/tests/golden.rs"]) {
            self.put(file, &self.read(file)?)?;
        }
        let manifest = self.read("tests/diagnostics/Cargo.toml")?;
        let mimic = manifest.replacen("libtest-mimic.workspace = true", "libtest-mimic = { path = \"../../libtest-mimic\" }", 1);
        self.put("tests/diagnostics/Cargo.toml", &mimic)?;
        for file in self.files("tests/diagnostics")?.iter().filter(|file| file.ends_with(".rs")) {
            self.put(file, &self.read(file)?)?;
        }
        let lines: String = lowered.iter().flat_map(|(n, m)| m.cases.iter().map(move |case| format!("{n} {case}\n"))).collect();
        self.put("tests/lowering.txt", &lines)?;
        let specs = ["model-specs/bard-mla", "model-specs/gemma-3-270m", "model-specs/smollm2-135m-instruct"];
        for folder in ["tests/golden", "tests/unseen", "tests/ui", "kernel-templates"].into_iter().chain(specs) {
            let link = self.root.join(folder);
            let parent = link.parent().expect("it lies in the copy");
            fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
            if fs::read_link(&link).ok().as_deref() != Some(&self.source.join(folder)) {
                let _ = fs::remove_file(&link);
                std::os::unix::fs::symlink(self.source.join(folder), &link).map_err(|e| format!("{}: {e}", link.display()))?;
            }
        }
        Ok(())
    }

    /// Files under a folder, relative to the workspace.
    pub fn files(&self, folder: &str) -> Result<Vec<String>, String> {
        let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(folder) = open.pop() {
            let path = self.source.join(&folder);
            for entry in fs::read_dir(&path).map_err(|e| format!("{}: {e}", path.display()))? {
                let entry = entry.map_err(|e| format!("{}: {e}", path.display()))?;
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if entry.path().is_dir() {
                    open.push(name);
                } else {
                    found.push(name);
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// A file of the workspace.
    pub fn read(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.source.join(file)).map_err(|e| format!("{file}: {e}"))
    }

    /// Writes a file of the copy, unless it is there already: cargo goes by times.
    pub fn put(&self, file: &str, text: impl AsRef<[u8]>) -> Result<(), String> {
        let (path, text) = (self.root.join(file), text.as_ref());
        if fs::read(&path).is_ok_and(|known| known == text) {
            return Ok(());
        }
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
            fs::write(&path, text)
        };
        write().map_err(|e| format!("{}: {e}", path.display()))
    }
}

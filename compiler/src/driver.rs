//! The driver: reads specs and templates from a workspace, and writes generated files or compares them. All IO is here.

mod diff;
mod generated;
mod revision;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tenon_formats::chat::{TemplateFiles, TemplateSource};
use tenon_formats::{CanonicalConfig, Gguf, TensorEntry, index, json, safetensors};

use crate::new::description::Format;
use crate::new::{Checkpoint, Tensor};
use crate::parse::is_cuda;
use crate::source::SourceMap;

pub use diff::{DiffError, difference};
pub use generated::{Difference, DifferenceKind, compare, generated, write};
pub use revision::{Revision, revision};

/// The files that the compiler reads, by folder: `MODEL.toml`, `KERNEL.toml` and chat templates of each model, and
/// `TEMPLATE.toml` and the CUDA code of each kernel, and what kernels share. Paths in the map are relative to `root`.
///
/// # Errors
/// A folder or file that cannot be read; the error names it.
pub fn read(root: &Path, specs: &str, templates: &str) -> io::Result<SourceMap> {
    let mut sources = SourceMap::default();
    for folder in folders(&root.join(specs))? {
        for file in files(&folder)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_of_a_model(&name) {
                add(&mut sources, root, &file)?;
            }
        }
    }
    for folder in folders(&root.join(templates))? {
        for file in files(&folder)? {
            if is_of_a_template(&file.file_name().unwrap_or_default().to_string_lossy()) {
                add(&mut sources, root, &file)?;
            }
        }
    }
    Ok(sources)
}

fn is_of_a_model(name: &str) -> bool {
    name == "MODEL.toml" || name == "KERNEL.toml" || name.ends_with(".jinja")
}

fn is_of_a_template(name: &str) -> bool {
    name == "TEMPLATE.toml" || is_cuda(name)
}

/// Whether [`read`] would read a path, relative to the root and with forward slashes.
fn is_spec(path: &str, specs: &str, templates: &str) -> bool {
    let Some((folders, name)) = path.rsplit_once('/') else { return false };
    let is_below =
        |folder: &str| folders.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).is_some_and(|one| !one.contains('/'));
    (is_below(specs) && is_of_a_model(name)) || (is_below(templates) && is_of_a_template(name))
}

/// Folders that hold a MODEL.toml.
pub fn model_names(sources: &SourceMap) -> Vec<String> {
    let folder = |path: &str| path.strip_suffix("/MODEL.toml").map(|f| f.rsplit('/').next().unwrap_or(f).to_owned());
    sources.files().filter_map(|(_, file)| folder(&file.path)).collect()
}

/// The sources without the models that are not named; templates stay.
pub fn only(sources: &SourceMap, names: &[String]) -> SourceMap {
    let mut kept = SourceMap::default();
    for (_, file) in sources.files() {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let folder = folder.rsplit('/').next().unwrap_or_default();
        if is_of_a_template(name) || names.iter().any(|n| n == folder) {
            kept.add(file.path.clone(), file.text.clone());
        }
    }
    kept
}

fn add(sources: &mut SourceMap, root: &Path, file: &Path) -> io::Result<()> {
    let text = fs::read_to_string(file).map_err(|e| named(e, file))?;
    let relative = file.strip_prefix(root).unwrap_or(file);
    let path: Vec<_> = relative.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    sources.add(path.join("/"), text);
    Ok(())
}

fn named(error: io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| named(e, folder))? {
        found.push(entry.map_err(|e| named(e, folder))?.path());
    }
    found.sort();
    Ok(found)
}

fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|p| p.is_dir()).collect())
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|p| p.is_file()).collect())
}

/// Reads what says what a checkpoint is: its config, and the names of its tensors where they are to be seen.
///
/// # Errors
/// No checkpoint, or one that cannot be read; the text names the file.
pub fn checkpoint(from: &Path) -> Result<Checkpoint, String> {
    if from.is_file() {
        return match from.extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf")) {
            true => gguf(from),
            false => Err(format!("{}: neither a folder nor a .gguf file", from.display())),
        };
    }
    let in_it = files(from).map_err(|e| e.to_string())?;
    let called = |name: &str| in_it.iter().find(|path| path.file_name().is_some_and(|n| n == name));
    let (format, path) = match (called("config.json"), called("params.json")) {
        (Some(path), _) => (Format::Hf, path),
        (None, Some(path)) => (Format::Mistral, path),
        (None, None) => {
            let ggufs: Vec<&PathBuf> = in_it.iter().filter(|p| p.extension().is_some_and(|e| e == "gguf")).collect();
            return match ggufs.as_slice() {
                [one] => gguf(one),
                [] => Err(format!("{}: no config.json, params.json or .gguf file", from.display())),
                _ => Err(format!("{}: several .gguf files; name one of them", from.display())),
            };
        }
    };
    let text = fs::read(path).map_err(|e| named(e, path).to_string())?;
    let config = match format {
        Format::Mistral => CanonicalConfig::from_mistral(&text),
        _ => CanonicalConfig::from_hf_text(&text),
    };
    let value = |name: &str| match called(name) {
        None => Ok(None),
        Some(path) => {
            let text = fs::read(path).map_err(|e| named(e, path).to_string())?;
            json::parse(&text).map(Some).map_err(|e| format!("{}: {e}", path.display()))
        }
    };
    let jinja = called("chat_template.jinja").map(|path| fs::read_to_string(path).map_err(|e| named(e, path).to_string()));
    let (jinja, tokenizer, processor) = (jinja.transpose()?, value("tokenizer_config.json")?, value("chat_template.json")?);
    let places =
        TemplateFiles { jinja: jinja.as_deref(), tokenizer_config: tokenizer.as_ref(), chat_template_json: processor.as_ref() };
    Ok(Checkpoint {
        format,
        config: config.map_err(|e| format!("{}: {e}", path.display()))?,
        tensors: tensors(&in_it, format)?,
        template: TemplateSource::of_files(&places).map_err(|e| format!("{}: {e}", from.display()))?,
        generation: value("generation_config.json")?,
    })
}

/// The tensors of safetensors files, or of an index where those are elsewhere. A folder may hold one checkpoint in both formats.
fn tensors(in_it: &[PathBuf], format: Format) -> Result<Option<Vec<Tensor>>, String> {
    let start = if format == Format::Mistral { "consolidated" } else { "model" };
    let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found: BTreeMap<String, Tensor> = BTreeMap::new();
    let mut shards: Option<Vec<String>> = None;
    if let Some(path) = in_it.iter().find(|path| name_of(path) == format!("{start}.safetensors.index.json")) {
        let text = fs::read(path).map_err(|e| named(e, path).to_string())?;
        let index = index::read(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let tensor = |name: String| (name.clone(), Tensor { name, format: None, shape: None });
        found.extend(index.tensors.into_keys().map(tensor));
        shards = Some(index.shards);
    }
    for path in in_it {
        // With an index, only the files that it names are part of the checkpoint.
        let name = name_of(path);
        let is_part = match &shards {
            Some(shards) => shards.contains(&name),
            None => name.starts_with(start) && name.ends_with(".safetensors"),
        };
        if is_part {
            for entry in safetensors_header(path)? {
                found.insert(entry.name.clone(), tensor(entry));
            }
        }
    }
    Ok((!found.is_empty()).then(|| found.into_values().collect()))
}

fn tensor(entry: TensorEntry) -> Tensor {
    Tensor { format: Some(entry.format.as_str().to_owned()), shape: Some(entry.shape), name: entry.name }
}

/// The header of a file whose data may be larger than memory.
fn safetensors_header(path: &Path) -> Result<Vec<TensorEntry>, String> {
    let inner = || -> Result<_, Box<dyn std::error::Error>> {
        let mut file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        let mut prefix = [0; 8];
        file.read_exact(&mut prefix)?;
        let mut bytes = prefix.to_vec();
        let header = safetensors::header_bytes(prefix)?;
        file.take(header.saturating_sub(8)).read_to_end(&mut bytes)?;
        Ok(safetensors::read_header(&bytes, length, 0)?)
    };
    inner().map_err(|e| format!("{}: {e}", path.display()))
}

/// As long as a header of a GGUF may be: vocabularies make them tens of megabytes.
const LONGEST_GGUF_HEADER: u64 = 1 << 30;

fn gguf(path: &Path) -> Result<Checkpoint, String> {
    let named = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let length = fs::metadata(path).map_err(|e| named(&e))?.len();
    let mut bytes = Vec::new();
    let mut file = fs::File::open(path).map_err(|e| named(&e))?;
    let header = loop {
        let more = (bytes.len() as u64).max(1 << 20);
        let added = file.by_ref().take(more).read_to_end(&mut bytes).map_err(|e| named(&e))?;
        match Gguf::read_header(&bytes, length) {
            Ok(header) => break header,
            // Cut off, perhaps, where no more was read yet.
            Err(_) if added > 0 && (bytes.len() as u64) < length.min(LONGEST_GGUF_HEADER) => {}
            Err(e) => return Err(named(&e)),
        }
    };
    if header.split().map_err(|e| named(&e))?.is_some() {
        return Err(named(&"one part of a split model; join the parts first"));
    }
    let config = CanonicalConfig::from_gguf(&header).map_err(|e| named(&e))?;
    let template = TemplateSource::of_gguf(&header).map_err(|e| named(&e))?;
    let tensors = Some(header.tensors.into_iter().map(tensor).collect());
    Ok(Checkpoint { format: Format::Gguf, config, tensors, template, generation: None })
}

/// Writes `model-specs/<name>/MODEL.toml` of a model that is not there yet; the path, relative to `root`.
///
/// # Errors
/// A folder of that name, or one that cannot be written.
pub fn create(root: &Path, name: &str, text: &str) -> Result<String, String> {
    let folder = format!("model-specs/{name}");
    let path = root.join(&folder);
    fs::create_dir_all(root.join("model-specs")).map_err(|e| named(e, &root.join("model-specs")).to_string())?;
    fs::create_dir(&path).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => format!("{folder} is there already; remove it, or take another name"),
        _ => named(e, &path).to_string(),
    })?;
    let file = path.join("MODEL.toml");
    fs::write(&file, text).map_err(|e| named(e, &file).to_string())?;
    Ok(format!("{folder}/MODEL.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, which goes with the value.
    struct Folder(PathBuf);

    impl Folder {
        fn of(name: &str, files: &[(&str, &[u8])]) -> Self {
            let path = std::env::temp_dir().join(format!("tenon-driver-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            for (name, bytes) in files {
                fs::write(path.join(name), bytes).unwrap();
            }
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_folder_with_both_formats_is_read_as_one() {
        let index = |tensor: &str| format!("{{\"weight_map\": {{\"{tensor}\": \"part.safetensors\"}}}}");
        let (hf, native) = (index("model.norm.weight"), index("norm.weight"));
        let files: [(&str, &[u8]); 6] = [
            ("config.json", b"{\"model_type\": \"mistral\"}"),
            ("params.json", b"{\"dim\": 8}"),
            ("consolidated.safetensors.index.json", native.as_bytes()),
            ("model.safetensors.index.json", hf.as_bytes()),
            ("tokenizer_config.json", b"{\"chat_template\": \"x\"}"),
            ("generation_config.json", b"{\"top_k\": 1}"),
        ];
        let folder = Folder::of("both", &files);
        let read = checkpoint(&folder.0).unwrap();
        let template = Some(("x", "tokenizer_config.json"));
        let found = read.template.as_ref().map(|source| (source.default.as_str(), source.origin));
        assert_eq!((read.format, found, read.generation.is_some()), (Format::Hf, template, true));
        let names = |read: Checkpoint| read.tensors.unwrap().into_iter().map(|t| (t.name, t.format)).collect::<Vec<_>>();
        assert_eq!(names(read), [("model.norm.weight".to_owned(), None)]);
        fs::remove_file(folder.0.join("config.json")).unwrap();
        let read = checkpoint(&folder.0).unwrap();
        assert_eq!((read.format, read.config.int("hidden_size")), (Format::Mistral, Some(8)));
        assert_eq!(names(read), [("norm.weight".to_owned(), None)]);
        fs::write(folder.0.join("params.json"), "{").unwrap();
        assert!(checkpoint(&folder.0).unwrap_err().contains("params.json: EOF"));
        // A shard that is there says how its tensors are stored; one that is cut off is an error.
        fs::write(folder.0.join("config.json"), "{\"model_type\": \"mistral\"}").unwrap();
        fs::write(folder.0.join("part.safetensors"), b"\x08\0\0\0\0\0\0\0{}").unwrap();
        assert!(checkpoint(&folder.0).unwrap_err().contains("part.safetensors: the header is 8 bytes long"));
    }

    #[test]
    fn a_gguf_is_read_by_its_header() {
        let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let mut bytes = [&b"GGUF"[..], &3u32.to_le_bytes(), &0u64.to_le_bytes(), &2u64.to_le_bytes()].concat();
        for (key, value) in [("general.architecture", "llama"), ("tokenizer.chat_template", "x")] {
            bytes.extend([text(key), 8u32.to_le_bytes().to_vec(), text(value)].concat());
        }
        let folder = Folder::of("gguf", &[("one.gguf", &bytes)]);
        let read = checkpoint(&folder.0).unwrap();
        let template = read.template.as_ref().map(|source| source.default.as_str());
        assert_eq!((read.format, read.config.model_type(), template), (Format::Gguf, "llama", Some("x")));
        assert_eq!(checkpoint(&folder.0.join("one.gguf")).unwrap().config, read.config);
        fs::write(folder.0.join("one.gguf"), &bytes[..40]).unwrap();
        assert!(checkpoint(&folder.0).unwrap_err().contains("one.gguf: "));
        fs::write(folder.0.join("two.gguf"), &bytes).unwrap();
        assert!(checkpoint(&folder.0).unwrap_err().ends_with("several .gguf files; name one of them"));
    }

    #[test]
    fn the_code_of_a_kernel_is_read_with_its_template() {
        let folder = Folder::of("code", &[]);
        for file in
            ["specs/a/MODEL.toml", "kernels/k/TEMPLATE.toml", "kernels/k/k.cuh", "kernels/k/notes.md", "kernels/include/warp.cuh"]
        {
            let path = folder.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let sources = read(&folder.0, "specs", "kernels").unwrap();
        let paths = |sources: &SourceMap| sources.files().map(|(_, file)| file.path.clone()).collect::<Vec<_>>();
        let code = ["kernels/include/warp.cuh", "kernels/k/TEMPLATE.toml", "kernels/k/k.cuh"];
        assert_eq!(paths(&sources), [&["specs/a/MODEL.toml"][..], &code].concat());
        assert!(paths(&sources).iter().all(|path| is_spec(path, "specs", "kernels")));
        assert!(!is_spec("kernels/k/notes.md", "specs", "kernels"));
        assert_eq!(paths(&only(&sources, &["b".to_owned()])), code);
    }

    #[test]
    fn a_model_is_created_once() {
        let folder = Folder::of("create", &[]);
        assert_eq!(create(&folder.0, "a", "text"), Ok("model-specs/a/MODEL.toml".to_owned()));
        assert_eq!(fs::read_to_string(folder.0.join("model-specs/a/MODEL.toml")).unwrap(), "text");
        assert!(create(&folder.0, "a", "").unwrap_err().starts_with("model-specs/a is there already"));
    }
}

//! Reads the small files and the headers of a checkpoint: what it is, without its weights.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use tenon_formats::gguf::split::{self, PartName};
use tenon_formats::{CanonicalConfig, Gguf, TensorEntry, index, json, safetensors};

use super::{files, named};
use crate::check::checkpoint::{CheckpointFiles, metadata};
use crate::model::CheckpointFormat;
use crate::new::description::Format;
use crate::new::{Checkpoint, Tensor};
use crate::source::Source;

/// Reads what says what a checkpoint is: its config, and the names of its tensors where they are to be seen.
///
/// # Errors
/// No checkpoint, or one that cannot be read; the text names the file.
pub fn checkpoint(from: &Path) -> Result<Checkpoint, String> {
    checkpoint_files(from, None).map(|files| files.checkpoint)
}

/// The same, with the text of the config and the headers of all tensors. Of a folder that holds the config of two formats and the
/// weights of neither, `wanted` is read.
///
/// # Errors
/// As [`checkpoint`].
pub fn checkpoint_files(from: &Path, wanted: Option<CheckpointFormat>) -> Result<CheckpointFiles, String> {
    if from.is_file() {
        return match from.extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf")) {
            true => gguf(from),
            false => Err(format!("{}: neither a folder nor a .gguf file", from.display())),
        };
    }
    let in_it = files(from).map_err(|e| e.to_string())?;
    let called = |name: &str| in_it.iter().find(|path| path.file_name().is_some_and(|n| n == name));
    let weights_of = |start: &str| in_it.iter().any(|path| is_weights(path, start));
    let native = || match (weights_of(HF), weights_of(MISTRAL)) {
        (false, true) => true,
        (false, false) => wanted == Some(CheckpointFormat::Mistral),
        (true, _) => false,
    };
    let (format, path) = match (called("config.json"), called("params.json")) {
        (Some(_), Some(path)) if native() => (Format::Mistral, path),
        (Some(path), _) => (Format::Hf, path),
        (None, Some(path)) => (Format::Mistral, path),
        (None, None) => return gguf(the_gguf(from, &in_it)?),
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
    let tokenizer = value("tokenizer_config.json")?;
    let has_chat_template =
        called("chat_template.jinja").is_some() || tokenizer.is_some_and(|config| config.get("chat_template").is_some());
    let tensors = tensors(&in_it, format)?;
    let checkpoint = Checkpoint {
        format,
        config: config.map_err(|e| format!("{}: {e}", path.display()))?,
        tensors: tensors.names,
        has_chat_template,
        generation: value("generation_config.json")?,
    };
    let config = Source { path: shown(path), text: String::from_utf8_lossy(&text).into_owned() };
    Ok(CheckpointFiles { checkpoint, config, tensors: tensors.entries })
}

/// How the names of weights begin, by format.
const HF: &str = "model";
const MISTRAL: &str = "consolidated";

fn is_weights(path: &Path, start: &str) -> bool {
    let name = name_of(path);
    name == format!("{start}.safetensors") || name == format!("{start}.safetensors.index.json")
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A path as messages show it.
fn shown(path: &Path) -> String {
    path.display().to_string().replace('\\', "/")
}

/// The one GGUF of a folder, or the first part of the one that stands there in parts.
fn the_gguf<'p>(folder: &Path, in_it: &'p [PathBuf]) -> Result<&'p PathBuf, String> {
    let ggufs: Vec<&PathBuf> = in_it.iter().filter(|p| p.extension().is_some_and(|e| e == "gguf")).collect();
    let names: Vec<String> = ggufs.iter().map(|path| name_of(path)).collect();
    let parts: Vec<PartName<'_>> = names.iter().filter_map(|name| PartName::parse(name)).collect();
    let are_parts = parts.len() == ggufs.len() && parts.iter().all(|part| part.is_beside(&parts[0]));
    match ggufs.as_slice() {
        [first, ..] if ggufs.len() == 1 || are_parts => Ok(first),
        [] => Err(format!("{}: no config.json, params.json or .gguf file", folder.display())),
        _ => Err(format!("{}: several .gguf files; name one of them", folder.display())),
    }
}

/// The tensors of a folder.
struct Found {
    /// Those that an index or a header names; `None` where there is neither.
    names: Option<Vec<Tensor>>,
    /// The headers of all, where every file that holds some is there.
    entries: Option<Vec<TensorEntry>>,
}

/// The tensors of safetensors files, or of an index where those are elsewhere. A folder may hold one checkpoint in both formats.
fn tensors(in_it: &[PathBuf], format: Format) -> Result<Found, String> {
    let start = if format == Format::Mistral { MISTRAL } else { HF };
    let mut found: BTreeMap<String, Tensor> = BTreeMap::new();
    let mut entries: BTreeMap<String, TensorEntry> = BTreeMap::new();
    let mut shards: Option<Vec<String>> = None;
    if let Some(path) = in_it.iter().find(|path| name_of(path) == format!("{start}.safetensors.index.json")) {
        let text = fs::read(path).map_err(|e| named(e, path).to_string())?;
        let index = index::read(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let tensor = |name: String| (name.clone(), Tensor { name, format: None, shape: None });
        found.extend(index.tensors.into_keys().map(tensor));
        shards = Some(index.shards);
    }
    let mut read: Vec<String> = Vec::new();
    for path in in_it {
        // With an index, only the files that it names are part of the checkpoint.
        let name = name_of(path);
        let is_part = match &shards {
            Some(shards) => shards.contains(&name),
            None => name.starts_with(start) && name.ends_with(".safetensors"),
        };
        if is_part {
            for entry in safetensors_header(path)? {
                found.insert(entry.name.clone(), tensor(&entry));
                entries.insert(entry.name.clone(), entry);
            }
            read.push(name);
        }
    }
    let complete = match &shards {
        Some(shards) => shards.iter().all(|shard| read.contains(shard)),
        None => read == [format!("{start}.safetensors")],
    };
    if let Some(lost) = found.keys().find(|name| complete && !entries.contains_key(*name)) {
        return Err(format!("{start}.safetensors.index.json: `{}` is in none of its files", tenon_formats::shown::shown(lost)));
    }
    Ok(Found {
        names: (!found.is_empty()).then(|| found.into_values().collect()),
        entries: complete.then(|| entries.into_values().collect()),
    })
}

fn tensor(entry: &TensorEntry) -> Tensor {
    Tensor { format: Some(entry.format.as_str().to_owned()), shape: Some(entry.shape.clone()), name: entry.name.clone() }
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

fn gguf(path: impl AsRef<Path>) -> Result<CheckpointFiles, String> {
    let path = path.as_ref();
    let header = whole_gguf(path)?;
    let config = CanonicalConfig::from_gguf(&header).map_err(|e| format!("{}: {e}", path.display()))?;
    let has_chat_template = header.metadata.contains_key("tokenizer.chat_template");
    let source = Source { path: format!("{} (metadata)", shown(path)), text: metadata(&config) };
    let tensors = Some(header.tensors.iter().map(tensor).collect());
    let checkpoint = Checkpoint { format: Format::Gguf, config, tensors, has_chat_template, generation: None };
    Ok(CheckpointFiles { checkpoint, config: source, tensors: Some(header.tensors) })
}

/// The header of a file, or of the parts that belong together with it.
fn whole_gguf(path: &Path) -> Result<Gguf, String> {
    let about = |path: &Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let first = gguf_header(path)?;
    let Some(part) = first.split().map_err(|e| about(path, &e))? else { return Ok(first) };
    let file_name = name_of(path);
    let name = PartName::parse(&file_name).filter(|name| (name.no, name.count) == (part.no, part.count));
    let Some(name) = name else {
        return Err(about(path, &"it is one part of several, and its name does not say so; rename it back"));
    };
    if part.no != 0 {
        return Err(about(path, &format!("it is one part of several; give the first one, {}", name.of(0))));
    }
    let path_of = |no| path.with_file_name(name.of(no));
    let mut parts = vec![first];
    for no in 1..part.count {
        let path = path_of(no);
        let next = gguf_header(&path)?;
        split::check_part(&parts[0], part, &next, no).map_err(|e| about(&path, &e))?;
        parts.push(next);
    }
    split::join(parts, part).map_err(|(no, e)| about(&path_of(no as u64), &e))
}

fn gguf_header(path: &Path) -> Result<Gguf, String> {
    let named = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let length = fs::metadata(path).map_err(|e| named(&e))?.len();
    let mut bytes = Vec::new();
    let mut file = fs::File::open(path).map_err(|e| named(&e))?;
    loop {
        let more = (bytes.len() as u64).max(1 << 20);
        let added = file.by_ref().take(more).read_to_end(&mut bytes).map_err(|e| named(&e))?;
        match Gguf::read_header(&bytes, length) {
            Ok(header) => return Ok(header),
            // Cut off, perhaps, where no more was read yet.
            Err(_) if added > 0 && (bytes.len() as u64) < length.min(LONGEST_GGUF_HEADER) => {}
            Err(e) => return Err(named(&e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Folder;
    use super::*;

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
        assert_eq!((read.format, read.has_chat_template, read.generation.is_some()), (Format::Hf, true, true));
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
        assert_eq!((read.format, read.config.model_type(), read.has_chat_template), (Format::Gguf, "llama", true));
        assert_eq!(checkpoint(&folder.0.join("one.gguf")).unwrap().config, read.config);
        fs::write(folder.0.join("one.gguf"), &bytes[..40]).unwrap();
        assert!(checkpoint(&folder.0).unwrap_err().contains("one.gguf: "));
        fs::write(folder.0.join("two.gguf"), &bytes).unwrap();
        assert!(checkpoint(&folder.0).unwrap_err().ends_with("several .gguf files; name one of them"));
    }
}

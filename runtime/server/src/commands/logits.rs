//! `logits`: what a model computes for given token ids, to compare with any reference.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use tenon_core::batch::{Batch, PageId, StateSlot, WantLogits};
use tenon_core::memory::{Flags, Settings};
use tenon_core::model::{Logits, ModelEntry};
use tenon_formats::overrides::Asked;

use crate::cli::LogitsArgs;
use crate::plan::Plan;
use crate::target::Place;
use crate::{Failure, home, load};

/// Reads `input_ids`, runs them in chunks, and writes `logits`.
pub fn run(args: &LogitsArgs, models: &[&'static ModelEntry]) -> Result<(), Failure> {
    if args.chunk == 0 || args.page == 0 {
        return Err("--chunk and --page must be at least 1".into());
    }
    let entry = load::entry(models, &args.name)?;
    let info = entry.info;
    let bytes = std::fs::read(&args.tokens).map_err(|e| format!("{}: {e}", args.tokens.display()))?;
    let ids = input_ids(&bytes).map_err(|e| format!("{}: {e}", args.tokens.display()))?;
    if ids.len() > info.max_position_embeddings {
        let (tokens, context) = (ids.len(), info.max_position_embeddings);
        return Err(format!("input_ids has {tokens} tokens, and the context of {} is {context}", info.name).into());
    }

    let chunk = args.chunk.min(ids.len());
    let pages = ids.len().div_ceil(args.page);
    let n = |value: usize| value as u64;
    let settings =
        Settings { page_size: n(args.page), chunk: n(chunk), rows_each: n(chunk), ..Settings::new(n(ids.len()), 1, 1) };
    let flags = Flags { kv_cache_dtype: Some("--kv-cache-dtype"), ..Flags::default() };
    let place = Place::choose(entry, &args.load)?;
    let mut model = Plan::new(entry, place, &args.load, Asked::default(), settings, &flags)?.load()?;

    let table: Vec<PageId> = (0..pages as u32).map(PageId).collect();
    let mut batch = Batch::new(model.limits());
    let slot = (model.limits().state_slots > 0).then_some(StateSlot(0));
    let mut logits = Logits::new(info, chunk);
    let mut out = LogitsFile::create(&args.out, ids.len(), info.vocab_size)?;
    for (i, tokens) in ids.chunks(chunk).enumerate() {
        let start = i * chunk;
        batch.clear();
        batch.push(tokens, start, &table[..(start + tokens.len()).div_ceil(args.page)], slot, WantLogits::All)?;
        model.step(&batch, &mut logits)?;
        for row in 0..logits.rows() {
            out.write_row(logits.row(row))?;
        }
    }
    out.finish()
}

/// The token ids of a safetensors file: `input_ids`, i32 or i64, `[tokens]` or `[1, tokens]`.
fn input_ids(file: &[u8]) -> Result<Vec<u32>, Failure> {
    let tensors = SafeTensors::deserialize(file)?;
    let Ok(tensor) = tensors.tensor("input_ids") else {
        return Err(format!("no tensor `input_ids`; there are: {}", tensors.names().join(", ")).into());
    };
    let shape = tensor.shape();
    let items: Vec<i64> = match (tensor.dtype(), shape) {
        (Dtype::I32, [_] | [1, _]) => tensor.data().as_chunks::<4>().0.iter().map(|&b| i32::from_le_bytes(b).into()).collect(),
        (Dtype::I64, [_] | [1, _]) => tensor.data().as_chunks::<8>().0.iter().map(|&b| i64::from_le_bytes(b)).collect(),
        (dtype, _) => {
            return Err(format!("input_ids is {dtype} {shape:?}, and I32 or I64 [tokens] or [1, tokens] is read").into());
        }
    };
    if items.is_empty() {
        return Err("input_ids has no tokens".into());
    }
    let id = |id: i64| u32::try_from(id).map_err(|_| format!("input_ids has {id}, which is no token id").into());
    items.into_iter().map(id).collect()
}

/// A safetensors file that is written row by row, and appears under its name once it is whole.
struct LogitsFile<'a> {
    path: &'a Path,
    partial: std::path::PathBuf,
    file: BufWriter<File>,
}

impl<'a> LogitsFile<'a> {
    fn create(path: &'a Path, tokens: usize, vocab_size: usize) -> Result<Self, Failure> {
        let partial = home::partial(path);
        let file = File::create(&partial).map_err(|e| format!("{}: {e}", partial.display()))?;
        let mut file = BufWriter::new(file);
        let end = tokens * vocab_size * size_of::<f32>();
        let mut header = format!(r#"{{"logits":{{"dtype":"F32","shape":[{tokens},{vocab_size}],"data_offsets":[0,{end}]}}}}"#);
        // Data begins at a multiple of 8 bytes, which the format asks writers for; spaces may fill the header.
        header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(header.as_bytes())?;
        Ok(Self { path, partial, file })
    }

    fn write_row(&mut self, row: &[f32]) -> Result<(), Failure> {
        for value in row {
            self.file.write_all(&value.to_le_bytes())?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.file.flush()?;
        Ok(std::fs::rename(&self.partial, self.path).map_err(|e| format!("{}: {e}", self.path.display()))?)
    }
}

#[cfg(test)]
mod tests {
    use safetensors::tensor::TensorView;

    use super::*;

    fn file(name: &str, dtype: Dtype, shape: &[usize], data: &[i32]) -> Vec<u8> {
        let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = TensorView::new(dtype, shape.to_vec(), &bytes).unwrap();
        safetensors::serialize([(name, view)], None).unwrap()
    }

    #[test]
    fn token_ids_are_read_in_both_shapes_and_nothing_else() {
        assert_eq!(input_ids(&file("input_ids", Dtype::I32, &[3], &[1, 2, 3])).unwrap(), [1, 2, 3]);
        assert_eq!(input_ids(&file("input_ids", Dtype::I32, &[1, 2], &[7, 8])).unwrap(), [7, 8]);
        let refused = |file: &[u8]| input_ids(file).unwrap_err().to_string();
        assert_eq!(refused(&file("ids", Dtype::I32, &[1], &[1])), "no tensor `input_ids`; there are: ids");
        let float = refused(&file("input_ids", Dtype::F32, &[1], &[1]));
        assert_eq!(float, "input_ids is F32 [1], and I32 or I64 [tokens] or [1, tokens] is read");
        assert!(refused(&file("input_ids", Dtype::I32, &[2, 1], &[1, 2])).contains("[2, 1]"));
        assert_eq!(refused(&file("input_ids", Dtype::I32, &[1], &[-4])), "input_ids has -4, which is no token id");
        assert_eq!(refused(&file("input_ids", Dtype::I32, &[0], &[])), "input_ids has no tokens");
        assert!(input_ids(b"nonsense").is_err());
    }

    #[test]
    fn rows_are_written_as_one_tensor_that_other_readers_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.safetensors");
        let mut out = LogitsFile::create(&path, 2, 3).unwrap();
        out.write_row(&[1.0, -2.5, 3.0]).unwrap();
        assert!(!path.exists());
        out.write_row(&[4.0, 5.0, f32::MIN_POSITIVE]).unwrap();
        out.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let logits = tensors.tensor("logits").unwrap();
        assert_eq!((logits.dtype(), logits.shape()), (Dtype::F32, &[2, 3][..]));
        let values: Vec<f32> = logits.data().as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
        assert_eq!(values, [1.0, -2.5, 3.0, 4.0, 5.0, f32::MIN_POSITIVE]);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

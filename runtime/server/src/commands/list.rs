//! `list`: the models that are compiled in.

use std::io::Write;

use tenon_core::model::ModelEntry;

use crate::Failure;
use crate::home::{Home, is_filled};

/// Prints a line per model: name, context, cache dtypes, where its weights are.
pub fn run(models: &[&'static ModelEntry]) -> Result<(), Failure> {
    let home = Home::find()?;
    let width = models.iter().map(|m| m.info.name.len()).max().unwrap_or(0);
    let mut out = std::io::stdout().lock();
    for entry in models {
        let info = entry.info;
        let dtypes: Vec<_> = info.kv_cache_dtypes.iter().map(|d| d.as_str()).collect();
        let dir = home.model(info.name);
        let weights = if is_filled(&dir) { dir.display().to_string() } else { "not pulled".to_owned() };
        let context = info.max_position_embeddings;
        writeln!(out, "{:width$}  context {context:<7}  cache {:<9}  {weights}", info.name, dtypes.join(","))?;
    }
    Ok(())
}

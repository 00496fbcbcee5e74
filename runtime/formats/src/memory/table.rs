//! `Table`: every pool of a deployment with its size and formula.

use std::fmt::Write as _;

use super::{Needs, Settings, shown_size, thousands};

/// One thing that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// What it is.
    pub name: String,
    /// How many bytes.
    pub bytes: u64,
    /// How they come about.
    pub formula: String,
}

/// What a deployment holds. The sizes of single pools are fields, so that they can be compared with those of a loaded model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The first line: of what, and for which settings.
    pub title: String,
    /// Weights as they are kept.
    pub weights: u64,
    /// The KV cache of all layers.
    pub cache: u64,
    /// The recurrent states of all sequences.
    pub state: u64,
    /// Snapshots of recurrent states.
    pub snapshots: u64,
    /// For rolling back speculation: there is none yet.
    pub rollback: u64,
    /// Activations of the largest step.
    pub activations: u64,
    /// What threads keep for themselves.
    pub rooms: u64,
    /// Rows of logits, and what choosing tokens from them takes.
    pub sampling: u64,
    /// All of it, line by line.
    pub pools: Vec<Pool>,
}

impl Table {
    /// Bytes of everything.
    pub fn total(&self) -> u64 {
        self.pools.iter().fold(0, |sum, pool| sum.saturating_add(pool.bytes))
    }

    /// The lines of the table with their total, each after `indent`.
    pub fn text(&self, indent: &str) -> String {
        let mut text = String::new();
        for pool in &self.pools {
            line(&mut text, indent, &pool.name, &shown_size(pool.bytes), &pool.formula);
        }
        line(&mut text, indent, "total", &shown_size(self.total()), "");
        text
    }
}

pub(super) fn line(text: &mut String, indent: &str, name: &str, size: &str, formula: &str) {
    let line = format!("{indent}{name:<22} {size:>10}  {formula}");
    let _ = writeln!(text, "{}", line.trim_end());
}

impl Needs {
    /// What a deployment with these settings holds.
    ///
    /// # Panics
    /// If the settings name a cache dtype that there is not.
    pub fn plan(&self, settings: &Settings) -> Table {
        let (kv, workspace) = (self.kv[settings.kv], &self.workspace);
        let (pages, tokens, rows) = (settings.pages(), settings.step_tokens(), settings.logit_rows());
        let weights = self.weight_bytes();
        let cache = pages.saturating_mul(settings.page_size).saturating_mul(kv.bytes_per_token);
        let state = settings.sequences.saturating_mul(self.state_bytes);
        let snapshots = settings.snapshots.saturating_mul(self.state_bytes);
        let activations = workspace.activations(tokens, rows);
        let rooms = workspace.rooms(tokens, settings.threads);
        // A row of logits is f32; a sequence that samples sorts its candidates, 16 bytes each; and one list of the most likely
        // tokens, 8 bytes each, is made at a time.
        let logits = rows.saturating_mul(4 * self.vocab_size);
        let candidates = settings.sequences.saturating_mul(16 * self.vocab_size).saturating_add(8 * self.vocab_size);

        let pool = |name: &str, bytes: u64, formula: String| Pool { name: name.to_owned(), bytes, formula };
        let mut pools: Vec<Pool> = self
            .weights
            .iter()
            .map(|w| {
                let formula = if w.mapped { "the embedding, where the file is mapped" } else { "as the kernels read them" };
                pool(&format!("weights, {}", w.format), w.bytes, formula.to_owned())
            })
            .collect();
        let n = |value: u64| thousands(value);
        let several = |count: u64, one: &str| format!("{} {one}{}", n(count), if count == 1 { "" } else { "s" });
        pools.push(pool(
            "KV cache",
            cache,
            match kv.bytes_per_token {
                0 => "no attention".to_owned(),
                bytes => {
                    let (pages, tokens) = (several(pages, "page"), several(settings.page_size, "token"));
                    format!("{pages} x {tokens} x {} B ({})", n(bytes), kv.dtype)
                }
            },
        ));
        let of_state = |count: u64, what: &str| match self.state_bytes {
            0 => "no recurrent layer".to_owned(),
            bytes => format!("{} x {} B", several(count, what), n(bytes)),
        };
        pools.push(pool("state pool", state, of_state(settings.sequences, "sequence")));
        pools.push(pool("snapshot pool", snapshots, of_state(settings.snapshots, "snapshot")));
        pools.push(pool("rollback ring", 0, "no speculation".to_owned()));
        let (per_token, per_row) = (n(workspace.token_bytes), n(workspace.logit_row_bytes));
        let of_logits = if rows == 1 { "row" } else { "rows" };
        let activations_formula =
            format!("{} x {per_token} B + {} {of_logits} of logits x {per_row} B", several(tokens, "token"), n(rows));
        pools.push(pool("workspace, step", activations, activations_formula));
        let each = rooms.checked_div(settings.threads).unwrap_or(0);
        let rooms_formula = if each == 0 {
            "no kernel needs it".to_owned()
        } else {
            format!("{} x {} B", several(settings.threads, "thread"), n(each))
        };
        pools.push(pool("workspace, threads", rooms, rooms_formula));
        let (rows, sequences) = (several(rows, "row"), several(settings.sequences, "sequence"));
        let sampling = format!("{rows} x {} x 4 B, and the candidates of {sequences}", n(self.vocab_size));
        pools.push(pool("logits and sampling", logits.saturating_add(candidates), sampling));

        let title = format!(
            "memory of {}: context {}, {}, {}, cache {}",
            self.model,
            n(settings.context),
            sequences,
            several(settings.snapshots, "snapshot"),
            kv.dtype
        );
        let sampling = logits.saturating_add(candidates);
        Table { title, weights, cache, state, snapshots, rollback: 0, activations, rooms, sampling, pools }
    }
}

//! Whether a deployment fits, and what would make it fit.

use super::table::line;
use super::{Needs, Settings, Table, shown_size};
use crate::report::Report;

/// The id of a deployment that does not fit.
pub const ID: &str = "memory-does-not-fit";

/// Memory that a deployment may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How much.
    pub bytes: u64,
    /// Who says so: a flag, a device, the machine.
    pub from: String,
}

impl Budget {
    /// Its line below a table.
    pub fn line(&self, indent: &str) -> String {
        let mut text = String::new();
        line(&mut text, indent, "available", &shown_size(self.bytes), &self.from);
        text
    }
}

/// The flags with which a command sets what a deployment holds; what has none cannot be advised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Of the context.
    pub context: Option<&'static str>,
    /// Of the sequences.
    pub sequences: Option<&'static str>,
    /// Of the tokens of the cache.
    pub cache_tokens: Option<&'static str>,
    /// Of the snapshots.
    pub snapshots: Option<&'static str>,
    /// Of the cache dtype.
    pub kv_cache_dtype: Option<&'static str>,
}

/// A deployment that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it would hold.
    pub table: Table,
    /// What there is.
    pub budget: Budget,
    /// Settings that fit, each with the flags that ask for them.
    pub ways_out: Vec<(String, Settings)>,
    /// What the smallest deployment of the model takes: one sequence with one page of cache.
    pub smallest: u64,
}

impl Needs {
    /// The table, where it fits.
    ///
    /// # Errors
    /// What is missing, and the settings that would fit.
    pub fn fit(&self, settings: &Settings, budget: &Budget, flags: &Flags) -> Result<Table, Box<Refusal>> {
        let table = self.plan(settings);
        if table.total() <= budget.bytes {
            return Ok(table);
        }
        let ways_out = self.ways_out(settings, budget.bytes, flags);
        let page = settings.page_size.min(settings.context);
        let smallest =
            Settings { context: page, sequences: 1, cache_tokens: None, snapshots: 0, kv: self.smallest_kv(), ..*settings };
        Err(Box::new(Refusal { table, budget: budget.clone(), ways_out, smallest: self.plan(&smallest).total() }))
    }

    /// As many snapshots as are useful, as far as they fit: two for each sequence, which leaves one at the end of its prompt and one
    /// where it goes another way than an earlier one.
    pub fn useful_snapshots(&self, settings: &Settings, budget: Option<&Budget>) -> u64 {
        let useful = if self.state_bytes == 0 { 0 } else { settings.sequences.saturating_mul(2) };
        let Some(budget) = budget else { return useful };
        largest(0, useful, |snapshots| self.fits(&Settings { snapshots, ..*settings }, budget.bytes)).unwrap_or(0)
    }

    fn fits(&self, settings: &Settings, bytes: u64) -> bool {
        self.plan(settings).total() <= bytes
    }

    fn smallest_kv(&self) -> usize {
        (0..self.kv.len()).min_by_key(|&i| self.kv[i].bytes_per_token).unwrap_or(0)
    }

    /// One change at a time where one is enough; else few of them together.
    fn ways_out(&self, settings: &Settings, bytes: u64, flags: &Flags) -> Vec<(String, Settings)> {
        let single = self.changes(settings, bytes, flags);
        if !single.is_empty() {
            return single;
        }
        // No change is enough alone: the narrowest cache, then one sequence, then both, each with the longest context.
        let narrow = flags.kv_cache_dtype.map(|flag| (flag, self.smallest_kv())).filter(|(_, kv)| *kv != settings.kv);
        let narrowed = narrow.map(|(flag, kv)| (format!("{flag} {}", self.kv[kv].dtype), Settings { kv, ..*settings }));
        let of_one = |(text, from): (String, Settings)| {
            let flag = flags.sequences.filter(|_| from.sequences > 1)?;
            let text = if text.is_empty() { format!("{flag} 1") } else { format!("{text} {flag} 1") };
            Some((text, Settings { sequences: 1, ..from }))
        };
        let starts = [narrowed.clone(), of_one((String::new(), *settings)), narrowed.and_then(of_one)];
        for (text, from) in starts.into_iter().flatten() {
            let found = self.changes(&from, bytes, flags);
            if self.fits(&from, bytes) {
                return vec![(text, from)];
            }
            if !found.is_empty() {
                return found.into_iter().map(|(more, to)| (format!("{text} {more}"), to)).collect();
            }
        }
        Vec::new()
    }

    /// Single changes that make it fit.
    fn changes(&self, settings: &Settings, bytes: u64, flags: &Flags) -> Vec<(String, Settings)> {
        let mut found = Vec::new();
        // The last page may be a part of one; a context of its whole pages is the largest that is smaller.
        let shorter = settings.context_pages().saturating_sub(1);
        if let Some(flag) = flags.context {
            let context = |pages: u64| Settings { context: pages * settings.page_size, ..*settings };
            let most = largest(1, shorter, |pages| self.fits(&context(pages), bytes));
            found.extend(most.map(|pages| (format!("{flag} {}", context(pages).context), context(pages))));
        }
        if let Some(flag) = flags.cache_tokens {
            let cache = |pages: u64| Settings { cache_tokens: Some(pages * settings.page_size), ..*settings };
            let tokens = |pages: u64| pages * settings.page_size;
            let fewer = settings.pages().saturating_sub(1);
            let most = largest(settings.context_pages(), fewer, |pages| self.fits(&cache(pages), bytes));
            found.extend(most.map(|pages| (format!("{flag} {}", tokens(pages)), cache(pages))));
            // A cache of stated size holds a context: both become smaller together.
            if let (Some(of_context), Some(_), None) = (flags.context, settings.cache_tokens, most) {
                let both = |pages: u64| Settings { context: tokens(pages), ..cache(pages) };
                let most = largest(1, shorter, |pages| self.fits(&both(pages), bytes));
                let text = |pages: u64| format!("{of_context} {0} {flag} {0}", tokens(pages));
                found.extend(most.map(|pages| (text(pages), both(pages))));
            }
        }
        if let Some(flag) = flags.sequences {
            let sequences = |sequences: u64| Settings { sequences, ..*settings };
            let most = largest(1, settings.sequences.saturating_sub(1), |count| self.fits(&sequences(count), bytes));
            found.extend(most.map(|count| (format!("{flag} {count}"), sequences(count))));
        }
        if let Some(flag) = flags.snapshots.filter(|_| self.state_bytes > 0) {
            let snapshots = |snapshots: u64| Settings { snapshots, ..*settings };
            let most =
                settings.snapshots.checked_sub(1).and_then(|most| largest(0, most, |count| self.fits(&snapshots(count), bytes)));
            found.extend(most.map(|count| (format!("{flag} {count}"), snapshots(count))));
        }
        if let Some(flag) = flags.kv_cache_dtype {
            let of = |(kv, need): (usize, &super::KvNeed)| (format!("{flag} {}", need.dtype), Settings { kv, ..*settings });
            found.extend(self.kv.iter().enumerate().map(of).filter(|(_, other)| self.fits(other, bytes)));
        }
        found
    }
}

/// The largest number of `least..=most` that fits, where all below one that fits fit too.
fn largest(least: u64, most: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    if least > most || !fits(least) {
        return None;
    }
    let (mut low, mut high) = (least, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    Some(low)
}

impl Refusal {
    /// The refusal as a command prints it: the table, and what would fit.
    pub fn report(&self, model: &str) -> Report {
        let table = format!("  {}\n{}", self.table.title, self.table_text("    "));
        Report { id: ID, message: self.message(model), places: Vec::new(), table, notes: Vec::new(), helps: self.helps() }
    }

    /// One line: what it needs, what there is, what is missing.
    pub fn message(&self, model: &str) -> String {
        let (total, bytes) = (self.table.total(), self.budget.bytes);
        format!(
            "`{model}` needs {} and may take {}: {} are missing",
            shown_size(total),
            shown_size(bytes),
            shown_size(total - bytes)
        )
    }

    /// The table with what there is as its last line.
    pub fn table_text(&self, indent: &str) -> String {
        self.table.text(indent) + &self.budget.line(indent)
    }

    /// A line for each way out, or one that says that there is none.
    pub fn helps(&self) -> Vec<String> {
        if self.ways_out.is_empty() {
            let (smallest, weights) = (shown_size(self.smallest), shown_size(self.table.weights));
            return vec![format!(
                "no setting makes it fit: its smallest deployment takes {smallest}, of which {weights} are weights; a checkpoint in a \
                 narrower format or a larger device would"
            )];
        }
        self.ways_out.iter().map(|(flags, _)| format!("`{flags}` fits")).collect()
    }
}

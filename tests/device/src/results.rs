//! What the parts of a `report` found, as one page of Markdown.
//!
//! Each part has a file of JSON in a folder. The page is made from these files alone, so it can be made again where there is no device, and
//! the same files make the same page. What did not run stands there as not run.

mod goldens;
mod launches;
mod models;
mod mutants;
mod ops;
mod page;
mod sanitizers;
mod speed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::goals::Goals;
use page::{list, table};

/// What a report consists of, in the order of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Name {
    /// Kernels against their references.
    Ops,
    /// Whole small models against transformers.
    Goldens,
    /// Faults put into kernels.
    Mutants,
    /// NVIDIA's sanitizers.
    Sanitizers,
    /// Launches counted on the device.
    Launches,
    /// Kernels beside libraries.
    Speed,
    /// Whole models.
    Models,
}

impl Name {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Ops, Self::Goldens, Self::Mutants, Self::Sanitizers, Self::Launches, Self::Speed, Self::Models];

    /// As files and options have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ops => "ops",
            Self::Goldens => "goldens",
            Self::Mutants => "mutants",
            Self::Sanitizers => "sanitizers",
            Self::Launches => "launches",
            Self::Speed => "speed",
            Self::Models => "models",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Ops => "Kernels against their references",
            Self::Goldens => "Goldens",
            Self::Mutants => "Mutants",
            Self::Sanitizers => "Sanitizers",
            Self::Launches => "Launches counted on the device",
            Self::Speed => "Speed of kernels",
            Self::Models => "Speed of whole models",
        }
    }

    /// Its file in a folder.
    pub fn file(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.name()))
    }
}

/// Where and when a part ran.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct Run {
    /// The card, as the driver names it.
    pub card: String,
    /// The driver's version.
    pub driver: String,
    /// Of nvcc.
    pub cuda: String,
    /// What was built.
    pub commit: String,
    /// Whether the working tree was that commit; `None` where nobody knows.
    pub clean: Option<bool>,
    /// The day and time in UTC.
    pub date: String,
    /// How long it took.
    pub seconds: f64,
}

impl Run {
    /// Whether another run tells as much: on the same card, of the same commit without changes.
    pub fn serves(&self, other: &Self) -> bool {
        let is_known = self.clean == Some(true) && other.clean == Some(true);
        is_known && (&self.card, &self.driver, &self.commit) == (&other.card, &other.driver, &other.commit)
    }
}

/// One part, as its file has it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Part {
    /// Where and when.
    pub run: Run,
    /// Why there is no result.
    pub error: Option<String>,
    /// What the command wrote.
    #[serde(default)]
    pub result: Value,
}

impl Part {
    /// Whether it ran, and nothing in it failed.
    pub fn passed(&self) -> bool {
        self.error.is_none() && self.result["failed"].as_u64().unwrap_or(0) == 0
    }

    fn summary(&self) -> String {
        if let Some(error) = &self.error {
            return format!("failed: {error}");
        }
        match (self.result["passed"].as_u64(), self.result["failed"].as_u64()) {
            (Some(passed), Some(failed)) => format!("{passed} passed, {failed} failed"),
            _ => "measured".to_owned(),
        }
    }
}

/// All parts that ran.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// By their names.
    pub parts: BTreeMap<Name, Part>,
}

impl Results {
    /// Reads the files of a folder.
    ///
    /// # Errors
    /// A file that is not what a part writes.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut parts = BTreeMap::new();
        for name in Name::ALL {
            let path = name.file(folder);
            if !path.exists() {
                continue;
            }
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let part = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
            parts.insert(name, part);
        }
        Ok(Self { parts })
    }

    /// Whether every part ran, and nothing failed.
    pub fn passed(&self) -> bool {
        Name::ALL.iter().all(|name| self.parts.get(name).is_some_and(Part::passed))
    }

    /// The result of a part; null where it has none.
    fn result(&self, name: Name) -> &Value {
        static NONE: Value = Value::Null;
        self.parts.get(&name).filter(|part| part.error.is_none()).map_or(&NONE, |part| &part.result)
    }

    /// The page.
    pub fn markdown(&self, goals: &Goals) -> String {
        let mut text = "# What a device found\n\nWritten by `tenon-device-tests report`, which runs all of it; nothing here is edited by hand. Gates and \
                        bounds are those that each kernel's `reference.rs` and `TEMPLATE.toml` state.\n\n"
            .to_owned();
        text += &self.head();
        for name in Name::ALL {
            text += &format!("\n## {}\n\n", name.title());
            match self.parts.get(&name) {
                None => {
                    text += "Not run.\n";
                    // What should have been measured is told all the same.
                    if !matches!(name, Name::Speed | Name::Models) {
                        continue;
                    }
                    text.push('\n');
                }
                Some(Part { error: Some(error), .. }) => text += &format!("Failed: {}\n\n", error.trim_end()),
                Some(_) => {}
            }
            let result = self.result(name);
            text += &match name {
                _ if result.is_null() && !matches!(name, Name::Speed | Name::Models) => String::new(),
                Name::Ops => ops::section(result),
                Name::Goldens => goldens::section(result),
                Name::Mutants => mutants::section(result),
                Name::Sanitizers => sanitizers::section(result),
                Name::Launches => launches::section(result),
                Name::Speed => speed::section(result, goals),
                Name::Models => models::section(result, self.result(Name::Speed), goals),
            };
        }
        text
    }

    /// Card, driver, commit and date; and what each part came to.
    fn head(&self) -> String {
        let mut runs: Vec<&Run> = self.parts.values().map(|part| &part.run).collect();
        runs.sort_by(|a, b| a.date.cmp(&b.date));
        let all = |of: fn(&Run) -> String| {
            let mut values: Vec<String> = runs.iter().map(|run| of(run)).filter(|value| !value.is_empty()).collect();
            values.dedup();
            if values.is_empty() { "unknown".to_owned() } else { values.join("; then ") }
        };
        let commit = |run: &Run| match run.clean {
            Some(true) => format!("{}, nothing changed", run.commit),
            Some(false) => format!("{}, with changes", run.commit),
            None => format!("{}, whether changed is unknown", run.commit),
        };
        let dates = match (runs.first(), runs.last()) {
            (Some(first), Some(last)) if first.date != last.date => format!("{} to {}", first.date, last.date),
            (Some(only), _) => only.date.clone(),
            _ => "unknown".to_owned(),
        };
        let facts = [
            ("card", all(|run| run.card.clone())),
            ("driver", all(|run| run.driver.clone())),
            ("CUDA", all(|run| run.cuda.clone())),
            ("commit", all(commit)),
            ("date", dates),
        ];
        let facts: Vec<Vec<String>> = facts.into_iter().map(|(key, value)| vec![key.to_owned(), value]).collect();
        let parts = Name::ALL.map(|name| match self.parts.get(&name) {
            None => vec![name.title().to_owned(), "not run".to_owned(), String::new()],
            Some(part) => vec![name.title().to_owned(), part.summary(), format!("{:.0}", part.run.seconds)],
        });
        table(&["run", ""], &facts) + "\n" + &table(&["part", "result", "seconds"], &parts)
    }
}

/// The list under a key; empty where there is none.
fn each<'a>(result: &'a Value, key: &str) -> &'a [Value] {
    result[key].as_array().map_or(&[], Vec::as_slice)
}

/// The text under a key; empty where there is none.
fn text<'a>(result: &'a Value, key: &str) -> &'a str {
    result[key].as_str().unwrap_or_default()
}

/// A heading in bold and lines under it, where there are some.
fn lines(title: &str, of: &[String]) -> String {
    if of.is_empty() { String::new() } else { format!("\n{title}\n\n{}", list(of)) }
}

#[cfg(test)]
mod tests;

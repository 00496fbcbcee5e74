//! A template and the instances that its mutants are tried on.

use std::path::Path;
use std::sync::OnceLock;

use crate::instance::Instance;
use crate::template::Template;

use super::report::Row;
use super::sanitize::Tool;
use super::verdict::Verdict;
use super::{Options, Survivor, choose, survivors};

/// A template with the instances that its mutants are tried on.
pub(super) struct Plan<'a> {
    pub(super) template: &'a Template,
    /// Where its text and `include` stand.
    pub(super) texts: &'a Path,
    pub(super) controls: Vec<Control<'a>>,
    pub(super) survivors: Vec<Survivor>,
    /// What the harness makes of its processes on purpose, to test itself.
    pub(super) start: Start,
    /// What tells its folders from those of other plans of the template.
    pub(super) label: &'static str,
}

/// What the harness makes of a process on purpose, to test itself.
#[derive(Clone, Copy, Default)]
pub(super) struct Start {
    /// Without any case.
    pub(super) empty: bool,
    /// To end without a result, once for the kernel as it is and once for each mutant.
    pub(super) ends_early: bool,
}

/// An instance as it is: its machine code if it is green, or why it is not.
pub(super) struct Control<'a> {
    pub(super) instance: &'a Instance,
    pub(super) made: OnceLock<Result<Vec<u8>, Verdict>>,
    /// Whether each tool of the sanitizer finds nothing in it.
    pub(super) clean: [OnceLock<bool>; Tool::ALL.len()],
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        template: &'a Template,
        index: usize,
        instances: &'a [Instance],
        options: &'a Options,
    ) -> Result<Self, String> {
        let own: Vec<&Instance> = instances.iter().filter(|i| i.template == index).collect();
        let control = |instance| Control { instance, made: OnceLock::new(), clean: Default::default() };
        let controls = choose(&own).into_iter().map(control).collect();
        let survivors = survivors(&options.templates, &template.name)?;
        Ok(Self { template, texts: &options.templates, controls, survivors, start: Start::default(), label: "" })
    }
    /// What the template says that none could notice, and a gate has noticed.
    pub(super) fn contradicted(&self, rows: &[Row]) -> Vec<String> {
        let name = &self.template.name;
        let caught = rows.iter().filter(|row| row.template == *name && row.verdict.kill().is_some());
        let known = |row: &&Row| self.survivors.iter().any(|known| known.matches(&row.mutant, self.texts, name));
        caught.filter(known).map(|row| format!("{name} / {} is caught: its `[[survivor]]` is wrong", row.mutant.name)).collect()
    }
}

//! `Run`: one pass over the rows of a step, which generated code hands from launch to launch, and `KernelSet`: the instances of a template
//! among which a launch chooses.

use std::sync::Arc;

use tenon_formats::StorageFormat;

use super::{Arg, CudaError, Device, Instance, Kernel, Parameter, StepBuffer, StepDims};
use crate::batch::{BatchLimits, SequenceSpan};
use crate::weights::LoadError;

/// Rows up to which products with weights are kernels of their own, and not products of the matrix library.
pub const FEW_ROWS: usize = 16;
/// In how many parts a kernel takes a context, at most.
pub const MOST_SPLITS: usize = 64;
/// Thread blocks that keep a device busy, whatever its kernels wait for: two for each of the 132 multiprocessors of an H200.
pub const BUSY_BLOCKS: usize = 264;

/// One pass over the rows of a step.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    step: &'a StepBuffer,
    dims: StepDims,
    spans: &'a [SequenceSpan],
}

/// Which spans of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Spans of several tokens.
    Prefill,
    /// Spans of one token.
    Decode,
}

/// Spans and heads whose keys and values are expanded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The first span, counted among those of its phase.
    pub first_span: usize,
    /// Spans.
    pub spans: usize,
    /// The first head.
    pub first_head: usize,
    /// Heads.
    pub heads: usize,
    /// Tokens of the contexts of these spans.
    pub context_rows: usize,
}

impl<'a> Run<'a> {
    /// The pass over all rows of the step that `step` was filled with. A step that is captured has no spans of its own.
    pub fn new(step: &'a StepBuffer, dims: StepDims, spans: &'a [SequenceSpan]) -> Self {
        Self { step, dims, spans }
    }

    /// The numbers that launches depend on.
    pub fn dims(&self) -> StepDims {
        self.dims
    }

    /// Rows of the pass, padded ones included.
    pub fn rows(&self) -> usize {
        self.dims.rows
    }

    /// Whether the rows are few enough that reading the weights takes longer than multiplying by them.
    pub fn is_few(&self) -> bool {
        self.dims.rows <= FEW_ROWS
    }

    /// The pass over the rows that want logits.
    #[must_use]
    pub fn over_logit_rows(&self) -> Self {
        let rows = self.dims.logit_rows;
        Self { dims: StepDims { rows, tokens: rows, ..self.dims }, ..*self }
    }

    /// The tokens of the step, for a kernel.
    pub fn step(&self) -> Arg<'a> {
        self.step.arg()
    }

    /// In how many parts a kernel takes each context, where a span and a part of it have `blocks` thread blocks: so many that the device is
    /// busy with few spans. It depends on the number of spans alone, which a captured step fixes.
    pub fn splits(&self, blocks: usize) -> usize {
        splits(self.dims.decode_spans, blocks)
    }

    /// The passes in which `heads` heads of the spans of a phase are expanded, where there is room for `room` rows of contexts, counted once
    /// for each head. Whole contexts are expanded, so that no pass depends on another.
    pub fn passes(&self, phase: Phase, heads: usize, room: usize) -> Vec<Pass> {
        let is_of = |span: &&SequenceSpan| (span.tokens.len() == 1) == (phase == Phase::Decode);
        passes(&self.spans.iter().filter(is_of).map(SequenceSpan::context).collect::<Vec<_>>(), heads, room)
    }
}

fn splits(spans: usize, blocks: usize) -> usize {
    (BUSY_BLOCKS / (spans * blocks).max(1)).clamp(1, MOST_SPLITS)
}

fn passes(contexts: &[usize], heads: usize, room: usize) -> Vec<Pass> {
    let (mut passes, mut first_span) = (Vec::new(), 0);
    while first_span < contexts.len() {
        let (mut spans, mut context_rows) = (1, contexts[first_span]);
        assert!(context_rows <= room, "a context of {context_rows} tokens in room for {room}");
        while let Some(more) = contexts.get(first_span + spans).filter(|more| context_rows + **more <= room) {
            context_rows += more;
            spans += 1;
        }
        let together = heads.min(room / context_rows.max(1)).max(1);
        passes.extend((0..heads).step_by(together).map(|first_head| Pass {
            first_span,
            spans,
            first_head,
            heads: together.min(heads - first_head),
            context_rows,
        }));
        first_span += spans;
    }
    passes
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Run({:?})", self.dims)
    }
}

/// The largest step for which a plan's launches and indices were proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanMaxima {
    /// Tokens of a step, and rows of logits.
    pub step_tokens: usize,
    /// Sequences of a step.
    pub sequences: usize,
    /// Tokens of one sequence.
    pub context: usize,
    /// Tokens of a page of the cache.
    pub page_size: usize,
    /// Pages of the cache.
    pub pages: usize,
}

impl PlanMaxima {
    /// Refuses limits for which nothing was proven.
    ///
    /// # Errors
    /// The first limit that is larger than the plan's.
    pub fn check(&self, limits: &BatchLimits) -> Result<(), LoadError> {
        for (what, value, most) in [
            ("tokens in a step", limits.max_tokens, self.step_tokens),
            ("rows of logits in a step", limits.max_logit_rows, self.step_tokens),
            ("positions of a sequence", limits.max_positions, self.context),
            ("tokens of a page", limits.page_size, self.page_size),
            ("pages", limits.pages, self.pages),
        ] {
            if value > most {
                let message =
                    format!("{value} {what} are more than the {most} for which kernels were planned; KERNEL.toml states limits");
                return Err(LoadError::Option { message });
            }
        }
        Ok(())
    }
}

/// The instances of a template that a model launches: one, or one for each format of a weight and each bucket of rows.
pub struct KernelSet {
    kernels: Vec<Entry>,
}

struct Entry {
    format: Option<StorageFormat>,
    rows: usize,
    kernel: Kernel,
}

impl KernelSet {
    /// Loads those of `instances` that were compiled with these parameters.
    ///
    /// # Errors
    /// When the device cannot run one of them.
    ///
    /// # Panics
    /// If there is none, which generated code excludes.
    pub fn load(device: &Arc<Device>, instances: &[&Instance], with: &[Parameter]) -> Result<Self, CudaError> {
        let has = |instance: &&&Instance| with.iter().all(|parameter| instance.manifest.contains(parameter));
        let entry = |instance: &&Instance| {
            let parameter = |name: &str| instance.manifest.iter().find(|parameter| parameter.name == name);
            Ok(Entry {
                format: parameter("format").and_then(|p| p.text).and_then(StorageFormat::parse),
                rows: parameter("rows").map_or(usize::MAX, |p| p.number as usize),
                kernel: Kernel::load(device, instance)?,
            })
        };
        let kernels: Vec<Entry> = instances.iter().filter(has).map(entry).collect::<Result<_, CudaError>>()?;
        assert!(!kernels.is_empty(), "no instance was compiled with {with:?}");
        Ok(Self { kernels })
    }

    /// The instance of a template that has one.
    pub fn only(&self) -> &Kernel {
        &self.kernels[0].kernel
    }

    /// The instance for weights of this format, or for any, and the fewest rows that are enough; and how many those are.
    ///
    /// # Panics
    /// If the plan has none: a loader accepts no other format, and more rows are another kernel's.
    pub fn of(&self, format: Option<StorageFormat>, rows: usize) -> (&Kernel, usize) {
        let fits = |entry: &&Entry| entry.format == format && entry.rows >= rows;
        let entry = self.kernels.iter().filter(fits).min_by_key(|entry| entry.rows);
        let entry =
            entry.unwrap_or_else(|| panic!("{} has no instance for {rows} rows and {format:?}", self.kernels[0].kernel.name()));
        (&entry.kernel, entry.rows)
    }
}

impl std::fmt::Debug for KernelSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.kernels.iter().map(|entry| &entry.kernel)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_spans_are_taken_in_many_parts() {
        assert_eq!([1, 2, 33, 264, 8192].map(|spans| splits(spans, 8)), [33, 16, 1, 1, 1]);
        assert_eq!((splits(0, 8), splits(1, 1)), (MOST_SPLITS, MOST_SPLITS));
        // Workspaces are sized for this: spans and their parts are never more than both.
        for (spans, blocks) in (1..600).flat_map(|spans| [1, 2, 8, 128].map(|blocks| (spans, blocks))) {
            assert!(spans * splits(spans, blocks) <= spans.max(BUSY_BLOCKS), "{spans} x {blocks}");
        }
    }

    #[test]
    fn passes_cover_every_head_of_every_span_once() {
        let one = passes(&[100, 50], 4, 1000);
        assert_eq!(one, [Pass { first_span: 0, spans: 2, first_head: 0, heads: 4, context_rows: 150 }]);
        for (contexts, heads, room) in [(&[100, 900, 30][..], 5, 1000), (&[7, 7, 7, 7], 3, 14), (&[], 3, 9), (&[9], 1, 9)] {
            let mut seen = vec![0; contexts.len() * heads];
            for pass in passes(contexts, heads, room) {
                let spans = pass.first_span..pass.first_span + pass.spans;
                assert_eq!(contexts[spans.clone()].iter().sum::<usize>(), pass.context_rows);
                assert!(pass.heads * pass.context_rows <= room.max(pass.context_rows));
                for (span, head) in spans.flat_map(|s| (pass.first_head..pass.first_head + pass.heads).map(move |h| (s, h))) {
                    seen[span * heads + head] += 1;
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{contexts:?} {seen:?}");
        }
    }
}

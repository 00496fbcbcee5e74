//! The step of a case as a batch of the runtime.

use tenon_core::batch::{Batch, BatchLimits, PageId, StateSlot, WantLogits};
use tenon_device_cases::StepCase;

/// Longer than any context of a case.
const MAX_POSITIONS: usize = 1 << 20;

/// The tokens of the step. `None` where it names something that does not exist.
pub fn batch(step: &StepCase) -> Option<Batch> {
    made(step, false, step.spans.iter().copied())
}

/// The same with state slots. A sequence without one gets one after those of the pool, because every sequence of a batch has one.
pub fn batch_with_slots(step: &StepCase) -> Option<Batch> {
    made(step, true, step.spans.iter().copied())
}

/// All tokens up to the last of the step: what fills a cache.
pub fn contexts(step: &StepCase) -> Option<Batch> {
    made(step, false, step.spans.iter().map(|(start, tokens)| (0, start + tokens)))
}

/// Slots of a pool for [`batch_with_slots`].
pub fn slots(step: &StepCase) -> usize {
    step.slots_of_pool + step.spans.len()
}

fn made(step: &StepCase, with_slots: bool, spans: impl Iterator<Item = (usize, usize)>) -> Option<Batch> {
    let mut batch = Batch::new(BatchLimits {
        vocab_size: 1,
        max_positions: MAX_POSITIONS,
        page_size: step.page_size,
        pages: step.pages,
        state_slots: if with_slots { slots(step) } else { 0 },
        max_tokens: MAX_POSITIONS,
        max_logit_rows: 1,
    });
    for (sequence, (start, tokens)) in spans.enumerate() {
        let entries = (start + tokens).div_ceil(step.page_size);
        let table = &step.table[sequence * step.table_stride..][..entries];
        let pages: Vec<PageId> = table.iter().map(|&page| u32::try_from(page).ok().map(PageId)).collect::<Option<_>>()?;
        let spare = (step.slots_of_pool + sequence) as u32;
        let slot = with_slots.then(|| StateSlot(u32::try_from(step.slots[sequence]).unwrap_or(spare)));
        batch.push(&vec![0; tokens], start, &pages, slot, WantLogits::None).ok()?;
    }
    Some(batch)
}

//! Room for the intermediate results of one thread. It grows to what a model needs in its first steps, and stays.

use std::cell::Cell;

use crate::cpu::attention::softmax::Running;
use crate::linear::gemm::PanelRow;

/// Room for one cell of attention.
#[derive(Default)]
struct Room {
    panels: Vec<PanelRow>,
    running: Vec<Running>,
}

thread_local! {
    static ROOM: Cell<Room> = Cell::default();
}

/// Calls `task` with room for so many panel rows and so many query rows. Both hold what was there before.
pub(super) fn with_room(panels: usize, rows: usize, task: impl FnOnce(&mut [PanelRow], &mut [Running])) {
    // Taken out rather than borrowed, so that a task within a task would get room of its own.
    let mut room = ROOM.take();
    // No more than that: the memory of a deployment is planned.
    if room.panels.len() < panels {
        room.panels.reserve_exact(panels - room.panels.len());
        room.panels.resize(panels, [[0.0; 8]; 2]);
    }
    if room.running.len() < rows {
        room.running.reserve_exact(rows - room.running.len());
        room.running.resize(rows, Running::EMPTY);
    }
    task(&mut room.panels[..panels], &mut room.running[..rows]);
    ROOM.set(room);
}

/// Bytes that this thread keeps.
pub(in crate::cpu) fn room_bytes() -> usize {
    let room = ROOM.take();
    let bytes = room.panels.capacity() * size_of::<PanelRow>() + room.running.capacity() * size_of::<Running>();
    ROOM.set(room);
    bytes
}

/// Cuts the first `rows` panel rows off.
#[inline(always)]
pub(super) fn cut<'a>(rest: &mut &'a mut [PanelRow], rows: usize) -> &'a mut [PanelRow] {
    let (first, others) = std::mem::take(rest).split_at_mut(rows);
    *rest = others;
    first
}

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
    if room.panels.len() < panels {
        room.panels.resize(panels, [[0.0; 8]; 2]);
    }
    if room.running.len() < rows {
        room.running.resize(rows, Running::EMPTY);
    }
    task(&mut room.panels[..panels], &mut room.running[..rows]);
    ROOM.set(room);
}

/// Cuts the first `rows` panel rows off.
#[inline(always)]
pub(super) fn cut<'a>(rest: &mut &'a mut [PanelRow], rows: usize) -> &'a mut [PanelRow] {
    let (first, others) = std::mem::take(rest).split_at_mut(rows);
    *rest = others;
    first
}

//! An allocator that counts, so that a test can say how much a reader takes. Included by the tests of several crates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes held now, of what this thread took and gave back, and their peak.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counted per thread.
pub struct Counting;

fn count(bytes: isize) {
    // Not when the thread ends and its counters are gone.
    _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call goes to the system's allocator with the arguments it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the conditions of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the conditions of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The worst case, in which old and new are there at once.
        count(size as isize);
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the conditions of `realloc`.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls `of`, and says how many bytes it held at most beyond those held before.
pub fn peak<T>(of: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = of();
    (result, (PEAK.get() - before).max(0) as usize)
}

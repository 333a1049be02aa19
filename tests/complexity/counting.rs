//! An allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the bytes that each thread holds, the most it held, all it ever asked for, and how often it asked.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static TOTAL: Cell<usize> = const { Cell::new(0) };
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends has no counters any more.
    let _ = HELD.try_with(|held| {
        let now = held.get() + bytes;
        held.set(now);
        PEAK.with(|peak| peak.set(peak.get().max(now)));
        TOTAL.with(|total| total.set(total.get() + bytes.max(0) as usize));
        ALLOCATIONS.with(|allocations| allocations.set(allocations.get() + usize::from(bytes > 0)));
    });
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// 2²⁰ bytes.
pub const MEGABYTE: usize = 1 << 20;

/// The result, the most bytes that were held beyond those held before, and all bytes asked for.
pub fn measured<T>(f: impl FnOnce() -> T) -> (T, usize, usize) {
    let (held, total) = (HELD.get(), TOTAL.get());
    PEAK.set(held);
    let result = f();
    (result, (PEAK.get() - held) as usize, TOTAL.get() - total)
}

/// The result, how often memory was asked for, and all bytes asked for. Not every suite that counts asks.
#[allow(dead_code)]
pub fn asked<T>(f: impl FnOnce() -> T) -> (T, usize, usize) {
    let (allocations, total) = (ALLOCATIONS.get(), TOTAL.get());
    let result = f();
    (result, ALLOCATIONS.get() - allocations, TOTAL.get() - total)
}

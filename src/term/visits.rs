//! How often passes look at nodes, for tests that count it: in builds with debug assertions only.

#[cfg(debug_assertions)]
use std::cell::Cell;

#[cfg(debug_assertions)]
thread_local! {
    static VISITS: Cell<u64> = const { Cell::new(0) };
}

/// How often this thread looked at a node of a program, compared it, or wrote it.
#[cfg(debug_assertions)]
#[doc(hidden)]
pub fn visits() -> u64 {
    VISITS.get()
}

/// Counts a look at a node.
#[inline]
pub(crate) fn visit() {
    #[cfg(debug_assertions)]
    VISITS.set(VISITS.get() + 1);
}

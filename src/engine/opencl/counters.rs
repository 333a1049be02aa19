//! How much is moved between the host and devices.

use std::sync::atomic::{AtomicU64, Ordering};

/// The transfers between the host and its device for a program since it was compiled, and for the arrays that it made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Transfers {
    /// Arrays that were uploaded on request.
    pub uploads: u64,
    /// Arrays that were known when the program was compiled: its first run uploads them, and no other.
    pub known: u64,
    /// The bytes of both. Arrays that are stored as one value for all elements count 0: the device writes them itself.
    pub uploaded_bytes: u64,
    /// Arrays that were downloaded.
    pub downloads: u64,
    /// Their bytes.
    pub downloaded_bytes: u64,
    /// Truth values that were read in runs, of loops that end by a condition and of branches: a byte each.
    pub conditions: u64,
    /// How often runs waited for those. Steps of loops are launched ahead of their conditions, up to sixteen at a time, where
    /// they end whatever they are given; a run waits once for all of them.
    pub waits: u64,
}

/// The counters of a program.
#[derive(Default, Debug)]
pub(super) struct Counters {
    pub(super) uploads: AtomicU64,
    pub(super) known: AtomicU64,
    pub(super) uploaded_bytes: AtomicU64,
    pub(super) downloads: AtomicU64,
    pub(super) downloaded_bytes: AtomicU64,
    pub(super) conditions: AtomicU64,
    pub(super) waits: AtomicU64,
    /// How often memory was asked of the device.
    pub(super) allocations: AtomicU64,
    /// Bytes that were copied from one place on the device to another.
    pub(super) copied: AtomicU64,
    /// How often a kernel was launched.
    pub(super) launches: AtomicU64,
    /// How often a kernel was told of an argument.
    pub(super) told: AtomicU64,
}

impl Counters {
    pub(super) fn transfers(&self) -> Transfers {
        let now = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Transfers {
            uploads: now(&self.uploads),
            known: now(&self.known),
            uploaded_bytes: now(&self.uploaded_bytes),
            downloads: now(&self.downloads),
            downloaded_bytes: now(&self.downloaded_bytes),
            conditions: now(&self.conditions),
            waits: now(&self.waits),
        }
    }
}

pub(super) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

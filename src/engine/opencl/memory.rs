//! Memory of devices: what is taken, what is left, and what is used again.

use super::failure::{Outcome, Problem};
use super::shared::{Common, Shared};
use crate::shape::DType;
use ocl::core::{self, Mem, MemFlags};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// Elements somewhere in a device's memory.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) memory: Arc<Buffer>,
    /// So many elements from the beginning.
    pub(super) at: usize,
}

/// A place that something else holds on to: it is copied without asking the driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) memory: &'a Mem,
    pub(super) at: usize,
}

impl<'a> From<&'a Place> for View<'a> {
    fn from(place: &'a Place) -> View<'a> {
        View { memory: &place.memory, at: place.at }
    }
}

impl View<'_> {
    /// So many elements further.
    pub(super) fn moved(self, by: usize) -> Self {
        View { at: self.at + by, ..self }
    }
}

/// A stretch of a device's memory. When nobody holds it any more its program keeps it for other arrays.
#[derive(Debug)]
pub(super) struct Buffer {
    /// There until the buffer is dropped.
    stretch: Option<Stretch>,
    pool: Arc<Pool>,
}

impl Deref for Buffer {
    type Target = Mem;

    fn deref(&self) -> &Mem {
        &self.stretch.as_ref().expect("a buffer that is not dropped has memory").memory
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(stretch) = self.stretch.take() {
            self.pool.give(stretch);
        }
    }
}

/// Memory that is counted as taken for as long as it is there.
#[derive(Debug)]
struct Stretch {
    memory: Mem,
    bytes: u64,
    common: Arc<Common>,
}

impl Drop for Stretch {
    fn drop(&mut self) {
        self.common.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Memory of a program's arrays that nobody holds any more.
///
/// It may be taken at once: what still reads or writes it was enqueued before, and a device's queue is in order.
#[derive(Debug)]
pub(super) struct Pool {
    idle: Mutex<Idle>,
    /// The most bytes that wait.
    most: u64,
}

#[derive(Default, Debug)]
struct Idle {
    by_bytes: HashMap<u64, Vec<Stretch>>,
    bytes: u64,
    /// Whether there is no program any more that could use it.
    is_closed: bool,
}

impl Pool {
    pub(super) fn new(most: u64) -> Pool {
        Pool { idle: Mutex::default(), most }
    }

    fn take(&self, bytes: u64) -> Option<Stretch> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let stretch = idle.by_bytes.get_mut(&bytes)?.pop()?;
        idle.bytes -= bytes;
        Some(stretch)
    }

    fn give(&self, stretch: Stretch) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !idle.is_closed && idle.bytes + stretch.bytes <= self.most {
            idle.bytes += stretch.bytes;
            idle.by_bytes.entry(stretch.bytes).or_default().push(stretch);
        }
    }

    /// Bytes that wait.
    fn bytes(&self) -> u64 {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Gives all that waits back to the device.
    pub(super) fn clear(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.by_bytes.clear();
        idle.bytes = 0;
    }

    /// Gives all back, from now on at once.
    pub(super) fn close(&self) {
        self.clear();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
    }
}

/// Memory is taken in multiples of so many bytes, so that more arrays fit where others were.
const ALIGNED: usize = 64;

/// The bytes that so many elements take. There is no memory of no bytes.
pub(super) fn bytes(dtype: DType, count: usize) -> u128 {
    (count as u128 * dtype.bytes() as u128).max(1).next_multiple_of(ALIGNED as u128)
}

impl Shared {
    /// Memory for an array.
    pub(super) fn memory(&self, dtype: DType, count: usize) -> Outcome<Place> {
        let needed = bytes(dtype, count);
        let largest = self.device.largest;
        if needed > u128::from(largest) {
            let text = format!(
                "an array of {count} elements of type {dtype} takes {needed} bytes, and the largest that it has room for \
                 takes {largest}"
            );
            return Err(Problem::Unsupported(text));
        }
        let needed = needed as u64;
        let stretch = match self.pool.take(needed) {
            Some(stretch) => stretch,
            None => self.stretch(needed)?,
        };
        Ok(Place { memory: Arc::new(Buffer { stretch: Some(stretch), pool: self.pool.clone() }), at: 0 })
    }

    /// New memory.
    fn stretch(&self, bytes: u64) -> Outcome<Stretch> {
        self.admit(u128::from(bytes))?;
        // SAFETY: no memory of the host is named.
        let create = || unsafe {
            core::create_buffer::<_, u8>(&self.context, MemFlags::new().read_write(), bytes as usize, None)
        };
        let memory = match create().map_err(Problem::from) {
            Err(Problem::Memory(_)) => {
                self.release()?;
                create()?
            }
            created => created?,
        };
        self.counters.allocations.fetch_add(1, Ordering::Relaxed);
        self.common.taken.fetch_add(bytes, Ordering::Relaxed);
        Ok(Stretch { memory, bytes, common: self.common.clone() })
    }

    /// Checks that so many bytes more than programs have now are there, before they are taken.
    fn admit(&self, bytes: u128) -> Outcome<()> {
        let all = self.device.memory;
        let taken = || self.common.taken.load(Ordering::Relaxed);
        if all == 0 || bytes + u128::from(taken()) <= u128::from(all) {
            return Ok(());
        }
        self.release()?;
        let left = all.saturating_sub(taken());
        if bytes <= u128::from(left) {
            return Ok(());
        }
        let text = format!("{bytes} bytes of memory are needed, but of its {all} no more than {left} are left");
        Err(Problem::Memory(text))
    }

    /// Checks that arrays of so many bytes together find memory, before any is taken.
    pub(super) fn admit_arrays(&self, bytes: u128) -> Outcome<()> {
        self.admit(bytes.saturating_sub(u128::from(self.pool.bytes())))
    }

    /// Gives all memory back that no array is in.
    fn release(&self) -> Outcome<()> {
        // Drivers keep memory until what reads and writes it is done.
        core::finish(&self.queue)?;
        self.common.pools().for_each(|pool| pool.clear());
        Ok(())
    }
}

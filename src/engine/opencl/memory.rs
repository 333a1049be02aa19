//! Memory of devices: taken, left, and reused.

use super::driver::{Event, Memory};
use super::failure::{Outcome, Problem};
use super::queues::{Queues, Work};
use super::shared::{Common, Shared};
use crate::shape::DType;
use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    pub(super) memory: &'a Memory,
    pub(super) at: usize,
}

impl<'a> From<&'a Place> for View<'a> {
    fn from(place: &'a Place) -> View<'a> {
        View { memory: &place.memory, at: place.at }
    }
}

impl View<'_> {
    /// Whether two views begin at the same element.
    pub(super) fn is_at(self, other: View<'_>) -> bool {
        std::ptr::eq(self.memory, other.memory) && self.at == other.at
    }

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

impl Buffer {
    fn stretch(&self) -> &Stretch {
        self.stretch.as_ref().expect("a buffer that is not dropped has memory")
    }

    /// The work under way there.
    pub(super) fn work(&self) -> MutexGuard<'_, Work> {
        self.stretch().work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Buffer {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        &self.stretch().memory
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(stretch) = self.stretch.take() {
            self.pool.give(stretch);
        }
    }
}

/// Memory that counts as taken for as long as it exists.
#[derive(Debug)]
struct Stretch {
    memory: Memory,
    bytes: u64,
    work: Mutex<Work>,
    common: Arc<Common>,
}

impl Drop for Stretch {
    fn drop(&mut self) {
        self.common.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Memory of a program's arrays that nobody holds any more.
///
/// It may be taken at once: the work under way there is known, and waited for where necessary.
#[derive(Debug)]
pub(super) struct Pool {
    idle: Mutex<Idle>,
    /// The most idle bytes.
    most: u64,
}

#[derive(Default, Debug)]
struct Idle {
    /// In the order in which they were given back, the last one at the back.
    by_bytes: HashMap<u64, VecDeque<Stretch>>,
    bytes: u64,
    /// Whether the programs that could use it are gone.
    is_closed: bool,
}

impl Idle {
    fn take(&mut self, bytes: u64, choose: impl FnOnce(&mut VecDeque<Stretch>) -> Option<Stretch>) -> Option<Stretch> {
        let stretch = choose(self.by_bytes.get_mut(&bytes)?)?;
        self.bytes -= bytes;
        Some(stretch)
    }
}

/// Where so many stretches of one size are all used by runs, uploads wait for the first of them.
const BUSY: usize = 2;

impl Pool {
    pub(super) fn new(most: u64) -> Pool {
        Pool { idle: Mutex::default(), most }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes memory for kernels. All its users are in their queue, so the most recently used is taken.
    fn take(&self, bytes: u64) -> Option<Stretch> {
        self.idle().take(bytes, VecDeque::pop_back)
    }

    /// Takes memory for an upload: the least recently used, if no run uses it any more, or if the device has no more memory to
    /// give.
    fn take_for_upload(&self, bytes: u64, may_grow: bool) -> Option<Stretch> {
        self.idle().take(bytes, |stretches| {
            let first = stretches.front()?;
            let is_used = first.work.lock().unwrap_or_else(PoisonError::into_inner).run().is_some();
            if is_used && may_grow && stretches.len() < BUSY { None } else { stretches.pop_front() }
        })
    }

    fn give(&self, stretch: Stretch) {
        let mut idle = self.idle();
        if !idle.is_closed && idle.bytes + stretch.bytes <= self.most {
            idle.bytes += stretch.bytes;
            idle.by_bytes.entry(stretch.bytes).or_default().push_back(stretch);
        }
    }

    /// Bytes that wait.
    fn bytes(&self) -> u64 {
        self.idle().bytes
    }

    /// Gives all that waits back to the device.
    pub(super) fn clear(&self) {
        let mut idle = self.idle();
        idle.by_bytes.clear();
        idle.bytes = 0;
    }

    /// Gives all back, from now on at once.
    pub(super) fn close(&self) {
        self.clear();
        self.idle().is_closed = true;
    }
}

/// Memory is taken in multiples of so many bytes, so that more arrays fit where others were.
const ALIGNED: usize = 64;

/// The bytes that so many elements take. There is no memory of no bytes.
pub(super) fn bytes(dtype: DType, count: usize) -> u128 {
    (count as u128 * dtype.bytes() as u128).max(1).next_multiple_of(ALIGNED as u128)
}

impl Shared {
    /// Memory that kernels write and read.
    pub(super) fn memory(&self, dtype: DType, count: usize) -> Outcome<Place> {
        let needed = self.needed(dtype, count)?;
        let place = self.place(match self.pool.take(needed) {
            Some(stretch) => stretch,
            None => self.stretch(needed)?,
        });
        // An array may have left it that is still on its way, or that did not arrive.
        let has_failed = |upload: &Arc<Event>| upload.is_complete().is_err();
        if place.memory.work().upload().is_some_and(has_failed) {
            place.memory.work().set_arrived();
        }
        Queues::await_uploads(&self.queue, std::iter::once(&place))?;
        Ok(place)
    }

    /// Memory for an array that is uploaded.
    pub(super) fn memory_for_upload(&self, dtype: DType, count: usize) -> Outcome<Place> {
        let needed = self.needed(dtype, count)?;
        let (all, taken) = (self.device.memory, self.common.taken.load(Ordering::Relaxed));
        let is_left = all == 0 || needed <= all.saturating_sub(taken);
        Ok(self.place(match self.pool.take_for_upload(needed, is_left) {
            Some(stretch) => stretch,
            None => self.stretch(needed)?,
        }))
    }

    fn place(&self, stretch: Stretch) -> Place {
        Place { memory: Arc::new(Buffer { stretch: Some(stretch), pool: self.pool.clone() }), at: 0 }
    }

    /// The bytes that an array takes.
    fn needed(&self, dtype: DType, count: usize) -> Outcome<u64> {
        let (needed, largest) = (bytes(dtype, count), self.device.largest);
        if needed <= u128::from(largest) {
            return Ok(needed as u64);
        }
        Err(Problem::Unsupported(format!(
            "an array of {count} elements of type {dtype} takes {needed} bytes, and the largest that it has room for takes \
             {largest}"
        )))
    }

    /// New memory.
    fn stretch(&self, bytes: u64) -> Outcome<Stretch> {
        self.admit(u128::from(bytes))?;
        let create = || Memory::new(&self.common.context, bytes as usize);
        let memory = match create() {
            Err(Problem::Memory(_)) => {
                self.release()?;
                create()?
            }
            created => created?,
        };
        self.counters.allocations.fetch_add(1, Ordering::Relaxed);
        self.common.taken.fetch_add(bytes, Ordering::Relaxed);
        Ok(Stretch { memory, bytes, work: Mutex::default(), common: self.common.clone() })
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
        // Drivers keep memory until the commands that use it are done.
        self.common.queues.finish()?;
        self.queue.finish()?;
        self.common.pools().for_each(|pool| pool.clear());
        Ok(())
    }
}

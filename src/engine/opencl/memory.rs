//! Memory of devices: what is taken, what is left, and what is used again; and all else that programs on a device share.

use super::counters::Counters;
use super::devices::Device;
use super::driver::{Built, Context, Event, Memory, Queue};
use super::times::Times;
use crate::array::Array;
use crate::shape::DType;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

/// Elements somewhere in a device's memory.
#[derive(Clone, Debug)]
pub(super) struct DevicePointer {
    pub(super) memory: Arc<DeviceBuffer>,
    /// So many elements from the beginning.
    pub(super) at: usize,
}

/// A place that something else holds on to: it is copied without asking the driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceView<'a> {
    pub(super) memory: &'a Memory,
    pub(super) at: usize,
}

impl<'a> From<&'a DevicePointer> for DeviceView<'a> {
    fn from(place: &'a DevicePointer) -> DeviceView<'a> {
        DeviceView { memory: &place.memory, at: place.at }
    }
}

impl DeviceView<'_> {
    /// Whether two views begin at the same element.
    pub(super) fn is_at(self, other: DeviceView<'_>) -> bool {
        std::ptr::eq(self.memory, other.memory) && self.at == other.at
    }

    /// So many elements further.
    pub(super) fn moved(self, by: usize) -> Self {
        DeviceView { at: self.at + by, ..self }
    }
}

/// A stretch of a device's memory. When nobody holds it any more its program keeps it for other arrays.
#[derive(Debug)]
pub(super) struct DeviceBuffer {
    /// There until the buffer is dropped.
    pub(super) stretch: Option<DeviceStretch>,
    pub(super) pool: Arc<Pool>,
}

impl DeviceBuffer {
    fn stretch(&self) -> &DeviceStretch {
        self.stretch.as_ref().expect("a buffer that is not dropped has memory")
    }

    /// The work under way there.
    pub(super) fn work(&self) -> MutexGuard<'_, PendingWork> {
        self.stretch().work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for DeviceBuffer {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        &self.stretch().memory
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if let Some(stretch) = self.stretch.take() {
            self.pool.give(stretch);
        }
    }
}

/// Memory that counts as taken for as long as it exists.
#[derive(Debug)]
pub(super) struct DeviceStretch {
    pub(super) memory: Memory,
    pub(super) bytes: u64,
    pub(super) work: Mutex<PendingWork>,
    pub(super) common: Arc<Common>,
}

impl Drop for DeviceStretch {
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
    by_bytes: HashMap<u64, VecDeque<DeviceStretch>>,
    bytes: u64,
    /// Whether the programs that could use it are gone.
    is_closed: bool,
}

impl Idle {
    fn take(
        &mut self,
        bytes: u64,
        choose: impl FnOnce(&mut VecDeque<DeviceStretch>) -> Option<DeviceStretch>,
    ) -> Option<DeviceStretch> {
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
    pub(super) fn take(&self, bytes: u64) -> Option<DeviceStretch> {
        self.idle().take(bytes, VecDeque::pop_back)
    }

    /// Takes memory for an upload: the least recently used, if no run uses it any more, or if the device has no more memory to
    /// give.
    pub(super) fn take_for_upload(&self, bytes: u64, may_grow: bool) -> Option<DeviceStretch> {
        self.idle().take(bytes, |stretches| {
            let first = stretches.front()?;
            let is_used = first.work.lock().unwrap_or_else(PoisonError::into_inner).run().is_some();
            if is_used && may_grow && stretches.len() < BUSY { None } else { stretches.pop_front() }
        })
    }

    pub(super) fn give(&self, stretch: DeviceStretch) {
        let mut idle = self.idle();
        if !idle.is_closed && idle.bytes + stretch.bytes <= self.most {
            idle.bytes += stretch.bytes;
            idle.by_bytes.entry(stretch.bytes).or_default().push_back(stretch);
        }
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> u64 {
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

/// The work under way at a stretch of memory.
#[derive(Default, Debug)]
pub(super) struct PendingWork {
    /// The event of the upload or run that writes the elements; `None` once they are known to be there.
    pub(super) written: Option<Arc<Event>>,
    /// Whether that is an upload that the queue for computing does not wait for yet.
    pub(super) is_upload: bool,
    /// The end of the last run that reads or writes it; `None` once there is none.
    pub(super) used: Option<Arc<Event>>,
}

impl PendingWork {
    /// The upload that kernels must wait for.
    pub(super) fn upload(&self) -> Option<&Arc<Event>> {
        self.written.as_ref().filter(|_| self.is_upload)
    }

    /// The run that uploads must wait for: one that uses it still, so none that has failed.
    pub(super) fn run(&self) -> Option<&Arc<Event>> {
        self.used.as_ref().filter(|run| run.is_complete().is_ok_and(|is_complete| !is_complete))
    }

    /// Records an upload that is under way, and that waits for all earlier work.
    pub(super) fn set_upload(&mut self, upload: Arc<Event>) {
        *self = PendingWork { written: Some(upload), is_upload: true, used: None };
    }

    /// Records that the queue for computing waits for the upload that was under way.
    pub(super) fn set_awaited(&mut self, upload: &Arc<Event>) {
        self.is_upload &= self.written.as_ref().is_none_or(|written| !Arc::ptr_eq(written, upload));
    }

    /// Records a run as the last user, and as the writer too if it is a result.
    pub(super) fn set_run(&mut self, run: &Arc<Event>, is_result: bool) {
        self.used = Some(run.clone());
        if is_result {
            (self.written, self.is_upload) = (Some(run.clone()), false);
        }
    }

    /// From now on the elements are known to be there.
    pub(super) fn set_arrived(&mut self) {
        (self.written, self.is_upload) = (None, false);
    }
}

/// The queues of a device, apart from those of measured programs.
pub(super) struct Queues {
    pub(super) compute: Arc<Queue>,
    pub(super) uploads: Queue,
    /// The queues without a download.
    pub(super) downloads: Mutex<Vec<Queue>>,
    /// Held while a marker is enqueued and kept, so that memory keeps the later of two markers.
    pub(super) marking: Mutex<()>,
}

/// The state that all programs on one device share: programs read arrays of other programs.
pub(super) struct Common {
    pub(super) device: Device,
    pub(super) context: Context,
    pub(super) queues: Queues,
    /// Programs that were built, by their source.
    pub(super) built: Mutex<Vec<(String, Arc<Built>)>>,
    /// Arrays on their way to the device, until they have arrived.
    pub(super) uploads: Mutex<VecDeque<(Arc<Event>, Array)>>,
    /// Bytes of the device's memory that programs have.
    pub(super) taken: AtomicU64,
    pub(super) pools: Mutex<Vec<Weak<Pool>>>,
    /// A program that is measured has a queue of its own: while it runs nothing else is enqueued.
    pub(super) turns: RwLock<()>,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.device, f)
    }
}

/// A program's share of a device.
pub(super) struct DeviceShare {
    pub(super) device: Device,
    /// The queue for runs of the program.
    pub(super) queue: Arc<Queue>,
    pub(super) common: Arc<Common>,
    /// Memory of the program's arrays that nobody holds any more.
    pub(super) pool: Arc<Pool>,
    pub(super) counters: Arc<Counters>,
    /// The times of launches, where the queue measures them.
    pub(super) times: Option<Mutex<Times>>,
}

impl fmt::Debug for DeviceShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.device, f)
    }
}

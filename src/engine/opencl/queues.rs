//! The queues of a device, and their waiting for each other.
//!
//! The work of runs (kernels, fills and copies) is in the queue for computing. Arrays on their way to the device are in
//! another, and each download under way has a queue of its own. All are in order. Between queues, commands wait for events,
//! which [`PendingWork`](super::memory::PendingWork) keeps with each stretch of memory, even while the memory waits in a pool
//! for its next array:
//!
//! - A run waits for the uploads of its arguments, by a barrier, which is enqueued once for each upload. If memory for its
//!   results was left by an array that is still being uploaded, it waits for that upload too. A marker follows the run: it
//!   stands for the write of the results, and for the last use of the results and the arguments.
//! - An upload waits for the last run that uses the memory. It gets memory that no run uses any more if there is some, or a
//!   little new memory, so that the upload of a batch waits for no run of an earlier one.
//! - A download waits for the upload or run that wrote the array, and for no later launch. The host waits for it and holds the
//!   array meanwhile, so that no memory is given back while a download reads it.
//! - A queue is flushed before another may wait for its events: after each upload, and after each marker. Commands wait only
//!   for commands that were enqueued before them, so there are no deadlocks.
//! - A run that is measured has a queue of its own, in which it is alone: before it the host waits for the queues for computing
//!   and for uploads, after it for its own queue. It leaves no events.
//! - After a run that fails, the host waits for everything that was launched, before memory is given back.
//!
//! Each stretch of memory has at most two events, and runs share theirs: the number of events is bounded by the memory,
//! whatever the number of runs.

use super::devices::Device;
use super::driver::{Context, Event, Queue};
use super::failure::DeviceResult;
use super::memory::{DevicePointer, Queues};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

impl Queues {
    pub(super) fn new(context: &Context, device: &Device) -> DeviceResult<Queues> {
        let queue = || Queue::new(context, device.id, false);
        let (compute, uploads) = (Arc::new(queue()?), queue()?);
        Ok(Queues { compute, uploads, downloads: Mutex::default(), marking: Mutex::default() })
    }

    /// Makes a queue for computing wait for the uploads of arrays that it does not wait for yet.
    pub(super) fn await_uploads<'p>(
        queue: &Queue,
        places: impl Iterator<Item = &'p DevicePointer>,
    ) -> DeviceResult<()> {
        let of = |place: &'p DevicePointer| Some((place, place.memory.work().upload()?.clone()));
        let uploads: SmallVec<[(&DevicePointer, Arc<Event>); 8]> = places.filter_map(of).collect();
        if uploads.is_empty() {
            return Ok(());
        }
        let events: SmallVec<[&Event; 8]> = uploads.iter().map(|(_, upload)| &**upload).collect();
        queue.barrier(&events)?;
        uploads.iter().for_each(|(place, upload)| place.memory.work().set_awaited(upload));
        Ok(())
    }

    /// Ends a run in the queue for computing, given its arguments and results.
    pub(super) fn mark<'p>(
        &self,
        arguments: impl Iterator<Item = &'p DevicePointer>,
        results: impl Iterator<Item = &'p DevicePointer>,
    ) -> DeviceResult<()> {
        let _marking = self.marking.lock().unwrap_or_else(PoisonError::into_inner);
        let marked = self.compute.marker().and_then(|run| self.compute.flush().map(|()| Arc::new(run)));
        // Without a marker nobody could wait for the run.
        let run = marked.or_else(|problem| self.compute.finish().and(Err(problem)))?;
        arguments.for_each(|place| place.memory.work().set_run(&run, false));
        results.for_each(|place| place.memory.work().set_run(&run, true));
        Ok(())
    }

    /// A queue that no download is in.
    pub(super) fn download(&self, context: &Context, device: &Device) -> DeviceResult<Queue> {
        let idle = self.downloads.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Queue::new(context, device.id, false), Ok)
    }

    /// Takes a queue back whose downloads are complete.
    pub(super) fn give_back(&self, queue: Queue) {
        self.downloads.lock().unwrap_or_else(PoisonError::into_inner).push(queue);
    }

    /// Waits for all runs and uploads, apart from measured runs.
    pub(super) fn finish(&self) -> DeviceResult<()> {
        self.uploads.flush()?;
        self.compute.finish()?;
        self.uploads.finish()
    }
}

#[cfg(test)]
mod tests;

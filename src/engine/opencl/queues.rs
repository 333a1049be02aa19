//! The queues of a device, and what waits for what.
//!
//! What runs do, kernels, fills and copies, is in the queue for computing; arrays on their way to the device are in another, and
//! each download that is under way has one of its own. All are in order. From one to another commands wait for events, which
//! [`Work`] keeps with each stretch of memory, also while it waits in a pool for its next array:
//!
//! - A run waits for the uploads of its arguments, by a barrier, which is enqueued once for each upload. Where memory for its
//!   results was left by an array that is still being uploaded, it waits for that too. Behind the run is a marker: it is what
//!   wrote the results, and what uses them and the arguments last.
//! - An upload waits for the last run that uses the memory. It is given memory that no run uses any more where there is such,
//!   or a little more than that, so that the upload of a batch waits for no run of an earlier one.
//! - A download waits for what wrote the array, its upload or its run, and for nothing that was launched later. The host waits
//!   for it and holds the array meanwhile, so that no memory is given back which a download still reads.
//! - A queue is flushed before another may wait for its events: behind each upload, and behind each marker. Commands wait for
//!   such alone as were enqueued before them, so that none wait for each other.
//! - A run that is measured has a queue of its own, in which it is alone: before it the host waits for the queues for computing
//!   and for uploads, after it for its own queue. It leaves no events.
//! - Of a run that fails the host waits for what was launched, before memory is given back.
//!
//! Memory has two events at most, and runs share theirs: there are no more than of memory, whatever number of runs.

use super::devices::Device;
use super::driver::{Context, Event, Queue};
use super::failure::Outcome;
use super::memory::{Place, Queues};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

impl Queues {
    pub(super) fn new(context: &Context, device: &Device) -> Outcome<Queues> {
        let queue = || Queue::new(context, device.id, false);
        let (compute, uploads) = (Arc::new(queue()?), queue()?);
        Ok(Queues { compute, uploads, downloads: Mutex::default(), marking: Mutex::default() })
    }

    /// Has a queue for computing wait for the uploads of arrays, as far as it does not yet.
    pub(super) fn await_uploads<'p>(queue: &Queue, places: impl Iterator<Item = &'p Place>) -> Outcome<()> {
        let of = |place: &'p Place| Some((place, place.memory.work().upload()?.clone()));
        let uploads: SmallVec<[(&Place, Arc<Event>); 8]> = places.filter_map(of).collect();
        if uploads.is_empty() {
            return Ok(());
        }
        let events: SmallVec<[&Event; 8]> = uploads.iter().map(|(_, upload)| &**upload).collect();
        queue.barrier(&events)?;
        uploads.iter().for_each(|(place, upload)| place.memory.work().set_awaited(upload));
        Ok(())
    }

    /// Ends a run in the queue for computing, of which these are the arguments and results.
    pub(super) fn mark<'p>(
        &self,
        arguments: impl Iterator<Item = &'p Place>,
        results: impl Iterator<Item = &'p Place>,
    ) -> Outcome<()> {
        let _marking = self.marking.lock().unwrap_or_else(PoisonError::into_inner);
        let marked = self.compute.marker().and_then(|run| self.compute.flush().map(|()| Arc::new(run)));
        // Without a marker nobody could wait for the run.
        let run = marked.or_else(|problem| self.compute.finish().and(Err(problem)))?;
        arguments.for_each(|place| place.memory.work().set_run(&run, false));
        results.for_each(|place| place.memory.work().set_run(&run, true));
        Ok(())
    }

    /// A queue that no download is in.
    pub(super) fn download(&self, context: &Context, device: &Device) -> Outcome<Queue> {
        let idle = self.downloads.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Queue::new(context, device.id, false), Ok)
    }

    /// Takes a queue back whose downloads are complete.
    pub(super) fn give_back(&self, queue: Queue) {
        self.downloads.lock().unwrap_or_else(PoisonError::into_inner).push(queue);
    }

    /// Waits for all runs and uploads, but for those that are measured.
    pub(super) fn finish(&self) -> Outcome<()> {
        self.uploads.flush()?;
        self.compute.finish()?;
        self.uploads.finish()
    }
}

#[cfg(test)]
mod tests;

//! Taking memory of a device for arrays.

use super::driver::{Event, Memory};
use super::failure::{DeviceProblem, DeviceResult};
use super::memory::{DeviceBuffer, DevicePointer, DeviceShare, DeviceStretch, Queues, bytes};
use crate::shape::DType;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

impl DeviceShare {
    /// Memory that kernels write and read.
    pub(super) fn memory(&self, dtype: DType, count: usize) -> DeviceResult<DevicePointer> {
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
    pub(super) fn memory_for_upload(&self, dtype: DType, count: usize) -> DeviceResult<DevicePointer> {
        let needed = self.needed(dtype, count)?;
        let (all, taken) = (self.device.memory, self.common.taken.load(Ordering::Relaxed));
        let is_left = all == 0 || needed <= all.saturating_sub(taken);
        Ok(self.place(match self.pool.take_for_upload(needed, is_left) {
            Some(stretch) => stretch,
            None => self.stretch(needed)?,
        }))
    }

    fn place(&self, stretch: DeviceStretch) -> DevicePointer {
        DevicePointer { memory: Arc::new(DeviceBuffer { stretch: Some(stretch), pool: self.pool.clone() }), at: 0 }
    }

    /// The bytes that an array takes.
    fn needed(&self, dtype: DType, count: usize) -> DeviceResult<u64> {
        let (needed, largest) = (bytes(dtype, count), self.device.largest);
        if needed <= u128::from(largest) {
            return Ok(needed as u64);
        }
        Err(DeviceProblem::Unsupported(format!(
            "an array of {count} elements of type {dtype} takes {needed} bytes, and the largest that it has room for takes \
             {largest}"
        )))
    }

    /// New memory.
    fn stretch(&self, bytes: u64) -> DeviceResult<DeviceStretch> {
        self.admit(u128::from(bytes))?;
        let create = || Memory::new(&self.common.context, bytes as usize);
        let memory = match create() {
            Err(DeviceProblem::Memory(_)) => {
                self.release()?;
                create()?
            }
            created => created?,
        };
        self.counters.allocations.fetch_add(1, Ordering::Relaxed);
        self.common.taken.fetch_add(bytes, Ordering::Relaxed);
        Ok(DeviceStretch { memory, bytes, work: Mutex::default(), common: self.common.clone() })
    }

    /// Checks that so many bytes more than programs have now are there, before they are taken.
    fn admit(&self, bytes: u128) -> DeviceResult<()> {
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
        Err(DeviceProblem::Memory(text))
    }

    /// Checks that arrays of so many bytes together find memory, before any is taken.
    pub(super) fn admit_arrays(&self, bytes: u128) -> DeviceResult<()> {
        self.admit(bytes.saturating_sub(u128::from(self.pool.bytes())))
    }

    /// Gives all memory back that no array is in.
    fn release(&self) -> DeviceResult<()> {
        // Drivers keep memory until the commands that use it are done.
        self.common.queues.finish()?;
        self.queue.finish()?;
        self.common.pools().for_each(|pool| pool.clear());
        Ok(())
    }
}

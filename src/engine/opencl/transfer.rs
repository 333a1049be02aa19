//! Elements on their way: from plain arrays to a device, back, and from one place there to another.

use super::failure::{Outcome, Problem};
use super::memory::{Place, View};
use super::shared::Shared;
use crate::concrete::Array;
use crate::engine::arrays::{elements, own_elements};
use crate::shape::{DType, Type, Value};
use ocl::core::{self, CommandExecutionStatus, Event};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a program moved between the host and its device since it was compiled, and what is moved of the arrays that it made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Transfers {
    /// Arrays that were uploaded when that was asked for.
    pub uploads: u64,
    /// Arrays that were known when the program was compiled: its first run uploads them, and no other.
    pub known: u64,
    /// The bytes of both; none of arrays that are stored as one value for all elements, which the device writes itself.
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

/// What is counted of a program.
#[derive(Default, Debug)]
pub(super) struct Counters {
    uploads: AtomicU64,
    known: AtomicU64,
    uploaded_bytes: AtomicU64,
    downloads: AtomicU64,
    downloaded_bytes: AtomicU64,
    conditions: AtomicU64,
    waits: AtomicU64,
    /// How often memory was asked of the device.
    pub(super) allocations: AtomicU64,
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

fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

impl Shared {
    /// Has an array that was asked for written to a place, and does not wait for it.
    pub(super) fn upload(&self, array: &Array, to: &Place) -> Outcome<()> {
        count(&self.counters.uploads, 1);
        self.write(array, to)
    }

    /// Has a known array written to a place, and does not wait for it.
    pub(super) fn upload_known(&self, array: &Array, to: &Place) -> Outcome<()> {
        count(&self.counters.known, 1);
        self.write(array, to)
    }

    fn write(&self, array: &Array, to: &Place) -> Outcome<()> {
        self.forget_uploads()?;
        let (dtype, size) = (array.dtype(), array.size());
        if size == 0 {
            return Ok(());
        }
        if let Some(value) = array.uniform() {
            return self.fill(to, size, value);
        }
        let width = dtype.bytes();
        // SAFETY: an array that is not uniform has so many elements in a buffer.
        let bytes = unsafe { std::slice::from_raw_parts(elements(array).cast_const(), size * width) };
        let mut event = Event::null();
        // The handle that is kept until the event is complete has others write elsewhere.
        let handle = array.clone();
        // SAFETY: the bytes stay where they are for as long as an array holds them, and there is room for them.
        unsafe {
            let asked = Some(&mut event);
            core::enqueue_write_buffer(&self.queue, &**to.memory, false, to.at * width, bytes, None::<()>, asked)?;
        }
        self.common.uploads.lock().unwrap_or_else(PoisonError::into_inner).push_back((event, handle));
        count(&self.counters.uploaded_bytes, bytes.len() as u64);
        Ok(())
    }

    /// Lets go of arrays whose elements have arrived.
    ///
    /// # Errors
    ///
    /// When those of one did not.
    pub(super) fn forget_uploads(&self) -> Outcome<()> {
        let mut uploads = self.common.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        // They arrive in their order.
        while let Some((event, _)) = uploads.front() {
            // What has failed has no status, but a number of the failure.
            let status = core::event_status(event);
            if matches!(status, Ok(status) if status != CommandExecutionStatus::Complete) {
                break;
            }
            uploads.pop_front();
            status?;
        }
        Ok(())
    }

    /// Has the elements at a place written into an array of its own type, which has memory of its own and must stay until
    /// the event is complete.
    fn read(&self, ty: &Type, from: &Place, into: &mut Array) -> Outcome<Event> {
        let no_memory = |_| Problem::Unsupported(format!("the host has no memory for an array of type {ty}"));
        let (width, bytes) = (ty.dtype.bytes(), ty.size() * ty.dtype.bytes());
        let start = own_elements(into).map_err(no_memory)?;
        // SAFETY: the array has so many bytes, which nothing else refers to.
        let into = unsafe { std::slice::from_raw_parts_mut(start, bytes) };
        let mut event = Event::null();
        // SAFETY: the caller waits for the event while the bytes are there; there are so many at the place.
        unsafe {
            let asked = Some(&mut event);
            core::enqueue_read_buffer(&self.queue, &**from.memory, false, from.at * width, into, None::<()>, asked)?;
        }
        count(&self.counters.downloads, 1);
        count(&self.counters.downloaded_bytes, bytes as u64);
        Ok(event)
    }

    /// Has one value written to elements from a place on.
    pub(super) fn fill<'v>(&self, to: impl Into<View<'v>>, count: usize, value: Value) -> Outcome<()> {
        if count == 0 {
            return Ok(());
        }
        let to = to.into();
        let (queue, memory, at, first) = (&self.queue, to.memory, to.at, None::<()>);
        self.observed(|event| match value {
            Value::F32(x) => core::enqueue_fill_buffer(queue, memory, x, at, count, first, event, None),
            Value::F64(x) => core::enqueue_fill_buffer(queue, memory, x, at, count, first, event, None),
            Value::I32(x) => core::enqueue_fill_buffer(queue, memory, x, at, count, first, event, None),
            Value::I64(x) => core::enqueue_fill_buffer(queue, memory, x, at, count, first, event, None),
            Value::Bool(x) => core::enqueue_fill_buffer(queue, memory, u8::from(x), at, count, first, event, None),
        })
    }

    /// Has elements copied.
    pub(super) fn copy<'v>(
        &self,
        from: impl Into<View<'v>>,
        to: impl Into<View<'v>>,
        dtype: DType,
        count: usize,
    ) -> Outcome<()> {
        if count == 0 {
            return Ok(());
        }
        let (from, to, width) = (from.into(), to.into(), dtype.bytes());
        core::enqueue_copy_buffer::<u8, _, _, _>(
            &self.queue,
            from.memory,
            to.memory,
            from.at * width,
            to.at * width,
            count * width,
            None::<()>,
            None::<()>,
        )?;
        Ok(())
    }

    /// The truth values from a place on, once all that was launched before is done. Meanwhile, something else is launched.
    pub(super) fn holds(
        &self,
        at: View<'_>,
        values: usize,
        meanwhile: impl FnOnce() -> Outcome<()>,
    ) -> Outcome<Vec<bool>> {
        let mut bytes = vec![0u8; values];
        let mut done = Event::null();
        // SAFETY: there are so many bytes, which stay where they are until they are written: that is waited for, whatever
        // happens meanwhile.
        unsafe {
            let (queue, none) = (&self.queue, None::<()>);
            core::enqueue_read_buffer(queue, at.memory, false, at.at, &mut bytes[..], none, Some(&mut done))?;
        }
        let launched = meanwhile();
        if let Err(error) = core::wait_for_event(&done) {
            // Nobody knows whether the bytes will still be written.
            std::mem::forget(bytes);
            return Err(error.into());
        }
        launched?;
        count(&self.counters.conditions, values as u64);
        count(&self.counters.waits, 1);
        Ok(bytes.iter().map(|&byte| byte != 0).collect())
    }
}

/// Arrays from their devices: all are asked for, and then waited for together.
pub(super) fn download(wanted: &[(&Shared, &Type, &Place)]) -> Outcome<Vec<Array>> {
    let mut arrays: Vec<Array> = wanted.iter().map(|(_, ty, _)| Array::zeros(ty)).collect();
    let (mut events, mut outcome) = (Vec::new(), Ok(()));
    for ((shared, ty, place), array) in wanted.iter().zip(&mut arrays) {
        if ty.size() == 0 {
            continue;
        }
        match shared.read(ty, place, array) {
            Ok(event) => events.push(event),
            Err(problem) => {
                outcome = Err(problem);
                break;
            }
        }
    }
    // Even then nothing may be written once the arrays are gone.
    for event in &events {
        if let Err(error) = core::wait_for_event(event) {
            outcome = outcome.and(Err(error.into()));
        }
    }
    outcome?;
    for (array, (shared, ty, _)) in arrays.iter_mut().zip(wanted) {
        shared.forget_uploads()?;
        if ty.dtype == DType::Bool && ty.size() > 0 {
            let start = own_elements(array).map_err(|_| Problem::Memory("the host has no memory".into()))?;
            // SAFETY: the array has so many bytes for itself; they are no truth values before they are 0 or 1.
            let bytes = unsafe { std::slice::from_raw_parts_mut(start, ty.size()) };
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
    }
    Ok(arrays)
}

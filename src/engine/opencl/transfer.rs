//! Elements on their way: from plain arrays to a device, back, and from one place there to another.

use super::counters::count;
use super::driver::{Event, Queue};
use super::failure::{DeviceProblem, DeviceResult};
use super::memory::{Common, DevicePointer, DeviceShare, DeviceView};
use crate::array::Array;
use crate::engine::arrays::{elements, own_elements};
use crate::shape::{DType, Type, Value};
use smallvec::SmallVec;
use std::sync::Arc;

/// The bytes of a value, in the device's representation.
fn pattern(value: Value) -> SmallVec<[u8; 8]> {
    match value {
        Value::F32(x) => SmallVec::from_slice(&x.to_ne_bytes()),
        Value::F64(x) => SmallVec::from_slice(&x.to_ne_bytes()),
        Value::I32(x) => SmallVec::from_slice(&x.to_ne_bytes()),
        Value::I64(x) => SmallVec::from_slice(&x.to_ne_bytes()),
        Value::Bool(x) => SmallVec::from_slice(&[u8::from(x)]),
    }
}

impl DeviceShare {
    /// Has an array that was asked for written to a place, and does not wait for it.
    pub(super) fn upload(&self, array: &Array, to: &DevicePointer) -> DeviceResult<()> {
        count(&self.counters.uploads, 1);
        let (queue, run) = (&self.common.queues.uploads, to.memory.work().run().cloned());
        if let Some(event) = self.write(queue, array, to, run.as_deref())? {
            to.memory.work().set_upload(event);
        }
        queue.flush()
    }

    /// Writes a known array to a place before the next launch.
    pub(super) fn upload_known(&self, array: &Array, to: &DevicePointer) -> DeviceResult<()> {
        count(&self.counters.known, 1);
        if let Some(event) = self.write(&self.queue, array, to, None)? {
            to.memory.work().set_run(&event, true);
        }
        // If the run that needs it is never launched, the next use of its memory may be an upload.
        self.queue.flush()
    }

    /// Has an array written after something else, if it has elements.
    fn write(
        &self,
        queue: &Queue,
        array: &Array,
        to: &DevicePointer,
        after: Option<&Event>,
    ) -> DeviceResult<Option<Arc<Event>>> {
        self.forget_uploads()?;
        let (width, size) = (array.dtype().bytes(), array.size());
        if size == 0 {
            return Ok(None);
        }
        let (memory, at, bytes) = (&**to.memory, to.at * width, size * width);
        if let Some(value) = array.uniform() {
            if let Some(event) = after {
                queue.barrier(&[event])?;
            }
            return Ok(queue.fill((memory, at, bytes), &pattern(value), true)?.map(Arc::new));
        }
        // SAFETY: an array that is not uniform has so many elements in a buffer.
        let from = unsafe { std::slice::from_raw_parts(elements(array).cast_const(), bytes) };
        // The handle that is kept until the event is complete has others write elsewhere.
        let handle = array.clone();
        // SAFETY: the bytes stay where they are for as long as an array holds them.
        let event = unsafe { queue.write((memory, at), from, after.as_slice()) };
        let event = Arc::new(event?);
        self.common.uploads().push_back((event.clone(), handle));
        count(&self.counters.uploaded_bytes, bytes as u64);
        Ok(Some(event))
    }

    /// Lets go of arrays whose elements have arrived.
    ///
    /// # Errors
    ///
    /// When the elements of an array failed to arrive.
    pub(super) fn forget_uploads(&self) -> DeviceResult<()> {
        let mut uploads = self.common.uploads();
        // They arrive in order, except for arrays that programs know.
        while let Some((event, _)) = uploads.front() {
            let is_complete = event.is_complete();
            if matches!(is_complete, Ok(false)) {
                break;
            }
            uploads.pop_front();
            is_complete?;
        }
        Ok(())
    }

    /// Has the elements at a place written into an array of its own type, which has memory of its own and must stay until
    /// the event is complete.
    fn read(&self, queue: &Queue, ty: &Type, from: &DevicePointer, into: &mut Array) -> DeviceResult<Event> {
        let no_memory = |_| DeviceProblem::Unsupported(format!("the host has no memory for an array of type {ty}"));
        let (width, bytes) = (ty.dtype.bytes(), ty.size() * ty.dtype.bytes());
        let start = own_elements(into).map_err(no_memory)?;
        let written = from.memory.work().written.clone();
        // SAFETY: the array has so many bytes, which nothing else refers to; the caller waits for the event while they are
        // there.
        let event =
            unsafe { queue.read((&from.memory, from.at * width), (start, bytes), written.as_deref().as_slice())? };
        count(&self.counters.downloads, 1);
        count(&self.counters.downloaded_bytes, bytes as u64);
        Ok(event)
    }

    /// Has one value written to elements from a place on.
    pub(super) fn fill<'v>(&self, to: impl Into<DeviceView<'v>>, count: usize, value: Value) -> DeviceResult<()> {
        if count == 0 {
            return Ok(());
        }
        let (to, pattern) = (to.into(), pattern(value));
        let place = (to.memory, to.at * pattern.len(), count * pattern.len());
        self.observed(|is_observed| self.queue.fill(place, &pattern, is_observed))
    }

    /// Has elements copied.
    pub(super) fn copy<'v>(
        &self,
        from: impl Into<DeviceView<'v>>,
        to: impl Into<DeviceView<'v>>,
        dtype: DType,
        count: usize,
    ) -> DeviceResult<()> {
        if count == 0 {
            return Ok(());
        }
        let (from, to, width) = (from.into(), to.into(), dtype.bytes());
        self::count(&self.counters.copied, (count * width) as u64);
        self.queue.copy((from.memory, from.at * width), (to.memory, to.at * width), count * width)
    }

    /// Copies elements, unless they are there already.
    pub(super) fn copy_apart(
        &self,
        from: DeviceView<'_>,
        to: DeviceView<'_>,
        dtype: DType,
        count: usize,
    ) -> DeviceResult<()> {
        if from.is_at(to) { Ok(()) } else { self.copy(from, to, dtype, count) }
    }

    /// The truth values from a place on, once all that was launched before is done. Meanwhile, something else is launched.
    pub(super) fn holds(
        &self,
        at: DeviceView<'_>,
        values: usize,
        meanwhile: impl FnOnce() -> DeviceResult<()>,
    ) -> DeviceResult<Vec<bool>> {
        let mut bytes = vec![0u8; values];
        // SAFETY: there are so many bytes, which stay where they are until they are written: that is waited for, whatever
        // happens meanwhile.
        let done = unsafe { self.queue.read((at.memory, at.at), (bytes.as_mut_ptr(), values), &[])? };
        let launched = meanwhile();
        if let Err(problem) = done.wait() {
            // Nobody knows whether the bytes will still be written.
            std::mem::forget(bytes);
            return Err(problem);
        }
        launched?;
        count(&self.counters.conditions, values as u64);
        count(&self.counters.waits, 1);
        Ok(bytes.iter().map(|&byte| byte != 0).collect())
    }
}

/// Downloads that are under way together: a queue of each device, and events.
#[derive(Default)]
struct Downloads<'a> {
    queues: Vec<(&'a Arc<Common>, Queue)>,
    events: Vec<(Event, &'a DevicePointer)>,
}

impl<'a> Downloads<'a> {
    fn add(
        &mut self,
        shared: &'a DeviceShare,
        ty: &Type,
        place: &'a DevicePointer,
        array: &mut Array,
    ) -> DeviceResult<()> {
        let common = &shared.common;
        let at = match self.queues.iter().position(|(other, _)| Arc::ptr_eq(other, common)) {
            Some(at) => at,
            None => {
                self.queues.push((common, common.queues.download(&common.context, &shared.device)?));
                self.queues.len() - 1
            }
        };
        self.events.push((shared.read(&self.queues[at].1, ty, place, array)?, place));
        Ok(())
    }

    /// Waits for all of them.
    fn wait(&self) -> DeviceResult<()> {
        self.queues.iter().try_for_each(|(_, queue)| queue.flush())?;
        self.events.iter().try_for_each(|(event, place)| {
            event.wait()?;
            place.memory.work().set_arrived();
            Ok(())
        })
    }

    /// Gives the queues back, in which there is nothing any more.
    fn end(self) {
        self.queues.into_iter().for_each(|(common, queue)| common.queues.give_back(queue));
    }
}

/// Arrays from their devices: all are asked for, and then waited for together.
pub(super) fn download(wanted: &[(&DeviceShare, &Type, &DevicePointer)]) -> DeviceResult<Vec<Array>> {
    let mut arrays: Vec<Array> = wanted.iter().map(|(_, ty, _)| Array::zeros(ty)).collect();
    let mut downloads = Downloads::default();
    let mut all = wanted.iter().zip(&mut arrays).filter(|((_, ty, _), _)| ty.size() > 0);
    let asked = all.try_for_each(|(&(shared, ty, place), array)| downloads.add(shared, ty, place, array));
    if let Err(problem) = asked.and(downloads.wait()) {
        // Nothing may be written once the arrays are gone.
        if downloads.queues.iter().any(|(_, queue)| queue.finish().is_err()) {
            std::mem::forget(arrays);
        }
        return Err(problem);
    }
    downloads.end();
    for (array, (shared, ty, _)) in arrays.iter_mut().zip(wanted) {
        shared.forget_uploads()?;
        if ty.dtype == DType::Bool && ty.size() > 0 {
            let start = own_elements(array).map_err(|_| DeviceProblem::Memory("the host has no memory".into()))?;
            // SAFETY: the array has so many bytes for itself; they are no truth values before they are 0 or 1.
            let bytes = unsafe { std::slice::from_raw_parts_mut(start, ty.size()) };
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
    }
    Ok(arrays)
}

//! Memory of devices, from and to plain arrays.

use super::failure::{Outcome, Problem};
use super::shared::Shared;
use crate::concrete::Array;
use crate::engine::arrays::{array_from, elements, lines};
use crate::shape::{DType, Type, Value};
use ocl::core::{self, Event, Mem, MemFlags};

/// Elements somewhere in a device's memory.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) memory: Mem,
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

impl Shared {
    /// Memory for an array.
    pub(super) fn memory(&self, dtype: DType, count: usize) -> Outcome<Place> {
        // There is no memory of no bytes.
        let bytes = count.saturating_mul(dtype.bytes()).max(8);
        if bytes as u64 > self.device.largest {
            let text = format!(
                "an array of {count} elements of type {dtype} takes {bytes} bytes, and the largest that it has room for takes {}",
                self.device.largest
            );
            return Err(Problem::Unsupported(text));
        }
        // SAFETY: no memory of the host is named.
        let memory = unsafe { core::create_buffer::<_, u8>(&self.context, MemFlags::new().read_write(), bytes, None)? };
        Ok(Place { memory, at: 0 })
    }

    /// Writes an array to a place, and waits until it is there.
    pub(super) fn upload(&self, array: &Array, to: &Place) -> Outcome<()> {
        let (dtype, count) = (array.dtype(), array.size());
        if count == 0 {
            return Ok(());
        }
        if let Some(value) = array.uniform() {
            return self.fill(to, count, value);
        }
        let width = dtype.bytes();
        // SAFETY: an array that is not uniform has so many elements in a buffer.
        let bytes = unsafe { std::slice::from_raw_parts(elements(array).cast_const(), count * width) };
        // SAFETY: the bytes are read before the call returns, and there is room for them.
        unsafe {
            core::enqueue_write_buffer(&self.queue, &to.memory, true, to.at * width, bytes, None::<()>, None::<()>)?
        };
        Ok(())
    }

    /// The elements at a place, once all that was launched before is done.
    pub(super) fn download(&self, ty: &Type, from: &Place) -> Outcome<Array> {
        if ty.size() == 0 {
            return Ok(Array::zeros(ty));
        }
        let (bytes, width) = (ty.size() * ty.dtype.bytes(), ty.dtype.bytes());
        let no_memory = |_| Problem::Unsupported(format!("the host has no memory for an array of type {ty}"));
        let mut room = lines(bytes).map_err(no_memory)?;
        // SAFETY: there is room for so many bytes.
        let into = unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast::<u8>(), bytes) };
        // SAFETY: the bytes are written before the call returns, and there are so many.
        unsafe {
            core::enqueue_read_buffer(&self.queue, &from.memory, true, from.at * width, into, None::<()>, None::<()>)?
        };
        if ty.dtype == DType::Bool {
            into.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        // SAFETY: there are so many elements; bytes of truth values are 0 or 1.
        unsafe { array_from(ty, into.as_ptr()) }.map_err(no_memory)
    }

    /// Has one value written to elements from a place on.
    pub(super) fn fill<'v>(&self, to: impl Into<View<'v>>, count: usize, value: Value) -> Outcome<()> {
        if count == 0 {
            return Ok(());
        }
        let to = to.into();
        let (queue, memory, at) = (&self.queue, to.memory, to.at);
        match value {
            Value::F32(x) => core::enqueue_fill_buffer(queue, memory, x, at, count, None::<()>, None::<()>, None)?,
            Value::F64(x) => core::enqueue_fill_buffer(queue, memory, x, at, count, None::<()>, None::<()>, None)?,
            Value::I32(x) => core::enqueue_fill_buffer(queue, memory, x, at, count, None::<()>, None::<()>, None)?,
            Value::I64(x) => core::enqueue_fill_buffer(queue, memory, x, at, count, None::<()>, None::<()>, None)?,
            Value::Bool(x) => {
                core::enqueue_fill_buffer(queue, memory, u8::from(x), at, count, None::<()>, None::<()>, None)?;
            }
        }
        Ok(())
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
        count: usize,
        meanwhile: impl FnOnce() -> Outcome<()>,
    ) -> Outcome<Vec<bool>> {
        let mut bytes = vec![0u8; count];
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
        Ok(bytes.iter().map(|&byte| byte != 0).collect())
    }
}

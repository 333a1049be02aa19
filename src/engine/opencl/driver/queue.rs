//! Queues of commands, and the events by which commands of one queue wait for another's.

use super::{Context, DeviceId, DeviceKernel, Memory, bytes, done, number};
use crate::engine::opencl::failure::{DeviceProblem, DeviceResult};
use ocl::ffi::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, CL_FALSE, CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_START,
    CL_QUEUE_PROFILING_ENABLE, CL_SUCCESS, cl_event, cl_int, cl_uint,
};
use smallvec::SmallVec;
use std::ptr;

objects! {
    /// Commands in their order.
    Queue, "queue", clReleaseCommandQueue;
    /// Tells when a command is complete.
    Event, "event", clReleaseEvent;
}

// SAFETY: OpenCL's functions may be called by several threads with the same object, but for those that set a kernel's arguments.
unsafe impl Sync for Queue {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Whether the command is complete.
    ///
    /// # Errors
    ///
    /// When it has failed.
    pub(in crate::engine::opencl) fn is_complete(&self) -> DeviceResult<bool> {
        let mut status: cl_int = CL_COMPLETE;
        // SAFETY: there is room for a number of this size.
        done(unsafe {
            let (to, none) = ((&raw mut status).cast(), ptr::null_mut());
            ocl::ffi::clGetEventInfo(self.raw(), CL_EVENT_COMMAND_EXECUTION_STATUS, size_of_val(&status), to, none)
        })?;
        // A failed command has the number of the failure instead of a status.
        if status < 0 { Err(DeviceProblem::of_status(status)) } else { Ok(status == CL_COMPLETE) }
    }

    /// Waits until the command is complete.
    ///
    /// # Errors
    ///
    /// When it has failed.
    pub(in crate::engine::opencl) fn wait(&self) -> DeviceResult<()> {
        // SAFETY: there is one event.
        done(unsafe { ocl::ffi::clWaitForEvents(1, &self.raw()) })
    }

    /// Seconds that the command took, if its queue measures that.
    pub(in crate::engine::opencl) fn seconds(&self) -> DeviceResult<f64> {
        let at = |request| {
            let stated = bytes(|size, to, needed| {
                // SAFETY: there is room for so many bytes.
                unsafe { ocl::ffi::clGetEventProfilingInfo(self.raw(), request, size, to, needed) }
            })?;
            number(&stated)
        };
        let (start, end) = (at(CL_PROFILING_COMMAND_START)?, at(CL_PROFILING_COMMAND_END)?);
        Ok(end.saturating_sub(start) as f64 * 1e-9)
    }

    /// An event of no command, which becomes complete when that is said.
    #[cfg(test)]
    pub(in crate::engine::opencl) fn by_hand(context: &Context) -> DeviceResult<Event> {
        let mut status = CL_SUCCESS;
        // SAFETY: the context is there.
        let raw = unsafe { ocl::ffi::clCreateUserEvent(context.address(), &mut status) };
        Event::made(raw, status)
    }

    #[cfg(test)]
    pub(in crate::engine::opencl) fn set_by_hand(&self, status: cl_int) -> DeviceResult<()> {
        // SAFETY: the event was made by hand.
        done(unsafe { ocl::ffi::clSetUserEventStatus(self.raw(), status) })
    }
}

/// Events as they are passed.
fn addresses(after: &[&Event]) -> SmallVec<[cl_event; 8]> {
    after.iter().map(|event| event.raw()).collect()
}

/// The first of so many events, or none.
fn first(events: &[cl_event]) -> (cl_uint, *const cl_event) {
    (events.len() as cl_uint, if events.is_empty() { ptr::null() } else { events.as_ptr() })
}

/// Enqueues a command after others, and has an event of it.
fn with_event(
    after: &[&Event],
    enqueue: impl FnOnce(cl_uint, *const cl_event, *mut cl_event) -> cl_int,
) -> DeviceResult<Event> {
    let (after, mut event) = (addresses(after), ptr::null_mut());
    let (count, start) = first(&after);
    let status = enqueue(count, start, &mut event);
    Event::made(event, status)
}

/// Enqueues a command in its turn, which has an event if that is wanted.
fn in_turn(
    is_observed: bool,
    enqueue: impl FnOnce(cl_uint, *const cl_event, *mut cl_event) -> cl_int,
) -> DeviceResult<Option<Event>> {
    match is_observed {
        true => with_event(&[], enqueue).map(Some),
        false => done(enqueue(0, ptr::null(), ptr::null_mut())).map(|()| None),
    }
}

impl Queue {
    /// A queue in order, which measures how long commands take if that is wanted.
    pub(in crate::engine::opencl) fn new(context: &Context, device: DeviceId, measures: bool) -> DeviceResult<Queue> {
        let (mut status, properties) = (CL_SUCCESS, if measures { CL_QUEUE_PROFILING_ENABLE } else { 0 });
        // SAFETY: context and device are there.
        let raw =
            unsafe { ocl::ffi::clCreateCommandQueue(context.address(), device.address(), properties, &mut status) };
        Queue::made(raw, status)
    }

    /// Makes the driver start the enqueued commands. Then other queues may wait for its events.
    pub(in crate::engine::opencl) fn flush(&self) -> DeviceResult<()> {
        // SAFETY: the queue is there.
        done(unsafe { ocl::ffi::clFlush(self.raw()) })
    }

    /// Waits until all enqueued commands are complete.
    pub(in crate::engine::opencl) fn finish(&self) -> DeviceResult<()> {
        // SAFETY: the queue is there.
        done(unsafe { ocl::ffi::clFinish(self.raw()) })
    }

    /// An event that completes once all earlier commands have.
    pub(in crate::engine::opencl) fn marker(&self) -> DeviceResult<Event> {
        with_event(&[], |count, start, event| {
            // SAFETY: there are so many events.
            unsafe { ocl::ffi::clEnqueueMarkerWithWaitList(self.raw(), count, start, event) }
        })
    }

    /// Makes later commands wait for these events.
    pub(in crate::engine::opencl) fn barrier(&self, after: &[&Event]) -> DeviceResult<()> {
        let after = addresses(after);
        let (count, start) = first(&after);
        // SAFETY: there are so many events.
        done(unsafe { ocl::ffi::clEnqueueBarrierWithWaitList(self.raw(), count, start, ptr::null_mut()) })
    }

    /// Launches groups of work items.
    ///
    /// # Safety
    ///
    /// The kernel's arguments are set, to memory of the sizes that it was written for, which is there until the launch is
    /// complete.
    pub(in crate::engine::opencl) unsafe fn launch(
        &self,
        kernel: &DeviceKernel,
        (items, group): (usize, usize),
        is_observed: bool,
    ) -> DeviceResult<Option<Event>> {
        in_turn(is_observed, |count, start, event| {
            let (queue, kernel, none) = (self.raw(), kernel.address(), ptr::null());
            // SAFETY: as the caller's; there are so many events.
            unsafe { ocl::ffi::clEnqueueNDRangeKernel(queue, kernel, 1, none, &items, &group, count, start, event) }
        })
    }

    /// Writes a pattern again and again, from one byte on for so many.
    pub(in crate::engine::opencl) fn fill(
        &self,
        (to, at, bytes): (&Memory, usize, usize),
        pattern: &[u8],
        is_observed: bool,
    ) -> DeviceResult<Option<Event>> {
        in_turn(is_observed, |count, start, event| {
            let (queue, to, (pattern, size)) = (self.raw(), to.address(), (pattern.as_ptr().cast(), pattern.len()));
            // SAFETY: the pattern is copied by the call; drivers check what is beyond the memory.
            unsafe { ocl::ffi::clEnqueueFillBuffer(queue, to, pattern, size, at, bytes, count, start, event) }
        })
    }

    /// Copies bytes from one place to another.
    pub(in crate::engine::opencl) fn copy(
        &self,
        (from, from_at): (&Memory, usize),
        (to, to_at): (&Memory, usize),
        bytes: usize,
    ) -> DeviceResult<()> {
        let (queue, from, to) = (self.raw(), from.address(), to.address());
        // SAFETY: drivers check what is beyond the memory.
        done(unsafe {
            ocl::ffi::clEnqueueCopyBuffer(queue, from, to, from_at, to_at, bytes, 0, ptr::null(), ptr::null_mut())
        })
    }

    /// Writes bytes of the host after other commands.
    ///
    /// # Safety
    ///
    /// They stay where they are, and what they are, until the event is complete.
    pub(in crate::engine::opencl) unsafe fn write(
        &self,
        (to, at): (&Memory, usize),
        from: &[u8],
        after: &[&Event],
    ) -> DeviceResult<Event> {
        with_event(after, |count, start, event| {
            let (queue, to, (bytes, from)) = (self.raw(), to.address(), (from.len(), from.as_ptr().cast()));
            // SAFETY: as the caller's; there are so many bytes and events.
            unsafe { ocl::ffi::clEnqueueWriteBuffer(queue, to, CL_FALSE, at, bytes, from, count, start, event) }
        })
    }

    /// Reads bytes to the host after other commands.
    ///
    /// # Safety
    ///
    /// There is room for them, which nobody else reads or writes until the event is complete.
    pub(in crate::engine::opencl) unsafe fn read(
        &self,
        (from, at): (&Memory, usize),
        (to, bytes): (*mut u8, usize),
        after: &[&Event],
    ) -> DeviceResult<Event> {
        with_event(after, |count, start, event| {
            let (queue, from, to) = (self.raw(), from.address(), to.cast());
            // SAFETY: as the caller's; there are so many events.
            unsafe { ocl::ffi::clEnqueueReadBuffer(queue, from, CL_FALSE, at, bytes, to, count, start, event) }
        })
    }
}

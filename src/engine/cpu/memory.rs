//! Where the buffers of a procedure lie: planned before it runs, so that memory is used again as soon as it may be.

use crate::kernel::{BufferId, BufferSource, Procedure};
use std::collections::{BTreeMap, BTreeSet};

/// Where a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BufferLocation {
    /// An argument, by its position.
    Argument(usize),
    /// A result, by its position.
    Result(usize),
    /// In the procedure's memory, at so many bytes.
    Local(usize),
    /// A known array, by the buffer.
    Constant(BufferId),
    /// Nothing reads it.
    Unused,
}

/// Buffers begin at whole cache lines.
const LINE: usize = 64;

/// The places of all buffers, and the bytes of the procedure's memory; `None` where they can't be counted.
pub(super) fn plan(procedure: &Procedure) -> Option<(Vec<BufferLocation>, usize)> {
    let count = procedure.buffers.len();
    // The steps that fill a buffer first and touch it last.
    let mut first = vec![usize::MAX; count];
    let mut last = vec![0; count];
    for (at, step) in procedure.steps.iter().enumerate() {
        let (read, filled) = step.touched();
        for buffer in read.into_iter().chain(filled) {
            let origin = procedure.origin(buffer) as usize;
            first[origin] = first[origin].min(at);
            last[origin] = at;
        }
    }
    let mut places = vec![BufferLocation::Unused; count];
    let mut is_result = vec![false; count];
    for (position, &result) in procedure.results.iter().enumerate() {
        let origin = procedure.origin(result) as usize;
        is_result[origin] = true;
        if matches!(procedure.buffers[origin].source, BufferSource::Local) && places[origin] == BufferLocation::Unused {
            places[origin] = BufferLocation::Result(position);
        }
    }
    let mut starting: Vec<Vec<usize>> = vec![Vec::new(); procedure.steps.len()];
    let mut ending: Vec<Vec<usize>> = vec![Vec::new(); procedure.steps.len()];
    for (id, buffer) in procedure.buffers.iter().enumerate() {
        let used = first[id] != usize::MAX;
        match buffer.source {
            BufferSource::Parameter(position) => places[id] = BufferLocation::Argument(position),
            BufferSource::Constant(_) if used || is_result[id] => places[id] = BufferLocation::Constant(id as BufferId),
            BufferSource::Local if used && places[id] == BufferLocation::Unused => {
                starting[first[id]].push(id);
                ending[last[id]].push(id);
            }
            _ => {}
        }
    }
    let mut space = OffsetAllocator::default();
    for (starting, ending) in starting.iter().zip(&ending) {
        for &id in starting {
            let bytes = procedure.buffers[id].ty.bytes()?.checked_next_multiple_of(LINE)?;
            places[id] = BufferLocation::Local(space.take(bytes)?);
        }
        for &id in ending {
            let BufferLocation::Local(at) = places[id] else { unreachable!("what ends has begun") };
            space.give(at, procedure.buffers[id].ty.bytes()?.next_multiple_of(LINE));
        }
    }
    for id in 0..count {
        places[id] = places[procedure.origin(id as BufferId) as usize];
    }
    Some((places, space.size))
}

/// A stretch of memory, with holes.
#[derive(Default)]
struct OffsetAllocator {
    size: usize,
    /// Lengths of holes, by their beginnings.
    holes: BTreeMap<usize, usize>,
    /// The same holes, shortest first: length and beginning.
    by_length: BTreeSet<(usize, usize)>,
}

impl OffsetAllocator {
    /// Takes so many bytes: in the smallest hole that has room, or at the end. Gives their beginning.
    fn take(&mut self, bytes: usize) -> Option<usize> {
        if bytes == 0 {
            return Some(0);
        }
        if let Some(&(length, at)) = self.by_length.range((bytes, 0)..).next() {
            self.close(at, length);
            if length > bytes {
                self.open(at + bytes, length - bytes);
            }
            return Some(at);
        }
        // A hole at the end grows.
        let at = match self.holes.last_key_value() {
            Some((&at, &length)) if at + length == self.size => {
                self.close(at, length);
                at
            }
            _ => self.size,
        };
        self.size = at.checked_add(bytes).filter(|&size| isize::try_from(size).is_ok())?;
        Some(at)
    }

    fn give(&mut self, at: usize, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let (mut at, mut bytes) = (at, bytes);
        if let Some((&before, &length)) = self.holes.range(..at).next_back()
            && before + length == at
        {
            self.close(before, length);
            (at, bytes) = (before, bytes + length);
        }
        if let Some(&length) = self.holes.get(&(at + bytes)) {
            self.close(at + bytes, length);
            bytes += length;
        }
        self.open(at, bytes);
    }

    fn open(&mut self, at: usize, length: usize) {
        self.holes.insert(at, length);
        self.by_length.insert((length, at));
    }

    fn close(&mut self, at: usize, length: usize) {
        self.holes.remove(&at);
        self.by_length.remove(&(length, at));
    }
}

/// Copies elements, unless they are there already.
///
/// # Safety
///
/// Both are as large, and overlap only where they are the same.
pub(super) unsafe fn copy_apart(from: *const u8, to: *mut u8, bytes: usize) {
    if from != to.cast_const() {
        // SAFETY: as the caller's.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
    }
}

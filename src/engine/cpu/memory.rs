//! Where the buffers of a procedure lie: planned before it runs, so that memory is used again as soon as it may be.

use super::donate::computed_element_by_element;
use crate::kernel::{BufferId, BufferSource, Procedure, Step};
use std::collections::{BTreeMap, BTreeSet};

/// Where a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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

const PAGE: usize = 4 << 10;
/// Buffers of more than this many bytes lie no whole pages apart.
const SMALL: usize = PAGE / 2;
/// By how much more or less. The number of lines is odd, so that many buffers go round all places of a page, and the first seven are
/// far from each other.
const STAGGER: usize = 9 * LINE;

/// When the buffers of a procedure are used, by the positions of steps.
pub(super) struct Lifetimes {
    /// The step that fills a buffer, or a buffer whose memory it takes, first.
    pub(super) first: Vec<usize>,
    /// The step that touches it last.
    last: Vec<usize>,
    /// Buffers, and those that take their memory: a nest computes the second element by element from the first, as a layer's result
    /// from a product, which then is written to where the result will be. In the order of these nests.
    heirs: Vec<(BufferId, BufferId)>,
    has_heir: Vec<bool>,
    is_result: Vec<bool>,
}

impl Lifetimes {
    pub(super) fn of(procedure: &Procedure) -> Lifetimes {
        let count = procedure.buffers.len();
        let mut lifetimes = Lifetimes {
            first: vec![usize::MAX; count],
            last: vec![0; count],
            heirs: Vec::new(),
            has_heir: vec![false; count],
            is_result: vec![false; count],
        };
        for &result in &procedure.results {
            lifetimes.is_result[procedure.origin(result) as usize] = true;
        }
        for (at, step) in procedure.steps.iter().enumerate() {
            let (read, filled) = step.touched();
            for buffer in read.into_iter().chain(filled) {
                let origin = procedure.origin(buffer) as usize;
                lifetimes.first[origin] = lifetimes.first[origin].min(at);
                lifetimes.last[origin] = at;
            }
        }
        for at in 0..procedure.steps.len() {
            lifetimes.find_heirs(procedure, at);
        }
        lifetimes
    }

    /// Finds the buffers that are read last by a nest, and those that take their memory.
    fn find_heirs(&mut self, procedure: &Procedure, at: usize) {
        let Step::Nest(nest) = &procedure.steps[at] else { return };
        let is_own = |id: BufferId| {
            matches!(procedure.buffers[id as usize].source, BufferSource::Local) && !procedure.continued.contains(&id)
        };
        let computed = computed_element_by_element(procedure, nest);
        for id in nest.read().map(|id| procedure.origin(id)) {
            let of = id as usize;
            let is_over = is_own(id) && self.last[of] == at && self.first[of] < at && !self.is_result[of];
            if !is_over || self.has_heir[of] {
                continue;
            }
            let Some(&heir) = computed.get(&id) else { continue };
            let [from, to] = [id, heir].map(|id| &procedure.buffers[id as usize].ty);
            if is_own(heir) && self.first[heir as usize] == at && from == to {
                self.heirs.push((id, heir));
                self.has_heir[of] = true;
                self.first[heir as usize] = self.first[of];
            }
        }
    }
}

/// The places of all buffers, and the bytes of the procedure's memory; `None` where they can't be counted.
pub(super) fn plan(procedure: &Procedure) -> Option<(Vec<BufferLocation>, usize)> {
    let count = procedure.buffers.len();
    let Lifetimes { first, last, heirs, has_heir, is_result } = Lifetimes::of(procedure);
    let mut places = vec![BufferLocation::Unused; count];
    for (position, &result) in procedure.results.iter().enumerate() {
        let origin = procedure.origin(result) as usize;
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
            BufferSource::Local if used && places[id] == BufferLocation::Unused && !has_heir[id] => {
                starting[first[id]].push(id);
                ending[last[id]].push(id);
            }
            _ => {}
        }
    }
    let mut space = OffsetAllocator::default();
    let mut taken = vec![0; count];
    for (starting, ending) in starting.iter().zip(&ending) {
        for &id in starting {
            let (at, granted) = space.take(procedure.buffers[id].ty.bytes()?)?;
            places[id] = BufferLocation::Local(at);
            taken[id] = granted;
        }
        for &id in ending {
            let BufferLocation::Local(at) = places[id] else { unreachable!("what ends has begun") };
            space.give(at, taken[id]);
        }
    }
    for (id, heir) in heirs.into_iter().rev() {
        places[id as usize] = places[heir as usize];
    }
    for id in 0..count {
        places[id] = places[procedure.origin(id as BufferId) as usize];
    }
    Some((places, space.size))
}

/// The bytes that a buffer of so many whole lines takes at the end of the memory. Buffers of one type often lie whole pages apart. The
/// same element of each then falls into the same set of the cache, which holds a few lines only: these get some lines of padding.
fn padded(bytes: usize) -> Option<usize> {
    let beyond = bytes % PAGE;
    let padding = match bytes {
        0..=SMALL => 0,
        _ if beyond < STAGGER => STAGGER - beyond,
        _ if beyond > PAGE - STAGGER => PAGE - beyond + STAGGER,
        _ => 0,
    };
    bytes.checked_add(padding)
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
    /// Takes so many bytes: in the smallest hole that has room, or at the end with padding. Gives their beginning, and how many
    /// they are then. A hole has room for as many buffers of this size with padding as without.
    fn take(&mut self, bytes: usize) -> Option<(usize, usize)> {
        if bytes == 0 {
            return Some((0, 0));
        }
        let bytes = bytes.checked_next_multiple_of(LINE)?;
        let padded = padded(bytes)?;
        if let Some(&(length, at)) = self.by_length.range((bytes, 0)..).next() {
            self.close(at, length);
            let bytes = if length % bytes >= padded - bytes { padded } else { bytes };
            if length > bytes {
                self.open(at + bytes, length - bytes);
            }
            return Some((at, bytes));
        }
        // A hole at the end grows.
        let at = match self.holes.last_key_value() {
            Some((&at, &length)) if at + length == self.size => {
                self.close(at, length);
                at
            }
            _ => self.size,
        };
        self.size = at.checked_add(padded).filter(|&size| isize::try_from(size).is_ok())?;
        Some((at, padded))
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

#[cfg(test)]
mod tests {
    use super::{BufferLocation, LINE, OffsetAllocator, PAGE, plan};
    use crate::kernel::lower_in_place;
    use crate::prelude::*;

    /// The lines of a page at which the buffers begin that one nest reads, in order.
    fn lines(count: usize) -> Vec<usize> {
        let of = |x: &Vector<_, f64>| {
            let stacks: Vec<Vector<_, f64>> = (1..=6).map(|k| (x * f64::from(k)).cumprod(0)).collect();
            stacks.iter().skip(1).fold(stacks[0].clone(), |sum, stack| sum * stack).sum()
        };
        let program = stage(of, &zeros(count)).unwrap();
        let procedure = lower_in_place(program.program());
        let (places, _) = plan(&procedure).unwrap();
        let lines = |read: Vec<u32>| -> Vec<usize> {
            let places = read.into_iter().filter_map(|id| match places[id as usize] {
                BufferLocation::Local(at) => Some(at % PAGE / LINE),
                _ => None,
            });
            places.collect()
        };
        let reads = procedure.steps.iter().map(|step| lines(step.touched().0));
        let mut lines = reads.max_by_key(Vec::len).expect("there are steps");
        lines.sort_unstable();
        lines
    }

    #[test]
    fn large_buffers_do_not_begin_at_the_same_place_of_a_page() {
        for count in [508, 511, 512, 513, 580, 952, 1024, 3000, 3070, 1 << 16] {
            let lines = lines(count);
            assert_eq!(lines.len(), 6, "one nest reads all");
            assert!(lines.windows(2).all(|pair| pair[1] - pair[0] >= 4), "{count} elements: {lines:?}");
        }
    }

    #[test]
    fn memory_that_is_free_has_room_for_its_parts() {
        let mut space = OffsetAllocator::default();
        let (at, bytes) = space.take(4 * PAGE).unwrap();
        space.take(PAGE).unwrap();
        let size = space.size;
        space.give(at, bytes);
        let parts: Vec<usize> = (0..4).map(|_| space.take(PAGE).unwrap().0).collect();
        assert_eq!(space.size, size, "nothing is put behind");
        assert!(parts[0] == at && parts.windows(2).all(|pair| pair[1] - pair[0] >= PAGE), "{parts:?}");
    }
}

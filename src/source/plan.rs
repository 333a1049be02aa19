//! Where the buffers of a procedure are: in the arrays that its function takes, or in slots of memory that several of them
//! use one after the other.

use crate::kernel::{BufferId, BufferSource, Procedure, Step};
use crate::shape::DType;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Where a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BufferBinding {
    Argument(usize),
    /// A result of the procedure, which nothing else is at.
    Result(usize),
    Constant(BufferId),
    Slot(usize),
    /// No visited step touches it.
    Unused,
}

/// Memory of one element type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferSlot {
    pub(crate) dtype: DType,
    pub(crate) count: usize,
}

/// The slots of a procedure under construction.
#[derive(Default, Debug)]
struct Slots {
    all: Vec<BufferSlot>,
    /// The slots in use, by the step until which they are needed.
    taken: BTreeSet<(usize, usize)>,
    /// The free slots, by element type and size.
    free: BTreeMap<DType, BTreeSet<(usize, usize)>>,
}

impl Slots {
    /// Takes a slot that is free from one step until another; it may grow. Steps are visited in order.
    fn take(&mut self, dtype: DType, count: usize, from: usize, until: usize) -> usize {
        while let Some(&(last, at)) = self.taken.first()
            && last < from
        {
            self.taken.pop_first();
            let slot = &self.all[at];
            self.free.entry(slot.dtype).or_default().insert((slot.count, at));
        }
        let free = self.free.entry(dtype).or_default();
        // The one of the nearest size, and of several the first.
        let larger = free.range((count, 0)..).next().copied();
        let smaller = free.range(..(count, 0)).next_back().map(|&(nearest, _)| nearest);
        let smaller = smaller.and_then(|nearest| free.range((nearest, 0)..).next().copied());
        let nearest = larger.into_iter().chain(smaller).min_by_key(|&(size, at)| (size.abs_diff(count), at));
        let at = match nearest {
            Some((size, at)) => {
                free.remove(&(size, at));
                let slot = &mut self.all[at];
                slot.count = size.max(count);
                at
            }
            None => {
                self.all.push(BufferSlot { dtype, count });
                self.all.len() - 1
            }
        };
        self.taken.insert((until, at));
        at
    }
}

/// Where the buffers of a procedure are, at one step after the other.
pub(crate) struct BufferPlan<'p> {
    procedure: &'p Procedure,
    places: Vec<BufferBinding>,
    slots: Slots,
    /// Buffers that nests write and nobody reads.
    pub(crate) unread: HashSet<BufferId>,
    lifetimes: Vec<Option<(usize, usize)>>,
    /// The buffers that each step is the first to touch; after the last step, results are asked for.
    begun: Vec<Vec<BufferId>>,
    /// The number of visited steps.
    step: usize,
}

impl<'p> BufferPlan<'p> {
    /// Before the first step. The parameters that are `changed` are where a result is: each with the position of that.
    pub(crate) fn new(procedure: &'p Procedure, changed: &[(usize, usize)]) -> BufferPlan<'p> {
        let unread = unread(procedure);
        let lifetimes = lifetimes(procedure, &unread);
        let mut begun = vec![Vec::new(); procedure.steps.len() + 1];
        for (id, lifetime) in lifetimes.iter().enumerate() {
            if let Some((first, _)) = lifetime {
                begun[first - 1].push(id as BufferId);
            }
        }
        let places = places(procedure, changed, &lifetimes);
        BufferPlan { procedure, places, slots: Slots::default(), unread, lifetimes, begun, step: 0 }
    }

    /// Moves to the next step, or past the last one: finds places for the buffers that it is the first to touch, and results in
    /// those of them that are known arrays.
    pub(crate) fn next(&mut self) -> Vec<BufferId> {
        let begun = std::mem::take(&mut self.begun[self.step]);
        self.step += 1;
        for &id in &begun {
            if self.places[id as usize] == BufferBinding::Unused {
                self.store(id);
            }
        }
        begun.into_iter().filter(|&id| matches!(self.places[id as usize], BufferBinding::Constant(_))).collect()
    }

    /// Places a buffer that this step is the first to touch, such as a known array, in a slot.
    pub(crate) fn store(&mut self, id: BufferId) -> usize {
        let ty = &self.procedure.buffers[id as usize].ty;
        let last = self.lifetimes[id as usize].map_or(self.step, |(_, last)| last);
        let slot = self.slots.take(ty.dtype, ty.size(), self.step, last);
        self.places[id as usize] = BufferBinding::Slot(slot);
        slot
    }

    /// A slot for this step only.
    pub(crate) fn memory(&mut self, dtype: DType, count: usize) -> usize {
        self.slots.take(dtype, count, self.step, self.step)
    }

    /// All slots so far.
    pub(crate) fn slots(&self) -> &[BufferSlot] {
        &self.slots.all
    }

    /// The place of a buffer, or of the buffer that it is an alias of.
    pub(crate) fn place(&self, id: BufferId) -> BufferBinding {
        self.places[self.procedure.origin(id) as usize]
    }

    /// Results that are at other places, with their buffers.
    pub(crate) fn copied(&self) -> Vec<(usize, BufferId)> {
        let results = self.procedure.results.iter().copied().enumerate();
        results.filter(|&(position, id)| self.place(id) != BufferBinding::Result(position)).collect()
    }
}

/// The buffers that only nests write and that no other step reads: a nest has the values that it writes at hand.
fn unread(procedure: &Procedure) -> HashSet<BufferId> {
    let (mut written, mut needed): (HashSet<BufferId>, HashSet<BufferId>) = (HashSet::new(), HashSet::new());
    for step in &procedure.steps {
        let (read, filled) = step.touched();
        needed.extend(read.into_iter().map(|id| procedure.origin(id)));
        let filled = filled.into_iter().map(|id| procedure.origin(id));
        if let Step::Nest(_) = step { written.extend(filled) } else { needed.extend(filled) }
    }
    needed.extend(procedure.results.iter().map(|&id| procedure.origin(id)));
    written.retain(|id| !needed.contains(id));
    let aliases = (0..procedure.buffers.len() as BufferId).filter(|&id| written.contains(&procedure.origin(id)));
    aliases.collect()
}

/// For each buffer the first and the last step that touches it; none touches the others, nor those that nobody reads.
fn lifetimes(procedure: &Procedure, unread: &HashSet<BufferId>) -> Vec<Option<(usize, usize)>> {
    let mut lifetimes: Vec<Option<(usize, usize)>> = vec![None; procedure.buffers.len()];
    let mut touch = |id: BufferId, at: usize| {
        let lifetime = &mut lifetimes[procedure.origin(id) as usize];
        *lifetime = Some((lifetime.map_or(at, |(first, _)| first), at));
    };
    for (at, step) in procedure.steps.iter().enumerate() {
        let (read, filled) = step.touched();
        read.into_iter().chain(filled).for_each(|id| touch(id, at + 1));
    }
    // Results are asked for after the last step.
    procedure.results.iter().for_each(|&id| touch(id, procedure.steps.len() + 1));
    unread.iter().for_each(|&id| lifetimes[id as usize] = None);
    lifetimes
}

/// The places of all buffers before the first step, known by the end of chains of aliases. Known arrays that no step touches
/// have none.
fn places(
    procedure: &Procedure,
    changed: &[(usize, usize)],
    lifetimes: &[Option<(usize, usize)>],
) -> Vec<BufferBinding> {
    let mut places: Vec<BufferBinding> = procedure
        .buffers
        .iter()
        .enumerate()
        .map(|(id, buffer)| match buffer.source {
            BufferSource::Parameter(position) => BufferBinding::Argument(position),
            BufferSource::Constant(_) if lifetimes[id].is_some() => BufferBinding::Constant(id as BufferId),
            BufferSource::Constant(_) => BufferBinding::Unused,
            BufferSource::Local | BufferSource::Alias(_) => BufferBinding::Unused,
        })
        .collect();
    for &(position, result) in changed {
        places[position] = BufferBinding::Result(result);
    }
    for (position, &result) in procedure.results.iter().enumerate() {
        let origin = procedure.origin(result) as usize;
        if places[origin] == BufferBinding::Unused {
            places[origin] = BufferBinding::Result(position);
        }
    }
    places
}

//! Where the buffers of a procedure are: in the arrays that its function takes, or in slots of memory that several of them
//! use one after the other.

use crate::kernel::{BufferId, Procedure, Source, Step};
use crate::shape::DType;
use std::collections::HashSet;

/// Where a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Argument(usize),
    /// A result of the procedure, which nothing else is at.
    Result(usize),
    Constant(BufferId),
    Slot(usize),
    /// Nothing touches it.
    Unused,
}

/// Memory of one element type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) dtype: DType,
    pub(super) count: usize,
    /// Until when it is taken: after this step it is free.
    until: usize,
}

/// The slots of a procedure under construction.
#[derive(Default, Debug)]
pub(super) struct Slots {
    pub(super) all: Vec<Slot>,
}

impl Slots {
    /// A slot that is free before a step, until another one; it may become larger.
    pub(super) fn take(&mut self, dtype: DType, count: usize, from: usize, until: usize) -> usize {
        let free = self.all.iter().enumerate().filter(|(_, slot)| slot.dtype == dtype && slot.until < from);
        // The one of the nearest size.
        match free.min_by_key(|(_, slot)| slot.count.abs_diff(count)).map(|(at, _)| at) {
            Some(at) => {
                self.all[at].count = self.all[at].count.max(count);
                self.all[at].until = until;
                at
            }
            None => {
                self.all.push(Slot { dtype, count, until });
                self.all.len() - 1
            }
        }
    }
}

/// The buffers that nests alone write, and that no other step reads: within a nest what is written is at hand.
pub(super) fn unread(procedure: &Procedure) -> HashSet<BufferId> {
    let (mut written, mut needed): (HashSet<BufferId>, HashSet<BufferId>) = (HashSet::new(), HashSet::new());
    for step in &procedure.steps {
        let (read, filled) = step.touched();
        needed.extend(read.into_iter().map(|id| procedure.origin(id)));
        let filled = filled.into_iter().map(|id| procedure.origin(id));
        if let Step::Nest(_) = step { written.extend(filled) } else { needed.extend(filled) }
    }
    needed.extend(procedure.results.iter().map(|&id| procedure.origin(id)));
    written.retain(|id| !needed.contains(id));
    written
}

/// For each buffer the first and the last step that touches it; none touches the others, nor those that nobody reads.
pub(super) fn lifetimes(procedure: &Procedure, unread: &HashSet<BufferId>) -> Vec<Option<(usize, usize)>> {
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

/// The places of all buffers, known by the end of chains of aliases; slots are taken by [`Slots::take`] when a buffer's
/// first step comes.
pub(super) fn places(procedure: &Procedure) -> Vec<Place> {
    let mut places: Vec<Place> = procedure
        .buffers
        .iter()
        .enumerate()
        .map(|(id, buffer)| match buffer.source {
            Source::Parameter(position) => Place::Argument(position),
            Source::Constant(_) => Place::Constant(id as BufferId),
            Source::Local | Source::Alias(_) => Place::Unused,
        })
        .collect();
    for (position, &result) in procedure.results.iter().enumerate() {
        let origin = procedure.origin(result) as usize;
        if places[origin] == Place::Unused {
            places[origin] = Place::Result(position);
        }
    }
    places
}

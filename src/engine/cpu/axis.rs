//! The loops of nests, and those of their steps at which a nest may change something.

use super::elements::load;
use super::instruction::LinearFunction;
use super::slot::Slot;
use std::ops::Range;

/// A loop.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) extent: usize,
    /// The pointers that move with it, and by how many bytes a step.
    pub(super) moves: Vec<(Slot, isize)>,
    /// Where the nest begins and ends to change anything, if that is a stretch of the loop.
    pub(super) edges: Box<[Edge]>,
}

/// A bound of a loop that is known where the loop begins: an `i64` plus an offset, minus the terms of outer loops.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// Whether the steps are below it, or at least it.
    pub(super) is_upper: bool,
    pub(super) bound: Slot,
    pub(super) others: LinearFunction,
    pub(super) offset: i64,
}

impl Axis {
    /// The steps, of these, at which the nest may change something.
    ///
    /// # Safety
    ///
    /// The bounds of the edges point at numbers.
    #[inline]
    pub(super) unsafe fn stretch(&self, steps: Range<usize>, pointers: &[*mut u8], index: &[i64]) -> Range<usize> {
        let Range { mut start, mut end } = steps;
        for Edge { is_upper, bound, others, offset } in &self.edges {
            // SAFETY: as the caller's.
            let bound = unsafe { load(pointers[*bound as usize].cast::<i64>()) };
            let at = i128::from(bound) + i128::from(*offset) - i128::from(others.at(index));
            let at = at.clamp(0, self.extent as i128) as usize;
            match is_upper {
                true => end = end.min(at),
                false => start = start.max(at),
            }
        }
        start..end.max(start)
    }
}

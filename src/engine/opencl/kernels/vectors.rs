//! Which parts of nests have items that load and store several neighbours at once, and how many.

use super::parts::{KernelPart, ReductionManner, axes_of_guards, axes_of_values};
use super::{KernelOperands, KernelScope, KernelWriter};
use crate::kernel::{BufferId, NestValue, StoreMode};
use crate::shape::steps;
use std::collections::HashSet;

impl KernelWriter {
    /// How many neighbours along the innermost loop each item computes of a part that reduces nothing, whose loops are in this
    /// order: 1, unless everything that moves along that loop is neighbours there, and there are items enough.
    pub(super) fn width_of_items(
        &self,
        scope: &KernelScope<'_>,
        part: &KernelPart,
        order: &[usize],
        operands: &KernelOperands,
    ) -> usize {
        let (nest, Some(&axis)) = (&part.nest, order.last()) else { return 1 };
        let is_written = nest.stores.iter().all(|store| store.mode == StoreMode::Write);
        if !part.reduced.is_empty() || part.manner != ReductionManner::Apart || !is_written || nest.extents.contains(&0)
        {
            return 1;
        }
        let width = self.fitting_width(scope, part, axis, operands);
        let blocks = steps(nest.extents.iter().copied()) / width;
        let is_enough = self.limits.forced_width.is_some() || blocks >= self.busy();
        if nest.extents[axis] >= width && is_enough { width } else { 1 }
    }

    /// How many neighbours along the axis that is reduced over each step takes of items that share a reduction and have so many
    /// steps each.
    pub(super) fn width_of_steps(
        &self,
        scope: &KernelScope<'_>,
        part: &KernelPart,
        operands: &KernelOperands,
        steps: usize,
    ) -> usize {
        let [axis] = part.reduced[..] else { return 1 };
        if part.manner != ReductionManner::Apart || part.nest.extents.contains(&0) {
            return 1;
        }
        let width = self.fitting_width(scope, part, axis, operands);
        if self.limits.forced_width.is_some() || steps >= width { width } else { 1 }
    }

    /// How many neighbours along an axis vectors of all that moves along it have; 1 where there is something that is none.
    fn fitting_width(
        &self,
        scope: &KernelScope<'_>,
        part: &KernelPart,
        axis: usize,
        operands: &KernelOperands,
    ) -> usize {
        let nest = &part.nest;
        let moving = axes_of_values(nest);
        let mut loaded: HashSet<BufferId> = HashSet::new();
        for (id, (value, _)) in nest.values.iter().enumerate() {
            match value {
                NestValue::Load { buffer, at, guards } => match at.coefficients[axis] {
                    0 if axes_of_guards(guards).all(|guarded| guarded != axis) => {}
                    1 if guards.is_empty() => {
                        loaded.insert(*buffer);
                    }
                    _ => return 1,
                },
                NestValue::Gather { .. } if moving[id].contains(&axis) => return 1,
                _ => {}
            }
        }
        let mut stored: HashSet<&str> = HashSet::new();
        for store in &nest.stores {
            let is_row = store.at.coefficients[axis] == 1 && store.guards.is_empty() && store.index.is_none();
            let is_reduced = store.mode != StoreMode::Write;
            // A written array is written by one store, and read by no value.
            if !(is_row || is_reduced) || !stored.insert(&operands.names[&store.buffer]) {
                return 1;
            }
        }
        let is_read = |(value, _): &(NestValue, _)| match value {
            NestValue::Load { buffer, .. } | NestValue::Gather { buffer, .. } => {
                stored.contains(&operands.names[buffer][..])
            }
            _ => false,
        };
        if nest.values.iter().any(is_read) {
            return 1;
        }
        let written = nest.stores.iter().filter(|store| store.mode == StoreMode::Write);
        let buffers = loaded.into_iter().chain(written.map(|store| store.buffer));
        buffers.map(|id| self.limits.width(scope.dtype(id))).min().unwrap_or(1)
    }
}

//! Stretches of loops, for nests whose loops have an order.

use super::layout::NestLayout;
use crate::kernel::Nest;
use crate::kernel::stretch::{self, Limit};

/// The axes that have limits which other axes move: those run outside of them.
pub(super) fn inner_axes(nest: &Nest, moved: &[u64]) -> Vec<usize> {
    let is_moved = |(limit, moves): &(Limit, u64)| moves & !(1 << (limit.axis % 64)) != 0;
    stretch::limits(nest, moved).iter().filter(|limit| is_moved(limit)).map(|(limit, _)| limit.axis).collect()
}

/// Whether some axis has limits.
pub(super) fn has_limits(nest: &Nest, moved: &[u64]) -> bool {
    !stretch::limits(nest, moved).is_empty()
}

/// The limits of a nest's loops that are known where these begin.
pub(super) fn limits(nest: &Nest, layout: &NestLayout) -> Vec<Limit> {
    if layout.row > 1 || layout.wrapped.is_some() {
        return Vec::new();
    }
    let loop_of = |axis: usize| layout.loop_of(axis, nest.extents[axis]);
    let is_known = |(limit, moves): &(Limit, u64)| {
        let Some(own) = loop_of(limit.axis) else { return false };
        // Loops that move it run outside, and not along tiles.
        let moving = (0..nest.extents.len()).filter(|axis| nest.extents[*axis] > 1 && moves >> (axis % 64) & 1 == 1);
        moving.into_iter().all(|axis| loop_of(axis).is_some_and(|outer| outer < own && outer != layout.vector))
    };
    stretch::limits(nest, &stretch::moved(nest)).into_iter().filter(is_known).map(|(limit, _)| limit).collect()
}

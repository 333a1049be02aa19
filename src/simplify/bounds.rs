//! What is known of integer arrays before any input is seen: intervals, and affine forms.

use super::Simplifier;
use crate::term::NodeId;

/// Smallest and largest element that an integer node can have, as far as shapes, iotas and constants tell.
pub fn interval(_arena: &Simplifier, _node: NodeId) -> (i64, i64) {
    (i64::MIN, i64::MAX)
}

/// Whether every position that index arrays state lies inside axes of these extents.
pub fn inside(arena: &Simplifier, indices: &[NodeId], extents: &[usize]) -> bool {
    indices.iter().zip(extents).all(|(&index, &extent)| {
        let (low, high) = interval(arena, index);
        arena.ty(index).size() == 0 || (low >= 0 && (high as u64) < extent as u64)
    })
}

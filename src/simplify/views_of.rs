//! Views made from axes, which several tables ask for.

use super::Simplifier;
use crate::affine::AffineMap;
use crate::shape::Axes;
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// The map with these result axes only, in this order; the others are read at 0.
pub(super) fn columns(map: &AffineMap, kept: &[usize]) -> AffineMap {
    let result: Axes = kept.iter().map(|&column| map.result()[column]).collect();
    let rows: Vec<SmallVec<[i64; 4]>> =
        (0..map.source().len()).map(|row| kept.iter().map(|&column| map.coefficient(row, column)).collect()).collect();
    let offsets: SmallVec<[i64; 4]> = (0..map.source().len()).map(|row| map.offset(row)).collect();
    AffineMap::new(map.source(), &result, &rows, &offsets)
}

/// The view of a node; the node itself where the map is the identity, a constant where it is one.
pub(super) fn view(arena: &mut Simplifier, node: NodeId, map: AffineMap) -> NodeId {
    if map.is_identity() {
        return node;
    }
    match arena.uniform(node) {
        Some(value) if map.is_inside() => arena.full(map.result(), value),
        _ => arena.add(Op::View(map), &[node]),
    }
}

//! Views, reshapes and concatenations: reads are composed, repetition moves outwards, pieces are joined.

mod hoist;
mod joins;
mod reads;
mod reshapes;
#[cfg(test)]
mod tests;

use super::{Rules, Simplifier};
use crate::affine::AffineMap;
use crate::shape::{Axes, Shape, Value};
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

pub(super) const RULES: Rules = &[
    ("view identity", reads::view_identity),
    ("view of nothing", reads::view_of_nothing),
    ("view of view", reads::view_of_view),
    ("view of uniform", reads::view_of_uniform),
    ("view of table", reads::view_of_table),
    ("view of an index", super::arithmetic::view_of_index),
    ("view of part", joins::view_of_part),
    ("view of reshape", reshapes::view_of_reshape),
    ("reshape units", reshapes::reshape_units),
    ("reshape of reshape", reshapes::reshape_of_reshape),
    ("reshape of constant", reshapes::reshape_of_constant),
    ("reshape of view", reshapes::reshape_of_view),
    ("concatenate constants", joins::concatenate_constants),
    ("concatenate nested", joins::concatenate_nested),
    ("concatenate pieces", joins::concatenate_pieces),
    ("hoist replicate", hoist::hoist_replicate),
    ("hoist bijection", hoist::hoist_bijection),
];

/// The coefficients of a map, a row for each source axis.
pub(super) fn rows_of(map: &AffineMap) -> Vec<SmallVec<[i64; 4]>> {
    (0..map.source().len()).map(|row| map.row(row).into()).collect()
}

/// The offsets of a map.
pub(super) fn offsets_of(map: &AffineMap) -> SmallVec<[i64; 4]> {
    (0..map.source().len()).map(|row| map.offset(row)).collect()
}

/// A constant of zeros of a node's element type.
pub(super) fn zeros_like(arena: &mut Simplifier, node: NodeId, shape: &[usize]) -> NodeId {
    let zero = Value::from_i64(arena.ty(node).dtype, 0);
    arena.full(shape, zero)
}

/// The map without result axes, which are read at 0.
pub(super) fn drop_columns(map: &AffineMap, axes: &[usize]) -> AffineMap {
    let kept = |axis: &usize| !axes.contains(axis);
    let result: Shape = (0..map.result().len()).filter(kept).map(|axis| map.result()[axis]).collect();
    let rows: Vec<SmallVec<[i64; 4]>> = (0..map.source().len())
        .map(|row| (0..map.result().len()).filter(kept).map(|axis| map.coefficient(row, axis)).collect())
        .collect();
    AffineMap::new(map.source(), &result, &rows, &offsets_of(map))
}

/// A node without some of its axes, along which it is read at 0.
pub(super) fn without_axes(arena: &mut Simplifier, node: NodeId, axes: &[usize]) -> NodeId {
    let map = drop_columns(&AffineMap::identity(&arena.ty(node).shape.clone()), axes);
    arena.add(Op::View(map), &[node])
}

/// A node repeated along these axes of `shape`, whose other axes are the node's own.
pub(super) fn with_axes(arena: &mut Simplifier, node: NodeId, shape: &[usize], axes: &[usize]) -> NodeId {
    let kept: Axes = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let map = AffineMap::broadcast(&arena.ty(node).shape.clone(), shape, &kept);
    arena.add(Op::View(map), &[node])
}

/// The node along one axis, at `count` positions from `start` on; positions outside are 0. `None` where that is too far.
pub(super) fn window(arena: &mut Simplifier, node: NodeId, axis: usize, start: i64, count: usize) -> Option<NodeId> {
    let map = AffineMap::along_checked(&arena.ty(node).shape.clone(), axis, start, 1, count)?;
    Some(arena.add(Op::View(map), &[node]))
}

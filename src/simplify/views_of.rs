//! What several tables ask of views: whether they only permute, and views made from axes.

use super::Simplifier;
use crate::affine::AffineMap;
use crate::shape::Axes;
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// The result axis of each source axis, of a map that only permutes the axes.
pub(super) fn permutation(map: &AffineMap) -> Option<Axes> {
    let (source, result) = (map.source(), map.result());
    if source.len() != result.len() {
        return None;
    }
    let mut order = Axes::new();
    for (row, &extent) in source.iter().enumerate() {
        let mut columns = (0..result.len()).filter(|&column| map.coefficient(row, column) != 0);
        let (column, rest) = (columns.next()?, columns.next());
        let plain = map.coefficient(row, column) == 1 && map.offset(row) == 0 && result[column] == extent;
        if !plain || rest.is_some() || order.contains(&column) {
            return None;
        }
        order.push(column);
    }
    Some(order)
}

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

//! Views of views and of constants.

use super::zeros_like;
use crate::evaluate::computed;
use crate::shape::{Value, size};
use crate::simplify::Simplifier;
use crate::term::{NodeId, Op};
use smallvec::smallvec;

/// Constants of up to this many elements are computed while simplifying.
pub(super) const TABLE: usize = 64;

/// A view that reads its source unchanged is its source: one node less.
pub(super) fn view_identity(_: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    map.is_identity().then(|| args[0])
}

/// A view that reads nothing inside its source is zeros: one read less.
pub(super) fn view_of_nothing(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    let nothing = size(map.result()) == 0
        || (0..map.source().len()).any(|row| {
            let (low, high) = map.range(row);
            high < 0 || low >= map.source()[row] as i128
        });
    nothing.then(|| zeros_like(arena, args[0], map.result()))
}

/// A view of a view is one view: one node less.
pub(super) fn view_of_view(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(outer) = op else { return None };
    let (Op::View(inner), inner_args) = arena.parts(args[0]) else { return None };
    let (composed, source) = (outer.compose_with_zeros(inner)?, inner_args[0]);
    Some(arena.add(Op::View(composed), &[source]))
}

/// A view of equal elements, all inside, is equal elements: no read.
pub(super) fn view_of_uniform(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    let value = arena.uniform(args[0])?;
    let zero = value == Value::from_i64(value.dtype(), 0);
    (zero || map.is_inside()).then(|| arena.full(map.result(), value))
}

/// A small view of a constant is a constant: no read.
pub(super) fn view_of_table(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    let Op::Constant(array) = arena.parts(args[0]).0 else { return None };
    if size(map.result()) > TABLE {
        return None;
    }
    let table = computed(op, smallvec![array.clone()]);
    Some(arena.add(Op::Constant(table), &[]))
}

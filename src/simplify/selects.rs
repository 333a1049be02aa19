//! Selections: decided, merged, and combined with others under the same mask.

use super::{Rules, Simplifier};
use crate::affine::AffineMap;
use crate::operation::{Binary, Unary};
use crate::shape::{Axes, DType, Value};
use crate::term::{NodeId, Op};

#[cfg(test)]
mod tests;

pub(super) const RULES: Rules = &[
    ("mark without effect", needless_mark),
    ("decided selection", decided),
    ("selection of equal sides", equal_sides),
    ("selection of truth values", truth_values),
    ("selection by a negated mask", negated_mask),
    ("selection twice by one mask", same_mask),
    ("selection of a selection or zero", nested_zero),
    ("selection of what is written", written),
    ("operation on selections by one mask", joined),
    ("sum of complementary selections", complementary),
    ("view of one side", view_of_side),
    ("negation of a selection", negated),
];

/// The operands of a selection.
fn parts(op: &Op, args: &[NodeId]) -> Option<(NodeId, NodeId, NodeId)> {
    match (op, args) {
        (Op::Select, &[mask, yes, no]) => Some((mask, yes, no)),
        _ => None,
    }
}

/// The mask and first side of a selection whose second side is 0.
fn masked(arena: &Simplifier, node: NodeId) -> Option<(NodeId, NodeId)> {
    let (op, args) = arena.parts(node);
    let (mask, yes, no) = parts(op, args)?;
    is_zero(arena, no).then_some((mask, yes))
}

fn is_zero(arena: &Simplifier, node: NodeId) -> bool {
    arena.ty(node).dtype != DType::Bool && arena.is_uniform(node, 0.0)
}

/// The operand of a logical negation.
fn negation(arena: &Simplifier, node: NodeId) -> Option<NodeId> {
    match arena.parts(node) {
        (Op::Unary(Unary::Not), args) => Some(args[0]),
        _ => None,
    }
}

/// Removes the mark of a value that is marked already, or has no derivative.
fn needless_mark(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Mark = op else { return None };
    let constant = matches!(arena.node(args[0]).op, Op::Mark | Op::Constant(_)) || !arena.ty(args[0]).dtype.is_float();
    constant.then_some(args[0])
}

/// A selection by a constant becomes one of its sides. The mark of a chosen branch is kept where the other side was a branch,
/// and not just a uniform value such as zeros.
fn decided(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (mask, yes, no) = parts(op, args)?;
    let (side, other) = match arena.uniform(mask)? {
        Value::Bool(true) => (yes, no),
        _ => (no, yes),
    };
    Some(if arena.uniform(other).is_some() { side } else { arena.add(Op::Mark, &[side]) })
}

/// A selection between equal sides is that side.
fn equal_sides(_: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (_, yes, no) = parts(op, args)?;
    (yes == no).then_some(yes)
}

/// A selection with a truth value for a side is a logical operation.
fn truth_values(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (mask, yes, no) = parts(op, args)?;
    if arena.ty(yes).dtype != DType::Bool {
        return None;
    }
    match (arena.uniform(yes), arena.uniform(no)) {
        (Some(Value::Bool(true)), Some(Value::Bool(false))) => Some(mask),
        (Some(Value::Bool(false)), Some(Value::Bool(true))) => Some(arena.add(Op::Unary(Unary::Not), &[mask])),
        (Some(Value::Bool(true)), None) => Some(arena.add(Op::Binary(Binary::Or), &[mask, no])),
        (None, Some(Value::Bool(false))) => Some(arena.add(Op::Binary(Binary::And), &[mask, yes])),
        _ => None,
    }
}

/// The sides are exchanged instead of the mask being negated.
fn negated_mask(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (mask, yes, no) = parts(op, args)?;
    let inner = negation(arena, mask)?;
    Some(arena.add(Op::Select, &[inner, no, yes]))
}

/// Within a side, the mask is known: the inner selection goes.
fn same_mask(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (mask, yes, no) = parts(op, args)?;
    let inner = |node: NodeId| {
        let (op, args) = arena.parts(node);
        parts(op, args).filter(|&(other, ..)| other == mask)
    };
    let (first, second) = (inner(yes), inner(no));
    if first.is_none() && second.is_none() {
        return None;
    }
    let yes = first.map_or(yes, |(_, yes, _)| yes);
    let no = second.map_or(no, |(_, _, no)| no);
    Some(arena.add(Op::Select, &[mask, yes, no]))
}

/// Two selections against 0 are one by both masks: a logical operation instead of a selection.
fn nested_zero(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (mask, yes, no) = parts(op, args)?;
    if !is_zero(arena, no) {
        return None;
    }
    let (inner, yes) = masked(arena, yes)?;
    let both = arena.add(Op::Binary(Binary::And), &[mask, inner]);
    Some(arena.add(Op::Select, &[both, yes, no]))
}

/// A scatter is 0 where nothing is written: it needs no mask that says where.
fn written(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (mask, yes, no) = parts(op, args)?;
    let mask = match arena.parts(mask) {
        (Op::View(map), &[source]) => {
            let axes: Axes = (0..map.source().len()).collect();
            let outer = map.result().starts_with(map.source());
            (outer && *map == AffineMap::broadcast(map.source(), map.result(), &axes)).then_some(source)?
        }
        _ => mask,
    };
    let ((Op::Scatter(shape), places), (Op::Scatter(other), written)) = (arena.parts(yes), arena.parts(mask)) else {
        return None;
    };
    let everywhere = arena.uniform(written[0]) == Some(Value::Bool(true));
    (is_zero(arena, no) && everywhere && shape == other && places[1..] == written[1..]).then_some(yes)
}

/// Sums, differences and products of values under one mask are masked once.
fn joined(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Binary(Binary::Add | Binary::Sub | Binary::Mul) = op else { return None };
    let ((mask, a), (other, b)) = (masked(arena, args[0])?, masked(arena, args[1])?);
    if mask != other {
        return None;
    }
    let zero = arena.node(args[0]).args[2];
    let inner = arena.add(op.clone(), &[a, b]);
    Some(arena.add(Op::Select, &[mask, inner, zero]))
}

/// A selection with a side of 0: the mask, and the value kept by the mask or by its opposite.
fn half(arena: &Simplifier, node: NodeId) -> Option<(NodeId, [Option<NodeId>; 2])> {
    let (op, args) = arena.parts(node);
    let (mask, yes, no) = parts(op, args)?;
    match (is_zero(arena, yes), is_zero(arena, no)) {
        (false, true) => Some((mask, [Some(yes), None])),
        (true, false) => Some((mask, [None, Some(no)])),
        _ => None,
    }
}

/// The selection of two halves by one mask.
fn whole(arena: &mut Simplifier, a: NodeId, b: NodeId) -> Option<NodeId> {
    let ((mask, first), (other, second)) = (half(arena, a)?, half(arena, b)?);
    match (mask == other, first, second) {
        (true, [Some(yes), None], [None, Some(no)]) | (true, [None, Some(no)], [Some(yes), None]) => {
            Some(arena.add(Op::Select, &[mask, yes, no]))
        }
        _ => None,
    }
}

/// The sum of a value under a mask and one under its opposite is a selection, in a longer sum too: an addition less.
fn complementary(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Binary(Binary::Add) = op else { return None };
    if let Some(node) = whole(arena, args[0], args[1]) {
        return Some(node);
    }
    for (single, sum) in [(args[0], args[1]), (args[1], args[0])] {
        let (Op::Binary(Binary::Add), &[a, b]) = arena.parts(sum) else { continue };
        for (term, rest) in [(a, b), (b, a)] {
            if let Some(node) = whole(arena, single, term) {
                return Some(arena.add(op.clone(), &[rest, node]));
            }
        }
    }
    None
}

/// A view of a selection by position that reads positions of one side only is a view of that side, marked as in
/// [`decided`].
fn view_of_side(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    let (inner, operands) = arena.parts(args[0]);
    let (mask, yes, no) = parts(inner, operands)?;
    let (Op::Compare(comparison), &[a, b]) = arena.parts(mask) else { return None };
    let (a, b) = (arena.fact(a).affine.as_ref()?, arena.fact(b).affine.as_ref()?);
    // The smallest and largest difference of the two, over a box that holds all positions that are read.
    let mut low = a.constant as i128 - b.constant as i128;
    let mut high = low;
    for (row, &extent) in map.source().iter().enumerate() {
        let (first, last) = map.range(row);
        let step = a.coefficients[row] as i128 - b.coefficients[row] as i128;
        let ends = [first, last].map(|at| at.clamp(0, (extent as i128 - 1).max(0)) * step);
        low += ends[0].min(ends[1]);
        high += ends[0].max(ends[1]);
    }
    let (side, other) = match super::bounds::decided(*comparison, (low, high), (0, 0))? {
        true => (yes, no),
        false => (no, yes),
    };
    let side = if arena.uniform(other).is_some() { side } else { arena.add(Op::Mark, &[side]) };
    Some(arena.add(op.clone(), &[side]))
}

/// The sign moves into the side that is not 0, where it may meet another.
fn negated(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Unary(Unary::Neg) = op else { return None };
    let (mask, yes) = masked(arena, args[0])?;
    let zero = arena.node(args[0]).args[2];
    let inner = arena.add(op.clone(), &[yes]);
    Some(arena.add(Op::Select, &[mask, inner, zero]))
}

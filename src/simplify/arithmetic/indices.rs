//! Integer arithmetic of indices: a normal form for affine expressions, and decisions by bounds.

use super::{binary, fact, filled, negated, with_constant};
use crate::affine::AffineMap;
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Value};
use crate::simplify::Simplifier;
use crate::simplify::bounds::{AffineIndex, Fact};
use crate::simplify::views_of::view;
use crate::term::{NodeId, Op};

/// A view of an index that moves along at most one axis is an index of that axis alone: positions that the view does not read
/// need not exist.
pub(in crate::simplify) fn view_of_index(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    // `affine_form` produces repetitions of an index of one axis.
    let plain = |axis: usize| {
        let own = |column: usize| map.coefficient(0, column) == i64::from(column == axis);
        map.offset(0) == 0 && map.source()[0] == map.result()[axis] && (0..map.result().len()).all(own)
    };
    if !map.is_inside() || (map.source().len() == 1 && (0..map.result().len()).any(plain)) {
        return None;
    }
    let (ty, fact) = fact(arena, op, args)?;
    let form = fact.affine?;
    match form.is_constant() {
        true => Some(arena.full(&ty.shape, Value::from_i64(ty.dtype, form.constant))),
        false => affine_form(arena, op, args),
    }
}

/// An index that moves along one axis is `iota · factor + offset`, repeated, so that equal indices are equal nodes: at most
/// two operations, on one axis.
pub(super) fn affine_form(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (ty, fact) = fact(arena, op, args)?;
    let AffineIndex { coefficients, constant } = fact.affine?;
    let mut moving = (0..ty.rank()).filter(|&axis| coefficients[axis] != 0);
    let (axis, more) = (moving.next()?, moving.next());
    if ty.dtype != DType::I64 || more.is_some() {
        return None;
    }
    let extent = ty.shape[axis];
    let mut node = arena.add(Op::Iota(extent), &[]);
    // The other rules leave these forms, so none needs to be tried.
    match coefficients[axis] {
        1 => {}
        -1 => node = arena.add_as_is(Op::Unary(Unary::Neg), &[node]),
        factor => {
            let factor = arena.full(&[extent], Value::I64(factor));
            node = arena.add_as_is(Op::Binary(Binary::Mul), &[node, factor]);
        }
    }
    if constant != 0 {
        let offset = arena.full(&[extent], Value::I64(constant));
        node = arena.add_as_is(Op::Binary(Binary::Add), &[node, offset]);
    }
    Some(view(arena, node, AffineMap::broadcast(&[extent], &ty.shape, &[axis])))
}

/// The remainder by a larger number is the dividend.
pub(super) fn small_dividend(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Binary::Rem | Binary::Modulo, a, b) = binary(op, args)? else { return None };
    let ((low, high), (divisor, _)) = (arena.fact(a).interval, arena.fact(b).interval);
    (low >= 0 && high < divisor).then_some(a)
}

/// If the bounds of two integers do not overlap, their maximum and minimum are known.
pub(super) fn decided_extreme(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let ty = arena.ty(args[0]);
    if !ty.dtype.is_integer() {
        return None;
    }
    let (low, high) = arena.fact(args[0]).interval;
    if let Op::Unary(Unary::Relu | Unary::Abs) = op {
        return (low >= 0).then_some(args[0]);
    }
    let (op, a, b) = binary(op, args)?;
    let (other_low, other_high) = arena.fact(b).interval;
    let (below, above) = (high <= other_low, low >= other_high);
    match op {
        Binary::Min | Binary::MinRight if below => Some(a),
        Binary::Min | Binary::MinRight if above => Some(b),
        Binary::Max | Binary::MaxRight if above => Some(a),
        Binary::Max | Binary::MaxRight if below => Some(b),
        _ => None,
    }
}

/// The comparison that holds for `(b, a)` where this one holds for `(a, b)`.
fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessEqual => Comparison::GreaterEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterEqual => Comparison::LessEqual,
        same @ (Comparison::Equal | Comparison::NotEqual) => same,
    }
}

/// In a comparison with a constant, the constant goes to the right; offsets and signs of integers that do not wrap go into it.
pub(super) fn compared(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (&Op::Compare(comparison), &[a, b]) = (op, args) else { return None };
    if arena.uniform(a).is_some() && arena.uniform(b).is_none() {
        return Some(arena.add(Op::Compare(mirrored(comparison)), &[b, a]));
    }
    let ty = arena.ty(a);
    let bound = arena.uniform(b)?.to_integer()?;
    if !ty.dtype.is_integer() || arena.fact(a).interval == Fact::unknown(ty).interval {
        return None;
    }
    let (comparison, x, bound) = match (negated(arena, a), with_constant(arena, a, Binary::Add)) {
        (Some(x), _) => (mirrored(comparison), x, bound.checked_neg()?),
        (None, Some((x, offset))) => (comparison, x, bound.checked_sub(offset.to_integer()?)?),
        (None, None) => return None,
    };
    // The new bound must fit the element type.
    let value = Value::from_i64(arena.ty(a).dtype, bound);
    if value.to_integer() != Some(bound) {
        return None;
    }
    let bound = filled(arena, b, value);
    Some(arena.add(Op::Compare(comparison), &[x, bound]))
}

//! The adjoints of views, solved: an accumulation is a view, a sum of a view, or stays.
//!
//! `accumulate(u, map)` adds `u[j]` at position `matrix · j + offset`. Solved for `j`, that says which updates each position
//! receives: one (a view of the updates, which is 0 outside: a pad), or those along axes that stay free (a sum).

use super::views::{drop_columns, offsets_of, zeros_like};
use super::{Rules, Simplifier};
use crate::affine::{AffineEquation, AffineMap};
use crate::operation::Reduction;
use crate::shape::{Axes, Shape, Value, size};
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

pub(super) const RULES: Rules = &[
    ("accumulate identity", accumulate_identity),
    ("accumulate nothing", accumulate_nothing),
    ("accumulate repeated", accumulate_repeated),
    ("accumulate merged", accumulate_merged),
    ("accumulate solved", accumulate_solved),
];

/// Adding every element at its own position is the identity: one node less.
fn accumulate_identity(_: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Accumulate(map) = op else { return None };
    map.is_identity().then(|| args[0])
}

/// Adding zeros, or nothing, gives zeros: no work.
fn accumulate_nothing(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Accumulate(map) = op else { return None };
    let zero = Value::from_i64(arena.ty(args[0]).dtype, 0);
    let nothing = size(map.result()) == 0 || size(map.source()) == 0 || arena.uniform(args[0]) == Some(zero);
    nothing.then(|| zeros_like(arena, args[0], map.source()))
}

/// Axes along which all updates go to one position are summed first: smaller updates.
fn accumulate_repeated(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Accumulate(map) = op else { return None };
    let mut axes: Axes = map.ignored();
    axes.retain(|axis| map.result()[*axis] > 1);
    if axes.is_empty() {
        return None;
    }
    let smaller = drop_columns(map, &axes);
    let sum = arena.add(Op::Reduce(Reduction::Sum, axes), args);
    Some(arena.add(Op::Accumulate(smaller), &[sum]))
}

/// Two axes of the updates that move as one, `extent · i + j`, are reshaped into one: fewer axes.
fn accumulate_merged(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Accumulate(map) = op else { return None };
    let shape = map.result();
    let columns = shape.len();
    let moves_as_one = |outer: usize, inner: usize| {
        outer != inner
            && shape[outer] > 1
            && shape[inner] > 1
            && (0..map.source().len()).all(|row| {
                let step = map.coefficient(row, inner) as i128;
                map.coefficient(row, outer) as i128 == step * shape[inner] as i128
            })
    };
    let pairs = (0..columns).flat_map(|outer| (0..columns).map(move |inner| (outer, inner)));
    let (outer, inner) = pairs.into_iter().find(|&(outer, inner)| moves_as_one(outer, inner))?;
    // The outer axis is moved before the inner one; then a reshape merges them.
    let mut order: Axes = (0..columns).filter(|&axis| axis != outer).collect();
    let at = order.iter().position(|&axis| axis == inner)?;
    order.insert(at, outer);
    let moved = AffineMap::transpose(shape, &order);
    let mut merged = Shape::from_slice(moved.result());
    merged[at] = merged[at].checked_mul(merged.remove(at + 1))?;
    let rows: Vec<SmallVec<[i64; 4]>> = (0..map.source().len())
        .map(|row| order.iter().filter(|&&axis| axis != outer).map(|&axis| map.coefficient(row, axis)).collect())
        .collect();
    let smaller = AffineMap::checked(map.source(), &merged, &rows, &offsets_of(map))?;
    let updates = arena.add(Op::View(moved), args);
    let updates = arena.add(Op::Reshape(merged), &[updates]);
    Some(arena.add(Op::Accumulate(smaller), &[updates]))
}

/// An accumulation whose positions can be solved for the positions of the updates becomes a view of the updates, summed over
/// axes that stay free, unless that is more work. The view reads outside where nothing is added.
fn accumulate_solved(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Accumulate(map) = op else { return None };
    let equations = map.solved()?;
    let (updates_shape, shape) = (map.result(), map.source());
    let unsolved = |equation: &AffineEquation| equation.pivot.is_none() && equation.result.iter().any(|&c| c != 0);
    if equations.iter().any(unsolved) {
        return None;
    }
    let solved = |column: usize| equations.iter().find(|equation| equation.pivot == Some(column));
    let free: Axes =
        (0..updates_shape.len()).filter(|&column| updates_shape[column] > 1 && solved(column).is_none()).collect();
    // The view reads the updates at result positions, then at free positions.
    let mut whole = Shape::from_slice(shape);
    whole.extend(free.iter().map(|&column| updates_shape[column]));
    if size(&whole) > size(updates_shape).max(size(shape)).saturating_mul(2) {
        return None;
    }
    let mut source = Shape::from_slice(updates_shape);
    let mut rows: Vec<SmallVec<[i64; 4]>> = Vec::new();
    let mut offsets: SmallVec<[i64; 4]> = SmallVec::new();
    for column in 0..updates_shape.len() {
        let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, whole.len());
        let mut offset = 0;
        if let Some(equation) = solved(column) {
            row[..shape.len()].copy_from_slice(&equation.source);
            for (at, &axis) in free.iter().enumerate() {
                row[shape.len() + at] = equation.result[axis].checked_neg()?;
            }
            offset = equation.constant;
        } else if let Some(at) = free.iter().position(|&axis| axis == column) {
            row[shape.len() + at] = 1;
        }
        rows.push(row);
        offsets.push(offset);
    }
    // The residue of the other equations must be 0 where something is added: it is the position along an axis of extent 1.
    for equation in equations.iter().filter(|equation| equation.pivot.is_none()) {
        let fixed = equation.source.iter().all(|&coefficient| coefficient == 0);
        if fixed && equation.constant == 0 {
            continue;
        }
        let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, whole.len());
        row[..shape.len()].copy_from_slice(&equation.source);
        rows.push(row);
        offsets.push(equation.constant);
        source.push(1);
    }
    let read = AffineMap::checked(&source, &whole, &rows, &offsets)?;
    let updates = if source.len() > updates_shape.len() { arena.add(Op::Reshape(source), args) } else { args[0] };
    let view = arena.add(Op::View(read), &[updates]);
    if free.is_empty() {
        return Some(view);
    }
    let axes: Axes = (shape.len()..whole.len()).collect();
    Some(arena.add(Op::Reduce(Reduction::Sum, axes), &[view]))
}

//! Reshapes, where they are affine.

use crate::affine::AffineMap;
use crate::evaluate::computed;
use crate::shape::{Axes, Shape, size, strides};
use crate::simplify::Simplifier;
use crate::term::{NodeId, Op};
use smallvec::{SmallVec, smallvec};

/// A reshape that only adds and removes axes of extent 1 is a view, which composes with others.
pub(super) fn reshape_units(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Reshape(to) = op else { return None };
    let from = &arena.ty(args[0]).shape;
    let long = |shape: &[usize]| -> Axes { (0..shape.len()).filter(|&axis| shape[axis] != 1).collect() };
    let (long_from, long_to) = (long(from), long(to));
    if long_from.len() != long_to.len() || long_from.iter().zip(&long_to).any(|(&a, &b)| from[a] != to[b]) {
        return None;
    }
    let mut rows: Vec<SmallVec<[i64; 4]>> = vec![SmallVec::from_elem(0, to.len()); from.len()];
    for (&a, &b) in long_from.iter().zip(&long_to) {
        rows[a][b] = 1;
    }
    let offsets: SmallVec<[i64; 4]> = SmallVec::from_elem(0, from.len());
    let map = AffineMap::new(from, to, &rows, &offsets);
    Some(arena.add(Op::View(map), args))
}

/// A reshape of a reshape does not need the first one.
pub(super) fn reshape_of_reshape(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Op::Reshape(_), (Op::Reshape(_), inner)) = (op, arena.parts(args[0])) else { return None };
    let source = inner[0];
    Some(arena.add(op.clone(), &[source]))
}

/// A reshaped constant is a constant, with the same buffer.
pub(super) fn reshape_of_constant(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Op::Reshape(_), Op::Constant(array)) = (op, arena.parts(args[0]).0) else { return None };
    let reshaped = computed(op, smallvec![array.clone()]);
    Some(arena.add(Op::Constant(reshaped), &[]))
}

/// Axes of two shapes of one size, in the smallest runs of equal size; `None` for empty arrays.
type Groups = Vec<(std::ops::Range<usize>, std::ops::Range<usize>)>;

fn groups(from: &[usize], to: &[usize]) -> Option<Groups> {
    if size(from) == 0 {
        return None;
    }
    let mut groups = Groups::new();
    let (mut a, mut b) = (0, 0);
    while a < from.len() || b < to.len() {
        let (start_a, start_b) = (a, b);
        let (mut size_a, mut size_b) = (1usize, 1usize);
        loop {
            if size_a < size_b
                || (b == to.len() && a < from.len())
                || (size_a == size_b && a == start_a && a < from.len())
            {
                size_a = size_a.checked_mul(*from.get(a)?)?;
                a += 1;
            } else {
                size_b = size_b.checked_mul(*to.get(b)?)?;
                b += 1;
            }
            let started = (a > start_a || start_a == from.len()) && (b > start_b || start_b == to.len());
            if size_a == size_b && started {
                break;
            }
        }
        groups.push((start_a..a, start_b..b));
    }
    Some(groups)
}

/// A reshaped view is a view, where the axes that the reshape merges move through the source in one stride.
pub(super) fn reshape_of_view(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Op::Reshape(to), (Op::View(map), sources)) = (op, arena.parts(args[0])) else { return None };
    let source = sources[0];
    let from = map.result();
    let mut rows: Vec<SmallVec<[i64; 4]>> = vec![SmallVec::from_elem(0, to.len()); map.source().len()];
    for (merged, split) in groups(from, to)? {
        let long: Axes = merged.filter(|&axis| from[axis] > 1).collect();
        let steps = strides(&to[split.clone()]);
        for (row, coefficients) in rows.iter_mut().enumerate() {
            let inner = long.last().map_or(0, |&axis| map.coefficient(row, axis));
            let mut stride = inner;
            for &axis in long.iter().rev() {
                if map.coefficient(row, axis) != stride {
                    return None;
                }
                stride = stride.checked_mul(i64::try_from(from[axis]).ok()?)?;
            }
            for (axis, &step) in split.clone().zip(&steps) {
                coefficients[axis] = inner.checked_mul(i64::try_from(step).ok()?)?;
            }
        }
    }
    let reshaped = AffineMap::checked(map.source(), to, &rows, &super::offsets_of(map))?;
    Some(arena.add(Op::View(reshaped), &[source]))
}

/// A view that reads a part of a reshaped array reads the array directly, where it moves along one axis for each axis that the
/// reshape made of several: elements that are not read need not exist.
pub(super) fn view_of_reshape(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Op::View(map), (Op::Reshape(to), sources)) = (op, arena.parts(args[0])) else { return None };
    let source = sources[0];
    let from = &arena.ty(source).shape;
    if !map.is_inside() || size(map.result()) >= size(from) {
        return None;
    }
    let columns = map.result().len();
    let mut rows: Vec<SmallVec<[i64; 4]>> = vec![SmallVec::from_elem(0, columns); from.len()];
    let mut offsets: SmallVec<[i64; 4]> = SmallVec::from_elem(0, from.len());
    for (inner, outer) in groups(from, to)? {
        // The position within the run of axes, row-major.
        let mut moves: SmallVec<[i64; 4]> = SmallVec::from_elem(0, columns);
        let mut offset = 0i64;
        for (axis, &stride) in outer.clone().zip(&strides(&to[outer])) {
            let stride = i64::try_from(stride).ok()?;
            offset = offset.checked_add(map.offset(axis).checked_mul(stride)?)?;
            for (column, sum) in moves.iter_mut().enumerate() {
                *sum = sum.checked_add(map.coefficient(axis, column).checked_mul(stride)?)?;
            }
        }
        let long: Axes = inner.clone().filter(|&axis| from[axis] > 1).collect();
        if moves.iter().all(|&step| step == 0) {
            for (axis, &stride) in inner.clone().zip(&strides(&from[inner])) {
                offsets[axis] = offset / stride as i64 % from[axis] as i64;
            }
        } else if let [axis] = long[..] {
            rows[axis] = moves;
            offsets[axis] = offset;
        } else {
            return None;
        }
    }
    let shape = Shape::from_slice(from);
    let direct = AffineMap::checked(&shape, map.result(), &rows, &offsets)?;
    Some(arena.add(Op::View(direct), &[source]))
}

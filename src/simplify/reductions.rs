//! Reductions: merged with each other, and moved inward past operations that only arrange or repeat their operand.
//! [`super::contract`] treats sums of products, including factors and signs.

use super::arithmetic::{exponent, movable_exponent};
use super::contract::is_outer_product;
use super::views::drop_columns;
use super::views_of::{columns, view};
use super::{Rules, Simplifier};
use crate::affine::AffineMap;
use crate::array::Array;
use crate::evaluate::computed;
use crate::operation::{Binary, Reduction};
use crate::shape::{Axes, DType, Shape, Type, Value, size};
use crate::term::{NodeId, Op};
use smallvec::{SmallVec, smallvec};

#[cfg(test)]
mod tests;

pub(super) const RULES: Rules = &[
    ("reduction over no axes", no_axes),
    ("reduction of nothing", nothing),
    ("reduction of equal elements", equal_elements),
    ("sum of an index", sum_of_index),
    ("sum of a concatenation", sum_of_parts),
    ("sum of quotients by one divisor", sum_of_quotients),
    ("reduction of a reduction", merged),
    ("reduction over axes of one element", unit_axes),
    ("reduction of repetitions", repetitions),
    ("reduction of a rearrangement", rearrangement),
    ("reduction of a reshape", reshaped),
    ("extreme of one element", only_element),
];

/// A reduction and its operand.
fn parts<'a>(op: &'a Op, args: &[NodeId]) -> Option<(Reduction, &'a Axes, NodeId)> {
    match op {
        Op::Reduce(reduction, axes) => Some((*reduction, axes, args[0])),
        _ => None,
    }
}

/// The axes of an array of this rank that are not reduced.
fn others(rank: usize, axes: &[usize]) -> Axes {
    (0..rank).filter(|axis| !axes.contains(axis)).collect()
}

/// The shape that a reduction results in.
fn reduced(shape: &[usize], axes: &[usize]) -> Shape {
    others(shape.len(), axes).iter().map(|&axis| shape[axis]).collect()
}

/// The reduction disappears.
fn no_axes(_: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (_, axes, operand) = parts(op, args)?;
    axes.is_empty().then_some(operand)
}

/// Of no elements, the reduction is a constant.
fn nothing(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (reduction, axes, operand) = parts(op, args)?;
    let ty = arena.ty(operand).clone();
    if ty.size() != 0 {
        return None;
    }
    let empty =
        computed(&Op::Reduce(reduction, smallvec![0]), smallvec![Array::full(&[0], Value::from_i64(ty.dtype, 0))]);
    Some(arena.full(&reduced(&ty.shape, axes), empty.element(0)))
}

/// The reduction of one repeated value is a constant.
fn equal_elements(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (reduction, axes, operand) = parts(op, args)?;
    let value = arena.uniform(operand)?;
    let shape = arena.ty(operand).shape.clone();
    let sum = reduction == Reduction::Sum && value.dtype() != DType::Bool;
    let factor =
        if sum { count(value.dtype(), &shape, axes) } else { return Some(arena.full(&reduced(&shape, axes), value)) };
    let product = computed(&Op::Binary(Binary::Mul), smallvec![Array::full(&[], value), Array::full(&[], factor)]);
    Some(arena.full(&reduced(&shape, axes), product.element(0)))
}

/// A divisor that is the same for all terms divides the sum: once, and the terms may become products. A divisor that is
/// computed, or far from 1, may be there to keep terms in range: it stays, except where the terms are an outer product.
fn sum_of_quotients(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Reduction::Sum, axes, operand) = parts(op, args)? else { return None };
    let (Op::Binary(Binary::Div), &[dividend, divisor]) = arena.parts(operand) else { return None };
    let shape = reduced(&arena.ty(operand).shape, axes);
    let divisor = match (arena.uniform(divisor), arena.parts(divisor)) {
        (Some(value), _) if exponent(value) <= movable_exponent(value.dtype()) => arena.full(&shape, value),
        (None, (Op::View(map), &[source]))
            if axes.iter().all(|axis| map.ignored().contains(axis)) && is_outer_product(arena, dividend) =>
        {
            let map = drop_columns(map, axes);
            arena.add(Op::View(map), &[source])
        }
        _ => return None,
    };
    let sum = arena.add(op.clone(), &[dividend]);
    Some(arena.add(Op::Binary(Binary::Div), &[sum, divisor]))
}

/// How many elements are added up, as an element; modulo a power of two for integers, as all their arithmetic.
fn count(dtype: DType, shape: &[usize], axes: &[usize]) -> Value {
    let extents: Shape = axes.iter().map(|&axis| shape[axis]).collect();
    match dtype.is_float() {
        true => Value::from_f64(dtype, size(&extents) as f64),
        false => Value::from_i64(dtype, extents.iter().fold(1i64, |n, &extent| n.wrapping_mul(extent as i64))),
    }
}

/// Whether it matters which of several equal elements comes first: the derivative of a largest or smallest float goes there.
fn ties_matter(arena: &Simplifier, reduction: Reduction, source: NodeId) -> bool {
    reduction != Reduction::Sum && arena.ty(source).dtype.is_float()
}

/// Whether these axes of an array go from outer to inner ones, ignoring axes of at most one element.
fn in_order(arena: &Simplifier, array: NodeId, axes: impl Iterator<Item = usize>) -> bool {
    axes.filter(|&axis| arena.ty(array).shape[axis] > 1).is_sorted()
}

/// A sum of an index, as an integer or cast to a float, that does not depend on the position is a known number.
///
/// For floats it must be so small that it is exact in every order of summation.
fn sum_of_index(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Reduction::Sum, axes, operand) = parts(op, args)? else { return None };
    let ty = arena.ty(operand).clone();
    let (index, limit) = match (arena.parts(operand), ty.dtype) {
        ((Op::Cast(_), inner), DType::F32) => (inner[0], 1 << 24),
        ((Op::Cast(_), inner), DType::F64) => (inner[0], 1 << 53),
        (_, DType::I64) => (operand, i64::MAX as i128),
        _ => return None,
    };
    let form = arena.fact(index).affine.as_ref()?;
    if (0..ty.rank()).any(|axis| !axes.contains(&axis) && form.coefficients[axis] != 0) {
        return None;
    }
    // Twice the mean element, which lies halfway between the first and the last.
    let (mut twice, mut reach, mut count) = (2 * form.constant as i128, (form.constant as i128).abs(), 1i128);
    for &axis in axes {
        let last = (ty.shape[axis] as i128 - 1).checked_mul(form.coefficients[axis] as i128)?;
        twice = twice.checked_add(last)?;
        reach = reach.checked_add(last.abs())?;
        count = count.checked_mul(ty.shape[axis] as i128)?;
    }
    if reach.checked_mul(count)? > limit {
        return None;
    }
    let sum = i64::try_from(twice.checked_mul(count)? / 2).ok()?;
    Some(arena.full(&reduced(&ty.shape, axes), Value::from_i64(ty.dtype, sum)))
}

/// A sum over a concatenation of up to so many parts is taken apart.
const PARTS: usize = 8;

/// A sum along the axis of a concatenation is the sum of the sums of its parts: the concatenation is not stored.
fn sum_of_parts(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Reduction::Sum, axes, operand) = parts(op, args)? else { return None };
    let (&Op::Concatenate(axis), pieces) = arena.parts(operand) else { return None };
    if !axes.contains(&axis) || pieces.len() > PARTS || arena.ty(operand).dtype == DType::Bool {
        return None;
    }
    let pieces: SmallVec<[NodeId; PARTS]> = pieces.into();
    let sums: SmallVec<[NodeId; PARTS]> = pieces.iter().map(|&piece| arena.add(op.clone(), &[piece])).collect();
    sums.into_iter().reduce(|sum, next| arena.add(Op::Binary(Binary::Add), &[sum, next]))
}

/// Two reductions become one.
fn merged(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (reduction, axes, operand) = parts(op, args)?;
    let (inner, source) = arena.parts(operand);
    let Op::Reduce(other, inner_axes) = inner else { return None };
    if *other != reduction {
        return None;
    }
    let (source, inner_axes) = (source[0], inner_axes.clone());
    let left = others(arena.ty(source).rank(), &inner_axes);
    let outer_axes = axes.iter().map(|&axis| left[axis]);
    if ties_matter(arena, reduction, source) && !in_order(arena, source, outer_axes.chain(inner_axes.clone())) {
        return None;
    }
    let mut all: Axes = axes.iter().map(|&axis| left[axis]).chain(inner_axes).collect();
    all.sort_unstable();
    Some(arena.add(Op::Reduce(reduction, all), &[source]))
}

/// Fewer axes are reduced: one of a single element is dropped from the result instead.
fn unit_axes(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (reduction, axes, operand) = parts(op, args)?;
    let shape = arena.ty(operand).shape.clone();
    let long: Axes = axes.iter().copied().filter(|&axis| shape[axis] != 1).collect();
    if long.len() == axes.len() {
        return None;
    }
    let node = arena.add(Op::Reduce(reduction, long.clone()), &[operand]);
    let left = others(shape.len(), &long);
    let kept: Axes = (0..left.len()).filter(|&at| !axes.contains(&left[at])).collect();
    let map = columns(&AffineMap::identity(&arena.ty(node).shape.clone()), &kept);
    Some(view(arena, node, map))
}

/// Repetitions are not reduced but counted, and happen after the reduction: it runs over fewer elements.
fn repetitions(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (reduction, axes, operand) = parts(op, args)?;
    let (inner, source) = arena.parts(operand);
    let Op::View(map) = inner else { return None };
    let (map, source) = (map.clone(), source[0]);
    let ignored = map.ignored();
    if ignored.is_empty() || size(map.result()) == 0 {
        return None;
    }
    let kept = others(map.result().len(), &ignored);
    let narrow = view(arena, source, columns(&map, &kept));
    let inner_axes: Axes = (0..kept.len()).filter(|&at| axes.contains(&kept[at])).collect();
    let mut node = match inner_axes.is_empty() {
        true => narrow,
        false => arena.add(Op::Reduce(reduction, inner_axes), &[narrow]),
    };
    let ty = arena.ty(node).clone();
    if reduction == Reduction::Sum && ty.dtype != DType::Bool {
        let repeated: Axes = axes.iter().copied().filter(|axis| ignored.contains(axis)).collect();
        let times = count(ty.dtype, map.result(), &repeated);
        if times.to_f64() != 1.0 {
            let times = arena.full(&ty.shape, times);
            node = arena.add(Op::Binary(Binary::Mul), &[node, times]);
        }
    }
    // The view's remaining axes, and which of those the node has.
    let left = others(map.result().len(), axes);
    let result: Shape = left.iter().map(|&axis| map.result()[axis]).collect();
    let places: Axes = (0..left.len()).filter(|&at| !ignored.contains(&left[at])).collect();
    let spread = AffineMap::broadcast(&ty.shape, &result, &places);
    Some(view(arena, node, spread))
}

/// Reduces the source of a view in which every reduced axis goes through one source axis once, whole: transpositions, reversals
/// and, in sums, padding; for extremes of floats only maps that keep the first of equal elements first. The reduction runs over
/// at most as many elements, and the view has fewer.
fn rearrangement(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (reduction, axes, operand) = parts(op, args)?;
    let (inner, source) = arena.parts(operand);
    let Op::View(map) = inner else { return None };
    let (map, source) = (map.clone(), source[0]);
    let smaller = size(map.source()) <= size(map.result());
    if !smaller || (!map.is_inside() && reduction != Reduction::Sum) {
        return None;
    }
    let mut rows = Axes::new();
    for &axis in axes {
        let mut using = (0..map.source().len()).filter(|&row| map.coefficient(row, axis) != 0);
        let (row, more) = (using.next()?, using.next());
        let alone = map.row(row).iter().filter(|&&c| c != 0).count() == 1 && map.coefficient(row, axis).abs() == 1;
        let (low, high) = map.range(row);
        let whole = low <= 0 && high + 1 >= map.source()[row] as i128;
        if more.is_some() || !alone || !whole || rows.contains(&row) {
            return None;
        }
        if ties_matter(arena, reduction, source) && map.source()[row] > 1 && map.coefficient(row, axis) < 0 {
            return None;
        }
        rows.push(row);
    }
    if ties_matter(arena, reduction, source) && !in_order(arena, source, rows.iter().copied()) {
        return None;
    }
    rows.sort_unstable();
    let node = arena.add(Op::Reduce(reduction, rows.clone()), &[source]);
    let left = others(map.source().len(), &rows);
    let kept = others(map.result().len(), axes);
    let coefficients: Vec<SmallVec<[i64; 4]>> =
        left.iter().map(|&row| kept.iter().map(|&column| map.coefficient(row, column)).collect()).collect();
    let offsets: SmallVec<[i64; 4]> = left.iter().map(|&row| map.offset(row)).collect();
    let rest = AffineMap::new(&reduced(map.source(), &rows), &reduced(map.result(), axes), &coefficients, &offsets);
    Some(view(arena, node, rest))
}

/// Reduces before a reshape that splits or merges only axes that are all reduced or all kept: the reshape has fewer axes.
fn reshaped(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (reduction, axes, operand) = parts(op, args)?;
    let (inner, source) = arena.parts(operand);
    let Op::Reshape(to) = inner else { return None };
    let (to, source) = (to.clone(), source[0]);
    let from = arena.ty(source).shape.clone();
    let mut source_axes = Axes::new();
    // Runs of axes of equal size on both sides, from the outermost.
    let (mut at_from, mut at_to) = (0, 0);
    while at_from < from.len() || at_to < to.len() {
        let (start_from, start_to) = (at_from, at_to);
        let (mut size_from, mut size_to) = (1u128, 1u128);
        loop {
            if size_from <= size_to && at_from < from.len() && (size_from < size_to || at_from == start_from) {
                size_from = size_from.saturating_mul(from[at_from] as u128);
                at_from += 1;
            } else if size_to < size_from || (at_to == start_to && at_to < to.len()) {
                size_to = size_to.saturating_mul(*to.get(at_to)? as u128);
                at_to += 1;
            } else {
                break;
            }
        }
        let mut whether = (start_to..at_to).filter(|&axis| to[axis] != 1).map(|axis| axes.contains(&axis));
        let first = whether.next().unwrap_or(false);
        if whether.any(|other| other != first) {
            return None;
        }
        if first {
            source_axes.extend(start_from..at_from);
        }
    }
    let node = arena.add(Op::Reduce(reduction, source_axes), &[source]);
    let result = reduced(&to, axes);
    Some(if arena.ty(node).shape == result { node } else { arena.add(Op::Reshape(result), &[node]) })
}

/// Along an axis of at most one element, the extreme is at 0.
fn only_element(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::ArgReduce(_, axis) = op else { return None };
    let Type { shape, .. } = arena.ty(args[0]).clone();
    (shape[*axis] <= 1).then(|| arena.full(&reduced(&shape, &[*axis]), Value::I64(0)))
}

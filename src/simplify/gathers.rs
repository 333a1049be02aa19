//! Gathers and scatters whose positions are known well enough to be something simpler.

use super::bounds::{inside, interval};
use super::views::{window, with_axes, without_axes, zeros_like};
use super::{Rules, Simplifier};
use crate::affine::AffineMap;
use crate::operation::{Binary, Reduction};
use crate::shape::{Axes, DType, Shape, Value, size};
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

pub(super) const RULES: Rules = &[
    ("gather nothing", gather_nothing),
    ("scatter nothing", scatter_nothing),
    ("gather affine", gather_affine),
    ("scatter affine", scatter_affine),
    ("gather repeated", gather_repeated),
    ("scatter repeated", scatter_repeated),
    ("scatter repeated rows", scatter_repeated_rows),
    ("gather whole axis", gather_whole_axis),
    ("scatter whole axis", scatter_whole_axis),
    ("gather split", gather_split),
    ("scatter split", scatter_split),
    ("gather periodic", gather_periodic),
    ("scatter periodic", scatter_periodic),
    ("gather of view", gather_of_view),
    ("gather of gather", gather_of_gather),
];

/// A gather of no elements, or of equal elements that are all inside, needs no positions; without index arrays it is the
/// array.
fn gather_nothing(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Gather = op else { return None };
    let (array, indices) = (args[0], &args[1..]);
    let Some(&first) = indices.first() else { return Some(array) };
    let extents = arena.ty(array).shape.clone();
    let mut shape = arena.ty(first).shape.clone();
    shape.extend_from_slice(&extents[indices.len()..]);
    if size(&shape) == 0 || size(&extents) == 0 {
        return Some(zeros_like(arena, array, &shape));
    }
    let value = arena.uniform(array)?;
    let zero = value == Value::from_i64(value.dtype(), 0);
    (zero || inside(arena, indices, &extents)).then(|| arena.full(&shape, value))
}

/// A scatter of zeros, or of no updates, is zeros; without index arrays it is the updates.
fn scatter_nothing(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Scatter(extents) = op else { return None };
    let (updates, indices) = (args[0], &args[1..]);
    let Some(&first) = indices.first() else { return Some(updates) };
    let ty = arena.ty(updates).clone();
    if ty.size() == 0 || arena.uniform(updates) == Some(Value::from_i64(ty.dtype, 0)) {
        let mut shape = extents.clone();
        shape.extend_from_slice(&ty.shape[arena.ty(first).rank()..]);
        return Some(zeros_like(arena, updates, &shape));
    }
    None
}

/// The map of a gather from an array of this shape at index arrays that are all affine.
fn affine_map(arena: &Simplifier, shape: &[usize], indices: &[NodeId]) -> Option<AffineMap> {
    let positions = &arena.ty(indices[0]).shape;
    let mut result = positions.clone();
    result.extend_from_slice(&shape[indices.len()..]);
    let mut rows: Vec<SmallVec<[i64; 4]>> = vec![SmallVec::from_elem(0, result.len()); shape.len()];
    let mut offsets: SmallVec<[i64; 4]> = SmallVec::from_elem(0, shape.len());
    for (axis, &index) in indices.iter().enumerate() {
        let form = arena.fact(index).affine.as_ref()?;
        rows[axis][..positions.len()].copy_from_slice(&form.coefficients);
        offsets[axis] = form.constant;
    }
    for axis in indices.len()..shape.len() {
        rows[axis][positions.len() + axis - indices.len()] = 1;
    }
    AffineMap::checked(shape, &result, &rows, &offsets)
}

/// A gather at affine positions is a view: no index arrays.
fn gather_affine(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Gather = op else { return None };
    let map = affine_map(arena, &arena.ty(args[0]).shape, &args[1..])?;
    Some(arena.add(Op::View(map), &args[..1]))
}

/// The shape that a scatter results in.
fn scattered(arena: &Simplifier, extents: &Shape, args: &[NodeId]) -> Shape {
    let mut shape = extents.clone();
    shape.extend_from_slice(&arena.ty(args[0]).shape[arena.ty(args[1]).rank()..]);
    shape
}

/// A scatter at affine positions is an accumulation: no index arrays.
fn scatter_affine(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Scatter(extents) = op else { return None };
    let map = affine_map(arena, &scattered(arena, extents, args), &args[1..])?;
    Some(arena.add(Op::Accumulate(map), &args[..1]))
}

/// Whether an array does not move along an axis.
fn ignores(arena: &Simplifier, index: NodeId, axis: usize) -> bool {
    arena.uniform(index).is_some()
        || arena.fact(index).affine.as_ref().is_some_and(|form| form.coefficients[axis] == 0)
        || matches!(arena.parts(index).0, Op::View(map) if map.ignored().contains(&axis))
}

/// The axes of extent > 1 along which no index array moves.
fn repeated_axes(arena: &Simplifier, indices: &[NodeId]) -> Axes {
    let shape = &arena.ty(indices[0]).shape;
    let all_ignore = |axis: usize| indices.iter().all(|&index| ignores(arena, index, axis));
    (0..shape.len()).filter(|&axis| shape[axis] > 1 && all_ignore(axis)).collect()
}

/// Among several index arrays, one that counts through all of its axis of the array, along an axis of the positions that the
/// others don't move along: its number, and that axis.
fn whole_axis(arena: &Simplifier, extents: &[usize], indices: &[NodeId]) -> Option<(usize, usize)> {
    if indices.len() < 2 {
        return None;
    }
    let positions = &arena.ty(indices[0]).shape;
    indices.iter().enumerate().find_map(|(number, &index)| {
        let form = arena.fact(index).affine.as_ref()?;
        let mut moving = (0..positions.len()).filter(|&axis| form.coefficients[axis] != 0);
        let (axis, more) = (moving.next()?, moving.next());
        let counts = form.constant == 0 && form.coefficients[axis] == 1 && positions[axis] == extents[number];
        let alone = indices.iter().enumerate().all(|(other, &node)| other == number || ignores(arena, node, axis));
        (more.is_none() && counts && alone).then_some((number, axis))
    })
}

/// The node with one axis moved to another place.
fn with_axis_moved(arena: &mut Simplifier, node: NodeId, from: usize, to: usize) -> NodeId {
    let shape = arena.ty(node).shape.clone();
    let mut order: Axes = (0..shape.len()).filter(|&axis| axis != from).collect();
    order.insert(to, from);
    arena.add(Op::View(AffineMap::transpose(&shape, &order)), &[node])
}

/// A gather with an index array that counts through an axis gathers along the other axes only: fewer index arrays, and smaller
/// ones.
fn gather_whole_axis(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Gather = op else { return None };
    let (number, axis) = whole_axis(arena, &arena.ty(args[0]).shape, &args[1..])?;
    let left = args.len() - 2;
    let mut smaller: SmallVec<[NodeId; 4]> = SmallVec::from_elem(with_axis_moved(arena, args[0], number, left), 1);
    for &index in args[1..].iter().enumerate().filter(|&(other, _)| other != number).map(|(_, index)| index) {
        smaller.push(without_axes(arena, index, &[axis]));
    }
    let rank = arena.ty(smaller[1]).rank();
    let gathered = arena.add(Op::Gather, &smaller);
    Some(with_axis_moved(arena, gathered, rank, axis))
}

/// As [`gather_whole_axis`], of a scatter.
fn scatter_whole_axis(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Scatter(extents) = op else { return None };
    let (number, axis) = whole_axis(arena, extents, &args[1..])?;
    let mut extents = extents.clone();
    extents.remove(number);
    let rank = arena.ty(args[1]).rank() - 1;
    let mut smaller: SmallVec<[NodeId; 4]> = SmallVec::from_elem(with_axis_moved(arena, args[0], axis, rank), 1);
    for &index in args[1..].iter().enumerate().filter(|&(other, _)| other != number).map(|(_, index)| index) {
        smaller.push(without_axes(arena, index, &[axis]));
    }
    let left = extents.len();
    let scattered = arena.add(Op::Scatter(extents), &smaller);
    Some(with_axis_moved(arena, scattered, left, number))
}

/// A gather whose positions don't move along an axis reads once, and is repeated: fewer reads.
fn gather_repeated(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Gather = op else { return None };
    let axes = repeated_axes(arena, &args[1..]);
    if axes.is_empty() {
        return None;
    }
    let mut shape = arena.ty(args[1]).shape.clone();
    shape.extend_from_slice(&arena.ty(args[0]).shape[args.len() - 1..]);
    let mut smaller: SmallVec<[NodeId; 3]> = args[..1].into();
    for &index in &args[1..] {
        smaller.push(without_axes(arena, index, &axes));
    }
    let gathered = arena.add(Op::Gather, &smaller);
    Some(with_axes(arena, gathered, &shape, &axes))
}

/// Updates along an axis on which positions don't move are summed first: fewer writes.
fn scatter_repeated(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Scatter(_) = op else { return None };
    let axes = repeated_axes(arena, &args[1..]);
    if axes.is_empty() {
        return None;
    }
    let mut smaller: SmallVec<[NodeId; 3]> = SmallVec::new();
    smaller.push(arena.add(Op::Reduce(Reduction::Sum, axes.clone()), &args[..1]));
    for &index in &args[1..] {
        smaller.push(without_axes(arena, index, &axes));
    }
    Some(arena.add(op.clone(), &smaller))
}

/// Rows that are the same along an axis of their own are scattered without it, and repeated: fewer writes.
fn scatter_repeated_rows(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Scatter(extents) = op else { return None };
    let (positions, shape) = (arena.ty(args[1]).rank(), &arena.ty(args[0]).shape);
    let repeated = |&axis: &usize| shape[axis] > 1 && ignores(arena, args[0], axis);
    let axes: Axes = (positions..shape.len()).filter(repeated).collect();
    if axes.is_empty() {
        return None;
    }
    let shape = scattered(arena, extents, args);
    let mut smaller: SmallVec<[NodeId; 4]> = args.into();
    smaller[0] = without_axes(arena, args[0], &axes);
    let smaller = arena.add(op.clone(), &smaller);
    let axes: Axes = axes.iter().map(|axis| axis - positions + extents.len()).collect();
    Some(with_axes(arena, smaller, &shape, &axes))
}

/// Whether an index array is a quotient, or a remainder, by a positive constant, of an array without negative elements.
enum QuotientOrRemainder {
    Quotient(NodeId, usize),
    Remainder(NodeId, usize),
}

fn form(arena: &Simplifier, index: NodeId) -> Option<QuotientOrRemainder> {
    let (&Op::Binary(op), operands) = arena.parts(index) else { return None };
    if !matches!(op, Binary::Quot | Binary::FloorDiv | Binary::Rem | Binary::Modulo) {
        return None;
    }
    let (dividend, divisor) = (operands[0], arena.uniform(operands[1])?.to_integer()?);
    if divisor <= 0 || interval(arena, dividend).0 < 0 {
        return None;
    }
    let divisor = usize::try_from(divisor).ok()?;
    Some(match op {
        Binary::Quot | Binary::FloorDiv => QuotientOrRemainder::Quotient(dividend, divisor),
        _ => QuotientOrRemainder::Remainder(dividend, divisor),
    })
}

/// The first axis at which two adjacent index arrays are quotient and remainder of one position by the extent of the second
/// axis, with that position: it indexes the two axes merged.
fn split_at(arena: &Simplifier, extents: &[usize], indices: &[NodeId]) -> Option<(usize, NodeId)> {
    (1..indices.len()).find_map(|at| {
        let (QuotientOrRemainder::Quotient(a, n), QuotientOrRemainder::Remainder(b, m)) =
            (form(arena, indices[at - 1])?, form(arena, indices[at])?)
        else {
            return None;
        };
        (a == b && n == m && m == extents[at]).then_some((at - 1, a))
    })
}

/// Replaces two axes of a shape by one.
fn merge_axes(shape: &mut Shape, at: usize) -> Option<()> {
    shape[at] = shape[at].checked_mul(shape[at + 1])?;
    shape.remove(at + 1);
    Some(())
}

/// A gather at quotient and remainder of a position is a gather at the position, of the flattened array: fewer index
/// arrays.
fn gather_split(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Gather = op else { return None };
    let mut shape = arena.ty(args[0]).shape.clone();
    let (at, position) = split_at(arena, &shape, &args[1..])?;
    merge_axes(&mut shape, at)?;
    let mut smaller: SmallVec<[NodeId; 4]> = args.into();
    smaller[0] = arena.add(Op::Reshape(shape), &args[..1]);
    smaller[1 + at] = position;
    smaller.remove(2 + at);
    Some(arena.add(Op::Gather, &smaller))
}

/// As [`gather_split`], of a scatter.
fn scatter_split(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Scatter(extents) = op else { return None };
    let (at, position) = split_at(arena, extents, &args[1..])?;
    let shape = scattered(arena, extents, args);
    let mut flat = extents.clone();
    merge_axes(&mut flat, at)?;
    let mut smaller: SmallVec<[NodeId; 4]> = args.into();
    smaller[1 + at] = position;
    smaller.remove(2 + at);
    let scattered = arena.add(Op::Scatter(flat), &smaller);
    Some(arena.add(Op::Reshape(shape), &[scattered]))
}

/// How a single index array of one axis runs through `0, 1, .., n-1` again and again, or stays at each position `n` times.
enum Period {
    Again(usize),
    Stays(usize),
}

fn period(arena: &Simplifier, indices: &[NodeId]) -> Option<Period> {
    let &[index] = indices else { return None };
    if arena.ty(index).rank() != 1 {
        return None;
    }
    let counts_up = |node: NodeId| {
        let form = arena.fact(node).affine.as_ref();
        form.is_some_and(|form| form.constant == 0 && (form.coefficients[0] == 1 || arena.ty(node).size() == 1))
    };
    match form(arena, index)? {
        QuotientOrRemainder::Remainder(dividend, n) if counts_up(dividend) => Some(Period::Again(n)),
        QuotientOrRemainder::Quotient(dividend, n) if counts_up(dividend) => Some(Period::Stays(n)),
        _ => None,
    }
}

/// `shape` with other extents in the place of its outermost.
fn with_outer(shape: &[usize], outer: &[usize]) -> Shape {
    let mut result = Shape::from_slice(outer);
    result.extend_from_slice(&shape[1..]);
    result
}

/// A gather at `i rem n` repeats the first `n` rows, at `i quot n` each row `n` times: no index arrays, and nothing larger than
/// the result, apart from a last incomplete period.
fn gather_periodic(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Gather = op else { return None };
    let period = period(arena, &args[1..])?;
    let count = arena.ty(args[1]).shape[0];
    let shape = arena.ty(args[0]).shape.clone();
    match period {
        Period::Again(n) => {
            let (times, rest) = (count / n, count % n);
            if times == 0 {
                return window(arena, args[0], 0, 0, count);
            }
            let once = window(arena, args[0], 0, 0, n)?;
            let many = with_axes(arena, once, &with_outer(&shape, &[times, n]), &[0]);
            let many = arena.add(Op::Reshape(with_outer(&shape, &[times * n])), &[many]);
            if rest == 0 {
                return Some(many);
            }
            let last = window(arena, once, 0, 0, rest)?;
            Some(arena.add(Op::Concatenate(0), &[many, last]))
        }
        Period::Stays(n) => {
            let rows = count.div_ceil(n);
            let all = rows.checked_mul(n)?;
            let once = window(arena, args[0], 0, 0, rows)?;
            let many = with_axes(arena, once, &with_outer(&shape, &[rows, n]), &[1]);
            let many = arena.add(Op::Reshape(with_outer(&shape, &[all])), &[many]);
            window(arena, many, 0, 0, count)
        }
    }
}

/// The adjoint of [`gather_periodic`]: a sum over the periods, or within each.
fn scatter_periodic(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Scatter(extents) = op else { return None };
    let period = period(arena, &args[1..])?;
    let (updates, extent) = (args[0], extents[0]);
    let shape = arena.ty(updates).shape.clone();
    let count = shape[0];
    let rows = match period {
        Period::Again(n) => {
            let times = count / n;
            let full = window(arena, updates, 0, 0, times * n)?;
            let full = arena.add(Op::Reshape(with_outer(&shape, &[times, n])), &[full]);
            let sum = arena.add(Op::Reduce(Reduction::Sum, Axes::from_slice(&[0])), &[full]);
            if count.is_multiple_of(n) {
                sum
            } else {
                let last = window(arena, updates, 0, (times * n) as i64, count % n)?;
                let last = window(arena, last, 0, 0, n)?;
                let combining = Reduction::Sum.combining(arena.ty(sum).dtype);
                arena.add(Op::Binary(combining), &[sum, last])
            }
        }
        Period::Stays(n) => {
            let periods = count.div_ceil(n);
            let full = window(arena, updates, 0, 0, periods.checked_mul(n)?)?;
            let full = arena.add(Op::Reshape(with_outer(&shape, &[periods, n])), &[full]);
            arena.add(Op::Reduce(Reduction::Sum, Axes::from_slice(&[1])), &[full])
        }
    };
    window(arena, rows, 0, 0, extent)
}

/// A gather, all inside, from a view that permutes, reverses, shifts or repeats the indexed axes gathers from the view's
/// source, at positions moved likewise: the view is not needed.
fn gather_of_view(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Gather = op else { return None };
    let indices = &args[1..];
    let (Op::View(map), sources) = arena.parts(args[0]) else { return None };
    let (map, source) = (map.clone(), sources[0]);
    if !map.is_inside() || !inside(arena, indices, map.result()) {
        return None;
    }
    // Axes that are not indexed stand last, as they are.
    let rows_kept = map.result().len() - indices.len();
    let indexed = map.source().len().checked_sub(rows_kept)?;
    let keeps = |row: usize| {
        let column = row - indexed + indices.len();
        let own = |at: usize| map.result()[at] == 1 || map.coefficient(row, at) == i64::from(at == column);
        map.offset(row) == 0 && map.source()[row] == map.result()[column] && (0..map.result().len()).all(own)
    };
    if !(indexed..map.source().len()).all(keeps) {
        return None;
    }
    let mut moved: Vec<Option<(usize, i64)>> = Vec::new();
    for row in 0..indexed {
        let mut moving = map.row(row).iter().enumerate().filter(|&(_, &coefficient)| coefficient != 0);
        match (moving.next(), moving.next()) {
            (None, _) => moved.push(None),
            (Some((column, &coefficient @ (1 | -1))), None) if column < indices.len() => {
                moved.push(Some((column, coefficient)));
            }
            _ => return None,
        }
    }
    let positions = arena.ty(indices[0]).shape.clone();
    let mut inner: SmallVec<[NodeId; 4]> = SmallVec::from_elem(source, 1);
    for (row, moved) in moved.into_iter().enumerate() {
        let offset = arena.full(&positions, Value::I64(map.offset(row)));
        inner.push(match moved {
            None => offset,
            Some((column, 1)) if map.offset(row) == 0 => indices[column],
            Some((column, 1)) => arena.add(Op::Binary(Binary::Add), &[indices[column], offset]),
            Some((column, _)) => arena.add(Op::Binary(Binary::Sub), &[offset, indices[column]]),
        });
    }
    if inner.len() == 1 {
        // Nothing of the source is indexed any more: it is repeated.
        let mut shape = positions.clone();
        shape.extend_from_slice(&map.result()[indices.len()..]);
        let axes: Axes = (0..positions.len()).collect();
        return Some(with_axes(arena, source, &shape, &axes));
    }
    Some(arena.add(Op::Gather, &inner))
}

/// A gather, all inside, of rows of a gather is a gather at gathered positions, where that is no more positions: the rows
/// between are not stored.
///
/// Whole numbers that are gathered at gathered positions stay: they may be the positions of such a gather, and of a chain of
/// those each would go through all before it.
fn gather_of_gather(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Gather = op else { return None };
    let (Op::Gather, inner) = arena.parts(args[0]) else { return None };
    let inner: SmallVec<[NodeId; 4]> = inner.into();
    let outer = &args[1..];
    let positions = &arena.ty(inner[1]).shape;
    let is_composed = |&index: &NodeId| matches!(arena.parts(index).0, Op::Gather);
    if arena.ty(args[0]).dtype == DType::I64 && inner[1..].iter().any(is_composed)
        || outer.len() > positions.len()
        || size(&arena.ty(outer[0]).shape) > size(&positions[..outer.len()])
        || !inside(arena, outer, positions)
    {
        return None;
    }
    let mut result: SmallVec<[NodeId; 4]> = inner[..1].into();
    for &index in &inner[1..] {
        let mut read: SmallVec<[NodeId; 4]> = SmallVec::from_elem(index, 1);
        read.extend_from_slice(outer);
        result.push(arena.add(Op::Gather, &read));
    }
    Some(arena.add(Op::Gather, &result))
}

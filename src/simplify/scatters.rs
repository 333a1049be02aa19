//! Products and sums of scatters: the updates are multiplied by the other factor's elements at their positions.
//!
//! The derivative of a smallest or largest element is a scatter of one update for each row, with 0 everywhere else. A product
//! with it needs of the other factor only the elements at the updates' positions: `Σ_i [p_i = j] u_i · x[i, j]` is a scatter of
//! `u_i · x[i, p_i]` at `p_i`. The rules here move scatters towards the results. They hold for all scatters, since scatters are
//! linear in their updates; rules that add a gather require fewer updates than elements. No update is newly multiplied by 0: a
//! write outside is ignored, and a position that a sum no longer uses must be inside. But the other factor's elements where
//! nothing is written lose their influence, even if they were infinite.

use super::bounds::{inside, interval};
use super::views::{with_axes, without_axes, zeros_like};
use super::views_of::view;
use super::{Rules, Simplifier};
use crate::affine::AffineMap;
use crate::operation::{Binary, Comparison, Contraction, Label, Labels, Reduction, Unary};
use crate::shape::{Axes, Shape, Value, size};
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

#[cfg(test)]
mod tests;

pub(super) const RULES: Rules = &[
    ("contraction with a scatter", contraction),
    ("product with a scatter", product),
    ("selection of a scatter", selection),
    ("negation of a scatter", negation),
    ("scatters at the same positions", added),
    ("sum of a scatter", sum),
    ("gather of a scatter", gather),
    ("write over a write", written_over),
];

/// Index arrays, or their replacements.
type Indices = SmallVec<[NodeId; 3]>;

/// Whether a scatter into these extents has at most half as many updates as there are elements, so that reading another
/// array at the updates' positions is less work than reading all of it.
fn has_few_updates(arena: &Simplifier, extents: &[usize], indices: &[NodeId]) -> bool {
    let Some(&first) = indices.first() else { return false };
    size(&arena.ty(first).shape).saturating_mul(2) <= size(extents)
}

/// A scatter with a label for each axis, those that it indexes first.
struct Scattered {
    updates: NodeId,
    indices: Indices,
    extents: Shape,
    labels: Labels,
}

impl Scattered {
    /// A node whose axes have these labels, if it is a scatter of few updates, or one that is transposed or repeated.
    fn of(arena: &Simplifier, node: NodeId, labels: &[Label]) -> Option<Scattered> {
        let (scatter, labels) = match arena.parts(node) {
            (Op::View(map), args) => (args[0], source_labels(map, labels)?),
            _ => (node, labels.into()),
        };
        let (Op::Scatter(extents), args) = arena.parts(scatter) else { return None };
        let indices: Indices = args[1..].into();
        has_few_updates(arena, extents, &indices).then(|| Scattered {
            updates: args[0],
            indices,
            extents: extents.clone(),
            labels,
        })
    }
}

/// The labels of a view's source, if the view only permutes its axes and repeats it.
fn source_labels(map: &AffineMap, labels: &[Label]) -> Option<Labels> {
    let mut found = Labels::new();
    for (row, &extent) in map.source().iter().enumerate() {
        let mut moving = (0..labels.len()).filter(|&column| map.coefficient(row, column) != 0);
        let (column, more) = (moving.next()?, moving.next());
        let whole = map.coefficient(row, column) == 1 && map.offset(row) == 0 && map.result()[column] == extent;
        if !whole || more.is_some() || found.contains(&labels[column]) {
            return None;
        }
        found.push(labels[column]);
    }
    Some(found)
}

/// An array with labelled axes.
struct Labelled {
    node: NodeId,
    labels: Labels,
}

impl Labelled {
    /// The array repeated along the labels that it lacks; its own are in the order of these.
    fn spread(&self, arena: &mut Simplifier, labels: &[Label], shape: &[usize]) -> NodeId {
        let place = |label: &Label| labels.iter().position(|l| l == label).expect("a label of the wider array");
        let axes: Axes = self.labels.iter().map(place).collect();
        let map = AffineMap::broadcast(&arena.ty(self.node).shape.clone(), shape, &axes);
        view(arena, self.node, map)
    }
}

/// The array at the positions of a scatter's updates: a gather along the axes that the scatter indexes. The labels `steps`
/// belong to the positions' axes, which come first.
fn at_updates(arena: &mut Simplifier, scattered: &Scattered, other: Labelled, steps: &[Label]) -> Labelled {
    let indexed = scattered.extents.len();
    let number = |label: &Label| scattered.labels[..indexed].iter().position(|l| l == label);
    let (gathered, rest): (Axes, Axes) =
        (0..other.labels.len()).partition(|&axis| number(&other.labels[axis]).is_some());
    if gathered.is_empty() {
        return other;
    }
    let labels: Labels = steps.iter().copied().chain(rest.iter().map(|&axis| other.labels[axis])).collect();
    let shape = arena.ty(other.node).shape.clone();
    if let Some(value) = arena.uniform(other.node) {
        // Outside the gather would be 0, but nothing is written there.
        let mut result = arena.ty(scattered.indices[0]).shape.clone();
        result.extend(rest.iter().map(|&axis| shape[axis]));
        return Labelled { node: arena.full(&result, value), labels };
    }
    let order: Axes = gathered.iter().chain(&rest).copied().collect();
    let mut args: SmallVec<[NodeId; 4]> = SmallVec::new();
    args.push(view(arena, other.node, AffineMap::transpose(&shape, &order)));
    for &axis in &gathered {
        let number = number(&other.labels[axis]).expect("an indexed label");
        args.push(scattered.indices[number]);
    }
    Labelled { node: arena.add(Op::Gather, &args), labels }
}

/// The sum, over the labels that `result` lacks, of an operation that is linear in the scatter, as a scatter of the operation
/// on the updates. `combine` is given the updates, the other array at their positions, and the labels and shape of the wanted
/// result.
///
/// `None` where a position along a summed axis may be outside, and where the scattered array would be larger than the arrays
/// that were there before.
fn moved(
    arena: &mut Simplifier,
    scattered: &Scattered,
    other: Labelled,
    result: &[Label],
    combine: impl FnOnce(&mut Simplifier, Labelled, Labelled, &[Label], &[usize]) -> Option<NodeId>,
) -> Option<NodeId> {
    let indexed = scattered.extents.len();
    let (own, rows) = scattered.labels.split_at(indexed);
    let kept: Axes = result.iter().filter_map(|label| own.iter().position(|l| l == label)).collect();
    for number in (0..indexed).filter(|number| !kept.contains(number)) {
        if !inside(arena, &scattered.indices[number..=number], &scattered.extents[number..=number]) {
            return None;
        }
    }
    let positions = arena.ty(scattered.indices[0]).shape.clone();
    let first = scattered.labels.iter().chain(&other.labels).max().map_or(0, |label| label + 1);
    let last = first.checked_add(Label::try_from(positions.len()).ok()?)?;
    let steps: Labels = (first..last).collect();

    let extent = |label: &Label| {
        let sides = [(own, &scattered.extents[..]), (&other.labels[..], &arena.ty(other.node).shape[..])];
        let updates = (rows, &arena.ty(scattered.updates).shape[positions.len()..]);
        let steps = (&steps[..], &positions[..]);
        let of = |(labels, shape): (&[Label], &[usize])| labels.iter().position(|l| l == label).map(|at| shape[at]);
        sides.into_iter().chain([updates, steps]).find_map(of).expect("a label of an operand")
    };
    let left: Labels = result.iter().copied().filter(|label| !own.contains(label)).collect();
    let wanted: Labels = if kept.is_empty() { left.clone() } else { steps.iter().chain(&left).copied().collect() };
    let shape: Shape = wanted.iter().map(extent).collect();
    let before = [&scattered.labels[..], &other.labels, result];
    let largest = before.into_iter().map(|labels| size(&labels.iter().map(extent).collect::<Shape>())).max();
    if Some(size(&shape)) > largest {
        return None;
    }

    let other = at_updates(arena, scattered, other, &steps);
    let updates = Labelled { node: scattered.updates, labels: steps.iter().chain(rows).copied().collect() };
    let updates = combine(arena, updates, other, &wanted, &shape)?;
    if kept.is_empty() {
        return Some(updates);
    }
    let mut args: SmallVec<[NodeId; 4]> = SmallVec::from_elem(updates, 1);
    args.extend(kept.iter().map(|&number| scattered.indices[number]));
    let extents: Shape = kept.iter().map(|&number| scattered.extents[number]).collect();
    let node = arena.add(Op::Scatter(extents), &args);
    let labels: Labels = kept.iter().map(|&number| own[number]).chain(left).collect();
    let place = |label: &Label| labels.iter().position(|l| l == label).expect("a label of the result");
    let order: Axes = result.iter().map(place).collect();
    let map = AffineMap::transpose(&arena.ty(node).shape.clone(), &order);
    Some(view(arena, node, map))
}

/// The product of two arrays, summed over the labels that `wanted` lacks.
fn multiplied(arena: &mut Simplifier, left: Labelled, right: Labelled, wanted: &[Label]) -> Option<NodeId> {
    let spec = Contraction { left: left.labels, right: right.labels, result: wanted.into() };
    spec.is_valid().then(|| arena.add(Op::Contract(spec), &[left.node, right.node]))
}

/// A contraction with a scatter is a scatter of a contraction of its updates with the other operand at their positions:
/// fewer products, of arrays no larger than before.
fn contraction(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Contract(spec) = op else { return None };
    let sides = [(&spec.left, args[0]), (&spec.right, args[1])];
    [0, 1].into_iter().find_map(|side: usize| {
        let (labels, node) = sides[side];
        let mut scattered = Scattered::of(arena, node, labels)?;
        let own = labels;
        let (labels, node) = sides[1 - side];
        // An axis along which the scatter is merely repeated must be one of the other operand.
        if !own.iter().all(|label| scattered.labels.contains(label) || labels.contains(label)) {
            return None;
        }
        let other = Labelled { node, labels: labels.clone() };
        let factor = common_factor(arena, &mut scattered, &spec.result);
        let product = moved(arena, &scattered, other, &spec.result, |arena, left, right, wanted, _| {
            multiplied(arena, left, right, wanted)
        })?;
        let Some(factor) = factor else { return Some(product) };
        let shape = arena.ty(product).shape.clone();
        let axes: Axes = (0..shape.len()).collect();
        let factor = with_axes(arena, factor, &shape, &axes);
        Some(arena.add(Op::Binary(Binary::Mul), &[product, factor]))
    })
}

/// A number that all updates are, where they are more than the elements of the result along the scatter's axes: it waits
/// outside, and the updates are 1.
fn common_factor(arena: &mut Simplifier, scattered: &mut Scattered, result: &[Label]) -> Option<NodeId> {
    let is_kept = |&number: &usize| result.contains(&scattered.labels[number]);
    let kept = (0..scattered.extents.len()).filter(is_kept).map(|number| scattered.extents[number]);
    let updates = scattered.updates;
    let same = match arena.parts(updates) {
        (Op::View(map), _) => map.is_inside() && map.ignored().len() == map.result().len(),
        (Op::Constant(array), _) => array.uniform().is_some_and(|value| value.to_f64() != 1.0),
        _ => false,
    };
    if !same || kept.fold(1, usize::saturating_mul) >= size(&arena.ty(scattered.indices[0]).shape) {
        return None;
    }
    let ty = arena.ty(updates).clone();
    let axes: Axes = (0..ty.rank()).collect();
    scattered.updates = arena.full(&ty.shape, Value::from_i64(ty.dtype, 1));
    Some(without_axes(arena, updates, &axes))
}

/// The labels of an array's axes in their order.
fn labels_of(arena: &Simplifier, node: NodeId) -> Option<Labels> {
    (0..arena.ty(node).rank()).map(|axis| Label::try_from(axis).ok()).collect()
}

/// An elementwise product with a scatter is a scatter of products: fewer of them, and the other factor is needed only where
/// an update goes.
fn product(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let &Op::Binary(operation @ (Binary::Mul | Binary::KeepZero)) = op else { return None };
    let labels = labels_of(arena, args[0])?;
    [0, 1].into_iter().find_map(|side: usize| {
        let scattered = Scattered::of(arena, args[side], &labels)?;
        let other = Labelled { node: args[1 - side], labels: labels.clone() };
        moved(arena, &scattered, other, &labels, |arena, updates, other, wanted, shape| {
            if operation == Binary::Mul {
                return multiplied(arena, updates, other, wanted);
            }
            let (updates, other) = (updates.spread(arena, wanted, shape), other.spread(arena, wanted, shape));
            let operands = if side == 0 { [updates, other] } else { [other, updates] };
            Some(arena.add(op.clone(), &operands))
        })
    })
}

/// A scatter where a mask holds, and 0 elsewhere, is a scatter of masked updates: fewer selections.
fn selection(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Op::Select, &[mask, yes, no]) = (op, args) else { return None };
    let labels = labels_of(arena, yes)?;
    let (scatter, whole) = if arena.is_uniform(no, 0.0) { (yes, true) } else { (no, false) };
    if !whole && !arena.is_uniform(yes, 0.0) {
        return None;
    }
    let scattered = Scattered::of(arena, scatter, &labels)?;
    let other = Labelled { node: mask, labels: labels.clone() };
    moved(arena, &scattered, other, &labels, |arena, updates, mask, wanted, shape| {
        let (updates, mask) = (updates.spread(arena, wanted, shape), mask.spread(arena, wanted, shape));
        let zero = zeros_like(arena, updates, shape);
        let sides = if whole { [mask, updates, zero] } else { [mask, zero, updates] };
        Some(arena.add(Op::Select, &sides))
    })
}

/// The negative of a scatter is a scatter of negatives: fewer negations.
fn negation(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Unary(Unary::Neg) = op else { return None };
    let (inner @ Op::Scatter(extents), operands) = arena.parts(args[0]) else { return None };
    if !has_few_updates(arena, extents, &operands[1..]) {
        return None;
    }
    let (inner, mut operands): (_, SmallVec<[NodeId; 4]>) = (inner.clone(), operands.into());
    operands[0] = arena.add(op.clone(), &operands[..1]);
    Some(arena.add(inner, &operands))
}

/// The sum or difference of two scatters at the same positions is one, of the sums of their updates.
fn added(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Binary(Binary::Add | Binary::Sub) = op else { return None };
    let ((left @ Op::Scatter(_), first), (right, second)) = (arena.parts(args[0]), arena.parts(args[1])) else {
        return None;
    };
    if left != right || first[1..] != second[1..] {
        return None;
    }
    let (scatter, updates, mut operands) = (left.clone(), [first[0], second[0]], SmallVec::<[NodeId; 4]>::from(first));
    operands[0] = arena.add(op.clone(), &updates);
    Some(arena.add(scatter, &operands))
}

/// Elements that are written at the positions of the previous write replace all of it.
fn written_over(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::ScatterSet = op else { return None };
    let (Op::ScatterSet, before) = arena.parts(args[0]) else { return None };
    if before[2..] != args[2..] {
        return None;
    }
    let mut operands = SmallVec::<[NodeId; 4]>::from(args);
    operands[0] = before[0];
    Some(arena.add(Op::ScatterSet, &operands))
}

/// Where the index array is inside an axis of this extent; `None` where it always is.
fn within(arena: &mut Simplifier, index: NodeId, extent: usize) -> Option<NodeId> {
    let (shape, (low, high)) = (arena.ty(index).shape.clone(), interval(arena, index));
    let mut bound = |comparison: Comparison, bound: i64| {
        let bound = arena.full(&shape, Value::I64(bound));
        arena.add(Op::Compare(comparison), &[index, bound])
    };
    let limit = i64::try_from(extent).unwrap_or(i64::MAX);
    let above = (low < 0).then(|| bound(Comparison::GreaterEqual, 0));
    let below = (high >= limit).then(|| bound(Comparison::Less, limit));
    both(arena, above, below)
}

/// The conjunction of two masks, either of which may be missing.
fn both(arena: &mut Simplifier, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
    match (a, b) {
        (Some(a), Some(b)) => Some(arena.add(Op::Binary(Binary::And), &[a, b])),
        _ => a.or(b),
    }
}

/// The updates where a mask of their positions holds, and 0 elsewhere.
fn masked(arena: &mut Simplifier, updates: NodeId, mask: NodeId) -> NodeId {
    let shape = arena.ty(updates).shape.clone();
    let rows: Axes = (arena.ty(mask).rank()..shape.len()).collect();
    let mask = with_axes(arena, mask, &shape, &rows);
    let zero = zeros_like(arena, updates, &shape);
    arena.add(Op::Select, &[mask, updates, zero])
}

/// A sum of a scatter over axes that it indexes is a scatter along the others, of the updates that are inside: the scattered
/// and summed arrays are smaller. A sum over other axes happens before.
fn sum(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Reduce(Reduction::Sum, axes) = op else { return None };
    let (Op::Scatter(extents), operands) = arena.parts(args[0]) else { return None };
    let (extents, mut updates, indices) = (extents.clone(), operands[0], Indices::from(&operands[1..]));
    let (indexed, few) = (extents.len(), has_few_updates(arena, &extents, &indices));
    let (kept, dropped): (Axes, Axes) = (0..indexed).partition(|axis| !axes.contains(axis));
    let outside = |&axis: &usize| !inside(arena, &indices[axis..=axis], &extents[axis..=axis]);
    if indices.is_empty() || !few && dropped.iter().any(outside) {
        return None;
    }
    let positions = arena.ty(indices[0]).rank();
    let mut summed: Axes = if kept.is_empty() { (0..positions).collect() } else { Axes::new() };
    summed.extend(axes.iter().filter(|&&axis| axis >= indexed).map(|&axis| positions + axis - indexed));
    let mask = dropped.iter().fold(None, |mask, &axis| {
        let own = within(arena, indices[axis], extents[axis]);
        both(arena, mask, own)
    });
    if let Some(mask) = mask {
        updates = masked(arena, updates, mask);
    }
    let updates = arena.add(Op::Reduce(Reduction::Sum, summed), &[updates]);
    if kept.is_empty() {
        return Some(updates);
    }
    let mut args: SmallVec<[NodeId; 4]> = SmallVec::from_elem(updates, 1);
    args.extend(kept.iter().map(|&axis| indices[axis]));
    let left: Shape = kept.iter().map(|&axis| extents[axis]).collect();
    Some(arena.add(Op::Scatter(left), &args))
}

/// The one axis of the positions along which an index array moves, if it moves along one alone: then it is another position
/// in every step along that.
fn moving_axis(arena: &Simplifier, index: NodeId) -> Option<usize> {
    let form = arena.fact(index).affine.as_ref()?;
    let mut moving = (0..form.coefficients.len()).filter(|&axis| form.coefficients[axis] != 0);
    let (axis, more) = (moving.next()?, moving.next());
    more.is_none().then_some(axis)
}

/// A gather from a scatter of one update for each row, a row for each element of the gather, is the update where both have
/// the same position in the row, and else 0: neither the scatter nor the gather is needed.
fn gather(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Gather = op else { return None };
    let (Op::Scatter(extents), operands) = arena.parts(args[0]) else { return None };
    let (extents, updates, written) = (extents.clone(), operands[0], Indices::from(&operands[1..]));
    let read = &args[1..];
    if written.is_empty() || read.len() != written.len() {
        return None;
    }
    let positions = arena.ty(written[0]).shape.clone();
    if arena.ty(read[0]).shape != positions {
        return None;
    }
    let pairs: SmallVec<[(NodeId, NodeId); 3]> = written.into_iter().zip(read.iter().copied()).collect();
    let is_inside = |node: NodeId, number: usize| inside(arena, &[node], &extents[number..=number]);
    let either = |(number, &(a, b)): (usize, &(NodeId, NodeId))| is_inside(a, number) || is_inside(b, number);
    let told_apart =
        |axis: usize| positions[axis] == 1 || pairs.iter().any(|&(a, b)| a == b && moving_axis(arena, a) == Some(axis));
    if !pairs.iter().enumerate().all(either) || !(0..positions.len()).all(told_apart) {
        return None;
    }
    let mask = pairs.into_iter().filter(|(a, b)| a != b).fold(None, |mask, (a, b)| {
        let same = arena.add(Op::Compare(Comparison::Equal), &[a, b]);
        both(arena, mask, Some(same))
    });
    Some(match mask {
        Some(mask) => masked(arena, updates, mask),
        None => updates,
    })
}

//! Sums of views of contractions: the views are read by the contraction's operands.

use super::{LABELS, plan_contraction};
use crate::affine::AffineMap;
use crate::operation::{Contraction, Label, Labels, Reduction};
use crate::shape::size;
use crate::simplify::Simplifier;
use crate::simplify::views_of::view;
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// A view of a contraction's result, as a view of an operand of this shape with these labels: its axes are the columns that
/// its rows move with, those in `more`, and the summed axes. The labels of the view are the columns, and `columns + label`
/// for the summed axes.
fn read(
    spec: &Contraction,
    own: &[Label],
    shape: &[usize],
    map: &AffineMap,
    more: &[usize],
) -> Option<(Labels, AffineMap)> {
    let columns = map.result().len();
    let rows: SmallVec<[Option<usize>; 4]> =
        own.iter().map(|label| spec.result.iter().position(|other| other == label)).collect();
    let moves = |column: usize| rows.iter().flatten().any(|&row| map.coefficient(row, column) != 0);
    let used: Vec<usize> = (0..columns).filter(|&column| moves(column) || more.contains(&column)).collect();
    let mut labels = Labels::new();
    for &column in &used {
        labels.push(Label::try_from(column).ok()?);
    }
    for axis in (0..own.len()).filter(|&axis| rows[axis].is_none()) {
        labels.push(Label::try_from(columns + own[axis] as usize).ok()?);
    }
    Some((labels, map.restricted(shape, &rows, &used)))
}

/// Whether a view reads a part of its source, each axis by itself.
fn is_selection(map: &AffineMap) -> bool {
    let (rows, columns) = (map.source().len(), map.result().len());
    let moves = |row: usize, column: usize| map.coefficient(row, column) != 0;
    let alone = (0..rows).all(|row| (0..columns).filter(|&column| moves(row, column)).count() <= 1)
        && (0..columns).all(|column| (0..rows).filter(|&row| moves(row, column)).count() <= 1);
    alone && size(map.result()) < size(map.source())
}

/// A sum of a view of a contraction is a contraction of views of its operands, which are together no larger than the
/// contraction and the view: the array that is summed is not needed.
///
/// Where the view reads outside of the contraction's result, it is 0, though a factor may be infinite: such positions along
/// an axis are left out, and padded after the sum. Only where several axes take a read outside together, as where the sum
/// is the derivative of a convolution, does an operand that is read outside make the product 0.
///
/// A view that only leaves positions out is left to [`push_reads`](crate::vectorise::push_reads), which knows whether the
/// contraction is computed anyway. For a tree of products with every level summed, as in a scan by matrix products, the sum of
/// every level would be computed from the leaves, and its derivative be spread over all levels below.
pub(super) fn sum_of_view(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Reduce(Reduction::Sum, axes) = op else { return None };
    let (Op::View(map), sources) = arena.parts(args[0]) else { return None };
    let (Op::Contract(spec), operands) = arena.parts(sources[0]) else { return None };
    let ((spec, map), operands): (_, SmallVec<[NodeId; 2]>) = ((spec.clone(), map.clone()), operands.into());
    let (whole, columns) = (size(map.result()), map.result().len());
    if whole == 0 || whole > size(map.source()).saturating_mul(2) || columns > LABELS || is_selection(&map) {
        return None;
    }
    let ignored = map.ignored();
    if ignored.iter().any(|&column| map.result()[column] > 1) {
        return None;
    }
    let shapes = [0, 1].map(|at: usize| arena.ty(operands[at]).shape.clone());
    let (_, left_map) = read(&spec, &spec.left, &shapes[0], &map, &ignored)?;
    let (_, right_map) = read(&spec, &spec.right, &shapes[1], &map, &[])?;
    let stored = |map: &AffineMap| if map.permutation().is_some() { 0 } else { size(map.result()) };
    if stored(&left_map).saturating_add(stored(&right_map)) > whole.saturating_add(size(map.source())) {
        return None;
    }
    let (map, padding) = match arena.ty(args[0]).dtype.is_float() {
        true => map.padded()?,
        false => (map.clone(), AffineMap::identity(map.result())),
    };
    // An axis with one remaining position may be one that no source axis moves with.
    let ignored = map.ignored();
    let (left, left_map) = read(&spec, &spec.left, &shapes[0], &map, &ignored)?;
    let (right, right_map) = read(&spec, &spec.right, &shapes[1], &map, &[])?;
    let left_node = arena.add(Op::View(left_map), &operands[..1]);
    let right_node = arena.add(Op::View(right_map), &operands[1..]);
    let kept: SmallVec<[usize; 4]> = (0..columns).filter(|column| !axes.contains(column)).collect();
    let result: Labels = kept.iter().map(|&column| Label::try_from(column)).collect::<Result<_, _>>().ok()?;
    let sum = plan_contraction(arena, &left, &right, result, &[left_node, right_node])?;
    let rows: SmallVec<[Option<usize>; 4]> = kept.iter().map(|&column| Some(column)).collect();
    let padding = padding.restricted(&arena.ty(sum).shape.clone(), &rows, &kept);
    Some(view(arena, sum, padding))
}

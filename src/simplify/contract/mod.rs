//! Contractions: sums of products of views, and the operations that contractions absorb.
//!
//! A sum of a product becomes a contraction with axis labels; see [`product`] for how factors are found and
//! [`plan`] for how they are grouped.

mod plan;
mod product;
mod reads;
#[cfg(test)]
mod tests;

use super::{Rules, Simplifier};
use crate::operation::{Label, Labels, Reduction};
use crate::shape::{DType, Shape, Value};
use crate::term::{NodeId, Op};
pub(super) use product::is_outer_product;
use product::{LabelledProduct, Taken, set};
use smallvec::SmallVec;

/// The rules of this file.
pub const RULES: Rules = &[
    ("contraction of nothing", nothing),
    ("sum of a contraction", sum_of_contraction),
    ("sum of a view of a contraction", reads::sum_of_view),
    ("sum of a product", sum_of_product),
    ("operands of a contraction", operands),
    ("transposed contraction", transposed),
];

/// A contraction of an empty operand adds up nothing.
fn nothing(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Contract(spec) = op else { return None };
    let empty = args.iter().any(|&arg| arena.ty(arg).size() == 0);
    let extent = |label: &Label| {
        let sides = [(&spec.left, args[0]), (&spec.right, args[1])];
        sides.into_iter().find_map(|(labels, operand)| {
            labels.iter().position(|l| l == label).map(|axis| arena.ty(operand).shape[axis])
        })
    };
    let shape: Option<Shape> = empty.then(|| spec.result.iter().map(extent).collect())?;
    let zero = Value::from_i64(arena.ty(args[0]).dtype, 0);
    Some(arena.full(&shape?, zero))
}

/// Axes that labels can be told apart for.
const LABELS: usize = 32;

/// `Σ (x · y)` is a contraction: fewer additions and multiplications, or as many without the array of products.
fn sum_of_product(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Reduce(Reduction::Sum, axes) = op else { return None };
    let ty = arena.ty(args[0]).clone();
    if ty.dtype == DType::Bool || ty.size() == 0 || ty.rank() > LABELS || axes.is_empty() {
        return None;
    }
    let labels: Labels = (0..ty.rank() as Label).collect();
    let result: Labels = labels.iter().copied().filter(|&label| !axes.contains(&(label as usize))).collect();
    let kept = set(&result);
    let product = LabelledProduct::of(arena, &[(args[0], &labels)], ty.shape, kept, Taken::All)?;
    // A sum of one factor that has all axes is left; every other plan has fewer axes or fewer factors in its sums.
    if product.is_plain() {
        return None;
    }
    plan::rewrite(arena, product, &result)
}

/// A sum of a contraction is one with a shorter result; its operands are summed first where they can be.
fn sum_of_contraction(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Reduce(Reduction::Sum, axes) = op else { return None };
    let (inner, operands) = arena.parts(args[0]);
    let Op::Contract(spec) = inner else { return None };
    let (spec, operands): (_, SmallVec<[NodeId; 2]>) = (spec.clone(), operands.into());
    let result = (0..spec.result.len()).filter(|axis| !axes.contains(axis)).map(|axis| spec.result[axis]).collect();
    plan_contraction(arena, &spec.left, &spec.right, result, &operands)
}

/// A contraction on the bare arrays, in a fixed order: without views that its labels express, signs and constant factors. A
/// product that sums nothing is elementwise where one operand has all labels.
fn operands(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Contract(spec) = op else { return None };
    plan_contraction(arena, &spec.left, &spec.right, spec.result.clone(), args)
}

fn plan_contraction(
    arena: &mut Simplifier,
    left: &[Label],
    right: &[Label],
    result: Labels,
    operands: &[NodeId],
) -> Option<NodeId> {
    // Labels of any number become 0, 1, ..
    let mut known = Labels::new();
    for &label in left.iter().chain(right) {
        if !known.contains(&label) {
            known.push(label);
        }
    }
    let extents = known
        .iter()
        .map(|label| match left.iter().position(|l| l == label) {
            Some(axis) => arena.ty(operands[0]).shape[axis],
            None => arena.ty(operands[1]).shape[right.iter().position(|l| l == label).expect("a label")],
        })
        .collect();
    let renamed = |labels: &[Label]| -> Labels {
        labels.iter().map(|label| known.iter().position(|l| l == label).expect("a label") as Label).collect()
    };
    if known.len() > LABELS {
        return None;
    }
    let (left, right, result) = (renamed(left), renamed(right), renamed(&result));
    let roots = [(operands[0], &left), (operands[1], &right)];
    let product = LabelledProduct::of(arena, &roots, extents, set(&result), Taken::Constants)?;
    plan::rewrite(arena, product, &result)
}

/// A transposed contraction has its result's labels in another order: no view.
fn transposed(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    let (inner, operands) = arena.parts(args[0]);
    let Op::Contract(spec) = inner else { return None };
    let order = map.permutation()?;
    let (mut spec, operands): (_, SmallVec<[NodeId; 2]>) = (spec.clone(), operands.into());
    // `order[row]` is the new place of an axis of the contraction.
    let old = spec.result.clone();
    for (row, &column) in order.iter().enumerate() {
        spec.result[column] = old[row];
    }
    Some(arena.add(Op::Contract(spec), &operands))
}

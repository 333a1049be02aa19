//! The dependence of each operation's result.

use super::array::{Sets, SparsityArray, union};
use super::chosen;
use super::columns::ColumnSet;
use super::positions::{KnownPositions, collected, each_position, picked, reads, scattered, view};
use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::{Contraction, Label, MatrixOperation, SparseOperation};
use crate::shape::{Axes, Shape, Type, Value, size, strides};
use crate::term::{Never, Op, infer};
use smallvec::SmallVec;
use std::rc::Rc;

/// The sets where the factor of a derivative is not 0.
pub(super) fn where_not_zero(columns: &Rc<Vec<ColumnSet>>, factor: &Array) -> Sets {
    match factor.uniform() {
        Some(factor) => (factor.to_f64() != 0.0).then(|| columns.clone()),
        None if !has_zero(factor) => Some(columns.clone()),
        None => {
            let keep = |(position, set): (usize, &ColumnSet)| match factor.element(position).to_f64() == 0.0 {
                true => ColumnSet::None,
                false => set.clone(),
            };
            Some(Rc::new(columns.iter().enumerate().map(keep).collect()))
        }
    }
}

/// A known mask takes one side of each element, another both.
pub(super) fn select(mask: &SparsityArray, yes: &SparsityArray, no: &SparsityArray) -> SparsityArray {
    let columns = match mask.elements() {
        None => union(yes.sets().clone(), no.sets().clone()),
        Some(mask) => match mask.uniform() {
            Some(value) => if value == Value::Bool(true) { yes } else { no }.sets().clone(),
            None => (yes.sets().is_some() || no.sets().is_some()).then(|| {
                let set = |side: &SparsityArray, at: usize| side.sets().as_ref().map(|sets| sets[at].clone());
                let side = |at: usize| if mask.element(at) == Value::Bool(true) { yes } else { no };
                Rc::new((0..mask.size()).map(|at| set(side(at), at).unwrap_or_default()).collect())
            }),
        },
    };
    let result = SparsityArray::dependent(yes.ty().clone(), columns);
    let sides = [(yes, yes.sets().clone()), (no, no.sets().clone())];
    if mask.elements().is_some() { result } else { chosen::elementwise(result, &sides) }
}

/// The union of all sets that are added at a position.
pub(super) fn accumulate(columns: &Sets, map: &AffineMap) -> Sets {
    collected(columns.as_ref()?, &reads(map), size(map.source()))
}

/// The union of all sets along the axes, and the shape that remains.
pub(super) fn unions_over(columns: &Sets, shape: &[usize], axes: &[usize]) -> (Sets, Shape) {
    let kept: Axes = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let rest: Shape = kept.iter().map(|&axis| shape[axis]).collect();
    if axes.is_empty() {
        return (columns.clone(), rest);
    }
    let unions = columns.as_ref().and_then(|columns| {
        let targets = reads(&AffineMap::broadcast(&rest, shape, &kept));
        collected(columns, &targets, size(&rest))
    });
    (unions, rest)
}

/// The parts after each other.
pub(super) fn concatenate(axis: usize, parts: &[SparsityArray]) -> SparsityArray {
    let mut ty = parts[0].ty().clone();
    ty.shape[axis] = parts.iter().map(|part| part.ty().shape[axis]).sum();
    let any = parts.iter().any(|part| part.sets().is_some());
    let columns = any.then(|| {
        let outer = size(&ty.shape[..axis]);
        let mut columns = Vec::with_capacity(ty.size());
        for block in 0..outer {
            for part in parts {
                let width = size(&part.ty().shape[axis..]);
                match part.sets() {
                    Some(sets) => columns.extend_from_slice(&sets[block * width..(block + 1) * width]),
                    None => columns.resize(columns.len() + width, ColumnSet::None),
                }
            }
        }
        Rc::new(columns)
    });
    SparsityArray::dependent(ty, columns)
}

/// The sets at known positions; along an axis with unknown positions, the union of all.
pub(super) fn gather(a: &SparsityArray, indices: &[SparsityArray]) -> SparsityArray {
    let shape = &a.ty().shape;
    let row = &shape[indices.len()..];
    let result: Shape = indices.first().map_or(&[][..], |index| &index.ty().shape).iter().chain(row).copied().collect();
    let columns = a.sets().is_some().then(|| KnownPositions::new(indices, &shape[..indices.len()])).and_then(|known| {
        let (unions, _) = unions_over(a.sets(), shape, &known.unknown);
        picked(&unions?, known.of_rows(size(row)))
    });
    chosen::gathered(a, indices, SparsityArray::dependent(Type { dtype: a.ty().dtype, shape: result }, columns))
}

/// The sets scattered to known positions; along an axis with unknown positions to all, except for elements that were read at
/// the same positions.
pub(super) fn scatter(updates: &SparsityArray, indices: &[SparsityArray], extents: &[usize]) -> SparsityArray {
    let rank = indices.first().map_or(0, |index| index.ty().rank());
    let row = &updates.ty().shape[rank..];
    let result: Shape = extents.iter().chain(row).copied().collect();
    let ty = Type { dtype: updates.ty().dtype, shape: result.clone() };
    if let Some(exact) = chosen::scatter(updates, indices, extents, &ty) {
        return exact;
    }
    scattered(updates, indices, extents, ty)
}

/// The set written last at a known position, else the target's; where positions are unknown, the union of both.
pub(super) fn scatter_set(target: &SparsityArray, updates: &SparsityArray, indices: &[SparsityArray]) -> SparsityArray {
    let extents = &target.ty().shape[..indices.len()];
    if indices.iter().any(|index| index.elements().is_none()) {
        let written = scatter(updates, indices, extents);
        return SparsityArray::dependent(target.ty().clone(), union(target.sets().clone(), written.sets().clone()));
    }
    let width = size(&target.ty().shape[indices.len()..]);
    let moves = target.sets().is_some() || updates.sets().is_some();
    let columns = moves.then(|| {
        let none = |count: usize| vec![ColumnSet::None; count];
        let mut columns = target.sets().as_ref().map_or_else(|| none(target.ty().size()), |sets| sets.to_vec());
        for (update, position) in KnownPositions::new(indices, extents).of_rows(width).enumerate() {
            if let Some(position) = position {
                columns[position] = updates.sets().as_ref().map_or(ColumnSet::None, |sets| sets[update].clone());
            }
        }
        Rc::new(columns)
    });
    SparsityArray::dependent(target.ty().clone(), columns)
}

/// All terms of each sum; those whose other factor is known to be 0 are left out.
pub(super) fn contract(spec: &Contraction, a: &SparsityArray, b: &SparsityArray) -> SparsityArray {
    let ty = Type { dtype: a.ty().dtype, shape: spec.shape(&a.ty().shape, &b.ty().shape) };
    let side = |own: &SparsityArray, labels: &[Label], other: &SparsityArray, others: &[Label]| -> Sets {
        let columns = own.sets().as_ref()?;
        match other.elements() {
            Some(factor) if has_zero(factor) => {
                terms(spec, &ty.shape, (&columns[..], labels, &own.ty().shape), (factor, others))
            }
            _ => {
                let summed: Axes = (0..labels.len()).filter(|&axis| !spec.result.contains(&labels[axis])).collect();
                let (unions, rest) = unions_over(own.sets(), &own.ty().shape, &summed);
                let place = |label: &Label| spec.result.iter().position(|other| other == label);
                let axes: Axes = labels.iter().filter_map(place).collect();
                view(&unions, &AffineMap::broadcast(&rest, &ty.shape, &axes))
            }
        }
    };
    let left = side(a, &spec.left, b, &spec.right);
    let right = side(b, &spec.right, a, &spec.left);
    SparsityArray::dependent(ty, union(left, right))
}

/// Whether some element is 0.
fn has_zero(factor: &Array) -> bool {
    match factor.uniform() {
        Some(factor) => factor.to_f64() == 0.0,
        None => (0..factor.size()).any(|position| factor.element(position).to_f64() == 0.0),
    }
}

/// For each element of a contraction's result the union of one operand's sets over the terms whose known factor is not 0.
fn terms(
    spec: &Contraction,
    result: &[usize],
    (columns, labels, shape): (&[ColumnSet], &[Label], &[usize]),
    (factor, others): (&Array, &[Label]),
) -> Sets {
    let summed: SmallVec<[Label; 4]> = labels.iter().copied().filter(|label| !spec.result.contains(label)).collect();
    let run: SmallVec<[Label; 6]> = spec.result.iter().chain(&summed).copied().collect();
    let extent = |label: &Label| shape[labels.iter().position(|own| own == label).expect("a label of the operand")];
    let inner: Shape = summed.iter().map(extent).collect();
    // How far an operand's row-major position moves with each label.
    let steps = |labels: &[Label], shape: &[usize]| -> SmallVec<[usize; 6]> {
        let strides = strides(shape);
        run.iter().map(|label| labels.iter().position(|own| own == label).map_or(0, |axis| strides[axis])).collect()
    };
    let (own, other) = (steps(labels, shape), steps(others, factor.shape()));
    let offset = |at: &[usize], steps: &[usize]| -> usize { at.iter().zip(steps).map(|(at, step)| at * step).sum() };
    let mut sets = Vec::with_capacity(size(result));
    let outer = spec.result.len();
    each_position(result, |at| {
        let (base, other_base) = (offset(at, &own), offset(at, &other));
        let mut found: Vec<&ColumnSet> = Vec::new();
        each_position(&inner, |at| {
            if factor.element(other_base + offset(at, &other[outer..])).to_f64() != 0.0 {
                found.push(&columns[base + offset(at, &own[outer..])]);
            }
        });
        sets.push(ColumnSet::union_of(found));
    });
    Some(Rc::new(sets))
}

/// All entries of the matrix and what comes with them, and of a system's right side all of the same column.
pub(super) fn sparse(op: &SparseOperation, operands: &[SparsityArray]) -> SparsityArray {
    let types: SmallVec<[&Type; 3]> = operands.iter().map(SparsityArray::ty).collect();
    let ty = infer::output(&Op::<Never>::Sparse(op.clone()), &types).expect("operands that fit");
    let batch = operands[0].ty().rank() - 1;
    let parts = operands.iter().enumerate().map(|(position, operand)| {
        let (unions, rest) = unions_over(operand.sets(), &operand.ty().shape, &[batch]);
        let kept: Axes = (0..ty.rank()).filter(|&axis| axis < batch || axis == batch + 1).collect();
        let axes = if op.axes(position) == 2 { &kept[..] } else { &kept[..batch] };
        view(&unions, &AffineMap::broadcast(&rest, &ty.shape, axes))
    });
    let sets = parts.fold(None, union);
    SparsityArray::dependent(ty, sets)
}

/// All elements of the matrix and, of a system's right side, all of the same column.
pub(super) fn matrix(op: MatrixOperation, operands: &[SparsityArray]) -> SparsityArray {
    let types: SmallVec<[&Type; 2]> = operands.iter().map(SparsityArray::ty).collect();
    let ty = infer::output(&Op::<Never>::Matrix(op), &types).expect("operands that fit");
    let axes = ty.rank() - 2;
    let parts = operands.iter().enumerate().map(|(position, operand)| {
        let is_right_side = op.is_system() && position + 1 == operands.len();
        let summed: &[usize] = if is_right_side { &[axes] } else { &[axes, axes + 1] };
        let (unions, rest) = unions_over(operand.sets(), &operand.ty().shape, summed);
        let kept: Axes = (0..ty.rank()).filter(|axis| !summed.contains(axis)).collect();
        view(&unions, &AffineMap::broadcast(&rest, &ty.shape, &kept))
    });
    let sets = parts.fold(None, union);
    SparsityArray::dependent(ty, sets)
}

//! Elements that are read at unknown positions, and then written at the same ones.
//!
//! The gradient of a smallest distance reads the nearest of several centres, and adds to that one. Which one is nearest is
//! unknown, so an element that is read depends on the elements of all centres, and is added to all. But the value added to a
//! centre was computed from that centre alone, so the second derivative has no entry for two different centres. An array that
//! is read at unknown positions along an axis therefore keeps two things: its columns, which are the union over all positions,
//! and the columns for each position. It keeps the latter as long as it passes only through elementwise operations to a scatter
//! at the same array of positions.

use super::array::{ChosenColumns, IndexIdentity, IndexedRead, Sets, SparsityArray, union};
use super::positions::{collected, scattered};
use crate::array::Array;
use crate::shape::{Type, size, strides};
use smallvec::SmallVec;
use std::rc::Rc;

/// An array has at most so many terms.
const TERMS: usize = 4;
/// So many times the elements of all arrays of a scatter may be looked at.
const WORK: usize = 4;

/// The one axis whose positions are not known, if it is one, with the identity of the positions; and where the known ones
/// lead in an array of this shape.
fn one_unknown(indices: &[SparsityArray], shape: &[usize]) -> Option<(usize, IndexIdentity, Vec<Option<usize>>)> {
    let mut unknown = (0..indices.len()).filter(|&axis| indices[axis].elements().is_none());
    let (axis, more) = (unknown.next()?, unknown.next());
    let identity = indices[axis].identity().filter(|_| more.is_none())?;
    let strides = strides(shape);
    let known: Vec<(&Array, usize)> =
        indices.iter().enumerate().filter_map(|(at, index)| Some((index.elements()?, at))).collect();
    let start = |row: usize| {
        known.iter().try_fold(0, |start, &(elements, axis)| {
            let position = elements.element(row).to_integer().and_then(|position| usize::try_from(position).ok());
            position.filter(|&position| position < shape[axis]).map(|position| start + position * strides[axis])
        })
    };
    Some((axis, identity, (0..indices[axis].ty().size()).map(start).collect()))
}

/// The result of a gather, with its dependence by position if exactly one index is unknown.
pub(super) fn gathered(a: &SparsityArray, indices: &[SparsityArray], result: SparsityArray) -> SparsityArray {
    let shape = &a.ty().shape;
    let (Some(sets), Some((axis, index, starts))) = (a.sets(), one_unknown(indices, shape)) else { return result };
    let (step, extent) = (strides(shape)[axis], shape[axis]);
    let term = IndexedRead { index, sets: sets.clone(), starts: Rc::new(starts), step, extent };
    result.with_chosen(ChosenColumns { rest: None, terms: SmallVec::from_elem(term, 1) })
}

/// The result of an elementwise operation, given its operands, each with the columns that it contributes.
///
/// Where some elements of an operand contribute nothing, dependence by position is dropped: the columns alone record it.
pub(super) fn elementwise(result: SparsityArray, contributions: &[(&SparsityArray, Sets)]) -> SparsityArray {
    let moving = || contributions.iter().filter(|(_, sets)| sets.is_some());
    let whole = |(operand, sets): &(&SparsityArray, Sets)| match (operand.sets(), sets) {
        (Some(all), Some(sets)) => operand.chosen().is_none() || Rc::ptr_eq(all, sets),
        _ => true,
    };
    if moving().all(|(operand, _)| operand.chosen().is_none()) || !moving().all(whole) {
        return result;
    }
    let mut chosen = ChosenColumns { rest: None, terms: SmallVec::new() };
    for (operand, sets) in moving() {
        let Some(own) = operand.chosen() else {
            chosen.rest = union(chosen.rest, sets.clone());
            continue;
        };
        chosen.rest = union(chosen.rest, own.rest.clone());
        for term in &own.terms {
            if !chosen.terms.iter().any(|other| other.is(term)) {
                chosen.terms.push(term.clone());
            }
        }
    }
    if chosen.terms.len() > TERMS { result } else { result.with_chosen(chosen) }
}

/// The result of a scatter, if every dependence of its updates by position comes from reads at the scatter's own positions.
pub(super) fn scatter(
    updates: &SparsityArray,
    indices: &[SparsityArray],
    extents: &[usize],
    ty: &Type,
) -> Option<SparsityArray> {
    let chosen = updates.chosen()?;
    let (axis, index, targets) = one_unknown(indices, &ty.shape)?;
    if !chosen.terms.iter().all(|term| Rc::ptr_eq(&term.index, &index)) {
        return None;
    }
    let (step, width) = (strides(&ty.shape)[axis], size(&ty.shape[extents.len()..]));
    let rest = SparsityArray::dependent(updates.ty().clone(), chosen.rest.clone());
    let mut sets = scattered(&rest, indices, extents, ty.clone()).sets().clone();
    for term in &chosen.terms {
        let pairs = term.starts.iter().zip(&targets).filter_map(|(&start, &target)| Some((start?, target?)));
        let mut pairs: Vec<(usize, usize)> = pairs.collect();
        pairs.sort_unstable();
        pairs.dedup();
        let count = term.extent.min(extents[axis]);
        let work = pairs.len().checked_mul(count)?.checked_mul(width)?;
        if work > WORK * (term.sets.len() + ty.size() + updates.ty().size()) {
            return None;
        }
        let (mut columns, mut places) = (Vec::with_capacity(work), Vec::with_capacity(work));
        for (start, target) in pairs {
            for position in 0..count {
                let from = start + term.step * position;
                columns.extend_from_slice(&term.sets[from..from + width]);
                places.extend((0..width).map(|inner| Some(target + step * position + inner)));
            }
        }
        sets = union(sets, collected(&columns, &places, ty.size()));
    }
    Some(SparsityArray::dependent(ty.clone(), sets))
}

//! Nests made simpler before they are written.

use crate::kernel::{Affine, BufferId, Nest, NestValue};
use crate::shape::Value as Number;
use std::collections::HashSet;

/// The nest without stores to buffers that nobody reads, with adjacent loops that all accesses go through as one made one,
/// without loops of one step, and without reads that never happen.
pub(crate) fn tidied(nest: &Nest, unread: &HashSet<BufferId>) -> Nest {
    let mut nest = nest.clone();
    nest.stores.retain(|store| !unread.contains(&store.buffer));
    if nest.extents.contains(&0) {
        return nest;
    }
    let mut axis = 0;
    while axis < nest.extents.len() {
        if nest.extents[axis] == 1 {
            // The position is 0.
            remove(&mut nest, axis);
        } else if axis + 1 < nest.extents.len() && are_one(&nest, axis) {
            nest.extents[axis + 1] *= nest.extents[axis];
            remove(&mut nest, axis);
        } else {
            axis += 1;
        }
    }
    nowhere(&mut nest);
    nest
}

/// Reads and stores that guards never let through, since they are before the first element at all positions, have no place:
/// languages that see such a place refuse it.
fn nowhere(nest: &mut Nest) {
    let is_before = |at: &Affine| at.range(&nest.extents).1 < 0;
    for (value, dtype) in &mut nest.values {
        if let NestValue::Load { at, .. } = value
            && is_before(at)
        {
            *value = NestValue::Constant(Number::from_i64(*dtype, 0));
        }
    }
    for store in &mut nest.stores {
        // Their guards are kept, and so is the fill before them.
        if store.index.is_none() && is_before(&store.at) {
            store.at = Affine::constant(0, nest.extents.len());
        }
    }
}

/// Whether all affine functions go through an axis and the next one as through one axis.
fn are_one(nest: &Nest, axis: usize) -> bool {
    let extent = nest.extents[axis + 1] as i64;
    nest.functions()
        .all(|at| at.coefficients[axis + 1].checked_mul(extent).is_some_and(|whole| at.coefficients[axis] == whole))
}

/// Takes an axis away, along which nothing moves any more.
fn remove(nest: &mut Nest, axis: usize) {
    for at in nest.functions_mut() {
        at.coefficients.remove(axis);
    }
    nest.extents.remove(axis);
}

/// Whether an affine function takes different values at all positions of these axes: where each of its coefficients, from the
/// smallest on, reaches further than all smaller ones together.
pub(crate) fn is_one_to_one(at: &Affine, axes: &[usize], extents: &[usize]) -> bool {
    let mut steps: Vec<(u64, usize)> =
        axes.iter().map(|&axis| (at.coefficients[axis].unsigned_abs(), extents[axis])).collect();
    steps.sort_unstable();
    let mut reach: u128 = 0;
    steps.iter().filter(|(_, extent)| *extent > 1).all(|&(step, extent)| {
        let is_further = u128::from(step) > reach;
        reach += u128::from(step) * (extent as u128 - 1);
        is_further
    })
}

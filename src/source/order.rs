//! In which order the loops of a nest are written.

use super::tidy::is_one_to_one;
use crate::kernel::{Affine, Nest, NestValue, StoreMode};
use crate::operation::Reduction;

/// Loops of fewer steps are short: vectors along them are worth less.
const SHORT: usize = 4;

/// The cost of one step of an innermost loop for an access whose position moves by so many elements: the cache lines touched,
/// in lines of eight elements.
fn moved(by: i64) -> f64 {
    match by.unsigned_abs() {
        0 => 0.0,
        1 => 0.1,
        _ => 1.0,
    }
}

/// The axes of a nest, outermost first: the innermost one is that along which accesses are neighbours, the others keep their
/// order.
pub(crate) fn order(nest: &Nest) -> Vec<usize> {
    let axes = nest.extents.len();
    let along = |at: &Affine, axis: usize| moved(at.coefficients[axis]);
    let cost = |axis: usize| {
        let loads = nest.values.iter().map(|(value, _)| match value {
            NestValue::Load { at, .. } | NestValue::Gather { at, .. } => along(at, axis),
            _ => 0.0,
        });
        let stores = nest.stores.iter().map(|store| {
            let is_float = nest.values[store.value as usize].1.is_float();
            match store.mode {
                // Additions of floats wait for each other.
                StoreMode::Reduce(Reduction::Sum) if store.at.coefficients[axis] == 0 && is_float => 0.5,
                _ => along(&store.at, axis),
            }
        });
        let accesses: f64 = loads.sum::<f64>() + stores.sum::<f64>();
        accesses + if nest.extents[axis] < SHORT { 2.0 } else { 0.0 }
    };
    let costs: Vec<f64> = (0..axes).map(cost).collect();
    // The last of several that cost the same.
    let innermost = (0..axes).rev().min_by(|&a, &b| costs[a].total_cmp(&costs[b]));
    (0..axes).filter(|&axis| Some(axis) != innermost).chain(innermost).collect()
}

/// The axes of a nest, those first at whose positions different elements are written, which can run at the same time; and how
/// many those are.
pub(crate) fn parallel_first(nest: &Nest) -> (Vec<usize>, usize) {
    let axes: Vec<usize> = (0..nest.extents.len()).collect();
    let moves = |axis: &usize| nest.stores.iter().all(|store| store.at.coefficients[*axis] != 0);
    let mut parallel: Vec<usize> = axes.iter().copied().filter(moves).collect();
    for store in &nest.stores {
        // Other axes extend the range too, and so do computed positions, which select rows.
        let all: Vec<usize> = axes.iter().copied().filter(|&axis| store.at.coefficients[axis] != 0).collect();
        let reach: u128 = all
            .iter()
            .map(|&axis| {
                u128::from(store.at.coefficients[axis].unsigned_abs()) * (nest.extents[axis].max(1) as u128 - 1)
            })
            .sum();
        let within_row = store.index.is_none_or(|(_, stride, _)| reach < stride.unsigned_abs().into());
        if !within_row || !is_one_to_one(&store.at, &all, &nest.extents) {
            parallel.clear();
        }
    }
    let inner = order(nest).into_iter().filter(|axis| !parallel.contains(axis));
    let count = parallel.len();
    (parallel.iter().copied().chain(inner).collect(), count)
}

//! Checks, in debug builds, the reads and stores of a part of a nest position by position: that the elements exist, and that no
//! two items store to one element.

use super::parts::{KernelPart, ReductionManner};
use crate::kernel::{Affine, BufferId, Guards, NestValue, Store, StoreMode};
use crate::shape::steps;
use std::collections::HashMap;

/// Parts with more positions are not checked.
const MOST: usize = 2000;

/// The problem at some position of a small part, whose arrays have `count` elements.
pub(super) fn problem(part: &KernelPart, count: impl Fn(BufferId) -> usize) -> Option<String> {
    let extents = &part.nest.extents;
    if extents.contains(&0) || steps(extents.iter().copied()) > MOST {
        return None;
    }
    let mut items: Vec<HashMap<i64, Vec<i64>>> = vec![HashMap::new(); part.nest.stores.len()];
    let mut position = vec![0; extents.len()];
    loop {
        let is_there = |buffer: BufferId, place: i64| (0..count(buffer) as i64).contains(&place);
        for (id, (value, _)) in part.nest.values.iter().enumerate() {
            if let NestValue::Load { buffer, at, guards } = value
                && hold(guards, &position)
                && !is_there(*buffer, place(at, &position))
            {
                return Some(format!("value {id} reads what is not there at {position:?}: {part:?}"));
            }
        }
        for (store, items) in part.nest.stores.iter().zip(&mut items) {
            let is_empty = store.index.is_some_and(|(.., extent)| extent == 0);
            if is_empty || !hold(&store.guards, &position) {
                continue;
            }
            let own = place(&store.at, &position);
            let last = store.index.map_or(0, |(_, stride, extent)| stride.wrapping_mul(extent - 1));
            if ![own, own.wrapping_add(last)].iter().all(|&place| is_there(store.buffer, place)) {
                return Some(format!("what is not there is stored to at {position:?}: {part:?}"));
            }
            if part.manner == ReductionManner::Apart && !is_item(store, part, &position, items, own) {
                return Some(format!("two items store to element {own}, one of them at {position:?}: {part:?}"));
            }
        }
        let axis = (0..extents.len()).rev().find(|&axis| position[axis] + 1 < extents[axis] as i64)?;
        position[axis] += 1;
        position[axis + 1..].fill(0);
    }
}

/// Whether the item of a position is the only one so far that reduces to an element.
fn is_item(store: &Store, part: &KernelPart, position: &[i64], items: &mut HashMap<i64, Vec<i64>>, place: i64) -> bool {
    if store.mode == StoreMode::Write {
        return true;
    }
    let mut item = position.to_vec();
    part.reduced.iter().for_each(|&axis| item[axis] = 0);
    *items.entry(place).or_insert_with(|| item.clone()) == item
}

/// The value of a function at a position. Distant positions wrap as in kernels.
pub(super) fn place(at: &Affine, position: &[i64]) -> i64 {
    let terms = at.coefficients.iter().zip(position);
    terms.fold(at.offset, |sum, (coefficient, position)| sum.wrapping_add(coefficient.wrapping_mul(*position)))
}

/// Whether guards hold at a position.
pub(super) fn hold(guards: &Guards, position: &[i64]) -> bool {
    guards.iter().all(|guard| (0..guard.extent).contains(&place(&guard.position, position)))
}

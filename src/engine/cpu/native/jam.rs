//! Steps of outer loops side by side.
//!
//! Distances between all rows of two tables read each element of a row anew for each row of the other table, and combine the lanes
//! of each sum while nothing else is left to do. With some rows of both tables at a time, elements are read once for several sums,
//! and sums do not wait for each other.

use crate::engine::cpu::layout::NestLayout;
use crate::kernel::stretch::moved;
use crate::kernel::{Nest, NestValue, Store, StoreMode, ValueId};
use crate::shape::steps;

/// Sums in registers at most, with AVX-512 and with AVX2.
const SUMS: [usize; 2] = [16, 4];
/// The same with steps of an outermost loop that has few of them: threads share what is left.
const SUMS_OF_FEW: [usize; 2] = [8, 4];
/// An outermost loop of fewer steps has few.
const FEW: usize = 64;
/// Steps of a loop side by side at most.
const STEPS: usize = 4;
/// Values of a step at most.
const VALUES: usize = 96;
/// Fewer positions are not worth it.
const LEAST: usize = 1 << 14;

/// A nest whose sums of rows run some at a time, with its loops; `None` where they have nothing in common, or extents are no
/// multiples.
pub(super) fn jammed(nest: &Nest, layout: &NestLayout, is_wide: bool) -> Option<(Nest, NestLayout)> {
    let depth = layout.extents.len();
    if layout.vector + 1 != depth || steps(nest.extents.iter().copied()) < LEAST {
        return None;
    }
    let along = layout.axes[layout.vector]?;
    let is_row_sum =
        |store: &Store| store.mode != StoreMode::Write && store.index.is_none() && store.at.coefficients[along] == 0;
    if !nest.stores.iter().all(is_row_sum) || !is_read_again(nest, layout, along) {
        return None;
    }
    let [sums, of_few] = [SUMS, SUMS_OF_FEW].map(|sums| sums[usize::from(!is_wide)]);
    let mut room = sums / nest.stores.len().max(1);
    let mut found: Option<Nest> = None;
    let mut jammed = layout.clone();
    for position in (0..layout.vector).rev() {
        let nest = found.as_ref().unwrap_or(nest);
        let Some(axis) = layout.axes[position].filter(|&axis| nest.extents[axis] == jammed.extents[position]) else {
            continue;
        };
        let is_short = position == 0 && jammed.extents[0] < FEW;
        let most = STEPS.min(if is_short { room * of_few / sums } else { room });
        let divides =
            |&steps: &usize| jammed.extents[position].is_multiple_of(steps) && nest.values.len() * steps <= VALUES;
        if has_common(nest, axis, along)
            && let Some(steps) = (2..=most).rev().find(divides)
        {
            found = Some(side_by_side(nest, axis, steps)?);
            jammed.extents[position] /= steps;
            room /= steps;
        }
    }
    Some((found?, jammed))
}

/// Whether an axis is among those that move a value.
fn has(moved: u64, axis: usize) -> bool {
    moved >> (axis % 64) & 1 == 1
}

/// The axes that move each value which is read along an axis.
fn rows(nest: &Nest, along: usize) -> impl Iterator<Item = u64> {
    let is_read = |value: &NestValue| matches!(value, NestValue::Load { .. } | NestValue::Gather { .. });
    let all = nest.values.iter().zip(moved(nest));
    all.filter(move |((value, _), moved)| is_read(value) && has(*moved, along)).map(|(_, moved)| moved)
}

/// Whether each row is read for several sums. Those that are read once come from memory, which is faster one after the other.
fn is_read_again(nest: &Nest, layout: &NestLayout, along: usize) -> bool {
    let is_again = |moved: u64| layout.axes[..layout.vector].iter().flatten().any(|&axis| !has(moved, axis));
    rows(nest, along).all(is_again)
}

/// Whether the steps along an axis read the same rows, each for sums of its own.
fn has_common(nest: &Nest, axis: usize, along: usize) -> bool {
    let is_stored = nest.stores.iter().all(|store| store.at.coefficients[axis] != 0);
    is_stored && rows(nest, along).any(|moved| !has(moved, axis))
}

/// A nest with so many steps along an axis in one; `None` where positions are too large for that.
pub(super) fn side_by_side(nest: &Nest, axis: usize, steps: usize) -> Option<Nest> {
    let shifted = |copy: usize| {
        let mut nest = nest.clone();
        for at in nest.functions_mut() {
            let by = at.coefficients[axis];
            at.offset = at.offset.checked_add(by.checked_mul(copy as i64)?)?;
            at.coefficients[axis] = by.checked_mul(steps as i64)?;
        }
        Some(nest)
    };
    let copies: Vec<Nest> = (0..steps).map(shifted).collect::<Option<_>>()?;
    let mut result = Nest { extents: nest.extents.clone(), ..Nest::default() };
    result.extents[axis] /= steps;
    // The numbers of each value, one for each step if the axis moves it.
    let mut ids: Vec<Vec<ValueId>> = Vec::with_capacity(nest.values.len());
    let number = |ids: &[Vec<ValueId>], id: ValueId, copy: usize| {
        let own = &ids[id as usize];
        own[copy.min(own.len() - 1)]
    };
    for (at, moved) in moved(nest).into_iter().enumerate() {
        let count = if has(moved, axis) { steps } else { 1 };
        let mut own = Vec::with_capacity(count);
        for (copy, nest) in copies.iter().enumerate().take(count) {
            let (value, dtype) = &nest.values[at];
            own.push(result.values.len() as ValueId);
            result.values.push((value.map(|id| number(&ids, id, copy)), *dtype));
        }
        ids.push(own);
    }
    for at in 0..nest.stores.len() {
        for (copy, nest) in copies.iter().enumerate() {
            let store = nest.stores[at].clone();
            result.stores.push(Store { value: number(&ids, store.value, copy), ..store });
        }
    }
    Some(result)
}

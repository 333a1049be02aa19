//! Reductions whose places are known but overlap, such as sums of gradients over windows. Loops run over the elements reached,
//! instead of over the positions that reach them, so that no element is needed by two items at the same time.
//!
//! Where positions `i` and `k` reach the place `i + k`, the loop along `i` becomes one along the places `p`, and `i` is
//! `p - k`, which guards keep within its extent; the loop along `k` is then reduced over. Steps of several elements work the
//! same after splitting a loop in two: where positions reach `2 i + k`, `k` is `2 q + r`, and the place is `2 (i + q) + r`.
//! Where they reach `2 i + 3 k`, both loops are split, `i` is `3 s + t`, and the place `6 (s + q) + 2 t + 3 r`: all of these
//! are distinct, since the differences by the last two are no multiples of 6.

use crate::kernel::{Affine, Guard, Guards, Nest, NestValue, Store, ValueId};
use crate::shape::{self, DType};
use crate::source::tidy::{is_one_to_one, tidied};
use std::collections::HashSet;
use std::ops::Range;

/// How often loops of a nest are made two, or one, before it is left as it is. An array's axis along which windows are moved, and go,
/// by steps that are no multiples of each other takes three of these: more than four such axes are not expected, and with still
/// more loops and guards exchanges are no slower.
const MOST_CHANGES: usize = 12;

/// An obstacle to distinct places at all positions.
enum Overlap {
    /// Two axes along which places move by the same amount.
    Joint(usize, usize),
    /// An axis along which places move beyond the next step of another axis, which is this multiple of its own step.
    Long(usize, usize),
}

/// A nest that is rewritten.
struct Windows {
    nest: Nest,
    /// Guards that keep removed axes within their extents.
    guards: Guards,
    /// Values whose places move along such axes.
    is_moved: Vec<bool>,
}

/// The same nest, with one store that reduces, and a distinct place at all positions of the loops that the place moves along;
/// `None` where there is no such nest.
pub(super) fn by_element(nest: &Nest) -> Option<Nest> {
    let [Store { index: None, .. }] = nest.stores[..] else { return None };
    let mut windows = Windows { nest: nest.clone(), guards: Guards::new(), is_moved: vec![false; nest.values.len()] };
    windows.turn();
    windows.narrow();
    for _ in 0..MOST_CHANGES {
        let Store { at, guards, .. } = &windows.nest.stores[0];
        match overlap(at, guards, &windows.nest.extents)? {
            Some(Overlap::Joint(one, other)) => windows.join(one, other)?,
            Some(Overlap::Long(axis, step)) => windows.split(axis, step)?,
            None => {
                windows.narrow();
                return Some(tidied(&windows.finish(), &HashSet::new()));
            }
        }
    }
    None
}

/// Whether a store reaches a different place at each position of these axes where its guards hold.
pub(super) fn is_apart(store: &Store, axes: &[usize], extents: &[usize]) -> bool {
    if is_one_to_one(&store.at, axes, extents) {
        return true;
    }
    let moving: Vec<usize> = moving(&store.at, extents).collect();
    let all_move = axes.iter().all(|axis| extents[*axis] == 1 || moving.contains(axis));
    all_move && matches!(overlap(&store.at, &store.guards, extents), Some(None))
}

fn moving<'a>(at: &'a Affine, extents: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    (0..extents.len()).filter(|&axis| extents[axis] > 1 && at.coefficients[axis] != 0)
}

/// Axes that move a place together, by this much each step, over so many positions.
struct Digit {
    step: u64,
    extent: usize,
    axes: Vec<usize>,
}

/// The overlap of places, if there is one; `None` if no remedy is known.
#[allow(clippy::option_option)] // Nothing to be done, and nothing that need be done.
fn overlap(at: &Affine, guards: &Guards, extents: &[usize]) -> Option<Option<Overlap>> {
    // Without guards places reach further, so more overlaps may be found; but then each axis stands by itself.
    overlap_within(at, guards, extents).or_else(|| overlap_within(at, &Guards::new(), extents))
}

#[allow(clippy::option_option)]
fn overlap_within(at: &Affine, guards: &Guards, extents: &[usize]) -> Option<Option<Overlap>> {
    let mut digits: Vec<Digit> = Vec::new();
    // A position under a guard reaches no further than the guard's extent, whatever its axes do.
    for Guard { position, extent } in guards {
        let axes: Vec<usize> = moving(position, extents).collect();
        let Some(step) = axes.first().and_then(|&axis| at.coefficients[axis].checked_div(position.coefficients[axis]))
        else {
            continue;
        };
        let is_part =
            axes.iter().all(|&axis| position.coefficients[axis].checked_mul(step) == Some(at.coefficients[axis]));
        let is_free = digits.iter().all(|digit| digit.axes.iter().all(|axis| !axes.contains(axis)));
        if step != 0 && is_part && is_free {
            let inside = axes.iter().map(|&axis| Digit {
                step: position.coefficients[axis].unsigned_abs(),
                extent: extents[axis],
                axes: vec![axis],
            });
            if let Some(found) = overlap_of(inside.collect())? {
                return Some(Some(found));
            }
            // Where positions do not reach the end of the extent, their own range is the bound.
            let apart = axes.iter().fold(0, |of, &axis| common(of, position.coefficients[axis].unsigned_abs()));
            let (low, high) = position.range(extents);
            let reached = u64::try_from(high - low).ok()? / apart + 1;
            let extent = usize::try_from(reached.min(u64::try_from(*extent).ok()?.div_ceil(apart))).ok()?;
            digits.push(Digit { step: step.unsigned_abs().checked_mul(apart)?, extent, axes });
        }
    }
    let taken: Vec<usize> = digits.iter().flat_map(|digit| digit.axes.clone()).collect();
    let others = moving(at, extents).filter(|axis| !taken.contains(axis));
    digits.extend(others.map(|axis| Digit {
        step: at.coefficients[axis].unsigned_abs(),
        extent: extents[axis],
        axes: vec![axis],
    }));
    overlap_of(digits)
}

#[allow(clippy::option_option)]
fn overlap_of(mut digits: Vec<Digit>) -> Option<Option<Overlap>> {
    digits.sort_by_key(|digit| digit.step);
    let single = |digit: &Digit| (digit.axes.len() == 1).then(|| digit.axes[0]);
    for pair in digits.windows(2) {
        if pair[0].step == pair[1].step {
            // A loop that is reduced over had better be the shorter one.
            let (long, short) =
                if pair[0].extent < pair[1].extent { (&pair[1], &pair[0]) } else { (&pair[0], &pair[1]) };
            return Some(Some(Overlap::Joint(single(long)?, single(short)?)));
        }
    }
    while let Some(known) = (0..digits.len()).find(|&digit| is_known(&digits, digit)) {
        digits.remove(known);
    }
    // Finds two of the remaining digits that reach the same places: the first one alone reaches beyond the next common step of
    // both.
    for (inner, digit) in digits.iter().enumerate() {
        for other in &digits[inner + 1..] {
            let common = common(digit.step, other.step);
            let (own, others) = (other.step / common, digit.step / common);
            if own < digit.extent as u64 && others < other.extent as u64 {
                return Some(Some(Overlap::Long(single(digit)?, usize::try_from(own).ok()?)));
            }
        }
    }
    digits.is_empty().then_some(None)
}

/// Whether two positions that reach the same place agree in a digit: because its step exceeds the reach of all others, or
/// because its differences are no multiples of a common step of the others.
fn is_known(digits: &[Digit], digit: usize) -> bool {
    let Digit { step, extent, .. } = digits[digit];
    let others = || digits.iter().enumerate().filter(|(other, _)| *other != digit).map(|(_, other)| other);
    let reach: u128 = others().map(|other| u128::from(other.step) * (other.extent as u128).saturating_sub(1)).sum();
    let of_all = others().fold(0, |of, other| common(of, other.step));
    u128::from(step) > reach || of_all / common(of_all, step) >= extent as u64
}

/// The greatest common divisor.
fn common(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common(other, one % other) }
}

/// Moves a function's origin to a position of an axis. Places are not that far, but positions used in computation wrap like
/// numbers.
fn start(at: &mut Affine, axis: usize, position: i64) {
    at.offset = at.offset.wrapping_add(at.coefficients[axis].wrapping_mul(position));
}

impl Windows {
    /// Has places go forward along all loops.
    fn turn(&mut self) {
        for axis in 0..self.nest.extents.len() {
            if self.nest.stores[0].at.coefficients[axis] < 0 {
                let last = self.nest.extents[axis] as i64 - 1;
                for at in self.nest.functions_mut() {
                    start(at, axis, last);
                    at.coefficients[axis] = at.coefficients[axis].wrapping_neg();
                }
            }
        }
    }

    /// All affine functions, which were over the axes of the nest, as others.
    fn rewrite(&mut self, mut change: impl FnMut(&mut Affine) -> Option<()>) -> Option<()> {
        let guards = self.guards.iter_mut().map(|guard| &mut guard.position);
        self.nest.functions_mut().into_iter().chain(guards).try_for_each(&mut change)
    }

    /// Marks the values whose places move along an axis.
    fn mark(&mut self, axis: usize) {
        for ((value, _), is_moved) in self.nest.values.iter().zip(&mut self.is_moved) {
            if let NestValue::Load { at, .. } | NestValue::Gather { at, .. } = value {
                *is_moved |= at.coefficients[axis] != 0;
            }
        }
    }

    /// Has the loop along one of two axes, by which places move as much, go along their sums.
    fn join(&mut self, one: usize, other: usize) -> Option<()> {
        self.mark(one);
        self.rewrite(|at| {
            at.coefficients[other] = at.coefficients[other].checked_sub(at.coefficients[one])?;
            Some(())
        })?;
        let extents = &mut self.nest.extents;
        let mut position = Affine::axis(one, extents.len());
        position.coefficients[other] = -1;
        self.guards.push(Guard { position, extent: extents[one] as i64 });
        extents[one] = extents[one].checked_add(extents[other] - 1)?;
        Some(())
    }

    /// Splits a loop in two: the outer one takes so many steps at once, and the inner one, which is new, the steps between.
    fn split(&mut self, axis: usize, steps: usize) -> Option<()> {
        let extent = self.nest.extents[axis];
        let is_whole = extent.is_multiple_of(steps);
        if !is_whole {
            self.mark(axis);
        }
        self.rewrite(|at| {
            let inner = at.coefficients[axis];
            at.coefficients.push(inner);
            at.coefficients[axis] = inner.checked_mul(i64::try_from(steps).ok()?)?;
            Some(())
        })?;
        self.nest.extents[axis] = extent.div_ceil(steps);
        self.nest.extents.push(steps);
        if !is_whole {
            let mut position = Affine::axis(self.nest.extents.len() - 1, self.nest.extents.len());
            position.coefficients[axis] = steps as i64;
            self.guards.push(Guard { position, extent: extent as i64 });
        }
        Some(())
    }

    /// Leaves away positions along single axes at which guards of the store have nothing stored.
    fn narrow(&mut self) {
        // The others move with the axis: they are looked at where they are.
        let mut at = 0;
        while let Some(guard) = self.nest.stores[0].guards.get(at) {
            let Some((axis, positions)) = self.inside(guard) else {
                at += 1;
                continue;
            };
            self.nest.stores[0].guards.remove(at);
            self.nest.extents[axis] = (positions.end - positions.start) as usize;
            let own = self.guards.iter_mut().map(|guard| &mut guard.position);
            for at in self.nest.functions_mut().into_iter().chain(own) {
                start(at, axis, positions.start);
            }
        }
    }

    /// The axis along which alone a guard goes, step by step, and the positions at which it holds, if there are such.
    fn inside(&self, Guard { position, extent }: &Guard) -> Option<(usize, Range<i64>)> {
        let mut axes = moving(position, &self.nest.extents);
        let (axis, None) = (axes.next()?, axes.next()) else { return None };
        let (first, end) = ((-position.offset).max(0), (extent - position.offset).min(self.nest.extents[axis] as i64));
        (position.coefficients[axis] == 1 && first < end).then_some((axis, first..end))
    }

    /// The nest, which reads and stores nothing where guards do not hold.
    fn finish(self) -> Nest {
        let Windows { nest, guards, is_moved } = self;
        let mut new = Nest { extents: nest.extents, values: Vec::new(), stores: nest.stores };
        let mut add = |value, dtype| {
            new.values.push((value, dtype));
            new.values.len() as ValueId - 1
        };
        let mut places: Vec<ValueId> = Vec::new();
        for ((value, dtype), is_moved) in nest.values.iter().zip(is_moved) {
            let mut value = value.map(|operand| places[operand as usize]);
            match &mut value {
                NestValue::Load { guards: own, .. } if is_moved => own.extend(guards.iter().cloned()),
                NestValue::Gather { index, .. } if is_moved => {
                    let whole = DType::I64;
                    let [yes, none] = [shape::Value::Bool(true), shape::Value::I64(-1)].map(|constant| {
                        let dtype = constant.dtype();
                        add(NestValue::Constant(constant), dtype)
                    });
                    let is_there = add(NestValue::Guarded(yes, guards.clone()), DType::Bool);
                    let wide = add(NestValue::Cast(whole, *index), whole);
                    *index = add(NestValue::Select(is_there, wide, none), whole);
                }
                _ => {}
            }
            places.push(add(value, *dtype));
        }
        let store = &mut new.stores[0];
        store.value = places[store.value as usize];
        store.guards.extend(guards);
        new
    }
}

#[cfg(test)]
mod tests;

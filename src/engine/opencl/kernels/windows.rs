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
mod tests {
    use super::*;
    use crate::engine::opencl::kernels::parts::{ReductionManner, parts};
    use crate::engine::opencl::kernels::positions::{hold, place, problem};
    use crate::kernel::StoreMode;
    use crate::operation::Reduction;

    /// All positions of loops.
    fn positions(extents: &[usize]) -> Vec<Vec<i64>> {
        extents.iter().fold(vec![Vec::new()], |all, &extent| {
            all.iter().flat_map(|outer| (0..extent as i64).map(|own| [&outer[..], &[own]].concat())).collect()
        })
    }

    /// The places that the nest reaches, with the element that is read for each; in order.
    fn stored(nest: &Nest) -> Vec<(i64, i64)> {
        let store = &nest.stores[0];
        let NestValue::Load { at: from, guards, .. } = &nest.values[store.value as usize].0 else {
            panic!("an element")
        };
        let all = positions(&nest.extents);
        let mut all: Vec<(i64, i64)> = all
            .iter()
            .filter(|position| hold(&store.guards, position))
            .map(|position| {
                assert!(hold(guards, position), "what is stored is read");
                (place(&store.at, position), place(from, position))
            })
            .collect();
        all.sort_unstable();
        all
    }

    /// A nest that reads another element at each position.
    fn nest(extents: &[usize], place: Affine, guards: Guards, op: Reduction) -> Nest {
        let mut from = Affine::constant(0, extents.len());
        let mut inner = 1;
        for axis in (0..extents.len()).rev() {
            from.coefficients[axis] = inner;
            inner *= extents[axis] as i64;
        }
        Nest {
            extents: extents.into(),
            values: vec![(NestValue::Load { buffer: 0, at: from, guards: Guards::new() }, DType::F64)],
            stores: vec![Store { value: 0, buffer: 1, at: place, guards, index: None, mode: StoreMode::Reduce(op) }],
        }
    }

    fn affine(offset: i64, coefficients: &[i64]) -> Affine {
        Affine { offset, coefficients: coefficients.into() }
    }

    fn check(nest: &Nest, is_possible: bool) {
        let store = &nest.stores[0];
        let Some(found) = by_element(nest) else {
            assert!(!is_possible, "{nest:?}");
            return check_parts(nest);
        };
        assert_eq!(stored(&found), stored(nest), "{nest:?}");
        check_parts(nest);
        // Where nothing is stored, no read may be outside.
        let NestValue::Load { at: from, guards, .. } = &found.values[found.stores[0].value as usize].0 else {
            panic!()
        };
        let count = nest.extents.iter().product::<usize>() as i64;
        let read = positions(&found.extents).into_iter().filter(|position| hold(guards, position));
        read.for_each(|position| assert!((0..count).contains(&place(from, &position)), "{nest:?}"));
        // No two positions outside of the reduction reach the same element.
        let outer: Vec<usize> = moving(&found.stores[0].at, &found.extents).collect();
        assert!(is_apart(&found.stores[0], &outer, &found.extents), "{found:?}");
        let own: Guards = found.stores[0].guards.clone();
        let is_outer = |guard: &Guard| moving(&guard.position, &found.extents).all(|axis| outer.contains(&axis));
        let own: Guards = own.into_iter().filter(is_outer).collect();
        let extents: Vec<usize> =
            (0..found.extents.len()).map(|axis| if outer.contains(&axis) { found.extents[axis] } else { 1 }).collect();
        let mut places: Vec<i64> = positions(&extents)
            .iter()
            .filter(|position| hold(&own, position))
            .map(|position| place(&found.stores[0].at, position))
            .collect();
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), count, "{store:?}\n{found:?}");
    }

    /// The element that a value is, if it is one where guards hold.
    fn read_at(nest: &Nest, value: ValueId, position: &[i64]) -> Option<i64> {
        match &nest.values[value as usize].0 {
            NestValue::Load { at: from, guards, .. } => hold(guards, position).then(|| place(from, position)),
            NestValue::Guarded(value, guards) if hold(guards, position) => read_at(nest, *value, position),
            NestValue::Guarded(..) => None,
            other => panic!("{other:?}"),
        }
    }

    /// Checks the parts of a nest whose array ends where the last element is that it comes to, and begins where the first one is.
    fn check_parts(nest: &Nest) {
        let places = stored(nest);
        let [Some(&(first, _)), Some(&(last, _))] = [places.first(), places.last()] else { return };
        let mut nest = nest.clone();
        nest.stores[0].at.offset -= first;
        let count = |id| if id == 0 { nest.extents.iter().product() } else { (last - first) as usize + 1 };
        let parts = parts(&nest, 8, count, |_, _| ReductionManner::Atomic);
        let [part] = &parts[..] else { panic!("{parts:?}") };
        let store = &part.nest.stores[0];
        assert_eq!(problem(part, count), None, "{nest:?}");
        let mut found = Vec::new();
        for position in positions(&part.nest.extents).iter().filter(|position| hold(&store.guards, position)) {
            let read = read_at(&part.nest, store.value, position);
            found.extend(read.map(|from| (place(&store.at, position) + first, from)));
        }
        found.sort_unstable();
        assert_eq!(found, places, "{nest:?}\n{part:?}");
    }

    #[test]
    fn overlapping_windows_come_to_each_element_once() {
        for step in -4..5i64 {
            for distance in -4..5i64 {
                for extents in [[5, 3], [3, 5], [2, 7], [1, 4]] {
                    let place = affine(40, &[step, distance]);
                    check(&nest(&extents, place.clone(), Guards::new(), Reduction::Sum), true);
                    // Beyond the edges of an array nothing is stored.
                    let position = affine(-2, &[step, distance]);
                    let guards = vec![Guard { position: position.clone(), extent: 7 }];
                    check(&nest(&extents, position, guards, Reduction::Sum), true);
                }
            }
        }
    }

    #[test]
    fn windows_of_images_come_to_each_element_once() {
        for [down, across] in [[1, 1], [2, 1], [1, 3], [2, 2], [2, 3]] {
            for [row, column] in [[1, 1], [1, 2], [2, 1], [4, 1], [3, 1], [4, 2]] {
                // Images of 6 by 5, windows of 3 by 2, and a border.
                let rows = affine(-1, &[down, 0, row, 0]);
                let columns = affine(-2, &[0, across, 0, column]);
                let place = columns.plus(5, &rows).unwrap();
                let guards = vec![Guard { position: rows, extent: 6 }, Guard { position: columns, extent: 5 }];
                check(&nest(&[4, 5, 3, 2], place, guards, Reduction::Sum), true);
            }
        }
    }

    #[test]
    fn what_overlaps_is_reduced_by_all_reductions_without_exchanges() {
        for op in [Reduction::Sum, Reduction::Max, Reduction::Min] {
            let nest = nest(&[6, 3], affine(0, &[1, 1]), Guards::new(), op);
            let parts = parts(&nest, 8, |_| 8, |_, _| panic!("each element has an item"));
            let [part] = &parts[..] else { panic!("{parts:?}") };
            assert_eq!(
                (part.manner, &part.reduced[..], &part.nest.extents[..]),
                (ReductionManner::Apart, &[1][..], &[8, 3][..])
            );
            assert!(part.nest.stores[0].guards.is_empty(), "{part:?}");
            let value = &part.nest.values[part.nest.stores[0].value as usize].0;
            assert_eq!(matches!(value, NestValue::Guarded(..)), op == Reduction::Sum);
            assert_eq!(matches!(value, NestValue::Select(..)), op != Reduction::Sum);
        }
    }

    #[test]
    fn guards_along_the_same_axes_move_together() {
        let guard = |offset, coefficients: &[i64], extent| Guard { position: affine(offset, coefficients), extent };
        // Places in an array both of whose axes go along the first loop, which begins in front of it.
        let guards = vec![guard(-1, &[1, 0, 0], 3), guard(-2, &[1, 1, 1], 6)];
        check(&nest(&[5, 3, 2], affine(-8, &[7, 1, 1]), guards, Reduction::Sum), true);
        // One that ends before the extent of its guard, by as far as other places are apart.
        check(&nest(&[5, 3], affine(0, &[4, 1]), vec![guard(0, &[0, 1], 10)], Reduction::Sum), true);
        check(&nest(&[5, 3], affine(0, &[4, 2]), vec![guard(0, &[0, 2], 10)], Reduction::Sum), true);
        check(&nest(&[5, 5], affine(0, &[4, -1]), vec![guard(5, &[0, -1], 10)], Reduction::Sum), true);
    }

    /// Whatever the loops and guards are, the result reaches the same places, and the search terminates.
    #[test]
    fn windows_of_any_kind() {
        let mut random = 1u64;
        let mut below = |end: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % end
        };
        let mut found = 0;
        for _ in 0..2000 {
            let rank = 1 + below(4) as usize;
            let extents: Vec<usize> = (0..rank).map(|_| 1 + below(5) as usize).collect();
            let steps = [0, 1, 1, 2, 3, 4, 6, -1, -2, -5];
            let coefficients: Vec<i64> = (0..rank).map(|_| steps[below(10) as usize]).collect();
            let mut guards = Guards::new();
            for _ in 0..below(3) {
                let of_place = |&step: &i64| [0, 0, 1, step][below(4) as usize];
                let own: Vec<i64> = coefficients.iter().map(of_place).collect();
                let position = affine(below(5) as i64 - 2, &own);
                guards.push(Guard { position, extent: 1 + below(10) as i64 });
            }
            let nest = nest(&extents, affine(100, &coefficients), guards, Reduction::Sum);
            let is_possible = by_element(&nest).is_some();
            found += usize::from(is_possible);
            check(&nest, is_possible);
        }
        assert!(found > 1800, "{found} of 2000");
    }
}

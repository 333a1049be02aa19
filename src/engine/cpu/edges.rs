//! Nests cut into parts: guards that fail only near the edges of arrays are left to small parts, and one large part has none.
//!
//! A guarded read is an instruction of its own, which copies the elements for which the guard holds. Without parts, sums of shifted
//! arrays, as in gradients of stencils, would spend most of their time in such copies.

use super::order::least_cost;
use crate::kernel::{Affine, Guard, Nest, NestValue, StoreMode};
use crate::shape;
use smallvec::SmallVec;
use std::ops::Range;

/// The cost of a part in addition to its instructions, in simple operations on an element.
const PART: f64 = 400.0;

/// The positions along an axis that a part covers.
type PartRange = Range<usize>;

/// Parts that do the nest's work in any order, where they are estimated to cost less than the nest; `None` for a nest that
/// stays whole. `cut` is as in [`layout`](super::order::layout).
pub(super) fn parts(nest: &Nest, cut: bool) -> Option<Vec<Nest>> {
    let is_plain = |store: &crate::kernel::Store| store.mode == StoreMode::Write && store.index.is_none();
    if !nest.stores.iter().all(is_plain) || nest.extents.contains(&0) || guards(nest).next().is_none() {
        return None;
    }
    let inner = inner(nest);
    // The rest of the nest, axis by axis.
    let mut rest: SmallVec<[PartRange; 4]> = nest.extents.iter().map(|&extent| 0..extent).collect();
    let mut parts = Vec::new();
    for (axis, stretch) in inner.into_iter().enumerate() {
        for edge in [rest[axis].start..stretch.start, stretch.end..rest[axis].end] {
            if !edge.is_empty() {
                let mut stretches = rest.clone();
                stretches[axis] = edge;
                parts.push(restricted(nest, &stretches));
            }
        }
        rest[axis] = stretch;
    }
    if parts.is_empty() {
        return None;
    }
    parts.push(restricted(nest, &rest));
    // Parts in which no store takes place.
    parts.retain(|part| !part.stores.is_empty());
    let cost: f64 = parts.iter().map(|part| PART + least_cost(part, cut)).sum();
    (cost < PART + least_cost(nest, cut)).then_some(parts)
}

/// All guards of a nest.
fn guards(nest: &Nest) -> impl Iterator<Item = &Guard> {
    let of_values = nest.values.iter().flat_map(|(value, _)| match value {
        NestValue::Load { guards, .. } | NestValue::Guarded(_, guards) => &guards[..],
        _ => &[],
    });
    of_values.chain(nest.stores.iter().flat_map(|store| &store.guards))
}

/// For each axis the longest stretch in which no guard that depends only on that axis changes.
fn inner(nest: &Nest) -> SmallVec<[PartRange; 4]> {
    let mut ends: SmallVec<[Vec<usize>; 4]> = nest.extents.iter().map(|&extent| vec![0, extent]).collect();
    for guard in guards(nest) {
        let Affine { offset, coefficients } = &guard.position;
        let mut moving = coefficients.iter().enumerate().filter(|(_, coefficient)| **coefficient != 0);
        let (Some((axis, &step)), None) = (moving.next(), moving.next()) else { continue };
        // The guard changes where the position is 0 and where it is the extent.
        let [first, end] = match step {
            1 => [offset.checked_neg(), guard.extent.checked_sub(*offset)],
            -1 => [offset.checked_sub(guard.extent - 1), offset.checked_add(1)],
            _ => continue,
        };
        let inside = [first, end].into_iter().flatten().filter_map(|end| usize::try_from(end).ok());
        ends[axis].extend(inside.filter(|&end| end < nest.extents[axis]));
    }
    let longest = |mut ends: Vec<usize>| {
        ends.sort_unstable();
        let stretches = ends.windows(2).map(|pair| pair[0]..pair[1]);
        stretches.max_by_key(|stretch| stretch.len()).unwrap_or(0..0)
    };
    ends.into_iter().map(longest).collect()
}

/// The part of a nest on stretches of its axes, without guards that always hold there and reads that never take place.
pub(super) fn restricted(nest: &Nest, stretches: &[PartRange]) -> Nest {
    let mut part = nest.clone();
    part.extents = stretches.iter().map(|stretch| stretch.len()).collect();
    for at in part.functions_mut() {
        let moved = at.coefficients.iter().zip(stretches);
        at.offset += moved.map(|(&coefficient, stretch)| coefficient * stretch.start as i64).sum::<i64>();
    }
    let Nest { extents, values, stores } = &mut part;
    let is_never = |guard: &Guard| {
        let (low, high) = guard.position.range(extents);
        high < 0 || low >= guard.extent.into()
    };
    let may_fail = |guard: &Guard| !guard.position.stays_inside(extents, guard.extent as usize);
    let mut ids: Vec<u32> = Vec::with_capacity(values.len());
    for (at, (value, dtype)) in values.iter_mut().enumerate() {
        *value = value.map(|id| ids[id as usize]);
        let mut id = at as u32;
        if let NestValue::Load { guards, .. } | NestValue::Guarded(_, guards) = value {
            let nothing = guards.iter().any(is_never);
            guards.retain(|guard| may_fail(guard));
            let is_free = guards.is_empty();
            match value {
                _ if nothing => *value = NestValue::Constant(shape::Value::from_i64(*dtype, 0)),
                NestValue::Guarded(operand, _) if is_free => id = *operand,
                _ => {}
            }
        }
        ids.push(id);
    }
    for store in stores.iter_mut() {
        store.value = ids[store.value as usize];
    }
    stores.retain(|store| !store.guards.iter().any(is_never));
    stores.iter_mut().for_each(|store| store.guards.retain(|guard| may_fail(guard)));
    part.without_unused()
}

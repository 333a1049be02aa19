//! Whether each element is reached once, and from the same positions as before.

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
    let NestValue::Load { at: from, guards, .. } = &nest.values[store.value as usize].0 else { panic!("an element") };
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
    let NestValue::Load { at: from, guards, .. } = &found.values[found.stores[0].value as usize].0 else { panic!() };
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

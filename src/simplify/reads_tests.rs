//! Tests of the rules for gathers, scatters, accumulations and sums of them.

use super::check::{checked, f64s, i64s, operations, program, table};
use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::{Binary, Reduction};
use crate::shape::{Axes, Value, size};
use crate::term::{Body, Graph, NodeId, Op};
use smallvec::SmallVec;

fn map(source: &[usize], result: &[usize], rows: &[&[i64]], offset: &[i64]) -> AffineMap {
    let rows: Vec<SmallVec<[i64; 4]>> = rows.iter().map(|&row| row.into()).collect();
    AffineMap::new(source, result, &rows, offset)
}

/// An accumulation of updates of a shape, alone in a program.
fn accumulated(map: AffineMap) -> Vec<&'static str> {
    let body = program(&[f64s(map.result())], |g| vec![g.add(Op::Accumulate(map), &[0])]);
    operations(&checked(&body))
}

fn scalar_times(g: &mut Graph, index: NodeId, factor: i64, offset: i64) -> NodeId {
    let shape = g.ty(index).shape.clone();
    let factor = g.add(Op::Constant(Array::full(&shape, Value::I64(factor))), &[]);
    let offset = g.add(Op::Constant(Array::full(&shape, Value::I64(offset))), &[]);
    let product = g.add(Op::Binary(Binary::Mul), &[index, factor]);
    g.add(Op::Binary(Binary::Add), &[product, offset])
}

fn with(g: &mut Graph, op: Binary, index: NodeId, number: i64) -> NodeId {
    let shape = g.ty(index).shape.clone();
    let number = g.add(Op::Constant(Array::full(&shape, Value::I64(number))), &[]);
    g.add(Op::Binary(op), &[index, number])
}

fn largest(body: &Body) -> usize {
    body.nodes.iter().flat_map(|node| &node.types).map(|ty| size(&ty.shape)).max().unwrap_or(0)
}

#[test]
fn accumulations_are_solved() {
    // Adjoints of a transpose, a reversal, a slice, a pad.
    assert_eq!(accumulated(AffineMap::transpose(&[2, 3], &[1, 0])), ["view"]);
    assert_eq!(accumulated(AffineMap::along(&[5], 0, 4, -1, 5)), ["view"]);
    assert_eq!(accumulated(AffineMap::along(&[7, 2], 0, 2, 1, 3)), ["view"]);
    assert_eq!(accumulated(AffineMap::along(&[3], 0, -2, 1, 7)), ["view"]);
    // Adjoints of a replicate, a pick, an element.
    assert_eq!(accumulated(AffineMap::broadcast(&[3], &[4, 3], &[1])), ["reduce"]);
    assert_eq!(accumulated(AffineMap::pick(&[4, 3], 0, 2)), ["view", "view"]);
    assert_eq!(accumulated(map(&[4, 3], &[], &[&[], &[]], &[1, 2])), ["view", "view"]);
    assert_eq!(accumulated(map(&[4], &[], &[&[]], &[9])), ["constant"]);
    // The adjoint of a replicated pick is summed first.
    let names = accumulated(map(&[4, 3], &[5, 3], &[&[0, 0], &[0, 1]], &[2, 0]));
    assert_eq!(names.iter().filter(|&&name| name == "reduce").count(), 1);
    assert!(!names.contains(&"accumulate"));
    // Adjoints of a diagonal, and of windows.
    assert_eq!(accumulated(map(&[4, 4], &[4], &[&[1], &[1]], &[0, 0])), ["view", "view"]);
    assert_eq!(accumulated(map(&[10], &[8, 3], &[&[1, 1]], &[0])), ["view", "reduce"]);
    // Adjoints of a split axis, in either order.
    assert_eq!(accumulated(map(&[12], &[4, 3], &[&[3, 1]], &[0])), ["reshape"]);
    assert_eq!(accumulated(map(&[12], &[3, 4], &[&[1, 3]], &[0])), ["view", "reshape"]);
    // Every other element stays.
    assert_eq!(accumulated(map(&[9], &[4], &[&[2]], &[1])), ["accumulate"]);
    // Sheared, with bounds that cut.
    assert_eq!(accumulated(map(&[5, 4], &[4, 5], &[&[1, 1], &[1, 0]], &[-2, 0])), ["view"]);
    assert_eq!(accumulated(map(&[1, 4], &[6], &[&[1], &[0]], &[-3, 2])), ["view", "view"]);
    assert_eq!(accumulated(map(&[0, 4], &[6], &[&[1], &[0]], &[-3, 2])), ["constant"]);
}

#[test]
fn affine_gathers_are_views() {
    let body = program(&[f64s(&[9, 2])], |g| {
        let iota = g.add(Op::Iota(4), &[]);
        let even = scalar_times(g, iota, 2, -1);
        let rows = g.add(Op::Gather, &[0, even]);
        let back = g.add(Op::Scatter([9][..].into()), &[rows, even]);
        let element = g.add(Op::Gather, &[0]);
        vec![rows, back, element]
    });
    let simple = checked(&body);
    assert!(!operations(&simple).contains(&"gather") && !operations(&simple).contains(&"scatter"));
}

#[test]
fn ignored_axes_are_replicated_and_summed() {
    let body = program(&[f64s(&[6, 2]), i64s(&[3]), f64s(&[3, 5, 2])], |g| {
        let wide = g.add(Op::View(AffineMap::broadcast(&[3], &[3, 5], &[0])), &[1]);
        let moved = with(g, Binary::Add, wide, 1);
        let gathered = g.add(Op::Gather, &[0, moved]);
        let scattered = g.add(Op::Scatter([6][..].into()), &[2, moved]);
        vec![gathered, scattered]
    });
    let simple = checked(&body);
    for node in &simple.nodes {
        if matches!(node.op, Op::Gather | Op::Scatter(_)) {
            assert_eq!(simple.node(node.args[1]).ty().shape[..], [3]);
        }
    }
}

#[test]
fn periodic_positions_need_no_indices() {
    for (count, period, extent) in [(50, 28, 28), (6, 3, 3), (7, 9, 4), (7, 3, 2), (8, 3, 5), (1, 1, 1)] {
        for op in [Binary::Rem, Binary::Modulo, Binary::Quot, Binary::FloorDiv] {
            let body = program(&[f64s(&[extent, 2]), f64s(&[count, 2])], |g| {
                let iota = g.add(Op::Iota(count), &[]);
                let index = with(g, op, iota, period as i64);
                let gathered = g.add(Op::Gather, &[0, index]);
                let scattered = g.add(Op::Scatter([extent][..].into()), &[1, index]);
                vec![gathered, scattered]
            });
            let simple = checked(&body);
            let names = operations(&simple);
            assert!(!names.contains(&"gather") && !names.contains(&"scatter"), "{names:?}");
            assert!(largest(&simple) <= 2 * count.div_ceil(period) * period.max(extent));
        }
    }
}

#[test]
fn quotient_and_remainder_flatten() {
    let body = program(&[f64s(&[4, 3, 2]), f64s(&[10, 2])], |g| {
        let iota = g.add(Op::Iota(10), &[]);
        let (high, low) = (with(g, Binary::Quot, iota, 3), with(g, Binary::Rem, iota, 3));
        let gathered = g.add(Op::Gather, &[0, high, low]);
        let scattered = g.add(Op::Scatter([4, 3][..].into()), &[1, high, low]);
        vec![gathered, scattered]
    });
    let names = operations(&checked(&body));
    assert!(!names.contains(&"gather") && !names.contains(&"scatter") && !names.contains(&"accumulate"), "{names:?}");
}

#[test]
fn gathers_read_through_views_and_gathers() {
    let body = program(&[f64s(&[9, 2])], |g| {
        let positions = g.add(table(&[4], &[0, 2, 5, 3]), &[]);
        let slice = g.add(Op::View(AffineMap::along(&[9, 2], 0, 8, -1, 6)), &[0]);
        let rows = g.add(Op::Gather, &[slice, positions]);
        let order = g.add(table(&[3], &[3, 0, 1]), &[]);
        vec![g.add(Op::Gather, &[rows, order])]
    });
    let names = operations(&checked(&body));
    assert_eq!(names.last(), Some(&"gather"));
    assert!(!names.contains(&"view"), "{names:?}");
    // Positions that may be outside of the view must not read the source's elements there.
    let body = program(&[f64s(&[9]), i64s(&[5])], |g| {
        let slice = g.add(Op::View(AffineMap::along(&[9], 0, 2, 1, 3)), &[0]);
        vec![g.add(Op::Gather, &[slice, 1])]
    });
    assert_eq!(operations(&checked(&body)), ["view", "gather"]);
}

fn one_hot(g: &mut Graph, scalar: NodeId, n: usize, at: usize) -> NodeId {
    g.add(Op::Accumulate(AffineMap::pick(&[n], 0, at as i64)), &[scalar])
}

#[test]
fn sums_of_one_hots_are_one_concatenation() {
    let body = program(&[f64s(&[]), f64s(&[]), f64s(&[]), f64s(&[6])], |g| {
        let parts: Vec<NodeId> = [(0, 4), (1, 1), (2, 2), (0, 2)].iter().map(|&(x, at)| one_hot(g, x, 6, at)).collect();
        let sum = parts.into_iter().reduce(|a, b| g.add(Op::Binary(Binary::Add), &[a, b])).expect("some");
        vec![g.add(Op::Binary(Binary::Add), &[sum, 3])]
    });
    let simple = checked(&body);
    let names = operations(&simple);
    assert_eq!(names.iter().filter(|&&name| name == "concatenate").count(), 1, "{names:?}");
    let wide = simple.nodes.iter().filter(|node| node.op == Op::Binary(Binary::Add) && node.ty().rank() == 1);
    assert!(wide.filter(|node| node.ty().shape[0] == 6).count() == 1);
    // In two dimensions: rows of elements, then rows.
    let body = program(&[f64s(&[])], |g| {
        let parts: Vec<NodeId> = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2)]
            .iter()
            .map(|&(i, j)| g.add(Op::Accumulate(map(&[2, 3], &[], &[&[], &[]], &[i, j])), &[0]))
            .collect();
        vec![parts.into_iter().reduce(|a, b| g.add(Op::Binary(Binary::Add), &[a, b])).expect("some")]
    });
    let names = operations(&checked(&body));
    assert!(!names.contains(&"add"), "{names:?}");
}

#[test]
fn overlapping_pads_stay_a_sum() {
    let body = program(&[f64s(&[5])], |g| {
        let left = g.add(Op::View(AffineMap::along(&[5], 0, 0, 1, 6)), &[0]);
        let right = g.add(Op::View(AffineMap::along(&[5], 0, -1, 1, 6)), &[0]);
        vec![g.add(Op::Binary(Binary::Add), &[left, right])]
    });
    assert_eq!(operations(&checked(&body)), ["view", "view", "add"]);
}

#[test]
fn rows_that_repeat_are_scattered_once() {
    let body = program(&[f64s(&[6, 2]), i64s(&[6])], |g| {
        let rows = g.add(Op::View(AffineMap::broadcast(&[6, 2], &[6, 7, 2], &[0, 2])), &[0]);
        let ones = g.add(Op::Constant(Array::full(&[6, 7], Value::F64(1.0))), &[]);
        let extents = Op::Scatter([5][..].into());
        vec![g.add(extents.clone(), &[rows, 1]), g.add(extents, &[ones, 1])]
    });
    let simple = checked(&body);
    let names = operations(&simple);
    assert_eq!(names.iter().filter(|&&name| name == "scatter").count(), 2, "{names:?}");
    let written = simple.nodes.iter().filter(|node| matches!(node.op, Op::Scatter(_)));
    assert_eq!(written.map(|node| node.ty().size()).collect::<Vec<_>>(), [10, 5], "{simple}");
}

#[test]
fn sums_of_scatters_are_one() {
    let body = program(&[f64s(&[3, 2]), i64s(&[3]), f64s(&[2, 2, 2]), i64s(&[2, 2]), f64s(&[7, 2])], |g| {
        let first = g.add(Op::Scatter([7][..].into()), &[0, 1]);
        let second = g.add(Op::Scatter([7][..].into()), &[2, 3]);
        let sum = g.add(Op::Binary(Binary::Add), &[first, 4]);
        vec![g.add(Op::Binary(Binary::Add), &[sum, second])]
    });
    let names = operations(&checked(&body));
    assert_eq!(names.iter().filter(|&&name| name == "scatter").count(), 1, "{names:?}");
}

#[test]
fn long_sums_take_linear_time() {
    // Quadratic work would be half a billion parts.
    let n = 30_000;
    let body = program(&[f64s(&[n])], |g| {
        let mut sum: Option<NodeId> = None;
        for at in 0..n {
            let element = g.add(Op::View(AffineMap::pick(&[n], 0, (n - 1 - at) as i64)), &[0]);
            let pad = one_hot(g, element, n, at);
            sum = Some(sum.map_or(pad, |sum| g.add(Op::Binary(Binary::Add), &[sum, pad])));
        }
        vec![sum.expect("some")]
    });
    let simple = super::simplify(&body);
    assert_eq!(operations(&simple), ["view"]);
}

#[test]
fn empty_axes_are_legal() {
    let body = program(&[f64s(&[0, 3]), i64s(&[4]), f64s(&[4, 3]), f64s(&[3])], |g| {
        let gathered = g.add(Op::Gather, &[0, 1]);
        let scattered = g.add(Op::Scatter([0][..].into()), &[2, 1]);
        let padded = g.add(Op::View(AffineMap::along(&[0, 3], 0, 0, 1, 2)), &[0]);
        let repeated = g.add(Op::View(AffineMap::broadcast(&[3], &[0, 3], &[1])), &[3]);
        let summed = g.add(Op::Reduce(Reduction::Sum, Axes::from_slice(&[0])), &[repeated]);
        vec![gathered, scattered, padded, summed]
    });
    checked(&body);
}

/// A map between these shapes with small coefficients, by a seed.
fn random_map(seed: &mut u64, source: &[usize], result: &[usize]) -> AffineMap {
    let mut draw = |n: u64| {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((*seed >> 33) % n) as i64
    };
    const COEFFICIENTS: [i64; 10] = [0, 0, 0, 0, 1, 1, 1, -1, 2, 3];
    let rows: Vec<SmallVec<[i64; 4]>> =
        source.iter().map(|_| result.iter().map(|_| COEFFICIENTS[draw(10) as usize]).collect()).collect();
    let offsets: SmallVec<[i64; 4]> = source.iter().map(|_| draw(6) - 2).collect();
    AffineMap::new(source, result, &rows, &offsets)
}

#[test]
fn positions_that_count_through_an_axis_are_not_needed() {
    let body = program(&[f64s(&[4, 3, 2]), i64s(&[5]), f64s(&[5, 3, 2])], |g| {
        let counting = g.add(Op::Iota(3), &[]);
        let counting = g.add(Op::View(AffineMap::broadcast(&[3], &[5, 3], &[1])), &[counting]);
        let positions = g.add(Op::View(AffineMap::broadcast(&[5], &[5, 3], &[0])), &[1]);
        let read = g.add(Op::Gather, &[0, positions, counting]);
        let turned = g.add(Op::View(AffineMap::transpose(&[4, 3, 2], &[1, 0, 2])), &[0]);
        let other = g.add(Op::Gather, &[turned, counting, positions]);
        let back = g.add(Op::Scatter([4, 3].into_iter().collect()), &[2, positions, counting]);
        let turned_back = g.add(Op::Scatter([3, 4].into_iter().collect()), &[2, counting, positions]);
        vec![read, other, back, turned_back]
    });
    let simple = checked(&body);
    let reads = simple.nodes.iter().filter(|node| matches!(node.op, Op::Gather | Op::Scatter(_)));
    assert!(reads.clone().all(|node| node.args.len() == 2 && node.args[1] == 1));
    // Both gathers read the same rows.
    assert_eq!(reads.count(), 2);
}

#[test]
fn random_maps_keep_their_meaning() {
    const SHAPES: [&[usize]; 9] = [&[], &[1], &[4], &[6], &[2, 3], &[3, 1], &[1, 4], &[2, 1, 3], &[2, 2, 2]];
    let mut seed = 5;
    for round in 0..400 {
        let shape = |at: usize| SHAPES[at % SHAPES.len()];
        let (a, b, c) = (shape(round), shape(round / 9), shape(round / 81 + round));
        let (first, second) = (random_map(&mut seed, a, b), random_map(&mut seed, b, c));
        let body = program(&[f64s(a), f64s(c), f64s(c)], |g| {
            let view = g.add(Op::View(first.clone()), &[0]);
            let view = g.add(Op::View(second.clone()), &[view]);
            let back = g.add(Op::Accumulate(second.clone()), &[1]);
            let back = g.add(Op::Accumulate(first.clone()), &[back]);
            let other = g.add(Op::Accumulate(second), &[2]);
            let other = g.add(Op::Accumulate(first), &[other]);
            vec![view, g.add(Op::Binary(Binary::Add), &[back, other])]
        });
        checked(&body);
        let flat = program(&[f64s(a)], |g| {
            let view = g.add(Op::View(random_map(&mut seed, a, b)), &[0]);
            let n = size(b);
            let reshaped = g.add(Op::Reshape(if n == 6 { [3, 2][..].into() } else { [n, 1][..].into() }), &[view]);
            let from = g.ty(reshaped).shape.clone();
            vec![g.add(Op::View(random_map(&mut seed, &from, c)), &[reshaped])]
        });
        checked(&flat);
    }
}

//! Affine maps against brute force.

use super::*;
use crate::shape::strides;
use smallvec::smallvec;

/// A small generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }

    fn shape(&mut self, largest_rank: usize) -> Shape {
        let rank = self.below(largest_rank + 1);
        (0..rank).map(|_| [1, 2, 3, 4, 2, 3, 1, 0][self.below(8)]).collect()
    }

    fn integer(&mut self) -> i64 {
        [0, 0, 0, 1, 1, -1, 2, -2][self.below(8)]
    }

    fn map(&mut self, source: &[usize], result: &[usize]) -> AffineMap {
        let rows: Vec<SmallVec<[i64; 4]>> =
            source.iter().map(|_| result.iter().map(|_| self.integer()).collect()).collect();
        let offset: Vec<i64> = source.iter().map(|_| self.integer()).collect();
        AffineMap::new(source, result, &rows, &offset)
    }
}

/// All positions of a shape, row-major.
fn positions(shape: &[usize]) -> Vec<Shape> {
    (0..size(shape)).map(|at| strides(shape).iter().zip(shape).map(|(&s, &n)| at / s % n).collect()).collect()
}

/// Reads for every position of the result.
fn reads(map: &AffineMap) -> Vec<Option<Shape>> {
    positions(map.result()).iter().map(|at| map.position(at)).collect()
}

#[test]
fn what_is_known_of_a_map_agrees_with_what_it_reads() {
    let mut random = Random(1);
    let mut inside = 0;
    for _ in 0..5000 {
        let (source, result) = (random.shape(3), random.shape(3));
        let map = random.map(&source, &result);
        let reads = reads(&map);
        // The ranges are attained: rows reach their ends, each by itself, at corners of the result.
        assert_eq!(map.is_inside(), reads.iter().all(Option::is_some), "{map:?}");
        inside += usize::from(map.is_inside());
        for row in 0..source.len() {
            let position = |at: &Shape| {
                at.iter()
                    .enumerate()
                    .fold(map.offset(row), |p, (column, &j)| p + map.coefficient(row, column) * j as i64)
            };
            let all = positions(&result);
            let (low, high) = (all.iter().map(position).min(), all.iter().map(position).max());
            if let (Some(low), Some(high)) = (low, high) {
                assert_eq!(map.range(row), (low.into(), high.into()), "{map:?}");
            }
            assert_eq!(map.row(row).len(), result.len());
        }
        for axis in map.ignored() {
            // What is read does not depend on the axis.
            for at in positions(&result) {
                let mut first = at.clone();
                first[axis] = 0;
                assert_eq!(map.position(&at), map.position(&first), "{map:?}");
            }
        }
        if map.is_identity() {
            let all: Vec<Option<Shape>> = positions(&result).into_iter().map(Some).collect();
            assert_eq!(reads, all);
        }
    }
    assert!(inside > 500);
}

#[test]
fn composition_reads_through_both_maps() {
    let mut random = Random(2);
    let mut composed_maps = 0;
    for _ in 0..20000 {
        let (source, middle, result) = (random.shape(2), random.shape(2), random.shape(2));
        let inner = random.map(&source, &middle);
        let outer = random.map(&middle, &result);
        let Some(composed) = outer.compose(&inner) else {
            assert!(!outer.is_inside());
            continue;
        };
        composed_maps += 1;
        assert_eq!((composed.source(), composed.result()), (&source[..], &result[..]));
        for at in positions(&result) {
            let expected = outer.position(&at).and_then(|between| inner.position(&between));
            assert_eq!(composed.position(&at), expected, "{outer:?} after {inner:?}");
        }
    }
    assert!(composed_maps > 1000);
}

#[test]
fn composition_gives_up_on_overflow() {
    let huge = AffineMap::along(&[5], 0, 0, i64::MAX, 2);
    let both = AffineMap::new(&[2], &[2, 2], &[smallvec![1, 0]], &[0]);
    assert!(both.compose(&huge).is_some());
    let wide = AffineMap::new(&[2, 2], &[2], &[smallvec![1], smallvec![1]], &[0, 0]);
    let inner = AffineMap::new(&[5], &[2, 2], &[smallvec![i64::MAX, i64::MAX]], &[0]);
    assert!(wide.compose(&inner).is_none());
    // Reads of it stay outside, without overflow.
    assert_eq!(inner.position(&[1, 1]), None);
    assert!(!inner.is_inside());
    // Ranges of absurd extents neither overflow nor seem small.
    let absurd = AffineMap::new(&[5], &[usize::MAX; 4], &[smallvec![i64::MAX; 4]], &[0]);
    assert!(!absurd.is_inside());
}

#[test]
fn transposes_move_axes() {
    let map = AffineMap::transpose(&[2, 3, 4], &[2, 0, 1]);
    assert_eq!(map.result(), [4, 2, 3]);
    assert_eq!(map.position(&[3, 1, 2]).unwrap()[..], [1, 2, 3]);
    assert!(map.is_inside() && !map.is_identity());
    assert!(AffineMap::transpose(&[2, 3, 4], &[0, 1, 2]).is_identity());
    // Axes of extent 1 that change places change the shape, or nothing.
    assert_eq!(AffineMap::transpose(&[1, 1], &[1, 0]), AffineMap::identity(&[1, 1]));
}

#[test]
fn broadcasts_repeat() {
    let map = AffineMap::broadcast(&[3, 1], &[2, 3, 4], &[1, 2]);
    assert!(map.is_inside());
    for at in positions(&[2, 3, 4]) {
        assert_eq!(map.position(&at).unwrap()[..], [at[1], 0]);
    }
    assert_eq!(map.ignored()[..], [0, 2]);
    let empty = AffineMap::broadcast(&[1], &[0], &[0]);
    assert!(empty.is_inside());
    let scalar = AffineMap::broadcast(&[], &[5], &[]);
    assert_eq!(scalar.position(&[4]).unwrap()[..], [0usize; 0]);
}

#[test]
fn slices_reversals_and_pads_lie_along_an_axis() {
    let reads_along = |start, step, count| -> Vec<Option<usize>> {
        reads(&AffineMap::along(&[5], 0, start, step, count)).into_iter().map(|p| p.map(|p| p[0])).collect()
    };
    assert_eq!(reads_along(1, 2, 2), [Some(1), Some(3)]);
    assert_eq!(reads_along(4, -1, 5), [Some(4), Some(3), Some(2), Some(1), Some(0)]);
    assert_eq!(reads_along(-1, 1, 3), [None, Some(0), Some(1)]);
    assert_eq!(reads_along(4, 1, 3), [Some(4), None, None]);
    assert_eq!(reads_along(9, 1, 0), []);
    assert!(AffineMap::along(&[2, 3], 1, 0, 1, 3).is_identity());
    // One position more of an axis of extent 1 is a pad, although the identity on it had no coefficient.
    let padded = AffineMap::along(&[1], 0, -1, 1, 3);
    assert_eq!(reads(&padded), [None, Some(smallvec![0]), None]);
    assert!(!padded.is_inside());
}

#[test]
fn picks_remove_their_axis() {
    let map = AffineMap::pick(&[2, 3, 4], 1, 2);
    assert_eq!(map.result(), [2, 4]);
    assert_eq!(map.position(&[1, 3]).unwrap()[..], [1, 2, 3]);
    assert!(map.is_inside());
    assert!(!AffineMap::pick(&[3], 0, 3).is_inside());
    assert!(!AffineMap::pick(&[3], 0, -1).is_inside());
    assert_eq!(AffineMap::pick(&[3], 0, -1).position(&[]), None);
}

#[test]
fn maps_that_read_alike_are_equal_where_only_axes_of_extent_one_differ() {
    let a = AffineMap::new(&[3], &[1, 3], &[smallvec![7, 1]], &[0]);
    let b = AffineMap::broadcast(&[3], &[1, 3], &[1]);
    assert_eq!(a, b);
    assert!(a.is_inside());
}

#[test]
fn maps_print_as_formulas() {
    let map = |coefficients: &[i64], offset: i64| {
        let result: Shape = coefficients.iter().map(|_| 2).collect();
        AffineMap::new(&[9], &result, &[coefficients.into()], &[offset]).to_string()
    };
    assert_eq!(map(&[1], 0), "[i] -> [i]");
    assert_eq!(map(&[-1], 3), "[i] -> [3 - i]");
    assert_eq!(map(&[-1], 0), "[i] -> [-i]");
    assert_eq!(map(&[-1, 2], -3), "[i, j] -> [-i + 2*j - 3]");
    assert_eq!(map(&[2, -1], 5), "[i, j] -> [2*i - j + 5]");
    assert_eq!(map(&[0, -3], 5), "[i, j] -> [5 - 3*j]");
    assert_eq!(map(&[0, 0], 5), "[i, j] -> [5]");
    assert_eq!(map(&[0], 0), "[i] -> [0]");
    assert_eq!(map(&[i64::MIN], i64::MIN), "[i] -> [-9223372036854775808*i - 9223372036854775808]");
    assert_eq!(AffineMap::identity(&[]).to_string(), "[] -> []");
    assert_eq!(AffineMap::identity(&[2; 8]).to_string(), "[i, j, k, l, m, n, i6, i7] -> [i, j, k, l, m, n, i6, i7]");
}

#[test]
#[should_panic(expected = "a row for each source axis")]
fn rows_that_do_not_fit_the_source_panic() {
    AffineMap::new(&[3, 3], &[3], &[smallvec![1]], &[0, 0]);
}

#[test]
fn a_read_is_the_padding_of_the_read_of_what_can_lie_inside() {
    let mut random = Random(7);
    let (mut smaller, mut inside) = (0, 0);
    for _ in 0..5000 {
        let (source, result) = (random.shape(3), random.shape(3));
        let map = random.map(&source, &result);
        let Some((inner, outer)) = map.padded() else {
            assert!(reads(&map).iter().all(Option::is_none), "{map:?}");
            continue;
        };
        assert_eq!((inner.source(), inner.result(), outer.result()), (map.source(), outer.source(), map.result()));
        let padded = |at: &Shape| outer.position(at).and_then(|at| inner.position(&at));
        assert_eq!(positions(&result).iter().map(padded).collect::<Vec<_>>(), reads(&map), "{map:?}");
        let alone = (0..source.len()).all(|row| map.row(row).iter().filter(|&&c| c != 0).count() <= 1);
        assert!(inner.is_inside() || !alone, "{map:?}");
        assert!(!map.is_inside() || (inner == map && outer.is_identity()), "{map:?}");
        smaller += usize::from(size(inner.result()) < size(&result));
        inside += usize::from(map.is_inside());
    }
    assert!(smaller > 500 && inside > 500);
}

#[test]
fn a_read_is_one_inside_of_the_source_with_zeros_around_it() {
    let mut random = Random(11);
    let mut outside = 0;
    for _ in 0..5000 {
        let (source, result) = (random.shape(3), random.shape(3));
        let map = random.map(&source, &result);
        if size(&result) == 0 {
            continue;
        }
        let (around, inner) = map.surrounded().expect("small numbers");
        assert_eq!((around.source(), around.result(), inner.result()), (map.source(), inner.source(), map.result()));
        assert!(inner.is_inside(), "{map:?}");
        let read = |at: &Shape| inner.position(at).and_then(|at| around.position(&at));
        assert_eq!(positions(&result).iter().map(read).collect::<Vec<_>>(), reads(&map), "{map:?}");
        outside += usize::from(!map.is_inside());
    }
    assert!(outside > 500);
    let far: SmallVec<[i64; 4]> = smallvec![i64::MAX / 2, i64::MAX / 2];
    assert!(AffineMap::new(&[3, 3], &[3, 3], &[far.clone(), far], &[0, 0]).surrounded().is_none());
}

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
            // Elements that are read do not depend on the axis.
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
fn adjoints_say_where_elements_are() {
    let (mut random, mut found) = (Random(11), 0);
    for _ in 0..20_000 {
        let (source, result) = (random.shape(3), random.shape(3));
        let map = random.map(&source, &result);
        let Some(adjoint) = map.adjoint() else { continue };
        found += 1;
        let of_result = positions(&result).into_iter().filter_map(|at| Some((map.position(&at)?, at)));
        let of_source = positions(&source).into_iter().filter_map(|at| Some((at.clone(), adjoint.position(&at)?)));
        let (mut of_result, of_source): (Vec<_>, Vec<_>) = (of_result.collect(), of_source.collect());
        of_result.sort();
        assert_eq!(of_result, of_source, "{map:?}");
    }
    assert!(found > 1000, "{found}");
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
    const REACH: i64 = AffineMap::REACH;
    let huge = AffineMap::along(&[5], 0, 0, REACH, 2);
    let both = AffineMap::new(&[2], &[2, 2], &[smallvec![1, 0]], &[0]);
    assert!(both.compose(&huge).is_some());
    let wide = AffineMap::new(&[2, 2], &[2], &[smallvec![1], smallvec![1]], &[0, 0]);
    let inner = AffineMap::new(&[5], &[2, 2], &[smallvec![REACH / 2, REACH / 2]], &[0]);
    assert!(wide.compose(&inner).is_some());
    let inner = AffineMap::new(&[4 * REACH as usize], &[2, 2], &[smallvec![REACH, REACH]], &[0]);
    assert!(inner.is_inside() && wide.compose(&inner).is_some());
    let far = AffineMap::new(&[REACH as usize, 2], &[1 << 30], &[smallvec![1 << 20], smallvec![1]], &[0, 0]);
    let further = AffineMap::new(&[5], &[REACH as usize, 2], &[smallvec![0, REACH]], &[0]);
    assert!(far.compose(&further).is_none());
}

/// There is no map beyond the bound, unless all it reads is outside: such maps are one.
#[test]
fn maps_read_no_further_outside_than_positions_can_be_counted() {
    const REACH: i64 = AffineMap::REACH;
    let row = |source: usize, result: &[usize], row: &[i64], offset: i64| {
        AffineMap::checked(&[source], result, &[row.into()], &[offset])
    };
    let outside = |map: Option<AffineMap>| {
        let map = map.expect("it reads nothing");
        assert!(!map.is_inside() && (map.offset(0), map.ignored().len()) == (-1, map.result().len()), "{map:?}");
        assert_eq!(map.position(&vec![0; map.result().len()]), None);
    };
    for (coefficient, offset) in [(REACH, 0), (-REACH, 0), (REACH - 4, 4), (4 - REACH, 4), (1, -REACH + 1)] {
        assert!(row(5, &[2], &[coefficient], offset).is_some(), "{coefficient} {offset}");
    }
    // Read at 0 alone, a coefficient says nothing.
    assert!(row(5, &[1], &[i64::MIN], 0).unwrap().is_inside());
    for (coefficient, offset) in [(REACH + 1, 0), (-REACH - 1, 0), (REACH, 1), (i64::MAX, 0), (i64::MIN, 4)] {
        assert!(row(5, &[2], &[coefficient], offset).is_none(), "{coefficient} {offset}");
    }
    // In a sum of terms some may leave 64 bits though the sum does not.
    assert!(row(5, &[2, 2], &[i64::MAX, i64::MAX], -i64::MAX).is_none());
    assert!(row(5, &[usize::MAX; 4], &[i64::MAX; 4], 0).is_none());
    assert!(row(5, &[3], &[-REACH], REACH).is_none());
    for offset in [i64::MIN, -REACH - 1, REACH + 1, i64::MAX] {
        outside(row(5, &[2], &[1], offset));
        outside(row(5, &[], &[], offset));
        outside(row(5, &[2, 2], &[1, -1], offset));
    }
    outside(row(0, &[2], &[i64::MAX], i64::MIN));
    // Inside of arrays of any size all is well; nothing is too far from an empty read.
    let most = i64::MAX as usize;
    assert!(row(most, &[most], &[-1], i64::MAX - 1).unwrap().is_inside());
    assert!(row(most, &[most], &[1], 1).is_none());
    assert!(row(5, &[0, usize::MAX], &[1, i64::MIN], i64::MIN).unwrap().is_inside());
    assert!(AffineMap::identity(&[0, usize::MAX]).is_identity());
    // A map that reads nothing keeps no coefficient that is too large to count in memory.
    let far = |source: &[usize], result: &[usize], rows: &[SmallVec<[i64; 4]>]| {
        let map = AffineMap::new(source, result, rows, &vec![2; source.len()]);
        assert!(map.is_inside() && map.is_linear());
        map
    };
    assert_eq!(far(&[3], &[17, 0], &[smallvec![1 << 57, 0]]), far(&[3], &[17, 0], &[smallvec![0, 1 << 60]]));
    assert_eq!(far(&[5, 99], &[0, 2], &[smallvec![0, 1 << 57], smallvec![0, 0]]).row(0), [0, 0]);
    assert_eq!(far(&[5, 99], &[0, 2], &[smallvec![1, 1 << 7], smallvec![0, 0]]).row(0), [1, 1 << 7]);
    // Another axis is outside already.
    let rows = [smallvec![REACH + 1], smallvec![1]];
    let map = AffineMap::checked(&[5, 5], &[2], &rows, &[0, 5]).unwrap();
    assert_eq!((map.offset(0), map.offset(1), map.ignored().len()), (-1, -1, 1));
    assert!(AffineMap::checked(&[5, 5], &[2], &rows, &[0, 4]).is_none());
}

/// Such maps could be transposed into some that read too far.
#[test]
fn no_map_reads_an_axis_that_is_longer_than_those_of_arrays() {
    let longest = i64::MAX as usize;
    let map = |extent: usize| AffineMap::checked(&[3, extent], &[2], &[smallvec![1], smallvec![1]], &[0, 0]);
    assert!(map(longest + 1).is_none() && map(usize::MAX).is_none());
    let turned = AffineMap::transpose(map(longest).expect("a map").source(), &[1, 0]);
    assert_eq!((turned.result(), turned.is_inside()), (&[longest, 3][..], true));
}

/// Row-major positions are counted where the bound holds of them too.
#[test]
fn maps_are_linear_where_positions_in_memory_can_be_counted() {
    const REACH: i64 = AffineMap::REACH;
    let map = |columns: usize, coefficient: i64| {
        AffineMap::new(&[5, columns], &[2, columns], &[smallvec![coefficient, 0], smallvec![0, 1]], &[0, 0])
    };
    assert!(map(3, 1).is_linear() && map(3, 5).is_linear());
    assert!(map(1, REACH).is_linear() && map(2, REACH / 2 - 1).is_linear());
    assert!(!map(2, REACH).is_linear() && !map(2, REACH / 2).is_linear());
    assert!(AffineMap::along(&[i64::MAX as usize], 0, i64::MAX - 1, -1, i64::MAX as usize).is_linear());
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
    assert_eq!(map(&[1 << 57], -(1 << 57)), "[i] -> [144115188075855872*i - 144115188075855872]");
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
    let far: SmallVec<[i64; 4]> = smallvec![1 << 56, 1 << 55];
    assert!(AffineMap::new(&[3, 3], &[3, 3], &[far.clone(), far], &[0, 0]).surrounded().is_none());
}

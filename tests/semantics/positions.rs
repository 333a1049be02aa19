//! Reads and writes out of bounds, and positions whose arithmetic wraps.

use deltaray::prelude::*;

const MIN: i64 = i64::MIN;
const MAX: i64 = i64::MAX;
const INF: f64 = f64::INFINITY;

#[test]
fn reads_out_of_bounds_are_0() {
    let e2 = 2.0f64.exp();
    rows! {
        |x, i| build(i.len(), |j| x.at(i.at(&j)));
            [2.0, 3.0, 5.0], [0, 3, -1, MIN, MAX, 2] => [2.0, 0.0, 0.0, 0.0, 0.0, 5.0], [1.0, 0.0, 1.0];
        |x, i| x.gather(i);
            [2.0, 3.0, 5.0], [0, 3, -1, MIN, MAX, 2] => [2.0, 0.0, 0.0, 0.0, 0.0, 5.0], [1.0, 0.0, 1.0];
        |x, i| stack(&[x.at(3), x.at(-1), x.at(i64::MIN), x.at(i64::MAX), x.at(usize::MAX), x.at(2)]);
            [2.0, 3.0, 5.0], [] => [0.0, 0.0, 0.0, 0.0, 0.0, 5.0], [0.0, 0.0, 1.0];
        |x, i| build(i.len(), |j| x.at(i.at(&j)).exp());
            [2.0, 3.0], [-1, 0, 7] => [1.0, e2, 1.0], [e2, 0.0];
        |x, i| {
            let m = x.reshape((2, 2));
            build(i.len(), |j| m.at((i.at(&j), 1)) + m.at((0, i.at(&j))))
        }; [2.0, 3.0, 5.0, 7.0], [0, 1, 2, -1, MAX, MIN] => [5.0, 10.0, 0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 0.0, 1.0];
        |x, i| {
            let m = x.reshape((2, 2));
            build(i.len(), |j| m.at(i.at(&j)).sum())
        }; [2.0, 3.0, 5.0, 7.0], [0, 1, 2, -1, MAX, MIN] => [5.0, 12.0, 0.0, 0.0, 0.0, 0.0], [1.0; 4];
        |x, i| x.reshape((2, 2)).gather((i, i)); [2.0, 3.0, 5.0, 7.0], [0, 1, 2, MIN] => [2.0, 7.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0];
        |x, i| build(5, |j| x.at(&j - 1) + x.at(j + 1));
            [2.0, 3.0, 5.0], [] => [3.0, 7.0, 3.0, 5.0, 0.0], [1.0, 2.0, 2.0];
        |x, i| build(4, |j| (x.at(&j * 2) + 1.0) * x.at(3 - 2 * j));
            [2.0, 3.0, 5.0], [] => [0.0, 18.0, 0.0, 0.0], [0.0, 6.0, 3.0];
        |x, i| x.pad(0, 1, 2) + 1.0; [2.0], [] => [1.0, 3.0, 1.0, 1.0], [1.0];
    }
}

#[test]
fn booleans_out_of_bounds_are_false() {
    rows! {
        |x, i| {
            let p = x.gt(-100.0);
            build(i.len(), |j| p.at(i.at(&j)).cast::<E>())
        }; [2.0, 3.0], [0, 7, -1] => [1.0, 0.0, 0.0], [0.0, 0.0];
        |x, i| (!x.gt(-100.0).gather(i)).select(x.sum(), 0.0);
            [2.0, 3.0], [0, 7, -1] => [0.0, 5.0, 5.0], [2.0, 2.0];
    }
}

#[test]
fn axes_of_length_0_read_as_0() {
    rows! {
        |x, i| build(i.len(), |j| x.at(i.at(&j)) + 1.0); [], [0, -1] => [1.0, 1.0], [];
        |x, i| x.gather(i); [], [0, 1, MIN] => [0.0, 0.0, 0.0], [];
        |x, i| stack(&[x.at(0), x.at(-1)]); [], [] => [0.0, 0.0], [];
        |x, i| build(3, |j| x.at(j)); [], [] => [0.0, 0.0, 0.0], [];
        |x, i| {
            let m = x.reshape((0, 3));
            build(i.len(), |j| m.at(i.at(&j)).sum()) + m.at((0, 0))
        }; [], [0, 1] => [0.0, 0.0], [];
        |x, i| {
            let m = x.reshape((2, 0));
            build(i.len(), |j| m.at((i.at(&j), 0)))
        }; [], [0, 1] => [0.0, 0.0], [];
        |x, i| x.slice(0, 1..1).gather(i) + x.sum(); [2.0, 3.0], [0] => [5.0], [1.0, 1.0];
    }
}

#[test]
fn writes_out_of_bounds_are_ignored() {
    rows! {
        |x, i| x.scatter(i, 3); [2.0, 3.0, 5.0, 7.0, 11.0, 13.0], [0, 3, -1, MIN, MAX, 0]
            => [15.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        |x, i| x.reshape((3, 2)).scatter(i, 2).flatten(); [2.0, 3.0, 5.0, 7.0, 11.0, 13.0], [1, 2, -1]
            => [0.0, 0.0, 2.0, 3.0], [1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| x.scatter((i, i), (2, 2)).flatten(); [2.0, 3.0, 5.0], [0, 1, 5]
            => [2.0, 0.0, 0.0, 3.0], [1.0, 1.0, 0.0];
        |x, i| x.scatter((i, i * 0), (2, 3)).flatten(); [2.0, 3.0, 5.0], [1, MAX, MIN]
            => [0.0, 0.0, 0.0, 2.0, 0.0, 0.0], [1.0, 0.0, 0.0];
        |x, i| x.scatter(i, 0); [2.0, 3.0], [0, 1] => [], [0.0, 0.0];
        |x, i| x.scatter(i, (2,)).exp(); [2.0, 3.0], [7, MIN] => [1.0, 1.0], [0.0, 0.0];
        |x, i| x.scatter(&(iota(3) + 1), 3); [2.0, 3.0, 5.0], [] => [0.0, 2.0, 3.0], [1.0, 1.0, 0.0];
        |x, i| x.scatter(&(iota(3) * 2 - 1), 4); [2.0, 3.0, 5.0], [] => [0.0, 3.0, 0.0, 5.0], [0.0, 1.0, 1.0];
        |x, i| x.gt(0.0).scatter(i, 3).cast::<E>(); [2.0, 3.0, -5.0], [0, 3, 1] => [1.0, 0.0, 0.0], [0.0, 0.0, 0.0];
    }
}

#[test]
fn writes_out_of_bounds_are_ignored_in_every_mode() {
    let at = [0, 3, -1, MIN, MAX];
    let x = [2.0, 3.0, 5.0, 7.0, 11.0];
    rows! {
        |x, i| ones::<A, E, _>(3).scatter_set(i, x); x, at => [2.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| ones::<A, E, _>(3).scatter_add(i, x); x, at => [3.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| ones::<A, E, _>(3).scatter_multiply(i, x); x, at => [2.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| ones::<A, E, _>(3).scatter_max(i, x); x, at => [2.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| ones::<A, E, _>(3).scatter_min(i, &-x); x, at => [-2.0, 1.0, 1.0], [-1.0, 0.0, 0.0, 0.0, 0.0];
        // A pair is outside where one of its positions is, whatever row that would be.
        |x, i| ones::<A, E, _>((2, 2)).scatter_set((i * 0, i), x).flatten();
            [2.0, 3.0, 5.0], [2, 1, -1] => [1.0, 3.0, 1.0, 1.0], [0.0, 1.0, 0.0];
        |x, i| ones::<A, E, _>((2, 2)).scatter_max((i, i * 0 + 1), x).flatten();
            [2.0, 3.0, 5.0], [MAX, 1, MIN] => [1.0, 1.0, 1.0, 3.0], [0.0, 1.0, 0.0];
        |x, i| zeros::<A, E, _>(0).scatter_set(i, x); [2.0], [0] => [], [0.0];
    }
}

#[test]
fn positions_masked_out_are_outside() {
    rows! {
        |x, i| x.gather(masked(&i.gt(0), i)); [2.0, 3.0], [1, 0, 2] => [3.0, 0.0, 0.0], [0.0, 1.0];
        |x, i| x.gather_or(masked(&i.gt(0), i), 4.0); [2.0, 3.0], [1, 0, 2, MIN] => [3.0, 4.0, 4.0, 4.0], [0.0, 1.0];
        |x, i| x.gather_or(i, x.sum()); [2.0, 3.0], [1, -1] => [3.0, 5.0], [1.0, 2.0];
        |x, i| x.scatter(masked(&i.gt(0), i), 2); [2.0, 3.0], [1, 0] => [0.0, 2.0], [1.0, 0.0];
        |x, i| ones::<A, E, _>(2).scatter_set(masked(&x.gt(0.0), i), x); [2.0, -3.0], [0, 0] => [2.0, 1.0], [1.0, 0.0];
        |x, i| ones::<A, E, _>(2).scatter_multiply(masked(&x.gt(0.0), i), x); [2.0, -3.0], [0, 0] => [2.0, 1.0], [1.0, 0.0];
    }
}

#[test]
fn the_last_write_to_a_position_wins() {
    rows! {
        |x, i| zeros::<A, E, _>(2).scatter_set(i, x); [2.0, 3.0, 5.0], [1, 0, 1] => [3.0, 5.0], [0.0, 1.0, 1.0];
        |x, i| x.scatter_set(i, &x.slice(0, ..2)); [2.0, 3.0, 5.0], [2, 2] => [2.0, 3.0, 3.0], [1.0, 2.0, 0.0];
        |x, i| zeros::<A, E, _>(2).scatter_set(i.reshape((2, 2)), &x.reshape((2, 2)));
            [2.0, 3.0, 5.0, 7.0], [1, 1, 1, 0] => [7.0, 5.0], [0.0, 0.0, 1.0, 1.0];
    }
}

#[test]
fn slices_in_no_segment_have_no_influence() {
    rows! {
        |x, i| x.segment_sum(&Segments::by_key(i, 2)); [2.0, 3.0, 5.0, 7.0], [0, 2, MIN, MAX] => [2.0, 0.0], [1.0, 0.0, 0.0, 0.0];
        |x, i| x.segment_product(&Segments::by_key(i, 2)); [2.0, 3.0, 5.0], [0, 2, -1] => [2.0, 1.0], [1.0, 0.0, 0.0];
        |x, i| x.segment_softmax(&Segments::by_key(i, 1)); [2.0, 3.0, 5.0], [-1, 0, 1] => [0.0, 1.0, 0.0], [0.0, 0.0, 0.0];
        |x, i| x.segment_sum(&Segments::by_offset(i, 4)); [2.0, 3.0, 5.0, 7.0], [1, 3] => [8.0], [0.0, 1.0, 1.0, 0.0];
        |x, i| x.segment_sum(&Segments::by_offset(i, 2)); [2.0, 3.0], [MIN, 1, MAX] => [2.0, 3.0], [1.0, 1.0];
        |x, i| x.segment_sum(&Segments::by_offset(i, 2)); [2.0, 3.0], [7] => [], [0.0, 0.0];
        // Offsets that descend count as if they were exchanged.
        |x, i| x.segment_sum(&Segments::by_offset(i, 3)); [2.0, 3.0, 5.0], [0, 2, 1, 3] => [2.0, 3.0, 5.0], [1.0, 1.0, 1.0];
    }
}

/// Reads and writes at positions given by a formula, and by the same formula on wrapping numbers.
macro_rules! wrapping {
    ($(|$j:ident| $position:expr, $number:expr;)*) => {$(
        let positions: Vec<i64> = (0..6).map(|$j: i64| $number).collect();
        let x = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0];
        let read = |at: i64| usize::try_from(at).ok().and_then(|at| x.get(at)).copied().unwrap_or(0.0);
        let reads: Vec<f64> = positions.iter().map(|&at| read(at)).collect();
        let counts: Vec<f64> = (0..6).map(|k| positions.iter().filter(|&&at| at == k).count() as f64).collect();
        let mut writes = vec![0.0; 6];
        let mut inside = vec![0.0; 6];
        for (from, &to) in positions.iter().enumerate() {
            if (0..6).contains(&to) {
                writes[to as usize] += x[from];
                inside[from] = 1.0;
            }
        }
        rows! { [f64]
            |x, _i| build(6, |$j| x.at($position)); x, [] => reads.clone(), counts.clone();
            |x, _i| x.scatter(build(6, |$j| $position), 6); x, [] => writes.clone(), inside.clone();
            |x, i| x.gather({ let $j = i.clone(); $position }); x, [0, 1, 2, 3, 4, 5] => reads.clone(), counts.clone();
            |x, _i| x.gather({ let $j = iota(6); $position }); x, [] => reads.clone(), counts.clone();
        }
    )*};
}

#[test]
fn positions_wrap() {
    wrapping! {
        |j| j + MAX, j.wrapping_add(MAX);
        |j| j - MAX, j.wrapping_sub(MAX);
        |j| MAX - j, MAX.wrapping_sub(j);
        |j| j + MIN, j.wrapping_add(MIN);
        |j| j * MAX, j.wrapping_mul(MAX);
        |j| j * MIN, j.wrapping_mul(MIN);
        |j| j * MIN + 1, j.wrapping_mul(MIN).wrapping_add(1);
        |j| j * (1i64 << 62), j.wrapping_mul(1 << 62);
        |j| j * (1i64 << 62) * 4, 0 * j;
        |j| j.clone() * (1i64 << 62) * 4 + j, j;
        |j| j * ((1i64 << 62) + 1) * 4, j.wrapping_mul((1 << 62) + 1).wrapping_mul(4);
        |j| j + MAX - MAX, j;
        |j| (j + MAX) * 2, j.wrapping_add(MAX).wrapping_mul(2);
        |j| -(j + MIN), j.wrapping_add(MIN).wrapping_neg();
        |j| (j + MAX).modulo(4), j.wrapping_add(MAX).rem_euclid(4);
        |j| (j + MAX) % 4, j.wrapping_add(MAX) % 4;
        |j| (j + MAX) / (1i64 << 61), j.wrapping_add(MAX) / (1 << 61);
        |j| (j + MAX).min(3), j.wrapping_add(MAX).min(3);
        |j| (j + MAX).max(3), j.wrapping_add(MAX).max(3);
        |j| (j + MAX).abs(), j.wrapping_add(MAX).wrapping_abs();
        |j| (j + MAX).gt(0).cast::<i64>(), i64::from(j.wrapping_add(MAX) > 0);
        |j| (j * 2 + MAX).lt(0).cast::<i64>() + 1, if (j * 2).wrapping_add(MAX) < 0 { 2 } else { 1 };
    }
}

#[test]
fn positions_of_several_indices_wrap() {
    rows! { [f64]
        |x, i| build((3, 3), |(p, q)| x.at(p * MIN + q * MIN)).flatten();
            [2.0, 3.0], [] => [2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 2.0], [5.0, 0.0];
        |x, i| build((3, 3), |(p, q)| x.at(p * (1i64 << 62) + q * (1i64 << 62) * 3)).flatten();
            [2.0, 3.0], [] => [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0], [3.0, 0.0];
        |x, i| build((2, 2), |(p, q)| x.reshape((2, 2)).at((&p + MAX + 1 + MIN, q + MAX - MAX))).flatten();
            [2.0, 3.0, 5.0, 7.0], [] => [2.0, 3.0, 5.0, 7.0], [1.0; 4];
        |x, i| build(3, |p| x.slice(0, 1..).at(p + MAX)); [2.0, 3.0], [] => [0.0, 0.0, 0.0], [0.0, 0.0];
        |x, i| build(3, |p| x.reverse(0).at(p + MIN)); [2.0, 3.0], [] => [0.0, 0.0, 0.0], [0.0, 0.0];
        |x, i| build(3, |p| x.pad(0, 2, 2).at(p - MAX)); [2.0, 3.0], [] => [0.0, 0.0, 0.0], [0.0, 0.0];
        |x, i| build(3, |p| build(4, |q| x.at(q + MAX)).at(p + MIN)); [2.0, 3.0], [] => [0.0, 0.0, 0.0], [0.0, 0.0];
        |x, i| build(3, |p| build(4, |q| x.at(q * 3 + MIN)).at(p * 3)); [2.0, 3.0], [] => [0.0, 0.0, 0.0], [0.0, 0.0];
        |x, i| build(i.len(), |p| build(4, |q| x.at(q) + 1.0).at(i.at(p)));
            [2.0, 3.0], [1, MAX, MIN, 3, 4] => [4.0, 0.0, 0.0, 1.0, 0.0], [0.0, 1.0];
        |x, i| x.gather(i).gather(&(i + 1)); [2.0, 3.0], [1, MAX, MIN, -1] => [0.0, 0.0, 0.0, 3.0], [0.0, 1.0];
    }
}

/// Products of positions and distances in memory exceed 64 bits, or positions themselves do, and a wrapped one may be inside.
#[test]
fn far_positions_of_matrices_wrap() {
    let x: Vec<f64> = (1..=12).map(f64::from).collect();
    let sin = |at: usize| (at as f64 + 1.0).sin();
    let unit = |places: &[usize]| {
        let mut gradient = [0.0; 12];
        places.iter().for_each(|&at| gradient[at] += (at as f64 + 1.0).cos());
        gradient
    };
    rows! { [f64]
        |x, i| { let m = x.reshape((4, 3)); build(2, |p| m.at((&p * (1i64 << 62), &p)).sin()) };
            &x[..], [] => [sin(0), 0.0], unit(&[0]);
        |x, i| { let m = x.reshape((4, 3)); build(2, |p| m.at((&p * MAX, &p)).sin()) }; &x[..], [] => [sin(0), 0.0], unit(&[0]);
        |x, i| { let m = x.reshape((4, 3)); build(2, |p| m.at((&p * MIN, &p)).sin()) }; &x[..], [] => [sin(0), 0.0], unit(&[0]);
        |x, i| { let m = x.reshape((4, 3)); build(3, |p| m.at((&p * MIN, &p)).sin()) };
            &x[..], [] => [sin(0), 0.0, sin(2)], unit(&[0, 2]);
        |x, i| { let m = x.reshape((4, 3)); build(2, |p| m.at((&p - (1i64 << 62), &p)).sin()) };
            &x[..], [] => [0.0, 0.0], unit(&[]);
        |x, i| { let m = x.reshape((4, 3)); build(2, |p| m.at((&p * (1i64 << 62) - (1i64 << 62), &p)).sin()) };
            &x[..], [] => [0.0, sin(1)], unit(&[1]);
        |x, i| { let m = x.reshape((4, 3)); build(2, |p| m.at((&p, &p * MIN + MIN)).sin()) };
            &x[..], [] => [0.0, sin(3)], unit(&[3]);
        |x, i| { let m = x.reshape((4, 3)); build(2, |p| m.at((1 - &p * (1i64 << 58), 2 * &p)).sin()) };
            &x[..], [] => [sin(3), 0.0], unit(&[3]);
        |x, i| { let m = x.reshape((4, 3)); build(2, |p| m.at((&p * ((1i64 << 62) + 1) * 4, &p)).sin()) };
            &x[..], [] => [sin(0), 0.0], unit(&[0]);
        |x, i| { let m = x.reshape((4, 3)); build(2, |p| m.at((&p * ((1i64 << 62) + 1) * 4 - 1, &p)).sin()) };
            &x[..], [] => [0.0, sin(10)], unit(&[10]);
        // Sums and products whose terms alone are far outside, while the whole is inside.
        |x, i| {
            let m = x.reshape((4, 3));
            build((2, 2), |(p, q)| m.at((&p * (1i64 << 57) - &q * (1i64 << 57), &q)).sin()).flatten()
        }; &x[..], [] => [sin(0), 0.0, 0.0, sin(1)], unit(&[0, 1]);
        |x, i| {
            let m = x.reshape((4, 3)).sin();
            build((2, 2), |(p, q)| m.at((&p, &p * (1i64 << 61) - &q * (1i64 << 61) + &q)).sin()).flatten()
        }; &x[..], [] => [sin(0).sin(), 0.0, 0.0, sin(4).sin()];
        |x, i| {
            let m = x.reshape((4, 3));
            build(2, |p| build((4, 3), |(a, b)| m.at((a * (1i64 << 58), b + 1)).sin()).at((&p * (1i64 << 58), p)))
        }; &x[..], [] => [sin(1), 0.0], unit(&[1]);
        |x, i| { let m = x.reshape((4, 3)); build(4, |p| m.at(&p * (1i64 << 62)).sum().sin()) };
            &x[..], [] => [6.0f64.sin(), 0.0, 0.0, 0.0];
        |x, i| x.reshape((4, 3)).scatter((iota(4) * (1i64 << 62), iota(4) * 2), (2, 3)).at((0, 0));
            &x[..], [] => [1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| build(12, |p| x.at(p)).scatter((iota(12) * (1i64 << 62), iota(12) * 2), (2, 3)).flatten();
            &x[..], [] => [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        // In a loop, whose outputs are read so.
        |x, i| {
            let m = x.reshape((4, 3));
            let (_, rows) = scan(scalar(0.0), &m, 4, |sum, row: Vector<A, f64>| (sum + row.sum(), row.sin()));
            build(2, |p| rows.at((&p * MIN, &p)))
        }; &x[..], [] => [sin(0), 0.0], unit(&[0]);
        |x, i| scan(x.clone(), &(), 2, |x, ()| (build(12, |p| x.at(&p * (1i64 << 62)).sin() + x.at(p)), ())).0.slice(0, 0..1);
            &x[..], [] => [1.0 + sin(0) + (1.0 + sin(0)).sin()];
    }
}

/// A read out of bounds of a sum of products is 0, whatever the factors are.
#[test]
fn reads_out_of_bounds_of_products_of_infinite_factors_are_0() {
    let x = [1.0, 2.0, INF, 1.0];
    rows! {
        |x, i| {
            let p = x.reshape((2, 2)).dot(&build((2, 2), |(j, k)| (j * 2 + k * 3).cast::<E>() + 1.0));
            build(2, |j| p.at((j.clone(), j + 1)))
        }; x, [] => [16.0, 0.0];
        |x, i| {
            let p = x.reshape((2, 2)).dot(&build((2, 2), |(j, k)| (j * 2 + k * 3).cast::<E>() + 1.0));
            build(2, |j| p.at((j.clone(), j + 1))).sum().reshape(1)
        }; x, [] => [16.0];
        |x, i| {
            let m = x.reshape((2, 2));
            let p = m.dot(&m);
            build(2, |j| p.at((0, j * 3 - 1)) + p.at((1, 2)))
        }; [1.0, INF, 1.0, 1.0], [] => [0.0, 0.0];
        |x, i| {
            let m = x.reshape((2, 2));
            let p = m.dot(&m.transpose());
            build(2, |j| p.at((&j, 2)) + p.at((-1, j))).sum().reshape(1)
        }; x, [] => [0.0];
        |x, i| {
            let m = x.reshape((2, 2));
            m.dot(&m).gather(i).sum_axis(1)
        }; [1.0, INF, 1.0, 1.0], [5, -1, 2] => [0.0, 0.0, 0.0];
        |x, i| {
            let p = x.outer(x);
            build(2, |j| p.at((&j * 4, j + 3)))
        }; x, [] => [1.0, 0.0];
    }
}

/// Squares between two positions that nothing bounds, then between two that are bounded, downwards.
#[differentiable]
fn squares<E: Float>(mut x: Vector<E>, ends: Vector<i64>) -> Vector<E> {
    for k in rolled(ends[0]..ends[1]) {
        x[k] *= x[k];
    }
    let (start, end) = (ends[2].max(-3).min(9), ends[3].max(-3).min(9));
    for k in rolled((start..=end).rev()) {
        x[k] *= x[k] + x[k + 1];
    }
    x
}

/// Squares between two positions that nothing bounds, downwards.
#[differentiable]
fn squares_downwards<E: Float>(mut x: Vector<E>, ends: Vector<i64>) -> Vector<E> {
    for k in rolled((ends[0]..ends[1]).rev()) {
        x[k] *= x[k] + x[k + 1];
    }
    x
}

#[test]
fn slices_have_ends_that_move() {
    rows! {
        |x, i| x.moving_slice(i.at(0)..i.at(1)).sum().reshape(1); [2.0, 3.0, 5.0], [0, 2] => [5.0], [1.0, 1.0, 0.0];
        |x, i| x.moving_slice(i.at(0)..i.at(1)).sum().reshape(1); [2.0, 3.0, 5.0], [MIN, MAX] => [10.0], [1.0; 3];
        |x, i| x.moving_slice(i.at(0)..i.at(1)).sum().reshape(1); [2.0, 3.0, 5.0], [-5, 1] => [2.0], [1.0, 0.0, 0.0];
        |x, i| x.moving_slice(i.at(0)..i.at(1)).sum().reshape(1); [2.0, 3.0, 5.0], [2, 1] => [0.0], [0.0; 3];
        |x, i| x.moving_slice(i.at(0)..i.at(1)).max_all().reshape(1); [2.0, 3.0, 5.0], [1, 9] => [5.0], [0.0, 0.0, 1.0];
        |x, i| x.moving_slice(i.at(0)..i.at(1)).max_all().reshape(1); [-2.0, -3.0], [1, 2] => [-3.0], [0.0, 1.0];
        |x, i| x.moving_slice(i.at(0)..i.at(1)).max_all().reshape(1); [2.0, 3.0], [MAX, MIN] => [-INF], [0.0; 2];
        |x, i| x.moving_slice(i.at(0)..).dot(&x.moving_slice(..i.at(0))).reshape(1);
            [2.0, 3.0, 5.0], [1] => [6.0], [3.0, 2.0, 0.0];
    }
}

#[test]
fn ranges_of_steps_have_ends_that_are_arrays() {
    rows! {
        |x, i| squares_downwards(x, i); [2.0, 3.0, 5.0], [0, 2] => [52.0, 24.0, 5.0], [28.0, 33.0, 10.0];
        |x, i| squares_downwards(x, i); [2.0, 3.0, 5.0], [0, MIN] => [2.0, 3.0, 5.0], [1.0; 3];
        |x, i| squares_downwards(x, i); [2.0, 3.0, 5.0], [MIN, MIN + 2] => [2.0, 3.0, 5.0], [1.0; 3];
        |x, i| squares(x, i); [2.0, 3.0, 5.0], [0, 2, 0, -1] => [4.0, 9.0, 5.0], [4.0, 6.0, 1.0];
        |x, i| squares(x, i); [2.0, 3.0, 5.0], [-2, 7, 1, 0] => [4.0, 9.0, 25.0], [4.0, 6.0, 10.0];
        |x, i| squares(x, i); [2.0, 3.0, 5.0], [1, 1, 3, MIN] => [2.0, 3.0, 5.0], [1.0; 3];
        |x, i| squares(x, i); [2.0, 3.0, 5.0], [2, 0, 1, 1] => [2.0, 24.0, 5.0], [1.0, 11.0, 4.0];
        |x, i| squares(x, i); [2.0, 3.0], [MAX, MIN, -5, MAX] => [22.0, 9.0], [13.0, 18.0];
    }
}

//! Writes of bad input: outside, several at one position, at positions cast from NaN, empty, in stretches whose ends lie outside,
//! and into an array that is read in the same statement.

use super::prelude::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = positions();
    rows.extend(stretches());
    rows.extend(views());
    rows
}

fn positions() -> Vec<Row> {
    vec![
        row!("bad write: elements outside": V => V, |x| {
                fold(x.clone(), &iota(4), |x, k| {
                    let at = &k * 3 - 4;
                    let value = x.at(&k) * 2.0 + 1.0;
                    let x = x.with(&at, value);
                    let value = x.at(&at);
                    let x = x.with_added(&at + 6, value);
                    let before = x.at(&k - 1);
                    x.with_updated(&k + 2, |old| old * before)
                })
            }, v([1.0, 2.0, 3.0, 4.0, 5.0]))
        .value([1.0, 2.0, 1.0, 4.0, 10.0])
        .gradient([5.0, 6.0, 0.0, 1.0, 2.0])
        .smooth(),
        row!("bad write: rows and columns outside": M => M, |a| {
                fold(a.clone(), &(iota(5) - 1), |a, k| {
                    let row = a.at(&k + 1) * 2.0;
                    let a = a.with(&k, row);
                    let column = a.index_axis(1, &k - 1);
                    a.with_added((.., &k), column)
                })
            }, m([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
        .value([8.0, 18.0, 30.0, 0.0, 0.0, 0.0])
        .gradient([0.0, 0.0, 0.0, 6.0, 4.0, 2.0])
        .smooth(),
        row!("bad write: strided positions that leave the array": V => V, |x| {
                fold(x.clone(), &iota(3), |x, k| {
                    let at = iota(4) * 3 + &k * 5 - 2;
                    x.scatter_set(&at, &(x.gather(&at + 1) * x.gather(&at))).scatter_add(-at, &x.gather(iota(4) + &k))
                })
            }, some(11, 901))
        .smooth(),
        row!("bad write: several of one operation at one position": (V, Nm, M) => V, |(x, p, u)| {
                fold(x.clone(), &(p.clone(), u.clone()), |x, (p, u)| x.scatter_set(&p, &(x.gather(&p) * u)))
            }, (v([1.0, 2.0, 3.0, 4.0, 5.0]), [[2, 0, 2], [4, 4, 4]].into(), m([[10.0, 20.0, 30.0], [2.0, 3.0, 4.0]])))
        .value([20.0, 2.0, 90.0, 4.0, 20.0])
        .gradient([20.0, 1.0, 30.0, 1.0, 4.0, 0.0, 1.0, 3.0, 0.0, 0.0, 5.0])
        .smooth(),
        row!("bad write: several, of which some are outside": (V, Ns, V) => V, |(x, p, u)| {
                fold(x.clone(), &iota(4), |x, k| x.scatter_set((p + &k) * &k, &(u * x.gather((p + &k) * &k).sin())))
            }, (some(6, 902), ns([0, -3, 0, i64::MAX, i64::MIN, 1]), some(6, 903)))
        .smooth(),
        row!("bad write: at the logarithm of a negative number": V => V, |x| {
                fold(x.slice(0, ..3), &iota(2), |y, k| {
                    let at = (x.at(3) * (k.cast::<f64>() + 1.0)).ln().cast::<i64>();
                    let value = y.at(&k + 1) * y.at(&at);
                    y.with(&at, value)
                })
            }, v([2.0, 3.0, 5.0, -1.0]))
        .value([30.0, 3.0, 5.0])
        .gradient([15.0, 11.0, 7.0, 0.0])
        .smooth(),
        row!("bad write: at positions cast from NaN and infinity": (V, V) => V, |(x, p)| {
                let at = p.cast::<i64>();
                let y = x.scatter_set(&at, &(x.gather(&at) * x.gather(iota(4) % 3)));
                fold(y, p, |y, p| y.with_updated(p.cast::<i64>(), |old| &old * &old))
            }, (v([2.0, 3.0, 5.0]), v([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5])))
        .value([16.0, 36.0, 5.0])
        .gradient([32.0 + 36.0, 24.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
    ]
}

/// One loop between ends that nothing limits, and one between limited ends.
#[differentiable]
fn between_ends(mut x: Vector<f64>, ends: Vector<i64>) -> Vector<f64> {
    for k in rolled(ends[0]..ends[1]) {
        x[k] *= x[k];
    }
    for k in rolled(ends[2].max(-3)..ends[3].min(9)) {
        x[k] += x[k + 1];
    }
    x
}

fn stretches() -> Vec<Row> {
    vec![
        row!("bad write: loops that begin below zero and end beyond the array": (V, Ns) => V,
            |(x, ends)| between_ends(x, ends), (v([2.0, 3.0, 5.0]), ns([-2, 9, -7, 100])))
        .value([13.0, 34.0, 25.0])
        .gradient([4.0, 12.0, 20.0])
        .smooth(),
        row!("bad write: loops that end before they begin": (V, Ns) => V, |(x, ends)| between_ends(x, ends),
            (v([2.0, 3.0, 5.0]), ns([2, i64::MIN, 5, -1])))
        .value([2.0, 3.0, 5.0])
        .gradient([1.0, 1.0, 1.0])
        .smooth(),
        row!("bad write: slices whose ends lie outside, or in the wrong order": (V, Ns, Ns) => V, |(x, starts, ends)| {
                build(6, |k| {
                    let slice = x.moving_slice(starts.at(&k)..ends.at(&k));
                    slice.sum() + slice.product()
                })
            }, (v([2.0, 3.0, 5.0]), ns([-5, i64::MIN, 2, 3, i64::MAX, 1]), ns([2, i64::MAX, 2, 1, i64::MIN, 99])))
        .value([11.0, 40.0, 1.0, 1.0, 1.0, 23.0])
        .gradient([20.0, 20.0, 11.0])
        .smooth(),
        row!("bad write: empty ranges": (V, V) => V, |(x, none)| {
                let y = x.clone().with(1..1, none).with_added(3.., none).with_updated(..0, |old| old * 2.0);
                let y = fold(y, &iota(3), |y, k| {
                    let one = y.moving_slice(&k..&k).product() + y.moving_slice(&k + 1..k.clone()).sum();
                    y.with(2..2, none).with_updated(&k, |old| old * one)
                });
                fold(y, &iota(0), |y, k| y.with(&k, 7.0))
            }, (v([2.0, 3.0, 5.0]), v([])))
        .value([2.0, 3.0, 5.0])
        .gradient([1.0, 1.0, 1.0])
        .smooth(),
    ]
}

/// An array that is shifted by a view of itself.
#[differentiable]
fn shifted(mut x: Vector<f64>) -> Vector<f64> {
    let n = x.len();
    for k in rolled(0..2) {
        x[1..] = x[..n - 1] * 2.0;
        x[k] += 1.0;
    }
    x[..n - 1] += x[1..];
    x
}

fn views() -> Vec<Row> {
    vec![
        row!("bad write: an array that is read in the same statement": V => V, |x| shifted(x), v([2.0, 3.0, 5.0]))
            .value([10.0, 15.0, 8.0])
            .gradient([13.0, 0.0, 0.0])
            .smooth(),
        row!("bad write: a matrix transposed in place": M => M, |a| {
                iterate(a.clone(), 2, |a| {
                    let turned = a.transpose();
                    a.with((.., ..), turned).with_updated((0, ..), |row| row.reverse(0))
                })
            }, m([[1.0, 2.0], [3.0, 4.0]]))
        .value([2.0, 3.0, 1.0, 4.0])
        .gradient([1.0; 4])
        .smooth(),
        row!("bad write: a row becomes a column that crosses it": M => M, |a| {
                fold(a.clone(), &iota(3), |a, k| {
                    let row = a.at(&k);
                    let a = a.with((.., &k + 1), row.sin());
                    a.with_updated((&k + 1, ..), |old| old.reverse(0) * &old)
                })
            }, some((4, 4), 904))
        .smooth(),
        row!("bad write: elements that overlap those that are read": V => V, |x| {
                fold(x.clone(), &iota(3), |x, k| {
                    let part = x.gather(iota(4) + &k) * x.gather(iota(4) + &k + 2);
                    x.scatter_set(iota(4) + &k + 1, &part).scatter_add(iota(4) + &k, &part)
                })
            }, some(10, 905))
        .smooth(),
    ]
}

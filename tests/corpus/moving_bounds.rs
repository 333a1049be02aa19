//! Loops and reductions whose bounds move: triangular nests, bounds that are carried, and slices and masks of a length that
//! differs from step to step.

use super::prelude::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = triangles();
    rows.extend(carried());
    rows.extend(reductions());
    rows
}

/// Forward substitution, element by element.
#[differentiable]
fn substituted(l: Matrix<f64>, b: Vector<f64>) -> Vector<f64> {
    let mut y = b * 1.0;
    for i in rolled(0..b.len()) {
        for j in rolled(0..i) {
            y[i] -= l[(i, j)] * y[j];
        }
        y[i] /= l[(i, i)] + 2.0;
    }
    y
}

/// Substitution from the last element to the first.
#[differentiable]
fn substituted_back(u: Matrix<f64>, mut y: Vector<f64>) -> Vector<f64> {
    let n = y.len();
    for i in rolled((0..n).rev()) {
        for j in rolled((i + 1..n).rev()) {
            y[i] -= u[(i, j)] * y[j];
        }
        y[i] /= u[(i, i)] + 2.0;
    }
    y
}

/// A factorisation in two triangles, in place.
#[differentiable]
fn triangles_of(mut a: Matrix<f64>) -> Matrix<f64> {
    let n = a.len();
    for k in rolled(0..n) {
        a[(k, k)] += 4.0;
        for i in rolled(k + 1..n) {
            a[(i, k)] /= a[(k, k)];
            for j in rolled(k + 1..n) {
                a[(i, j)] -= a[(i, k)] * a[(k, j)];
            }
        }
    }
    a
}

/// A recurrence over a pyramid.
#[differentiable]
fn pyramid(a: Matrix<f64>) -> Scalar<f64> {
    let mut s = scalar(0.5);
    for i in rolled(0..a.len()) {
        for j in rolled(0..i) {
            for k in rolled(0..=j) {
                s = (s + a[(i, k)] * a[(j, k)]).sin();
            }
        }
    }
    s
}

/// A recurrence over a triangle, of products of stretches.
#[differentiable]
fn of_stretches(a: Matrix<f64>) -> Scalar<f64> {
    let mut s = scalar(0.5);
    for i in rolled(0..a.len()) {
        for j in rolled(0..i) {
            s += (a[(i, ..j)].dot(&a[(j, ..j)]) + s * a[(i, j)]).sin();
        }
    }
    s
}

fn triangles() -> Vec<Row> {
    vec![
        row!("moving bound: forward substitution by elements": (M, V) => V, |(l, b)| substituted(l, b),
            (some((5, 5), 861), some(5, 862)))
        .smooth(),
        row!("moving bound: forward substitution by elements, by hand": (M, V) => V, |(l, b)| {
                fold(b.clone(), &iota(5), |y, i| {
                    let y = fold(y, &iota(5), |y, j| cond(j.lt(&i), || {
                        let product = l.at((&i, &j)) * y.at(&j);
                        y.clone().with_added(&i, -product)
                    }, || y.clone()));
                    let quotient = y.at(&i) / (l.at((&i, &i)) + 2.0);
                    y.with(&i, quotient)
                })
            }, (some((5, 5), 863), some(5, 864)))
        .smooth(),
        row!("moving bound: backward substitution by elements": (M, V) => V, |(u, y)| substituted_back(u, y),
            (some((4, 4), 865), some(4, 866)))
        .smooth(),
        row!("moving bound: a factorisation in place": M => M, |a| triangles_of(a), some((4, 4), 867)).smooth(),
        row!("moving bound: three loops": M => S, |a| pyramid(a), some((4, 4), 868)).smooth(),
        row!("moving bound: products of stretches": M => S, |a| of_stretches(a), some((5, 5), 869)).smooth(),
        row!("moving bound: substitutions in a map": (M, V) => M, |(l, b)| {
                build(2, |p| substituted(&(l * (p.cast::<f64>() + 0.5)), b))
            }, (some((4, 4), 870), some(4, 871)))
        .smooth(),
    ]
}

/// A carried bound of at most 4.
#[differentiable]
fn up_to_four(mut x: Vector<f64>) -> Vector<f64> {
    let mut bound = scalar(1i64);
    for k in rolled(0..x.len()) {
        for j in rolled(0..bound.min(4)) {
            x[j] = (x[j] * x[k] + x[j + 1]).sin();
        }
        bound = bound * 2 % 5;
    }
    x
}

/// A carried bound without a limit that staging knows.
#[differentiable]
fn up_to_what_is_carried(mut x: Vector<f64>) -> Vector<f64> {
    let mut bound = scalar(1i64);
    for k in rolled(0..x.len()) {
        for j in rolled(0..bound) {
            x[j] = (x[j] * x[k] + x[j + 1]).sin();
        }
        bound = bound * 2 % 5;
    }
    x
}

/// Both ends are computed from an array's elements.
#[differentiable]
fn between(mut x: Vector<f64>, ends: Vector<i64>) -> Vector<f64> {
    for k in rolled(0..ends.len() - 1) {
        for j in rolled(ends[k].max(0)..ends[k + 1].min(8)) {
            x[j] += x[j + 1].cos() * x[k];
        }
    }
    x
}

fn carried() -> Vec<Row> {
    vec![
        row!("moving bound: carried, at most 4": V => V, |x| up_to_four(x), some(6, 881)).smooth(),
        row!("moving bound: carried": V => V, |x| up_to_what_is_carried(x), some(6, 882)).smooth(),
        row!("moving bound: carried, by hand": V => V, |x| {
                fold((x.clone(), scalar(1i64)), &iota(6), |(x, bound), k| {
                    let x = fold(x, &iota(4), |x, j| cond(j.lt(&bound), || {
                        let value = (x.at(&j) * x.at(&k) + x.at(&j + 1)).sin();
                        x.clone().with(&j, value)
                    }, || x.clone()));
                    (x, bound * 2 % 5)
                }).0
            }, some(6, 883))
        .smooth(),
        row!("moving bound: both ends read from an array": (V, Ns) => V, |(x, ends)| between(x, ends),
            (some(9, 884), ns([1, 4, 2, 7, 7, 20])))
        .smooth(),
    ]
}

fn reductions() -> Vec<Row> {
    vec![
        row!("moving bound: products of slices": V => V, |x| {
                build(6, |i| x.moving_slice(&i - 1..&i + 2).product() + x.moving_slice(..&i).product().sin())
            }, some(6, 891))
        .smooth(),
        row!("moving bound: products of slices with zeros": V => V, |x| {
                build(5, |i| x.moving_slice(..&i + 1).product() * x.at(&i) + x.moving_slice(&i..).product())
            }, v([2.0, 0.0, 3.0, 0.0, 5.0]))
        .value([4.0, 0.0, 0.0, 0.0, 5.0])
        .smooth(),
        row!("moving bound: products of slices of the array that is written": V => V, |x| {
                fold(x.clone(), &iota(6), |x, k| {
                    let product = x.moving_slice(&k - 2..&k + 1).product();
                    x.with(&k, product.sin() + 0.5)
                })
            }, some(6, 892))
        .smooth(),
        row!("moving bound: products with a mask": V => V, |x| {
                fold(x.clone(), &iota(5), |x, k| {
                    let product = build(6, |j| j.lt(&k).select(x.at(&j), 1.0)).product();
                    x.with_added(&k, product)
                })
            }, some(6, 893))
        .smooth(),
        row!("moving bound: a guarded minimum": V => V, |x| {
                fold(x.clone(), &iota(6), |x, k| {
                    let least = build(6, |j| j.le(&k).select(x.at(&j), f64::INFINITY)).min_all();
                    x.with_updated(&k, |old| old * 0.5 + least.sin())
                })
            }, some(6, 894))
        .smooth(),
        row!("moving bound: extremes of slices": V => V, |x| {
                fold(x.clone(), &iota(6), |x, k| {
                    let least = x.moving_slice(..&k + 1).min_all();
                    let most = x.moving_slice(&k..).map(|x| x * 0.7).max_all();
                    x.with(&k, least * 0.6 + most * 0.3)
                })
            }, some(6, 895))
        .smooth(),
        row!("moving bound: sums of slices up to a carried end": (V, V) => V, |(x, w)| {
                fold((x.clone(), scalar(1i64)), &iota(5), |(x, end), k| {
                    let sum = (x.moving_slice(..&end) * w.moving_slice(&k..)).sum();
                    (x.with_added(&k, sum.sin()), (end * 3 + 1) % 7)
                }).0
            }, (some(8, 896), some(8, 897)))
        .smooth(),
    ]
}

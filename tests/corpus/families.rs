//! Small programs of many kinds, each at several lengths: of nothing, of few elements, of more.

use super::prelude::*;

/// Floats between −10 and 10, not near 0, the same in every run.
fn numbers(n: usize) -> V {
    some(n, 400 + n as u64) * 10.0
}

/// Rows of one function of a vector, at three lengths.
macro_rules! family {
    ($name:literal, |$input:pat_param| $body:expr) => {{
        let f = function!(V => S, |$input| $body);
        // A factor that moves out of a sum but stays where it has other uses is one multiplication more.
        let row = |name, n| Row::new(name, f, numbers(n)).smooth().overhead(1, 1);
        [
            row(concat!($name, ", of nothing"), 0),
            row(concat!($name, ", of three"), 3),
            row(concat!($name, ", of eleven"), 11),
        ]
    }};
}

/// The product of all elements, by a loop.
fn product<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    scan(scalar(1.0), x, x.len(), |p, x| (p * x, ())).0
}

/// The magnitude, by cases.
fn magnitude<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    cond(x.gt(0.0), || x.clone(), || -x)
}

/// A layer whose weights are read from an array at scattered places.
fn layer<A: Algebra>(weights: &Vector<A, f64>, x: &Vector<A, f64>, size: usize, seed: i64) -> Vector<A, f64> {
    let n = weights.len();
    build(size, |i| {
        let terms = build(x.len(), |j| {
            let place = &i + &j + &j * &j * seed;
            let place = if seed == 0 { place } else { &place * &place };
            weights.at(place % n) * x.at(j)
        });
        (terms.sum() * 0.1).sigmoid()
    })
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(choices().into_iter().flatten());
    rows.extend(elements().into_iter().flatten());
    rows.extend(folds().into_iter().flatten());
    rows.extend(arrangements().into_iter().flatten());
    rows.extend(reads().into_iter().flatten());
    rows.extend(dependent_reads().into_iter().flatten());
    rows.extend(formulas().into_iter().flatten());
    rows.extend(pairs());
    rows
}

fn choices() -> Vec<[Row; 3]> {
    vec![
        family!("once or twice by the sum", |a| cond(a.sum().gt(0.0), || a.clone(), || 2.0 * a).sum()),
        family!("twice or once by the sum", |a| cond(a.sum().gt(0.0), || 2.0 * a, || a.clone()).sum()),
        family!("a pair in either order", |a| {
            let b = 2.0 * a;
            let (first, _) = cond(a.sum().gt(0.0), || (a.clone(), b.clone()), || (b.clone(), a.clone()));
            (&b * first.len() as f64).sum() + first.sum()
        }),
        family!("a choice of pairs of different ranks", |a| {
            let (x, (y, ())) = cond(a.sum().lt(1.0), || (a * a, (a.sum(), ())), || (a.sin(), (a.max_all(), ())));
            (x * y.max(-20.0)).sum()
        }),
        family!("a value used in a choice and after it", |a| {
            let b = 2.0 * a;
            let y = cond(a.sum().le(2.0), || &b + 1.0, || 2.0 * &b - 1.0);
            (b * y).sum()
        }),
        family!("a value used after a choice and in it", |a| {
            let b = 2.0 * a;
            let y = cond(a.sum().le(2.0), || &b + 1.0, || 2.0 * &b - 1.0);
            (y * b).sum()
        }),
        family!("a choice that always falls the same", |a| {
            cond(scalar::<A, bool>(true), || scalar(42.0), || a.sum())
        }),
        family!("a choice by the length", |a| {
            let n: Scalar<A, i64> = scalar(a.len() as i64);
            cond(n.ge(0), || scalar(42.0), || (2.0 * a).sum() + (a + 3.0).sum())
        }),
        family!("a choice of arrays and of elements", |a| {
            let n = a.len() as i64;
            let chosen = cond(a.sum().gt(0.0), || a * 2.0, || a.clone());
            build(a.len(), |i| cond(i.lt(n - 1), || chosen.at(&i) * a.at(&i + 1), || a.at(&i))).sum()
        }),
    ]
}

fn elements() -> Vec<[Row; 3]> {
    vec![
        family!("each once or twice", |a| build(a.len(), |i| {
            let x = a.at(i);
            cond(x.gt(0.0), || x.clone(), || 2.0 * &x)
        })
        .sum()),
        family!("each by one of two formulas", |a| build(a.len(), |i| {
            let x = a.at(i);
            2.0 * cond(x.gt(0.0), || (&x * &x).sin(), || &x * &x * x.exp())
        })
        .sum()),
        family!("each by a periodic function, squared", |a| build(a.len(), |i| {
            let x = a.at(i);
            let x = &x - 4.0 * (&x / 4.0).floor();
            let arch = cond(x.lt(2.0), || &x * (2.0 - &x), || (&x - 2.0) * (&x - 4.0));
            &arch * &arch
        })
        .sum()),
        family!("each with a shared value in a choice", |a| build(a.len(), |i| {
            let x = a.at(i);
            let u = 2.0 * &x;
            let v = cond(x.le(2.0), || &u + 1.0, || 2.0 * &u - 1.0);
            u * v
        })
        .sum()),
        family!("each by a choice in a choice", |a| build(a.len(), |i| {
            let x = a.at(i);
            let y = x.sin() * 3.0;
            let inner = || cond(x.gt(5.0), || &y * &y, || &y + &x);
            cond(y.gt(0.0), inner, || -&y) * &y
        })
        .sum()),
    ]
}

fn folds() -> Vec<[Row; 3]> {
    vec![
        family!("a product from 1", |a| product(a)),
        family!("a product from the first", |a| (1..a.len()).fold(a.at(0), |p, i| p * a.at(i))),
        family!("a product of scaled elements and their reversal", |a| product(&(a * a.reverse(0) * 0.1))),
        family!("a maximum from 3", |a| scan(scalar(3.0), a, a.len(), |m, x| (m.max(x), ())).0),
        family!("a maximum from the first", |a| (1..a.len()).fold(a.at(0), |m, i| m.max(a.at(i)))),
        family!("a maximum from the first by a loop", |a| scan(a.at(0), a, a.len(), |m, x| (m.max(x), ())).0),
        family!("a sum of magnitudes by a loop", |a| {
            scan(scalar(0.0), a, a.len(), |s, x| (magnitude(&s) + magnitude(&x), ())).0
        }),
    ]
}

fn arrangements() -> Vec<[Row; 3]> {
    vec![
        family!("a product of sums of a replicate", |a| {
            let x = a * 0.1;
            product(&(2.0 * (&x * &x + &x).replicate(5).transpose()).sum_axis(1))
        }),
        family!("a sum of a replicate", |a| a.replicate(5).sum() / 20.0),
        family!("replicated to four axes", |a| {
            a.replicate(2).insert_axis(1).insert_axis(3).broadcast_to((2, 5, a.len(), 3)).sin().sum()
        }),
        family!("replicated to four axes, in another order", |a| {
            a.replicate(2).insert_axis(0).insert_axis(2).broadcast_to((5, 2, 3, a.len())).cos().sum()
        }),
        family!("a slice of a replicate", |a| {
            let m = a.len() / 4 + 3;
            a.replicate(m).replicate(m).at((2, 1)).sin().sum()
        }),
        family!("a slice of a rearrangement", |a| {
            let n = a.len();
            build((n, n, n), |(i, j, k)| a.at((i + j + k) % n)).at((3 % n.max(1), 5 % n.max(1))).sin().sum()
        }),
        family!("a product of the sums of two halves", |a| {
            let half = a.len() / 2;
            product(&a.slice(0, ..2 * half).reshape((2, half)).sum_axis(1))
        }),
        family!("a product through a column", |a| product(&a.reshape((a.len(), 1)).flatten())),
        family!("a product of the columns of a reshape", |a| {
            let half = a.len() / 2;
            product(&(a.slice(0, ..2 * half).reshape((half, 2)).sum_axis(1) * 0.1))
        }),
    ]
}

fn reads() -> Vec<[Row; 3]> {
    vec![
        family!("a table of sums of positions", |a| {
            let (n, m) = (a.len(), a.len() / 2 + 1);
            build((m, 2 * m), |(i, j)| a.at((i + j) % n)).sin().sum()
        }),
        family!("a rearrangement of sums of a rearrangement", |a| {
            let (n, m) = (a.len(), a.len() / 3 + 1);
            let sums = build((m, n), |(i, j)| a.at((i + j) % n)).sum_axis(1);
            let last = m as i64 - 1;
            let second = build((m, 2, m), |(i, j, k)| sums.at((&i * &j).min(last)) + sums.at((i * k).min(last)));
            (second / 2.0).at(m - 1).cos().sum()
        }),
        family!("a table of differences of positions", |a| {
            let n = a.len();
            build((n, 3), |(i, j)| a.at((i - j).modulo(n)) * a.at(0)).sum()
        }),
        family!("every second of them", |a| build(a.len() / 2, |i| a.at(2 * i).sin()).sum()),
        family!("every one of them twice", |a| {
            let n = a.len() as i64;
            build(2 * a.len(), |i| a.at(&i / 2) + a.at((i % 2).min(n - 1))).sin().sum()
        }),
        family!("five of them, then a constant", |a| {
            build(a.len() + 3, |i| cond(i.lt(5), || a.at(&i / 2), || scalar(42.0))).sin().sum()
        }),
        family!("all of them, one after the other", |a| {
            let n = a.len();
            build(2 * n, |i| cond(i.lt(n), || a.at(&i), || a.at(&i - n))).sin().sum()
        }),
        family!("five of them by remainders", |a| build(5, |i| a.at(i % a.len())).sin().sum()),
        family!("each plus the third", |a| build(a.len(), |i| a.at(i) * a.at(2)).sum()),
    ]
}

fn dependent_reads() -> Vec<[Row; 3]> {
    vec![
        family!("each plus one at its own value", |a| {
            let n = a.len();
            build(n, |i| {
                let x = a.at(i);
                &x * a.at(x.round().abs().cast::<i64>() % n)
            })
            .sum()
        }),
        family!("an element of maxima of a table", |a| {
            let n = a.len();
            let maxima = build((n, n), |(i, j)| a.at(i & j)).max_axis(1).max(-20.0);
            build(n, |i| maxima.at(a.at(i).round().abs().cast::<i64>() % n)).sin().sum()
        }),
        family!("elements at the values of sums", |a| {
            let n = a.len();
            let sums = build((n, n), |(i, j)| a.at((i ^ j) % n)).sum_axis(1);
            build(n, |i| a.at(sums.at(i).round().abs().cast::<i64>() % n)).sin().sum()
        }),
        family!("an element at the rounded sum, if there is one", |a| {
            let place = a.sum().round().cast::<i64>();
            let inside = place.ge(0) & place.lt(a.len() as i64);
            cond(inside, || a.at(&place), || scalar(0.0)).sin()
        }),
        family!("reads that are in bounds only where they are chosen", |a| {
            let n = a.len();
            let first = cond(scalar::<A, i64>(n as i64).gt(0), || a.at(0) / a.at(0), || scalar(7.0));
            first + build(n, |i| cond(i.gt(0), || a.at(&i) / a.at(&i - 1), || a.at(&i))).sum()
        }),
    ]
}

fn formulas() -> Vec<[Row; 3]> {
    vec![
        family!("rounded values times sines", |a| (a.round() * a.sin()).sum()),
        family!("positions times values", |a| build(a.len(), |i| i.cast::<f64>() * a.at(&i)).sum()),
        family!("nearest whole numbers as factors", |a| {
            let whole = a.round().cast::<i64>();
            build(a.len(), |i| (whole.at(&i) * &i).cast::<f64>() * a.at(i)).sum()
        }),
        family!("logsumexp by the maximum", |a| {
            let m = a.max_all().max(-20.0);
            (a - &m).exp().sum().max(1e-300).ln() + m
        }),
        family!("logsumexp less the maximum", |a| {
            let m = a.max_all().max(-20.0);
            (a - m).exp().sum().max(1e-300).ln()
        }),
        family!("the maximum twice", |a| {
            let m = a.max_all().max(-20.0);
            &m + &m
        }),
        family!("three layers of scattered weights", |a| {
            let first = layer(a, a, 4, 0);
            let second = layer(a, &first, 3, 1);
            layer(a, &second, 2, 2).sum()
        }),
    ]
}

/// A function of two arrays that need not have the same length.
fn pairs() -> Vec<Row> {
    let f = function!((V, V) => S, |(x, y)| {
        let n = x.len().min(y.len());
        build(n, |i| x.at(&i).sin() * (x.at(&i) + y.at(&i)).cos()).sum()
    });
    vec![
        Row::new("sines and cosines of two arrays, one empty", f, (numbers(0), numbers(3))).smooth(),
        Row::new("sines and cosines of two arrays, one longer", f, (numbers(7), numbers(4))).smooth(),
        Row::new("sines and cosines of two arrays", f, (numbers(11), numbers(11) * 0.5)).smooth(),
    ]
}

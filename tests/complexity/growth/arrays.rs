//! Chains of operations on arrays: products, concatenations, reads and writes of parts, sorts.

use super::*;
use constructs::{Construct, S, V, steps};

pub fn arrays() -> Vec<Construct> {
    vec![
        steps!("contractions with constant factors", 20, |n, p| {
            let m = p[0].reshape((3, 3));
            (0..n).fold(m.at(0), |y, k| (&m * 0.5).dot(&(y * (k as f64 + 0.25)))).sum()
        }),
        steps!("sums of squares with constant factors", 20, |n, p| (0..n).fold(p[0].at(0), |s, k| {
            let y = &p[0] * &s * (k as f64 + 0.25);
            s + y.dot(&y) * 0.125
        })),
        steps!("outer products", 12, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| (y.outer(&p[0]) * 0.5).sum_axis(0).sin())
            .sum()),
        // Up to 64 parts are merged into the enclosing concatenation, so the growth is about twice only from there on.
        Construct {
            growth: 2.4,
            runs: false,
            ..steps!("concatenations that grow", 100, |n, p| {
                let (mut y, mut s) = (p[0].slice(0, ..2), p[0].at(0));
                for k in 0..n {
                    y = y.append(0, &(p[0].slice(0, ..2) * (k as f64 + 0.5)).sin());
                    s += y.sum();
                }
                s
            })
        },
        steps!("gathers of rows in one nest", 12, wide 64, |n, p| {
            let m = p[0].reshape((8, 8));
            let k: Vector<Staged, i64> = constant(&Vector::<C, i64>::from_slice(&[2, 0, 7, 1, 3, 5, 4, 6]));
            build(8, |i| {
                let rows = (0..n as i64).map(|step| m.at((k.at(&i) + step).modulo(8)).sum());
                rows.fold(m.at((&i, 0)), |sum, row| (sum * row).sin())
            })
            .sum()
        }),
        steps!("rows of different nests", 12, wide 64, |n, p| {
            let m = p[0].reshape((8, 8));
            (0..n).fold(m.clone(), |y, _| build(8, |i| (y.at(&i) * m.at(&i).sum()).sin())).sum()
        }),
        steps!("short rows", 12, wide 200, |n, p| {
            let m = p[0].reshape((100, 2));
            (0..n).fold(m.clone(), |y, _| build(100, |i| (y.at(&i) * y.at(&i).sum()).sin())).sum()
        }),
        steps!("writes of parts", 20, wide 100, |n, p| (0..n)
            .fold(p[0].clone(), |y, k| {
                let part = y.slice(0, k..k + 9).sin();
                y.slice(0, ..k).append(0, &part).append(0, &y.slice(0, k + 9..))
            })
            .sum()),
        steps!("parts of parts", 20, wide 100, |n, p| (0..n)
            .fold(p[0].clone(), |y, k| if k % 2 == 0 { y.slice(0, 1..).sin() } else { y.pad(0, 0, 1) * 0.5 })
            .sum()),
        steps!("writes at positions", 12, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| {
                let k = (&y * 10.0).cast::<i64>().modulo(9);
                let updates = y.gather_or(&k, 0.0).sin();
                y.scatter_add(&k, &updates)
            })
            .sum()),
        steps!("orders", 12, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| (y.take_along_axis(&y.argsort(0), 0) * &p[0]).sin())
            .sum()),
        steps!("orders of what is in order", 24, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| y.gather(&y.argsort(0)))
            .sum()),
        steps!("running totals", 16, |n, p| (0..n).fold(p[0].clone(), |y, _| y.cumsum(0).sin() * y.cummax(0)).sum()),
        steps!("associative scans", 8, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| associative_scan(&y, |a: S, b: S| &a * &b + (a + b)).sin())
            .sum()),
        steps!("an associative scan of many", 8, |n, p| {
            let all: Vec<V> = (0..n).map(|k| &p[0] * (k as f64 + 0.5)).collect();
            let scanned =
                associative_scan(&all, |a: Vec<S>, b: Vec<S>| a.iter().zip(&b).map(|(a, b)| a * b).collect::<Vec<S>>());
            scanned.iter().fold(p[0].at(0), |sum, y| sum + y.sum())
        }),
        steps!("softmaxes", 12, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| deltaray::functions::softmax(&y, 0) * &p[0])
            .sum()),
    ]
}

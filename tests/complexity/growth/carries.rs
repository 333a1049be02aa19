//! Loops that carry, read, keep and return many values.

use super::*;
use constructs::{Construct, S, V, steps};

type Count = Scalar<Staged, i64>;

/// So many vectors that differ.
fn vectors(n: usize, x: &V) -> Vec<V> {
    (0..n).map(|i| x * (i as f64 + 0.5)).collect()
}

fn scalars(n: usize, x: &V) -> Vec<S> {
    (0..n).map(|i| x.at(0) * (i as f64 + 0.5)).collect()
}

/// The carries moved by one place, the first as something computed from it.
fn rotated(mut carries: Vec<S>) -> Vec<S> {
    carries.rotate_left(1);
    if let Some(last) = carries.last_mut() {
        *last = last.sin();
    }
    carries
}

fn sum(all: &[S]) -> S {
    all[1..].iter().fold(all[0].clone(), |sum, x| sum + x)
}

fn sums(all: &[V]) -> S {
    sum(&all.iter().map(V::sum).collect::<Vec<S>>())
}

/// Each with the next, and a number.
fn mixed(carries: &[V], e: &S) -> Vec<V> {
    let next = carries.iter().skip(1).chain(&carries[..1]);
    carries.iter().zip(next).map(|(c, d)| (c * e + d).sin()).collect()
}

pub fn carries() -> Vec<Construct> {
    vec![
        steps!("rotation by iterate", 20, |n, p| sum(&iterate(scalars(n, &p[0]), 10, rotated))),
        steps!("rotation by scan", 20, |n, p| {
            scan(scalars(n, &p[0]), &p[0], 9, |c: Vec<S>, e: S| (rotated(c.iter().map(|c| c * &e).collect()), ())).0[0]
                .clone()
        }),
        steps!("rotation by while_loop", 20, |n, p| {
            let step = |(c, k): (Vec<S>, Count)| (rotated(c), k + 1);
            sum(&while_loop((scalars(n, &p[0]), scalar(0i64)), |(_, k)| k.lt(5), step).0)
        }),
        steps!("circles", 20, |n, p| {
            let step = |c: Vec<S>| (0..c.len()).map(|k| &c[(k + 1) % c.len()] * &c[(k + 2) % c.len()]).collect();
            sum(&iterate(scalars(n, &p[0]), 10, step))
        }),
        // Each loop uses only the first carry of the one before.
        steps!("loops of one carry that is used", 16, |n, p| {
            let step = |(y, z): (S, S), e: S| (((&y * &e).sin(), z * y), ());
            (0..n).fold((p[0].at(0), p[0].at(1)), |c, _| scan(c, &p[0], 9, step).0).0
        }),
        steps!("while loops of one carry that is used", 12, |n, p| {
            let step = |(y, z, k): (S, S, Count)| (y.sin(), z * y, k + 1);
            let chain = |(y, z, _)| while_loop((y, z, scalar(0i64)), |(_, _, k)| k.lt(5), step);
            (0..n).fold((p[0].at(0), p[0].at(1), scalar(0i64)), |c, _| chain(c)).0
        }),
        steps!("rotation in a build", 20, |n, p| {
            build(4, |i| sum(&iterate(scalars(n, &(&p[0] * p[0].at(i))), 10, rotated))).sum()
        }),
        steps!("rotation around loops", 8, |n, p| {
            let inner = |c: &S| iterate(c.clone(), 5, |c: S| c.sin() * p[0].at(1));
            let step = |mut c: Vec<S>| {
                c.rotate_left(1);
                c.iter().map(inner).collect()
            };
            sum(&iterate(scalars(n, &p[0]), 10, step))
        }),
        steps!("vectors of scan", 10, |n, p| sums(&scan(vectors(n, &p[0]), &p[0], 9, |c, e| (mixed(&c, &e), ())).0)),
        steps!("vectors of iterate", 10, |n, p| sums(&iterate(vectors(n, &p[0]), 7, |c: Vec<V>| mixed(
            &c,
            &p[0].at(1)
        )))),
        steps!("vectors of while_loop", 10, |n, p| {
            let step = |(c, k): (Vec<V>, Count)| (mixed(&c, &p[0].at(1)), k + 1);
            sums(&while_loop((vectors(n, &p[0]), scalar(0i64)), |(_, k)| k.lt(5), step).0)
        }),
        steps!("vectors of a checkpointed scan", 10, |n, p| {
            let step = |c: Vec<V>, e: S| (mixed(&c, &e), ());
            sums(&Checkpoints::Every(3).scan(vectors(n, &p[0]), &p[0], 9, step).0)
        }),
        steps!("vectors of a scan with snapshots", 10, |n, p| {
            let step = |c: Vec<V>, e: S| (mixed(&c, &e), ());
            sums(&Checkpoints::Snapshots(2).scan(vectors(n, &p[0]), &p[0], 9, step).0)
        }),
        steps!("one carry of many is used", 10, |n, p| {
            scan(vectors(n, &p[0]), &p[0], 9, |c, e| (mixed(&c, &e), ())).0[0].sum()
        }),
        steps!("outputs of a scan", 16, |n, p| {
            let step =
                |c: S, e: S| ((&c * &e).sin(), (0..n).map(|k| (&c * (k as f64 + 0.5)).sin()).collect::<Vec<S>>());
            sums(&scan(p[0].at(0), &p[0], 9, step).1)
        }),
        steps!("vectors read by a while_loop", 16, |n, p| {
            let y = vectors(n, &p[0]);
            let step = |(c, k): (V, Count)| (y.iter().fold(c, |c, y| (c * y).sin()), k + 1);
            while_loop((p[0].clone(), scalar(0i64)), |(_, k)| k.lt(5), step).0.sum()
        }),
        steps!("conds in a loop", 12, |n, p| {
            let step = |c: S| (0..n).fold(c, |c, k| cond(c.gt(k as f64 * 0.1), || c.sin(), || &c * p[0].at(1)));
            iterate(p[0].at(0), 7, step)
        }),
        steps!("loops in a loop", 8, |n, p| {
            let step = |c: S| (0..n).fold(c, |c, k| iterate(c, 3, |c: S| c.sin() * p[0].at(k as i64 % 9)));
            iterate(p[0].at(0), 7, step)
        }),
        steps!(
            "a loop over parameters",
            10,
            many | _,
            p | sums(&iterate(p.clone(), 7, |c: Vec<V>| mixed(&c, &p[0].at(1))))
        ),
    ]
}

//! Logistic regression, in one pass over the points.

use crate::functions::{exp, ln_1p};
use crate::lanes::{Lanes, fused, plus, total};
use crate::machine::{Machine, compiled};

compiled! {
    /// The mean logistic loss of labels 0 and 1, and its derivative by the weights.
    pub fn logistic(w: &[f64], x: &[f64], y: &[f64], gradient: &mut [f64]) -> f64 = logistic_kernel;
}

/// Points whose losses are computed side by side, and which are in the nearest cache when their derivative is added.
const POINTS: usize = 8;

#[inline(always)]
fn logistic_kernel<M: Machine>(w: &[f64], x: &[f64], y: &[f64], gradient: &mut [f64]) -> f64 {
    let (count, columns) = (y.len() as f64, w.len());
    gradient.fill(0.0);
    let mut losses = [0.0; POINTS];
    for (x, y) in x.chunks(POINTS * columns).zip(y.chunks(POINTS)) {
        let (mut scores, mut labels) = ([0.0; POINTS], [0.0; POINTS]);
        labels[..y.len()].copy_from_slice(y);
        for at in 0..y.len() {
            scores[at] = dot::<M>(&x[at * columns..][..columns], w);
        }
        let (mut values, mut factors) = ([0.0; POINTS], [0.0; POINTS]);
        for at in 0..POINTS {
            let (z, y) = (scores[at], labels[at]);
            let small = exp::<M>(if z < 0.0 { z } else { -z });
            values[at] = (if z > 0.0 { z } else { 0.0 }) + ln_1p::<M>(small) - y * z;
            let probability = (if z < 0.0 { small } else { 1.0 }) / (1.0 + small);
            factors[at] = (probability - y) / count;
        }
        if y.len() == POINTS {
            for at in 0..POINTS {
                losses[at] += values[at];
            }
            let (rows, rest) = x.split_at(4 * columns);
            add_rows::<M>(gradient, rows, &factors[..4]);
            add_rows::<M>(gradient, rest, &factors[4..]);
        } else {
            for (at, row) in x.chunks_exact(columns).enumerate() {
                losses[0] += values[at];
                gradient.iter_mut().zip(row).for_each(|(sum, x)| *sum += factors[at] * x);
            }
        }
    }
    total(losses) / count
}

#[inline(always)]
fn dot<M: Machine>(a: &[f64], b: &[f64]) -> f64 {
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut sums: [Lanes; 2] = [[0.0; 8]; 2];
    let (a_pairs, a_last) = a.as_chunks::<2>();
    let (b_pairs, b_last) = b.as_chunks::<2>();
    for at in 0..a_pairs.len() {
        for part in 0..2 {
            sums[part] = fused::<M>(a_pairs[at][part], b_pairs[at][part], sums[part]);
        }
    }
    if let ([a], [b]) = (a_last, b_last) {
        sums[0] = fused::<M>(*a, *b, sums[0]);
    }
    let mut rest = 0.0;
    for at in 0..a_rest.len() {
        rest = M::fused(a_rest[at], b_rest[at], rest);
    }
    total(plus(sums[0], sums[1])) + rest
}

/// Adds four rows, times a factor each, which reads and writes the sums once.
#[inline(always)]
fn add_rows<M: Machine>(sums: &mut [f64], rows: &[f64], factors: &[f64]) {
    let columns = sums.len();
    let sums = &mut sums[..columns];
    let (first, rest) = rows.split_at(columns);
    let (second, rest) = rest.split_at(columns);
    let (third, fourth) = rest.split_at(columns);
    let fourth = &fourth[..columns];
    for at in 0..columns {
        let pair = M::fused(first[at], factors[0], M::fused(second[at], factors[1], sums[at]));
        sums[at] = M::fused(third[at], factors[2], M::fused(fourth[at], factors[3], pair));
    }
}

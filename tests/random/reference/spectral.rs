//! Functions of symmetric matrices by Cauchy's integrals, and determinants by expansion, with their derivatives.

// Formulas have subscripts.
#![allow(clippy::needless_range_loop)]

use super::Watch;
use super::matrix::{Rows, eigh};
use deltaray::linalg::SpectralFunction;
use std::f64::consts::TAU;

/// A complex number.
type Complex = (f64, f64);

fn times((a, b): Complex, (c, d): Complex) -> Complex {
    (a * c - b * d, a * d + b * c)
}

fn exponential((x, y): Complex) -> Complex {
    (x.exp() * y.cos(), x.exp() * y.sin())
}

fn power((x, y): Complex, exponent: f64) -> Complex {
    exponential((exponent * x.hypot(y).ln(), exponent * y.atan2(x)))
}

fn value(function: SpectralFunction, z: Complex) -> Complex {
    let (x, y) = z;
    match function {
        SpectralFunction::Exp => exponential(z),
        SpectralFunction::Ln => (x.hypot(y).ln(), y.atan2(x)),
        SpectralFunction::Sqrt => power(z, 0.5),
        SpectralFunction::Reciprocal => power(z, -1.0),
        SpectralFunction::Sin => (x.sin() * y.cosh(), x.cos() * y.sinh()),
        SpectralFunction::Cos => (x.cos() * y.cosh(), -x.sin() * y.sinh()),
        SpectralFunction::Power(exponent) => power(z, exponent.number()),
        other => panic!("the reference lacks {other:?}"),
    }
}

/// The derivative of a function of the symmetric part of a matrix along matrices: the integral of f(z) R E R E .. R around all
/// eigenvalues, where R = 1 / (z − A) is diagonal for eigenvectors.
pub(super) fn function(function: SpectralFunction, a: &Rows, moved: &[Rows], watch: &mut Watch) -> Rows {
    const POINTS: usize = 512;
    let n = a.len();
    // Nothing depends on the choice among vectors.
    let factors = eigh(a, &mut Watch::new(0.0));
    let (Some(low), Some(high)) = (factors[n].first(), factors[n].last()) else { return Vec::new() };
    let (centre, half) = ((low + high) / 2.0, (high - low) / 2.0);
    // The circle stays away from 0, where some functions end.
    let ends = !matches!(function, SpectralFunction::Exp | SpectralFunction::Sin | SpectralFunction::Cos);
    let radius = if ends { (half * centre).sqrt().max(centre * 0.2) } else { half + 1.0 };
    let precise = !ends || *low > high * 0.01;
    watch.jump(if precise { 1.0 } else { 0.0 }, false);
    if !(precise && low.is_finite() && high.is_finite()) {
        return vec![vec![f64::NAN; n]; n];
    }
    let inside = |e: &Rows| -> Rows {
        let entry = |i: usize, j: usize| -> f64 {
            let term = |p: usize, q: usize| factors[p][i] * 0.5 * (e[p][q] + e[q][p]) * factors[q][j];
            (0..n).map(|p| (0..n).map(|q| term(p, q)).sum::<f64>()).sum()
        };
        (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
    };
    let inner: Vec<Rows> = moved.iter().map(inside).collect();
    let mut orders = vec![Vec::new()];
    for at in 0..inner.len() {
        let longer = orders.iter().flat_map(|order: &Vec<usize>| {
            (0..=order.len()).map(move |place| [&order[..place], &[at], &order[place..]].concat())
        });
        orders = longer.collect();
    }
    let mut sum = vec![vec![0.0; n]; n];
    for point in 0..POINTS {
        let angle = TAU * (point as f64 + 0.5) / POINTS as f64;
        let arm = (radius * angle.cos(), radius * angle.sin());
        let z = (centre + arm.0, arm.1);
        let resolvent: Vec<Complex> = factors[n]
            .iter()
            .map(|x| {
                let (p, q) = (z.0 - x, z.1);
                (p / (p * p + q * q), -q / (p * p + q * q))
            })
            .collect();
        let weight = times(value(function, z), (arm.0 / POINTS as f64, arm.1 / POINTS as f64));
        for order in &orders {
            for row in 0..n {
                let mut line: Vec<Complex> = vec![(0.0, 0.0); n];
                line[row] = times(weight, resolvent[row]);
                for &at in order {
                    line = (0..n)
                        .map(|j| {
                            let (x, y) = (0..n).fold((0.0, 0.0), |(x, y), i| {
                                (x + line[i].0 * inner[at][i][j], y + line[i].1 * inner[at][i][j])
                            });
                            times((x, y), resolvent[j])
                        })
                        .collect();
                }
                line.iter().zip(&mut sum[row]).for_each(|((x, _), sum)| *sum += x);
            }
        }
    }
    let entry = |p: usize, q: usize| -> f64 {
        (0..n).map(|i| (0..n).map(|j| factors[p][i] * sum[i][j] * factors[q][j]).sum::<f64>()).sum()
    };
    (0..n).map(|p| (0..n).map(|q| entry(p, q)).collect()).collect()
}

/// The determinant by expansion along the first row.
pub(super) fn determinant(a: &Rows) -> f64 {
    let minor =
        |column: usize| -> Rows { a[1..].iter().map(|row| [&row[..column], &row[column + 1..]].concat()).collect() };
    let sign = |column: usize| if column.is_multiple_of(2) { 1.0 } else { -1.0 };
    match &a[..] {
        [] => 1.0,
        [first, ..] => (0..a.len()).map(|column| sign(column) * first[column] * determinant(&minor(column))).sum(),
    }
}

/// The derivative of a determinant along matrices: a row of each in the place of one of its own.
fn moved_determinant(a: &Rows, moved: &[Rows], replaced: &mut Vec<usize>) -> f64 {
    let Some((last, others)) = moved.split_last() else { return determinant(a) };
    let mut sum = 0.0;
    for row in 0..a.len() {
        if replaced.contains(&row) {
            continue;
        }
        let mut changed = a.clone();
        changed[row].clone_from(&last[row]);
        replaced.push(row);
        sum += moved_determinant(&changed, others, replaced);
        replaced.pop();
    }
    sum
}

/// The derivative of the cofactors along matrices.
pub(super) fn cofactors(a: &Rows, moved: &[Rows]) -> Rows {
    let n = a.len();
    let entry = |row: usize, column: usize| {
        let minor = |rows: &Rows| -> Rows {
            let others = rows.iter().enumerate().filter(|(at, _)| *at != row);
            others.map(|(_, line)| [&line[..column], &line[column + 1..]].concat()).collect()
        };
        let moved: Vec<Rows> = moved.iter().map(minor).collect();
        let sign = if (row + column).is_multiple_of(2) { 1.0 } else { -1.0 };
        sign * moved_determinant(&minor(a), &moved, &mut Vec::new())
    };
    (0..n).map(|row| (0..n).map(|column| entry(row, column)).collect()).collect()
}

//! Objectives of elements and of rows.

use crate::functions::{exp, ln, sin_cos, tanh};
use crate::lanes::{Lanes, largest, plus, sum, total};
use crate::machine::{Machine, compiled};

compiled! {
    /// Σ sin(x)·exp(−x²) + tanh(x), and its derivative.
    pub fn chain(x: &[f64], gradient: &mut [f64]) -> f64 = chain_kernel;
}

#[inline(always)]
fn chain_kernel<M: Machine>(x: &[f64], gradient: &mut [f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (chunks, rest) = x.as_chunks::<8>();
    let (derivatives, derivatives_of_rest) = gradient.as_chunks_mut::<8>();
    let derivatives = &mut derivatives[..chunks.len()];
    for at in 0..chunks.len() {
        let (values, slopes) = chain_lanes::<M>(chunks[at]);
        derivatives[at] = slopes;
        sums = plus(sums, values);
    }
    let mut padded = [0.0; 8];
    padded[..rest.len()].copy_from_slice(rest);
    // The function of the padding, zero, is zero.
    let (values, slopes) = chain_lanes::<M>(padded);
    derivatives_of_rest.copy_from_slice(&slopes[..rest.len()]);
    total(sums) + total(values)
}

/// The function's values and derivatives.
#[inline(always)]
fn chain_lanes<M: Machine>(x: Lanes) -> (Lanes, Lanes) {
    let (mut values, mut slopes) = ([0.0; 8], [0.0; 8]);
    for lane in 0..8 {
        let x = x[lane];
        let ((sine, cosine), bell, tanh) = (sin_cos::<M>(x), exp::<M>(-x * x), tanh::<M>(x));
        values[lane] = M::fused(sine, bell, tanh);
        slopes[lane] = M::fused(M::fused(-2.0 * x, sine, cosine), bell, M::fused(-tanh, tanh, 1.0));
    }
    (values, slopes)
}

compiled! {
    /// The sum over rows of log-sum-exp, and its derivative.
    pub fn log_sum_exp(x: &[f64], columns: usize, gradient: &mut [f64]) -> f64 = log_sum_exp_kernel;
}

/// Rows whose logarithms are computed side by side.
const ROWS: usize = 16;

#[inline(always)]
fn log_sum_exp_kernel<M: Machine>(x: &[f64], columns: usize, gradient: &mut [f64]) -> f64 {
    let (rows, mut sums) = (x.len() / columns, [0.0; ROWS]);
    for first in (0..rows).step_by(ROWS) {
        let count = ROWS.min(rows - first);
        // Rows that are missing at the end have 1 as their total, whose logarithm is 0.
        let mut totals = [1.0; ROWS];
        for at in 0..count {
            let row = &x[(first + at) * columns..][..columns];
            let derivatives = &mut gradient[(first + at) * columns..][..columns];
            let largest = largest(row);
            for column in 0..columns {
                derivatives[column] = exp::<M>(row[column] - largest);
            }
            totals[at] = sum(derivatives);
            sums[at] += largest;
            let factor = 1.0 / totals[at];
            for column in 0..columns {
                derivatives[column] *= factor;
            }
        }
        for at in 0..ROWS {
            sums[at] += ln::<M>(totals[at]);
        }
    }
    sum(&sums)
}

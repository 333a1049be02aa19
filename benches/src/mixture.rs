//! The posterior of a mixture of Gaussians, from sums over points of their second powers.

mod moments;

use crate::functions::{exp, ln};
use crate::lanes::{Aligned, BLOCK, Block, sum, total};
use crate::machine::{Machine, compiled};
use moments::{Moments, place};

/// A mixture of Gaussians, or a gradient by one. The inverse of a covariance is QᵀQ for a lower triangular matrix Q.
#[derive(Clone, Default)]
pub struct Mixture {
    /// Logarithms of the weights, up to a common term.
    pub alpha: Vec<f64>,
    /// A mean after the other.
    pub means: Vec<f64>,
    /// Logarithms of the diagonals of the matrices Q, of one after the other.
    pub log_diagonals: Vec<f64>,
    /// The elements below the diagonals of the matrices Q, matrix by matrix, column by column.
    pub lower: Vec<f64>,
}

/// A Wishart distribution, of the inverses of covariances.
#[derive(Clone, Copy)]
pub struct Wishart {
    pub gamma: f64,
    /// Degrees of freedom beyond d + 1.
    pub m: f64,
}

/// The memory that is kept from one call to the next, so that no call allocates it.
#[derive(Default)]
pub struct Workspace {
    /// The points in blocks; within each block dimension by dimension.
    points: Vec<Aligned<Block>>,
    /// How likely each component is for each point, component by component.
    shares: Vec<Aligned<Block>>,
}

compiled! {
    /// The logarithm of the posterior of a mixture, and its gradient.
    pub fn gaussian_mixture(
        mixture: &Mixture,
        points: &[f64],
        prior: Wishart,
        gradient: &mut Mixture,
        workspace: &mut Workspace,
    ) -> f64 = mixture_kernel;
}

#[inline(always)]
fn mixture_kernel<M: Machine>(
    mixture: &Mixture,
    points: &[f64],
    prior: Wishart,
    gradient: &mut Mixture,
    workspace: &mut Workspace,
) -> f64 {
    let (k, d) = (mixture.alpha.len(), mixture.means.len() / mixture.alpha.len());
    let (n, blocks) = (points.len() / d, (points.len() / d).div_ceil(BLOCK));
    let factors: Vec<Vec<f64>> = (0..k).map(|at| factor::<M>(mixture, d, at)).collect();
    workspace.points.resize(blocks * d, Aligned([0.0; BLOCK]));
    workspace.shares.resize(blocks * k, Aligned([0.0; BLOCK]));
    for (block, rows) in points.chunks(BLOCK * d).enumerate() {
        for (at, row) in rows.chunks_exact(d).enumerate() {
            for (column, x) in workspace.points[block * d..].iter_mut().zip(row) {
                column[at] = *x;
            }
        }
    }
    let mut value = 0.0;
    let mut centred = vec![Aligned([0.0; BLOCK]); d];
    for (block, x) in workspace.points.chunks_exact(d).enumerate() {
        for (at, factor) in factors.iter().enumerate() {
            centre(x, &mixture.means[at * d..][..d], &mut centred);
            let height = mixture.alpha[at] + mixture.log_diagonals[at * d..][..d].iter().sum::<f64>();
            workspace.shares[at * blocks + block] = scores::<M>(factor, &centred, height);
        }
        let count = (n - block * BLOCK).min(BLOCK);
        value += normalise::<M>(&mut workspace.shares[block..], blocks, count);
    }
    let largest = mixture.alpha.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = mixture.alpha.iter().map(|alpha| exp::<M>(alpha - largest)).collect();
    let weight = sum(&weights);
    let mut moments = Moments::new(d);
    for (at, (factor, shares)) in factors.iter().zip(workspace.shares.chunks_exact(blocks)).enumerate() {
        moments.clear();
        for (x, shares) in workspace.points.chunks_exact(d).zip(shares) {
            centre(x, &mixture.means[at * d..][..d], &mut centred);
            moments.add::<M>(&centred, shares);
        }
        moments.gradient(factor, prior, at, gradient);
        gradient.alpha[at] = total(moments.shares) - n as f64 * weights[at] / weight;
    }
    let squares: f64 = factors.iter().map(|factor| factor.iter().map(|x| x * x).sum::<f64>()).sum();
    let normaliser = largest + weight.ln() + d as f64 / 2.0 * std::f64::consts::TAU.ln();
    let log_volume = k as f64 * log_volume(prior, d) + prior.m * sum(&mixture.log_diagonals);
    value - n as f64 * normaliser + log_volume - 0.5 * prior.gamma.powi(2) * squares
}

/// The logarithm of the prior's normalising constant.
fn log_volume(prior: Wishart, d: usize) -> f64 {
    let freedom = prior.m + (d + 1) as f64;
    let gammas: f64 = (0..d).map(|at| libm::lgamma(0.5 * (freedom - at as f64))).sum();
    let log_gamma = gammas + (d * (d - 1)) as f64 / 4.0 * std::f64::consts::PI.ln();
    d as f64 * freedom * (prior.gamma.ln() - 0.5 * std::f64::consts::LN_2) - log_gamma
}

/// The matrix Q of a component, row by row up to the diagonal.
#[inline(always)]
fn factor<M: Machine>(mixture: &Mixture, d: usize, component: usize) -> Vec<f64> {
    let mut factor = vec![0.0; d * (d + 1) / 2];
    let mut lower = mixture.lower[component * d * (d - 1) / 2..].iter();
    for column in 0..d {
        factor[place(column, column)] = exp::<M>(mixture.log_diagonals[component * d + column]);
        for (row, x) in (column + 1..d).zip(&mut lower) {
            factor[place(row, column)] = *x;
        }
    }
    factor
}

#[inline(always)]
fn centre(points: &[Aligned<Block>], mean: &[f64], centred: &mut [Aligned<Block>]) {
    for row in 0..mean.len() {
        for at in 0..BLOCK {
            centred[row][at] = points[row][at] - mean[row];
        }
    }
}

/// height − |Q x|² / 2 for a block of points.
#[inline(always)]
fn scores<M: Machine>(factor: &[f64], centred: &[Aligned<Block>], height: f64) -> Aligned<Block> {
    let mut squares = [0.0; BLOCK];
    let d = centred.len();
    // Two rows at once read each coordinate once; the first row of an odd number stands alone.
    for row in (d % 2..d).step_by(2) {
        let (mut projected, mut below) = ([0.0; BLOCK], [0.0; BLOCK]);
        let factors = &factor[place(row, 0)..=place(row, row)];
        let factors_below = &factor[place(row + 1, 0)..=place(row + 1, row + 1)];
        for column in 0..=row {
            let x = &centred[column];
            for at in 0..BLOCK {
                projected[at] = M::fused(factors[column], x[at], projected[at]);
                below[at] = M::fused(factors_below[column], x[at], below[at]);
            }
        }
        for at in 0..BLOCK {
            below[at] = M::fused(factors_below[row + 1], centred[row + 1][at], below[at]);
            squares[at] = M::fused(projected[at], projected[at], M::fused(below[at], below[at], squares[at]));
        }
    }
    if d % 2 == 1 {
        for at in 0..BLOCK {
            let projected = factor[0] * centred[0][at];
            squares[at] = M::fused(projected, projected, squares[at]);
        }
    }
    for at in 0..BLOCK {
        squares[at] = M::fused(-0.5, squares[at], height);
    }
    Aligned(squares)
}

/// Turns scores into shares, and sums their log-sum-exps. The scores of a block lie `stride` apart.
#[inline(always)]
fn normalise<M: Machine>(scores: &mut [Aligned<Block>], stride: usize, count: usize) -> f64 {
    let (mut largest, mut totals) = ([f64::NEG_INFINITY; BLOCK], [0.0; BLOCK]);
    for scores in scores.iter().step_by(stride) {
        for at in 0..BLOCK {
            largest[at] = if scores[at] > largest[at] { scores[at] } else { largest[at] };
        }
    }
    for scores in scores.iter_mut().step_by(stride) {
        for at in 0..BLOCK {
            scores[at] = exp::<M>(scores[at] - largest[at]);
            totals[at] += scores[at];
        }
    }
    for at in 0..BLOCK {
        largest[at] += ln::<M>(totals[at]);
        // Where the last block has no points, nothing has a share.
        totals[at] = if at < count { 1.0 / totals[at] } else { 0.0 };
    }
    for scores in scores.iter_mut().step_by(stride) {
        for at in 0..BLOCK {
            scores[at] *= totals[at];
        }
    }
    sum(&largest[..count])
}

//! Fitting a mixture of Gaussians: the logarithm of its posterior probability, in single or double precision.

use deltaray::prelude::*;

/// A mixture of k Gaussians in d dimensions. The inverse of a covariance is QᵀQ for a lower triangular matrix Q.
#[derive(Tree)]
pub struct Mixture<A: Algebra, E: Float = f64> {
    /// Logarithms of the weights, up to a common term: [k].
    pub alpha: Vector<A, E>,
    /// Means: [k, d].
    pub means: Matrix<A, E>,
    /// Logarithms of the diagonals of the matrices Q: [k, d].
    pub log_diagonals: Matrix<A, E>,
    /// The elements below the diagonals of the matrices Q, column by column: [k, d (d − 1) / 2].
    pub lower: Matrix<A, E>,
}

/// A Wishart distribution, of the inverses of covariances.
#[derive(Tree)]
pub struct Wishart<A: Algebra, E: Float = f64> {
    pub gamma: Scalar<A, E>,
    /// Degrees of freedom beyond d + 1.
    pub m: Scalar<A, E>,
}

/// A number, in whichever precision it is computed with.
fn number<A: Algebra, E: Float>(x: f64) -> Scalar<A, E> {
    scalar(E::from_number(x))
}

/// For each element of a triangular matrix, row by row, its position in the diagonal followed by the columns below it.
fn positions<A: Algebra>(d: usize) -> Matrix<A, i64> {
    let mut positions = vec![-1; d * d];
    (0..d).for_each(|i| positions[i * d + i] = i as i64);
    let below = (0..d).flat_map(|column| (column + 1..d).map(move |row| row * d + column));
    below.zip(d as i64..).for_each(|(place, position)| positions[place] = position);
    Tensor::from_elements((d, d), positions)
}

/// The matrices Q: [k, d, d].
#[differentiable]
fn factors<E: Float>(mixture: &Mixture<E>) -> Tensor3<E> {
    let positions = positions(mixture.means.shape()[1]);
    let entries = concatenate(1, &[mixture.log_diagonals.exp(), mixture.lower]);
    build(entries.len(), |k| entries[k].gather(&positions))
}

/// ln Γ_d(a), the multivariate gamma function.
#[differentiable]
fn multivariate_lgamma<E: Float>(a: Scalar<E>, #[plain] d: usize) -> Scalar<E> {
    let halves = iota(d).cast::<E>() * 0.5;
    (a - halves).lgamma().sum() + number((d * (d - 1)) as f64 / 4.0 * std::f64::consts::PI.ln())
}

/// ln of the densities of points [n, d] in a mixture: [n].
#[differentiable]
pub fn log_densities<E: Float>(mixture: &Mixture<E>, points: &Matrix<E>) -> Vector<E> {
    let d = points.shape()[1] as f64;
    let factors = factors(mixture);
    let means: Matrix<E> = factors.contract(&mixture.means, "kij,kj->ki");
    let projected = points.contract_axes(&factors, [1], [2]) - means;
    let log_determinants = mixture.log_diagonals.sum_axis(1);
    let scores = mixture.alpha + log_determinants - projected.powi(2).sum_axis(2) * 0.5;
    let log_normaliser = mixture.alpha.logsumexp() + number(d / 2.0 * std::f64::consts::TAU.ln());
    scores.logsumexp_axis(1) - log_normaliser
}

/// ln of the density of points [n, d] in a mixture.
#[differentiable]
pub fn log_likelihood<E: Float>(mixture: &Mixture<E>, points: &Matrix<E>) -> Scalar<E> {
    log_densities(mixture, points).sum()
}

/// ln of the density of a mixture's inverses of covariances in a distribution of them.
#[differentiable]
pub fn log_prior<E: Float>(mixture: &Mixture<E>, prior: &Wishart<E>) -> Scalar<E> {
    let (k, d) = (mixture.means.len() as f64, mixture.means.shape()[1]);
    let freedom = prior.m + number((d + 1) as f64);
    let log_scale = prior.gamma.ln() - number(0.5 * std::f64::consts::LN_2);
    let log_volume = number(d as f64) * freedom * log_scale - multivariate_lgamma(&(0.5 * freedom), d);
    let distance = 0.5 * prior.gamma.powi(2) * factors(mixture).powi(2).sum();
    number(k) * log_volume - distance + prior.m * mixture.log_diagonals.sum()
}

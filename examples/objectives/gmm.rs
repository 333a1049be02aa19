//! Fitting a mixture of Gaussians: the logarithm of its posterior probability.

use deltaray::prelude::*;

/// A mixture of k Gaussians in d dimensions. The inverse of a covariance is QᵀQ for a lower triangular matrix Q.
#[derive(Tree)]
pub struct Mixture<A: Algebra> {
    /// Logarithms of the weights, up to a common term: [k].
    pub alpha: Vector<A, f64>,
    /// Means: [k, d].
    pub means: Matrix<A, f64>,
    /// Logarithms of the diagonals of the matrices Q: [k, d].
    pub log_diagonals: Matrix<A, f64>,
    /// What is below the diagonals of the matrices Q, column by column: [k, d (d − 1) / 2].
    pub lower: Matrix<A, f64>,
}

/// A Wishart distribution, of the inverses of covariances.
#[derive(Tree)]
pub struct Wishart<A: Algebra> {
    pub gamma: Scalar<A, f64>,
    /// Degrees of freedom beyond d + 1.
    pub m: Scalar<A, f64>,
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
fn factors<A: Algebra>(mixture: &Mixture<A>) -> Tensor3<A, f64> {
    let positions = positions(mixture.means.shape()[1]);
    let entries = concatenate(1, &[mixture.log_diagonals.exp(), mixture.lower.clone()]);
    build(entries.len(), |k| entries.at(&k).gather(&positions))
}

/// ln Γ_d(a), the multivariate gamma function.
fn multivariate_lgamma<A: Algebra>(a: Scalar<A, f64>, d: usize) -> Scalar<A, f64> {
    let halves = 0.5 * iota(d).cast::<f64>();
    (a - halves).lgamma().sum() + (d * (d - 1)) as f64 / 4.0 * std::f64::consts::PI.ln()
}

/// ln of the density of points [n, d] in a mixture.
pub fn log_likelihood<A: Algebra>(mixture: &Mixture<A>, points: &Matrix<A, f64>) -> Scalar<A, f64> {
    let (n, d) = (points.len() as f64, points.shape()[1] as f64);
    let factors = factors(mixture);
    let means: Matrix<A, f64> = factors.contract(&mixture.means, "kij,kj->ki");
    let projected = points.contract_axes(&factors, [1], [2]) - means;
    let log_determinants = mixture.log_diagonals.sum_axis(1);
    let scores = &mixture.alpha + log_determinants - 0.5 * projected.powi(2).sum_axis(2);
    let log_normaliser = mixture.alpha.logsumexp() + d / 2.0 * std::f64::consts::TAU.ln();
    scores.logsumexp_axis(1).sum() - n * log_normaliser
}

/// ln of the density of a mixture's inverses of covariances in a distribution of them.
pub fn log_prior<A: Algebra>(mixture: &Mixture<A>, prior: &Wishart<A>) -> Scalar<A, f64> {
    let (k, d) = (mixture.means.len() as f64, mixture.means.shape()[1]);
    let freedom = &prior.m + (d + 1) as f64;
    let log_volume =
        d as f64 * &freedom * (prior.gamma.ln() - 0.5 * std::f64::consts::LN_2) - multivariate_lgamma(0.5 * freedom, d);
    k * log_volume - 0.5 * prior.gamma.powi(2) * factors(mixture).powi(2).sum() + &prior.m * mixture.log_diagonals.sum()
}

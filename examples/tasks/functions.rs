//! The objectives, as users write them.

use crate::objectives::gmm::{Mixture, Wishart, log_likelihood, log_prior};
use deltaray::prelude::*;

/// Σ sin(x)·exp(−x²) + tanh(x).
#[differentiable]
pub fn chain(x: Vector<f64>) -> Scalar<f64> {
    (x.sin() * (-(x * x)).exp() + x.tanh()).sum()
}

/// Σ w · (running sum of x)².
#[differentiable]
pub fn cumulative_sum((x, w): (Vector<f64>, Vector<f64>)) -> Scalar<f64> {
    (w * x.cumsum(0).powi(2)).sum()
}

/// Σ w · (running product of x).
#[differentiable]
pub fn cumulative_product((x, w): (Vector<f64>, Vector<f64>)) -> Scalar<f64> {
    (w * x.cumprod(0)).sum()
}

/// The sum over rows of log-sum-exp.
#[differentiable]
pub fn log_sum_exp(x: Matrix<f64>) -> Scalar<f64> {
    x.logsumexp_axis(1).sum()
}

/// The mean logistic loss of labels 0 and 1.
#[differentiable]
pub fn logistic((w, x, y): (Vector<f64>, Matrix<f64>, Vector<f64>)) -> Scalar<f64> {
    let z = x.dot(w);
    (z.softplus() - y * z).mean()
}

/// The squared distances of points [n, d] from the nearest of the centres [k, d], summed.
#[differentiable]
pub fn k_means((centres, points): (Matrix<f32>, Matrix<f32>)) -> Scalar<f32> {
    (points.insert_axis(1) - centres).powi(2).sum_axis(2).min_axis(1).sum()
}

/// The gradient of [`k_means`] and the diagonal of its Hessian.
#[differentiable]
pub fn k_means_derivatives((centres, points): (Matrix<f32>, Matrix<f32>)) -> (Matrix<f32>, Matrix<f32>) {
    let along = ones(&centres.shape()[..]).into_rank();
    jvp(|(centres, points)| grad(k_means, (centres, points)), (centres, points), &along)
}

/// Points as the rows of a sparse matrix: the nonzero values, point by point.
#[derive(Tree)]
pub struct SparsePoints<A: Algebra> {
    /// Where each point's values begin, and where the last one's end: [n + 1].
    pub offsets: Vector<A, i64>,
    pub columns: Vector<A, i64>,
    pub values: Vector<A, f32>,
}

/// The squared distances of sparse points from the nearest of the centres [k, d], summed. Where a point has no value, only the
/// centre counts: the distance is the sum of all squares of the centre, plus a correction for each value.
#[differentiable]
pub fn sparse_k_means((centres, points): (Matrix<f32>, SparsePoints)) -> Scalar<f32> {
    let segments = Segments::by_offset(&points.offsets, points.values.len());
    let values = points.values.insert_axis(1);
    let changes = values * (values - 2.0 * centres.transpose().gather(&points.columns));
    (changes.segment_sum(&segments) + centres.powi(2).sum_axis(1)).min_axis(1).sum()
}

/// The gradient of [`sparse_k_means`] and the diagonal of its Hessian.
#[differentiable]
pub fn sparse_k_means_derivatives((centres, points): (Matrix<f32>, SparsePoints)) -> (Matrix<f32>, Matrix<f32>) {
    let along = ones(&centres.shape()[..]).into_rank();
    jvp(|(centres, points)| grad(sparse_k_means, (centres, points)), (centres, points), &along)
}

/// The posterior of a mixture of Gaussians.
#[differentiable]
pub fn gaussian_mixture<E: Float>((mixture, points, prior): (Mixture<E>, Matrix<E>, Wishart<E>)) -> Scalar<E> {
    log_likelihood(mixture, points) + log_prior(mixture, prior)
}

//! The objectives, as users write them.

use crate::objectives::gmm::{Mixture, Wishart, log_likelihood, log_prior};
use deltaray::prelude::*;

/// Σ sin(x)·exp(−x²) + tanh(x).
pub fn chain<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    (x.sin() * (-(x * x)).exp() + x.tanh()).sum()
}

/// Σ w · (running sum of x)².
pub fn cumulative_sum<A: Algebra>((x, w): &(Vector<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
    (w * x.cumsum(0).powi(2)).sum()
}

/// Σ w · (running product of x).
pub fn cumulative_product<A: Algebra>((x, w): &(Vector<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
    (w * x.cumprod(0)).sum()
}

/// The sum over rows of log-sum-exp.
pub fn log_sum_exp<A: Algebra>(x: &Matrix<A, f64>) -> Scalar<A, f64> {
    x.logsumexp_axis(1).sum()
}

/// The mean logistic loss of labels 0 and 1.
pub fn logistic<A: Algebra>((w, x, y): &(Vector<A, f64>, Matrix<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
    let z = x.dot(w);
    (z.softplus() - y * z).mean()
}

/// The squared distances of points [n, d] from the nearest of the centres [k, d], summed.
pub fn k_means<A: Algebra>((centres, points): &(Matrix<A, f32>, Matrix<A, f32>)) -> Scalar<A, f32> {
    (points.insert_axis(1) - centres).powi(2).sum_axis(2).min_axis(1).sum()
}

/// The gradient of [`k_means`] and the diagonal of its Hessian.
pub fn k_means_derivatives<A: Algebra>(
    (centres, points): &(Matrix<A, f32>, Matrix<A, f32>),
) -> (Matrix<A, f32>, Matrix<A, f32>) {
    let along = ones(&centres.shape()[..]).into_rank();
    jvp(|(centres, points)| grad(k_means, (centres, points)), (centres, points), &along)
}

/// A layer of a perceptron.
#[derive(Tree)]
pub struct Layer<A: Algebra> {
    pub weights: Matrix<A, f32>,
    pub bias: Vector<A, f32>,
}

/// The mean cross-entropy of a perceptron with rectified hidden layers.
pub fn perceptron<A: Algebra>(
    (layers, images, digits): &(Vec<Layer<A>>, Matrix<A, f32>, Vector<A, i64>),
) -> Scalar<A, f32> {
    let mut x = images.clone();
    for (position, layer) in layers.iter().enumerate() {
        x = x.dot(&layer.weights) + &layer.bias;
        if position + 1 < layers.len() {
            x = x.relu();
        }
    }
    deltaray::functions::softmax_cross_entropy(&x, digits)
}

/// The posterior of a mixture of Gaussians.
pub fn gaussian_mixture<A: Algebra>(
    (mixture, points, prior): &(Mixture<A>, Matrix<A, f64>, Wishart<A>),
) -> Scalar<A, f64> {
    log_likelihood(mixture, points) + log_prior(mixture, prior)
}

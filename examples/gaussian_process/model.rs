//! The Gaussian process, as a user of deltaray writes it: its marginal likelihood, and what it predicts.

use deltaray::linalg::{CholeskyFactor, Triangle, quadratic_form, solve_triangular};
use deltaray::prelude::*;

/// The hyperparameters: the logarithms of the kernel's length and amplitude, and of the standard deviation of the noise.
#[derive(Tree, Clone)]
#[tree(arithmetic)]
pub struct Hyperparameters<A: Algebra> {
    pub log_length: Scalar<A, f64>,
    pub log_amplitude: Scalar<A, f64>,
    pub log_noise: Scalar<A, f64>,
}

/// Observations `y` of a function at the places `x`.
#[derive(Tree, Clone)]
pub struct Points<A: Algebra> {
    pub x: Vector<A, f64>,
    pub y: Vector<A, f64>,
}

/// The posterior of the function, given observations. Every prediction solves with one factor, which is computed once.
#[derive(Tree)]
pub struct Posterior<A: Algebra> {
    hyperparameters: Hyperparameters<A>,
    x: Vector<A, f64>,
    /// The factor of the covariance K of the observations.
    factor: CholeskyFactor<A, f64, R2>,
    /// K⁻¹ y
    weights: Vector<A, f64>,
}

/// The squared-exponential kernel of all pairs: amplitude² exp(−(a − b)² / (2 length²)).
#[differentiable]
fn kernel(hyperparameters: &Hyperparameters, a: Vector<f64>, b: Vector<f64>) -> Matrix<f64> {
    let distance = (a.insert_axis(1) - b.insert_axis(0)) * (-hyperparameters.log_length).exp();
    (2.0 * hyperparameters.log_amplitude - 0.5 * distance.powi(2)).exp()
}

/// The covariance of observations at some places.
#[differentiable]
pub fn covariance(hyperparameters: &Hyperparameters, x: Vector<f64>) -> Matrix<f64> {
    kernel(hyperparameters, x, x) + (2.0 * hyperparameters.log_noise).exp() * eye(x.len())
}

/// The negative logarithm of the marginal likelihood, −ln p(y | x), which the fit minimises.
#[differentiable]
pub fn surprise(hyperparameters: Hyperparameters, points: Points) -> Scalar<f64> {
    let factor = CholeskyFactor::new(&covariance(hyperparameters, &points.x));
    let constant = points.x.len() as f64 * std::f64::consts::TAU.ln();
    0.5 * (quadratic_form(&factor, &points.y) + factor.log_determinant() + constant)
}

/// The posterior, given hyperparameters and observations.
#[differentiable]
pub fn condition(hyperparameters: Hyperparameters, points: Points) -> Posterior {
    let factor = CholeskyFactor::new(&covariance(hyperparameters, &points.x));
    let weights = factor.solve(&points.y);
    Posterior { hyperparameters, x: points.x, factor, weights }
}

/// Mean and standard deviation of new observations at some places.
#[differentiable]
pub fn predict(posterior: Posterior, at: Vector<f64>) -> (Vector<f64>, Vector<f64>) {
    let hyperparameters = &posterior.hyperparameters;
    let cross = kernel(hyperparameters, &posterior.x, at);
    let explained = solve_triangular(&posterior.factor.lower, &cross, Triangle::LOWER).powi(2).sum_axis(0);
    let prior = (2.0 * hyperparameters.log_amplitude).exp() + (2.0 * hyperparameters.log_noise).exp();
    (posterior.weights.dot(&cross), (prior - explained).sqrt())
}

impl Hyperparameters<Concrete> {
    pub fn of(length: f64, amplitude: f64, noise: f64) -> Self {
        Hyperparameters {
            log_length: scalar(length.ln()),
            log_amplitude: scalar(amplitude.ln()),
            log_noise: scalar(noise.ln()),
        }
    }

    /// Length, amplitude and noise, with their names.
    pub fn named(&self) -> [(&'static str, f64); 3] {
        let value = |logarithm: &Scalar<Concrete, f64>| logarithm.item().exp();
        [
            ("length", value(&self.log_length)),
            ("amplitude", value(&self.log_amplitude)),
            ("noise", value(&self.log_noise)),
        ]
    }
}

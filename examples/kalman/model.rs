//! The Kalman filter and the smoother of Rauch, Tung and Striebel, as a user of deltaray writes them: loops over time.

use deltaray::linalg::{CholeskyFactor, quadratic_form, solve_spd};
use deltaray::prelude::*;

/// The parameters: logarithms of standard deviations, of the noise in each input of the system and in each measurement.
#[derive(Tree, Clone)]
#[tree(arithmetic)]
pub struct Noise<A: Algebra> {
    pub log_process: Vector<A, f64>,
    pub log_measurement: Vector<A, f64>,
}

/// A normal distribution of states.
#[derive(Tree, Clone)]
pub struct Estimate<A: Algebra> {
    pub mean: Vector<A, f64>,
    pub covariance: Matrix<A, f64>,
}

/// States follow x′ = F x + G w, with noise w; measured is y = H x + v, with noise v.
#[derive(Tree, Clone)]
pub struct System<A: Algebra> {
    /// F
    pub transition: Matrix<A, f64>,
    /// G
    pub input: Matrix<A, f64>,
    /// H
    pub measurement: Matrix<A, f64>,
    /// The distribution of the state before the first step.
    pub start: Estimate<A>,
}

/// The filter's estimates at each step: of the state before its measurement and after it, and ln p of the measurement.
#[derive(Tree)]
pub struct Filtered<A: Algebra> {
    pub predicted_means: Matrix<A, f64>,
    pub predicted_covariances: Tensor3<A, f64>,
    pub means: Matrix<A, f64>,
    pub covariances: Tensor3<A, f64>,
    pub log_densities: Vector<A, f64>,
}

/// B D Bᵀ, where D is diagonal.
#[differentiable]
fn sandwich(b: Matrix<f64>, diagonal: Vector<f64>) -> Matrix<f64> {
    (b * diagonal).dot(&b.t())
}

/// The filter over measurements, a row for each step.
#[differentiable]
pub fn filter(noise: &Noise, system: &System, measurements: Matrix<f64>) -> Filtered {
    let System { transition, input, measurement, start } = system;
    let (steps, outputs) = (measurements.len(), measurement.len());
    let process_noise = sandwich(input, &(2.0 * noise.log_process).exp());
    let measurement_noise = eye(outputs) * (2.0 * noise.log_measurement).exp();
    let constant = outputs as f64 * std::f64::consts::TAU.ln();
    let step = |(mean, covariance), measured: Vector<f64>| {
        let predicted_mean = transition.dot(mean);
        let predicted = transition.dot(covariance).dot(&transition.t()) + process_noise;
        let cross = measurement.dot(&predicted);
        let factor = CholeskyFactor::new(&(cross.dot(&measurement.t()) + measurement_noise));
        let innovation = measured - measurement.dot(&predicted_mean);
        let log_density = -0.5 * (quadratic_form(&factor, &innovation) + factor.log_determinant() + constant);
        // The transpose of Kalman's gain.
        let gain = factor.solve(&cross);
        let mean = predicted_mean + innovation.dot(&gain);
        let covariance = predicted - cross.t().dot(&gain);
        ((mean, covariance), (predicted_mean, predicted, mean, covariance, log_density))
    };
    let (_, (predicted_means, predicted_covariances, means, covariances, log_densities)) =
        scan((start.mean, start.covariance), measurements, steps, step);
    Filtered { predicted_means, predicted_covariances, means, covariances, log_densities }
}

/// The negative logarithm of the likelihood of all measurements, which learning minimises.
#[differentiable]
pub fn surprise(noise: Noise, system: System, measurements: Matrix<f64>) -> Scalar<f64> {
    -filter(noise, system, measurements).log_densities.sum()
}

/// The states after each step, given all measurements: the smoother goes back from where the filter ends.
#[differentiable]
pub fn smooth(filtered: &Filtered, system: &System) -> (Matrix<f64>, Tensor3<f64>) {
    let last = filtered.means.len() - 1;
    let inputs = (
        filtered.means[..last],
        filtered.covariances[..last],
        filtered.predicted_means[1..],
        filtered.predicted_covariances[1..],
    );
    let end = (filtered.means[last], filtered.covariances[last]);
    let (_, (means, covariances)) = scan_reverse(
        end,
        &inputs,
        last,
        |(next_mean, next): (Vector<f64>, Matrix<f64>), (mean, covariance, predicted_mean, predicted)| {
            // The transpose of the smoother's gain.
            let gain = solve_spd(&predicted, &system.transition.dot(&covariance));
            let mean = mean + (next_mean - predicted_mean).dot(&gain);
            let covariance = covariance + gain.t().dot(&(next - predicted)).dot(&gain);
            ((mean, covariance), (mean, covariance))
        },
    );
    (concatenate(0, &[means, end.0.insert_axis(0)]), concatenate(0, &[covariances, end.1.insert_axis(0)]))
}

/// Means of the states after each step: of the filter, which knows the measurements up to that step, and of the smoother.
#[differentiable]
pub fn track(noise: Noise, system: System, measurements: Matrix<f64>) -> (Matrix<f64>, Matrix<f64>) {
    let filtered = filter(noise, system, measurements);
    let (smoothed, _) = smooth(&filtered, system);
    (filtered.means, smoothed)
}

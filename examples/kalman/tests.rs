//! Filter and smoother beside one large normal distribution, the gradient beside finite differences, and what is learnt.

use super::*;
use crate::model::{Noise, System, filter, smooth, surprise};
use deltaray::linalg::{CholeskyFactor, kron, matrix_power, quadratic_form};
use deltaray::tensor::TreeArithmetic;

type M = Matrix<Concrete, f64>;

fn simulated(masses: usize, steps: usize) -> (System<Concrete>, M, M) {
    let system = data::masses(masses);
    let (states, measurements) = data::simulate(&system, &data::truth(masses), steps, 1);
    (system, states, measurements)
}

/// The logarithm of the density of all measurements, and mean and covariance of all states given these, by the normal
/// distribution of states and measurements together.
fn all_at_once(
    noise: &Noise<Concrete>,
    system: &System<Concrete>,
    measurements: &M,
) -> (f64, Vector<Concrete, f64>, M) {
    let (steps, outputs) = (measurements.len(), system.measurement.len());
    let dimension = system.transition.len();
    // States are linear in the first one and the inputs: row by row of blocks.
    let powers: Vec<M> = (0..=steps as i32).map(|power| matrix_power(&system.transition, power)).collect();
    let row = |step: usize| {
        let of_input = |from: usize| match step.checked_sub(from) {
            Some(power) => powers[power].dot(&system.input),
            None => zeros((dimension, outputs)),
        };
        let blocks: Vec<M> = [powers[step].clone()].into_iter().chain((1..=steps).map(of_input)).collect();
        concatenate(1, &blocks)
    };
    let linear = concatenate(0, &(1..=steps).map(row).collect::<Vec<M>>());
    let repeated = |log: &Vector<Concrete, f64>| concatenate(0, &vec![(2.0 * log).exp(); steps]);
    let variances = concatenate(0, &[ones(dimension), repeated(&noise.log_process)]);
    let states = (&linear * &variances).dot(&linear.transpose());
    let measured: M = kron(&eye(steps), &system.measurement);
    let cross = states.dot(&measured.transpose());
    let covariance = measured.dot(&cross) + eye(steps * outputs) * repeated(&noise.log_measurement);
    let (factor, y) = (CholeskyFactor::new(&covariance), measurements.flatten());
    let constant = (steps * outputs) as f64 * std::f64::consts::TAU.ln();
    let log_density = -0.5 * (quadratic_form(&factor, &y) + factor.log_determinant() + constant);
    let explained = cross.dot(&factor.solve(&cross.transpose()));
    (log_density.item(), cross.dot(&factor.solve(&y)), states - explained)
}

#[test]
fn filter_and_smoother_are_those_of_one_large_distribution() {
    for (masses, steps) in [(1, 1), (2, 7), (3, 4)] {
        let (system, _, measurements) = simulated(masses, steps);
        let noise = data::guess(masses).plus(&data::truth(masses)).scaled(0.5);
        let (log_density, means, covariance) = all_at_once(&noise, &system, &measurements);
        let filtered = filter(&noise, &system, &measurements);
        let found = filtered.log_densities.sum().item();
        assert!((found - log_density).abs() <= 1e-10 * log_density.abs(), "{found} instead of {log_density}");
        let (smoothed, covariances) = smooth(&filtered, &system);
        let off = (smoothed.flatten() - means).abs().max_all().item();
        assert!(off <= 1e-10, "means are off by {off}");
        for step in 0..steps {
            let own = step * 2 * masses..(step + 1) * 2 * masses;
            let expected = covariance.slice(0, own.clone()).slice(1, own);
            let off = (covariances.at(step) - expected).abs().max_all().item();
            assert!(off <= 1e-10, "the covariance of step {step} is off by {off}");
        }
    }
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    let (system, _, measurements) = simulated(2, 25);
    let at = Noise { log_process: vec![-0.8, -0.3].into(), log_measurement: vec![-1.1, -0.9].into() };
    let likelihood = Likelihood::new(&system, &measurements, false).expect("it is compiled");
    let (value, gradient) = likelihood.value_and_gradient(&at).expect("it runs");
    let surprise_at = |at: &Noise<Concrete>| surprise(at, &system, &measurements).item();
    assert!((value - surprise_at(&at)).abs() <= 1e-12 * value.abs());
    let unit = |place: usize| -> Vector<Concrete, f64> {
        (0..2).map(|at| f64::from(u8::from(at == place))).collect::<Vec<_>>().into()
    };
    // The elements after the second of each are those of neither.
    for place in 0..4 {
        let along = Noise { log_process: unit(place), log_measurement: unit(place.wrapping_sub(2)) };
        let step = 1e-5;
        let value = |by: f64| surprise_at(&at.plus(&along.scaled(by)));
        let expected = (value(step) - value(-step)) / (2.0 * step);
        let found = gradient.dot::<f64>(&along).item();
        assert!((found - expected).abs() <= 1e-7 * (1.0 + expected.abs()), "{found} instead of {expected}");
    }
}

#[test]
fn what_is_learnt_is_likelier_and_near_the_truth() {
    let (system, states, measurements) = simulated(2, 200);
    let likelihood = Likelihood::new(&system, &measurements, false).expect("it is compiled");
    let mut values = Vec::new();
    let learnt = likelihood.learn(data::guess(2), |value| values.push(value)).expect("it runs").parameters;
    assert!(values.is_sorted_by(|before, after| before < after), "{values:?}");
    assert!(values[values.len() - 1] > values[0] + 100.0, "{values:?}");
    let truth = data::truth(2);
    assert!(values[values.len() - 1] >= -surprise(&truth, &system, &measurements).item());
    // The standard errors of logarithms are some times 1 / √(2 · 200) = 0.05.
    let off = ravel::<Concrete, f64, _>(&learnt.minus(&truth)).0.abs().max_all().item();
    assert!(off <= 0.25, "off by {off}");

    let error = |of: &M| root_mean_square(&(of - &states));
    let (filtered, smoothed) = track(&learnt, &system, &measurements);
    assert!(error(&smoothed) <= 0.9 * error(&filtered), "{} and {}", error(&smoothed), error(&filtered));
    // Learnt noise is of use.
    let (guessed, _) = track(&data::guess(2), &system, &measurements);
    assert!(error(&filtered) < error(&guessed), "{} and {}", error(&filtered), error(&guessed));
}

#[test]
fn what_is_no_option_is_named() {
    let parse = |line: &str| Options::parse(line.split_whitespace().map(String::from));
    assert!(parse("--dimension 20").is_ok_and(|options| options.is_some_and(|options| options.masses == 10)));
    for wrong in ["--dimension 3", "--dimension 22", "--dimension 0"] {
        assert!(parse(wrong).is_err_and(|problem| problem.contains("--dimension")));
    }
}

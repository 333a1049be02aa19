//! Masses on a line that are joined by springs and pushed at random, and measurements of their positions.

use super::model::{Estimate, Noise, System};
use crate::random::Random;
use deltaray::prelude::*;

/// The time of a step.
const TIME: f64 = 0.2;
/// The stiffness of springs: one at each side of every mass, the last ones to walls, and one from every mass to its place.
const STIFFNESS: f64 = 1.0;
const DAMPING: f64 = 0.2;

/// Masses whose positions come before their velocities in the state, which has twice as many elements.
pub fn masses(count: usize) -> System<Concrete> {
    let identity: Matrix<Concrete, f64> = eye(count);
    let is_beside = (0..count * count).map(|at| (at / count).abs_diff(at % count) == 1).collect();
    let springs = 3.0 * &identity - Matrix::from_elements((count, count), is_beside).cast::<f64>();
    // The velocity after a step, by positions and velocities before it. Positions move by the velocity after it.
    let velocity = concatenate(1, &[-TIME * STIFFNESS * springs, (1.0 - TIME * DAMPING) * &identity]);
    let measurement = concatenate(1, &[identity.clone(), zeros((count, count))]);
    System {
        transition: concatenate(0, &[&measurement + TIME * &velocity, velocity]),
        input: concatenate(0, &[TIME * &identity, identity]),
        measurement,
        start: Estimate { mean: zeros(2 * count), covariance: eye(2 * count) },
    }
}

/// The noise of the simulation. Every mass is pushed and measured differently.
pub fn truth(count: usize) -> Noise<Concrete> {
    let spread = |low: f64, high: f64| -> Vector<Concrete, f64> {
        let share = |at: usize| if count > 1 { at as f64 / (count - 1) as f64 } else { 0.5 };
        (0..count).map(|at| (low * (high / low).powf(share(at))).ln()).collect::<Vec<_>>().into()
    };
    Noise { log_process: spread(0.3, 0.6), log_measurement: spread(0.4, 0.2) }
}

/// Noise to begin learning with.
pub fn guess(count: usize) -> Noise<Concrete> {
    Noise { log_process: zeros(count), log_measurement: zeros(count) }
}

/// States after each step, and measurements of them, the same in every run.
pub fn simulate(
    system: &System<Concrete>,
    noise: &Noise<Concrete>,
    steps: usize,
    seed: u64,
) -> (Matrix<Concrete, f64>, Matrix<Concrete, f64>) {
    let mut random = Random::new(seed);
    let mut normal =
        |count: usize| -> Vector<Concrete, f64> { (0..count).map(|_| random.normal()).collect::<Vec<_>>().into() };
    let count = noise.log_process.len();
    let mut state = normal(2 * count);
    let (mut states, mut measurements) = (Vec::new(), Vec::new());
    for _ in 0..steps {
        let push = noise.log_process.exp() * normal(count);
        state = system.transition.dot(&state) + system.input.dot(&push);
        measurements.push(system.measurement.dot(&state) + noise.log_measurement.exp() * normal(count));
        states.push(state.clone());
    }
    (stack(&states), stack(&measurements))
}

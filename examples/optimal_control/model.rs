//! A chain of masses on springs in three dimensions: one end is fixed, and the velocity of the other is controlled. From a state
//! out of balance, it is to come to rest soon, with the free end at a place. The model is that of "Efficient direct multiple shooting
//! for nonlinear model predictive control on long horizons" (Kirches, Wirsching, Bock, Schlöder; 2012).

use deltaray::prelude::*;

const MASS: f64 = 0.03;
const SPRING: f64 = 1.0;
const LENGTH: f64 = 0.033;
const STEP: f64 = 0.2;

/// The masses between the ends.
pub const MASSES: usize = 3;
/// The numbers of a state: positions of all masses and the free end, and velocities of the masses.
pub const STATE: usize = 6 * MASSES + 3;
/// The numbers of a control: the velocity of the free end.
pub const CONTROL: usize = 3;

/// An optimal-control problem, discretised by multiple shooting.
#[derive(Tree, Clone)]
pub struct Problem<A: Algebra> {
    /// The costs.
    pub f: Scalar<A, f64>,
    /// The first state without the given one, and states without what the steps before them result in: all zero in a solution.
    pub g: Vector<A, f64>,
}

/// The number of variables for so many stages.
pub fn variables(stages: usize) -> usize {
    stages * (STATE + CONTROL) + STATE
}

/// Costs and constraints. The variables are a state and a control for each stage, and the last state.
#[differentiable]
pub fn chain(x: Vector<f64>, start: Vector<f64>) -> Problem<A> {
    let stages = x.len() / (STATE + CONTROL);
    let all = x[..x.len() - STATE].reshape((stages, STATE + CONTROL));
    let last = x[x.len() - STATE..].reshape((1, STATE));
    let (states, controls) = (all.slice(1, ..STATE), all.slice(1, STATE..));
    let next = runge_kutta(&states, &controls);
    let after = concatenate(0, &[states.slice(0, 1..), last]);
    let target: Vector<A, f64> = constant(&Vector::from(vec![1.0, 0.0, 0.0]));
    let end = 3 * MASSES;
    let costs = 25.0 * (after.slice(1, end..end + 3) - target).powi(2).sum()
        + after.slice(1, end + 3..).powi(2).sum()
        + 0.01 * controls.powi(2).sum();
    let first = states.at(0) - start;
    Problem { f: costs, g: concatenate(0, &[first, (after - next).flatten()]) }
}

/// States after a step, by the method of fourth order.
#[differentiable]
fn runge_kutta(states: Matrix<f64>, controls: Matrix<f64>) -> Matrix<f64> {
    let k1 = rates(states, controls);
    let k2 = rates(&(states + 0.5 * STEP * k1), controls);
    let k3 = rates(&(states + 0.5 * STEP * k2), controls);
    let k4 = rates(&(states + STEP * k3), controls);
    states + STEP / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
}

/// The derivatives of states by time.
#[differentiable]
fn rates(states: Matrix<f64>, controls: Matrix<f64>) -> Matrix<f64> {
    let stages = states.len();
    let positions = states.slice(1, ..3 * MASSES + 3).reshape((stages, MASSES + 1, 3));
    let velocities = states.slice(1, 3 * MASSES + 3..);
    let links = positions - positions.slice(1, ..MASSES).pad(1, 1, 0);
    let distances = links.powi(2).sum_axis(2).sqrt().insert_axis(2);
    let forces = SPRING / MASS * (1.0 - LENGTH / distances) * links;
    let gravity: Vector<A, f64> = constant(&Vector::from(vec![0.0, 0.0, -9.81]));
    let accelerations = forces.slice(1, 1..) - forces.slice(1, ..MASSES) + gravity;
    concatenate(1, &[velocities, controls.clone(), accelerations.reshape((stages, 3 * MASSES))])
}

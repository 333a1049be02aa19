//! Observations that are drawn from a Gaussian process, the same in every run.

use crate::model::{Hyperparameters, Points, covariance};
use crate::random::Random;
use deltaray::linalg::cholesky;
use deltaray::prelude::*;

/// The end of the interval from 0 that places are drawn from: so many lengths of the kernel that its amplitude shows.
pub const RANGE: f64 = 40.0;

/// The hyperparameters of the process that is drawn from.
pub fn truth() -> Hyperparameters<Concrete> {
    Hyperparameters::of(1.0, 1.5, 0.4)
}

/// Hyperparameters to begin a fit with.
pub fn guess() -> Hyperparameters<Concrete> {
    Hyperparameters::of(3.0, 0.5, 1.0)
}

/// Observations for the fit, and a quarter as many held out, all of one draw.
pub fn draw(count: usize, seed: u64) -> [Points<Concrete>; 2] {
    let mut random = Random::new(seed);
    let all = count + count.div_ceil(4);
    let x: Vec<f64> = (0..all).map(|_| RANGE * random.uniform()).collect();
    let (x, normal): (Vector<_, f64>, Vector<_, f64>) =
        (x.into(), (0..all).map(|_| random.normal()).collect::<Vec<_>>().into());
    // The covariance of L z is L Lᵀ.
    let y = cholesky(&covariance(&truth(), &x)).dot(&normal);
    let part = |range: std::ops::Range<usize>| Points { x: x.slice(0, range.clone()), y: y.slice(0, range) };
    [part(0..count), part(count..all)]
}

//! The fit: a program of the marginal likelihood and its gradient, compiled once and called by a minimiser.

use crate::lbfgs::{Minimum, minimise};
use crate::model::{Hyperparameters, Points, Posterior, condition, predict, surprise};
use deltaray::derivative::CompiledFn;
use deltaray::prelude::*;

type Parameters = Hyperparameters<Concrete>;

/// The compiled marginal likelihood with its gradient.
pub struct Fit {
    gradient: CompiledFn<fn(Parameters, Points<Concrete>) -> (Scalar<Concrete, f64>, Parameters)>,
}

impl Fit {
    /// The program for as many observations as these are. A profile is kept where it is to be reported.
    pub fn new(points: &Points<Concrete>, profile: bool) -> deltaray::Result<Fit> {
        let staged = stage(surprise {}.closure(), (&Hyperparameters::of(1.0, 1.0, 1.0), points))?;
        Ok(Fit { gradient: staged.value_and_grad()?.compile(Cpu::default().profile(profile))? })
    }

    /// The negative logarithm of the marginal likelihood, and its gradient.
    pub fn value_and_gradient(
        &self,
        at: &Parameters,
        points: &Points<Concrete>,
    ) -> deltaray::Result<(f64, Parameters)> {
        let (value, gradient) = self.gradient.call((at, points))?;
        Ok((value.item(), gradient))
    }

    /// The hyperparameters that make the marginal likelihood largest. The last argument is told of each iteration's number,
    /// marginal likelihood and hyperparameters.
    pub fn run(
        &self,
        start: Parameters,
        points: &Points<Concrete>,
        mut observe: impl FnMut(usize, f64, &Parameters),
    ) -> deltaray::Result<Minimum<Parameters>> {
        let objective = |at: &Parameters| self.value_and_gradient(at, points);
        minimise(start, 100, objective, |number, value, at| observe(number, -value, at))
    }

    /// The table of kernels.
    pub fn report(&self) -> String {
        self.gradient.program().report().to_string()
    }
}

/// The posterior, computed by a program.
pub fn posterior(at: &Parameters, points: &Points<Concrete>) -> deltaray::Result<Posterior<Concrete>> {
    stage(condition {}.closure(), (at, points))?.call((at, points))
}

/// Mean and standard deviation of new observations, computed by a program.
pub fn predictions(
    posterior: &Posterior<Concrete>,
    at: &Vector<Concrete, f64>,
) -> deltaray::Result<(Vector<Concrete, f64>, Vector<Concrete, f64>)> {
    stage(predict {}.closure(), (posterior, at))?.call((posterior, at))
}

/// Half of the width of intervals that hold 95 % of a normal distribution.
pub fn half_width(deviation: &Vector<Concrete, f64>) -> Vector<Concrete, f64> {
    deviation * 1.959964
}

/// The share of observations that are in their intervals.
pub fn coverage(y: &Vector<Concrete, f64>, mean: &Vector<Concrete, f64>, deviation: &Vector<Concrete, f64>) -> f64 {
    (y - mean).abs().le(&half_width(deviation)).cast::<f64>().mean().item()
}

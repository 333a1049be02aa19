//! Learning: a program of the likelihood and its gradient, compiled once and called by a minimiser.

use crate::lbfgs::{Minimum, minimise};
use crate::model::{Noise, System, surprise};
use deltaray::derivative::CompiledFn;
use deltaray::prelude::*;

type M = Matrix<Concrete, f64>;
type Value = Scalar<Concrete, f64>;

/// The compiled likelihood with its gradient, and what it is of.
pub struct Likelihood<'a> {
    gradient: CompiledFn<fn(Noise<Concrete>, System<Concrete>, M) -> (Value, Noise<Concrete>)>,
    system: &'a System<Concrete>,
    measurements: &'a M,
}

impl<'a> Likelihood<'a> {
    /// The program. A profile is kept where it is to be reported.
    pub fn new(system: &'a System<Concrete>, measurements: &'a M, profile: bool) -> deltaray::Result<Self> {
        let like = crate::data::guess(system.measurement.len());
        let staged = stage(surprise {}.closure(), (&like, system, measurements))?;
        let gradient = staged.value_and_grad()?.compile(Cpu::default().profile(profile))?;
        Ok(Likelihood { gradient, system, measurements })
    }

    /// The negative logarithm of the likelihood, and its gradient.
    pub fn value_and_gradient(&self, at: &Noise<Concrete>) -> deltaray::Result<(f64, Noise<Concrete>)> {
        let (value, gradient) = self.gradient.call((at, self.system, self.measurements))?;
        Ok((value.item(), gradient))
    }

    /// The noise that makes the likelihood largest. The last argument is told of the log-likelihood after each iteration, and
    /// before the first.
    pub fn learn(
        &self,
        start: Noise<Concrete>,
        mut observe: impl FnMut(f64),
    ) -> deltaray::Result<Minimum<Noise<Concrete>>> {
        minimise(start, 200, |at| self.value_and_gradient(at), |_, value, _| observe(-value))
    }

    /// The table of kernels.
    pub fn report(&self) -> String {
        self.gradient.program().report().to_string()
    }
}

/// The root of the mean of squares.
pub fn root_mean_square(a: &M) -> f64 {
    a.powi(2).mean().sqrt().item()
}

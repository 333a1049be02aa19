//! The model: a decay to an offset, and its distance from the observations.

use deltaray::prelude::*;

/// How many observations there are.
pub const COUNT: usize = 200;

/// The fitted parameters.
#[derive(Tree)]
pub struct Decay<A: Algebra> {
    amplitude: Scalar<A, f64>,
    rate: Scalar<A, f64>,
    offset: Scalar<A, f64>,
}

/// The parameters' structure.
pub fn start() -> Decay<Concrete> {
    Decay { amplitude: scalar(0.0), rate: scalar(0.0), offset: scalar(0.0) }
}

/// The mean of the squared residuals.
#[differentiable]
pub fn loss(decay: &Decay, times: Vector<f64>, observed: Vector<f64>) -> Scalar<f64> {
    let expected = decay.amplitude * (-decay.rate * times).exp() + decay.offset;
    (expected - observed).powi(2).mean()
}

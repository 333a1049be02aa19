//! Functions that models are made of, written in the language itself: softmax, normalisation, losses.
//!
//! Nothing here has rules of its own: values and derivatives are those of the arrays' operations. All are stable: no
//! exponential overflows, no logarithm is taken of a rounded 0.

mod losses;
mod normalise;

pub use losses::{binary_cross_entropy, huber, mean_squared_error, softmax_cross_entropy};
pub use normalise::{layer_norm, log_softmax, softmax, standardise};

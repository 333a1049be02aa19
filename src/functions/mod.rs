//! Functions that models are made of, written in the language itself: softmax, normalisation, losses, convolutions, pooling.
//!
//! Nothing here has rules of its own: values and derivatives are those of the arrays' operations. All are stable: no
//! exponential overflows, no logarithm is taken of a rounded 0.

mod losses;
mod normalise;
mod windows;

pub use losses::{binary_cross_entropy, huber, mean_squared_error, softmax_cross_entropy};
pub use normalise::{layer_norm, log_softmax, softmax, standardise};
pub use windows::{
    Window, convolution_1d, convolution_2d, convolution_3d, max_pool_1d, max_pool_2d, max_pool_3d, mean_pool_1d,
    mean_pool_2d, mean_pool_3d,
};

use crate::tensor::apply::fail;
use crate::tensor::broadcast_shape;

/// Checks that shapes broadcast together.
fn check_broadcast(left: &[usize], right: &[usize]) -> Result<(), String> {
    match broadcast_shape(left, right) {
        Some(_) => Ok(()),
        None => Err(format!("shapes {left:?} and {right:?} do not broadcast together")),
    }
}

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

use crate::algebra::Algebra;
use crate::error::Error;
use crate::shape::{Shape, Type};
use crate::tensor::{Number, Rank, Tensor, broadcast_shape};
use std::panic::Location;

/// Reports what does not fit; where that returns, the result is a placeholder of this shape.
#[track_caller]
fn fail<A: Algebra, E: Number, R: Rank>(name: &str, problem: String, like: &[usize]) -> Tensor<A, E, R> {
    let ty = Type { dtype: E::DTYPE, shape: Shape::from_slice(like) };
    Tensor::wrap(A::fail(Error::operands(name, problem, Location::caller()), ty))
}

/// That shapes broadcast together, or the problem.
fn check_broadcast(left: &[usize], right: &[usize]) -> Result<(), String> {
    match broadcast_shape(left, right) {
        Some(_) => Ok(()),
        None => Err(format!("shapes {left:?} and {right:?} do not broadcast together")),
    }
}

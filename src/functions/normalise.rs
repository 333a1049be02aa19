//! Arrays brought to a scale along an axis.

use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::functions::{check_broadcast, fail};
use crate::tensor::{Float, Max, Operand, RDyn, Rank, Tensor, check_axis};

/// Applies a function of an array and an axis without the rank in its type, since a reduction and the array that it reduces
/// have different ranks. Errors carry this name and the caller's line.
#[track_caller]
fn along<A: Algebra, E: Float, R: Rank>(
    name: &str,
    x: &Tensor<A, E, R>,
    axis: usize,
    f: impl FnOnce(Tensor<A, E, RDyn>) -> Tensor<A, E, RDyn>,
) -> Tensor<A, E, R> {
    let shape = x.shape();
    if let Err(problem) = check_axis(axis, &shape) {
        return fail(name, problem, &shape);
    }
    let _place = ReportedAt::caller();
    Tensor::wrap(f(x.clone().into_dyn()).into_array())
}

/// exp(x) / Σ exp(x) along an axis: positive numbers that add up to 1. The result has the shape of the array.
///
/// ```
/// use deltaray::functions::softmax;
/// use deltaray::prelude::*;
///
/// let x = Matrix::from([[0.0, 0.0], [5.0, 5.0]]);
/// assert_eq!(softmax(&x, 1), Matrix::from([[0.5, 0.5], [0.5, 0.5]]));
/// ```
///
/// # Panics
///
/// When there is no such axis; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn softmax<A: Algebra, E: Float, R: Rank>(x: &Tensor<A, E, R>, axis: usize) -> Tensor<A, E, R> {
    along("softmax", x, axis, |x| {
        let powers = (&x - x.max_axis(axis).insert_axis(axis).stop_gradient()).exp();
        &powers / powers.sum_axis(axis).insert_axis(axis)
    })
}

/// The logarithm of [`softmax`], finite where that is so small that it is 0. Results next to 0, of a softmax next to 1, have
/// the absolute error of numbers next to 1.
///
/// ```
/// use deltaray::functions::log_softmax;
/// use deltaray::prelude::*;
///
/// assert_eq!(log_softmax(&Vector::from(vec![0.0, -1000.0]), 0).to_vec(), [0.0, -1000.0]);
/// ```
///
/// # Panics
///
/// As [`softmax`].
#[track_caller]
pub fn log_softmax<A: Algebra, E: Float, R: Rank>(x: &Tensor<A, E, R>, axis: usize) -> Tensor<A, E, R> {
    along("log_softmax", x, axis, |x| {
        let shifted = &x - x.max_axis(axis).insert_axis(axis).stop_gradient();
        let logarithm = shifted.exp().sum_axis(axis).ln();
        shifted - logarithm.insert_axis(axis)
    })
}

/// The array less its mean along an axis, divided by √(variance + epsilon). The result has the shape of the array.
///
/// ```
/// use deltaray::functions::standardise;
/// use deltaray::prelude::*;
///
/// assert_eq!(standardise(&Vector::from(vec![1.0, 5.0]), 0, 0.0).to_vec(), [-1.0, 1.0]);
/// ```
///
/// # Panics
///
/// As [`softmax`].
#[track_caller]
pub fn standardise<A: Algebra, E: Float, R: Rank>(x: &Tensor<A, E, R>, axis: usize, epsilon: f64) -> Tensor<A, E, R> {
    standardised("standardise", x, axis, epsilon)
}

/// As [`standardise`], which problems are reported as by another name.
#[track_caller]
fn standardised<A: Algebra, E: Float, R: Rank>(
    name: &str,
    x: &Tensor<A, E, R>,
    axis: usize,
    epsilon: f64,
) -> Tensor<A, E, R> {
    along(name, x, axis, |x| {
        let centred = &x - x.mean_axis(axis).insert_axis(axis);
        let variance = (&centred * &centred).mean_axis(axis);
        let scale = (&variance + variance.filled(epsilon)).sqrt();
        centred / scale.insert_axis(axis)
    })
}

/// Layer normalisation (Ba, Kiros and Hinton, 2016): [`standardise`]d along an axis, then scaled and shifted by arrays that
/// broadcast to its shape.
///
/// ```
/// use deltaray::functions::layer_norm;
/// use deltaray::prelude::*;
///
/// let (x, scale, shift) = (Matrix::from([[1.0, 5.0], [9.0, 3.0]]), Vector::from(vec![2.0, 3.0]), ones(2));
/// assert_eq!(layer_norm(&x, 1, &scale, &shift, 0.0), Matrix::from([[-1.0, 4.0], [3.0, -2.0]]));
/// ```
///
/// # Panics
///
/// When there is no such axis, or the shapes do not broadcast together; in a staged function that is the error of
/// [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn layer_norm<A, E, R, S>(
    x: &Tensor<A, E, R>,
    axis: usize,
    scale: &Tensor<A, E, S>,
    shift: &Tensor<A, E, S>,
    epsilon: f64,
) -> Tensor<A, E, R>
where
    A: Algebra,
    E: Float,
    R: Rank + Max<S, Output = R>,
    S: Rank,
    for<'a> &'a Tensor<A, E, S>: Operand<A, E, R, Rank = R>,
{
    let shape = x.shape();
    for other in [scale.shape(), shift.shape()] {
        if let Err(problem) = check_broadcast(&shape, &other) {
            return fail("layer_norm", problem, &shape);
        }
    }
    standardised("layer_norm", x, axis, epsilon) * scale + shift
}

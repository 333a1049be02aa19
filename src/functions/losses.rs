//! Losses: how far predictions are from observations.

use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::functions::{check_broadcast, fail};
use crate::tensor::{Float, Matrix, Rank, Scalar, Tensor, Vector, build};

/// The mean cross-entropy between softmax of scores, one row for each sample, and labels, the positions of the right scores,
/// one for each sample. A label that is no position counts as one of a score as high as the largest.
///
/// ```
/// use deltaray::functions::softmax_cross_entropy;
/// use deltaray::prelude::*;
///
/// let (scores, labels) = (Matrix::from([[0.0, 0.0], [0.0, 0.0]]), Vector::from(vec![0, 1]));
/// assert!((softmax_cross_entropy(&scores, &labels).item() - 2.0_f64.ln()).abs() < 1e-12);
/// ```
///
/// # Panics
///
/// When the numbers of rows and labels do not broadcast together; in a staged function that is the error of
/// [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn softmax_cross_entropy<A: Algebra, E: Float>(scores: &Matrix<A, E>, labels: &Vector<A, i64>) -> Scalar<A, E> {
    let _place = ReportedAt::caller();
    let shifted = scores - scores.max_axis(1).insert_axis(1).stop_gradient();
    // The right scores are read before anything is subtracted: a read that falls outside is 0 by itself.
    let right = build(labels.len(), |sample| shifted.at((&sample, labels.at(&sample))));
    (shifted.exp().sum_axis(1).ln() - right).mean()
}

/// The mean cross-entropy between the sigmoid of scores, and truth: arrays whose shapes broadcast together.
///
/// ```
/// use deltaray::functions::binary_cross_entropy;
/// use deltaray::prelude::*;
///
/// let (scores, truth) = (Vector::from(vec![0.0, 0.0]), Vector::from(vec![true, false]));
/// assert!((binary_cross_entropy(&scores, &truth).item() - 2.0_f64.ln()).abs() < 1e-12);
/// ```
///
/// # Panics
///
/// When the shapes do not broadcast together; in a staged function that is the error of [`stage`](crate::derivative::stage)
/// instead.
#[track_caller]
pub fn binary_cross_entropy<A: Algebra, E: Float, R: Rank>(
    scores: &Tensor<A, E, R>,
    truth: &Tensor<A, bool, R>,
) -> Scalar<A, E> {
    if let Err(problem) = check_broadcast(&scores.shape(), &truth.shape()) {
        return fail("binary_cross_entropy", problem, &[]);
    }
    truth.select(&(-scores).softplus(), &scores.softplus()).into_dyn().mean()
}

/// The mean of the squares of the differences of two arrays, whose shapes broadcast together.
///
/// ```
/// use deltaray::functions::mean_squared_error;
/// use deltaray::prelude::*;
///
/// let (predicted, seen) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![1.0, 4.0]));
/// assert_eq!(mean_squared_error(&predicted, &seen).item(), 2.0);
/// ```
///
/// # Panics
///
/// When the shapes do not broadcast together; in a staged function that is the error of [`stage`](crate::derivative::stage)
/// instead.
#[track_caller]
pub fn mean_squared_error<A: Algebra, E: Float, R: Rank>(
    predicted: &Tensor<A, E, R>,
    seen: &Tensor<A, E, R>,
) -> Scalar<A, E> {
    if let Err(problem) = check_broadcast(&predicted.shape(), &seen.shape()) {
        return fail("mean_squared_error", problem, &[]);
    }
    let difference = predicted.clone().into_dyn() - seen.clone().into_dyn();
    (&difference * &difference).mean()
}

/// The mean of d²/2 where a difference d of two arrays is below a threshold, and of threshold · (|d| − threshold/2) elsewhere
/// (Huber, 1964). The shapes broadcast together.
///
/// ```
/// use deltaray::functions::huber;
/// use deltaray::prelude::*;
///
/// // Of the differences 1 and 5: (0.5 + 2 · 4) / 2.
/// let (predicted, seen) = (Vector::from(vec![0.0, 0.0]), Vector::from(vec![1.0, 5.0]));
/// assert_eq!(huber(&predicted, &seen, 2.0).item(), 4.25);
/// ```
///
/// # Panics
///
/// When the shapes do not broadcast together; in a staged function that is the error of [`stage`](crate::derivative::stage)
/// instead.
#[track_caller]
pub fn huber<A: Algebra, E: Float, R: Rank>(
    predicted: &Tensor<A, E, R>,
    seen: &Tensor<A, E, R>,
    threshold: f64,
) -> Scalar<A, E> {
    if let Err(problem) = check_broadcast(&predicted.shape(), &seen.shape()) {
        return fail("huber", problem, &[]);
    }
    let difference = (predicted.clone().into_dyn() - seen.clone().into_dyn()).abs();
    let limit = difference.filled(threshold);
    let half = difference.filled(0.5);
    let near = &difference * &difference * &half;
    let far = &limit * (&difference - &limit * &half);
    difference.le(&limit).select(&near, &far).mean()
}

//! Functions of symmetric matrices.

use super::{checked, diagonal, operation, squares};
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::operation::{MatrixOperation, SpectralFunction};
use crate::tensor::{Float, RDyn, Rank, Tensor};

/// A function of the symmetric part of each matrix: V f(Λ) Vᵀ, by its [`eigh`](super::eigh).
///
/// ```
/// use deltaray::linalg::{SpectralFunction, spectral_function};
/// use deltaray::prelude::*;
///
/// let a = Matrix::from([[5.0, 4.0], [4.0, 5.0]]);
/// let root = spectral_function(&a, SpectralFunction::Sqrt);
/// assert!((root - Matrix::from([[2.0, 1.0], [1.0, 2.0]])).abs().lt(1e-12).all().item());
/// ```
///
/// Derivatives of every order are finite and precise for any eigenvalues, also equal ones and ones that are nearly so: with
/// M = Vᵀ Ȧ V the first is V (G ∘ M) Vᵀ, where G has the divided differences (f(λᵢ) − f(λⱼ)) / (λᵢ − λⱼ), and f′(λ) for equal ones
/// (Daleckii and Krein, 1965); higher ones have divided differences of more values. A derivative of order k takes time in proportion
/// to n³ and nᵏ⁺¹; there are none above the order 8.
///
/// Where f has no value, as [`SpectralFunction::Ln`] of a negative number, all of that matrix's result is NaN, and so are its
/// derivatives. Of these functions, an eigenvalue that is negative by no more than rounding, 8 n ε times the largest one, counts as 0. A
/// root or power has an infinite derivative or NaN where an eigenvalue is 0.
///
/// # Panics
///
/// When the matrices are not square; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn spectral_function<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
    function: SpectralFunction,
) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    checked("spectral_function", &a.shape(), of_matrix(a, function))
}

#[track_caller]
fn of_matrix<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
    function: SpectralFunction,
) -> Result<Tensor<A, E, RDyn>, String> {
    squares(&a.shape())?;
    let a = a.clone().into_dyn();
    let factors = operation(MatrixOperation::Eigh, &[&a])?;
    operation(MatrixOperation::Spectral { function, order: 0 }, &[&a, &factors])
}

/// The sum of f(λ) over the eigenvalues of the symmetric part of each matrix: the trace of [`spectral_function`].
///
/// ```
/// use deltaray::linalg::{SpectralFunction, spectral_sum};
/// use deltaray::prelude::*;
///
/// // The gradient is f′(A), here at a matrix with equal eigenvalues.
/// let gradient = grad(|a| spectral_sum(a, SpectralFunction::Ln), &Matrix::from([[4.0, 0.0], [0.0, 4.0]]));
/// assert!((gradient - Matrix::from([[0.25, 0.0], [0.0, 0.25]])).abs().lt(1e-12).all().item());
/// ```
///
/// # Panics
///
/// As [`spectral_function`].
#[track_caller]
pub fn spectral_sum<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
    function: SpectralFunction,
) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
    let _place = ReportedAt::caller();
    let sum = of_matrix(a, function).and_then(|result| {
        let diagonal = diagonal(&result)?;
        Ok(diagonal.sum_axis(diagonal.rank() - 1))
    });
    checked("spectral_sum", &a.shape(), sum)
}

/// The positive semidefinite square root of the symmetric part of each positive semidefinite matrix: [`spectral_function`] with
/// [`SpectralFunction::Sqrt`]. NaN for a matrix with a negative eigenvalue. A singular matrix has a root, though rounding makes its
/// eigenvalues negative, with half of the digits where that makes them positive; but it has no derivative: infinities or NaN.
///
/// ```
/// use deltaray::linalg::sqrtm;
/// use deltaray::prelude::*;
///
/// let root = sqrtm(&Matrix::from([[5.0, 4.0], [4.0, 5.0]]));
/// assert!((root - Matrix::from([[2.0, 1.0], [1.0, 2.0]])).abs().lt(1e-12).all().item());
/// let ones: Matrix<Concrete, f64> = ones((4, 4));
/// assert!((sqrtm(&ones) - 0.5 * ones).abs().lt(1e-7).all().item());
/// ```
///
/// # Panics
///
/// As [`spectral_function`].
#[track_caller]
pub fn sqrtm<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    checked("sqrtm", &a.shape(), of_matrix(a, SpectralFunction::Sqrt))
}

/// The symmetric logarithm of the symmetric part of each positive definite matrix: [`spectral_function`] with
/// [`SpectralFunction::Ln`]. NaN for a matrix with a negative eigenvalue.
///
/// ```
/// use deltaray::linalg::logm;
/// use deltaray::prelude::*;
///
/// let logarithm = logm(&(1.0_f64.exp() * eye::<Concrete, f64>(2)));
/// assert!((logarithm - eye(2)).abs().lt(1e-12).all().item());
/// ```
///
/// # Panics
///
/// As [`spectral_function`].
#[track_caller]
pub fn logm<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    checked("logm", &a.shape(), of_matrix(a, SpectralFunction::Ln))
}

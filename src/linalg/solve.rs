//! Systems of linear equations, by factors of their matrices.

use super::triangular::{RightSide, fit, with_columns};
use super::{Lu, checked, factor, lu, operation, squares};
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::operation::MatrixOperation;
use crate::tensor::{Float, RDyn, Rank, Tensor};
use deltaray_derive::Tree;

/// The solution x of A x = b for a square matrix A, by [`lu`]: one right side for each matrix, or a matrix with one in each column.
///
/// ```
/// use deltaray::linalg::solve;
/// use deltaray::prelude::*;
///
/// let (a, b) = (Matrix::from([[0.0, 2.0], [4.0, 4.0]]), Vector::from([2.0, 8.0]));
/// assert_eq!(solve(&a, &b).to_vec(), [1.0, 1.0]);
/// ```
///
/// To solve with one matrix often, keep [`lu`]'s result.
///
/// # Panics
///
/// When the matrices are not square, or the right sides have another number of rows; in a staged function that is the error of
/// [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn solve<A: Algebra, E: Float, R: Rank, S: RightSide<R>>(
    a: &Tensor<A, E, R>,
    b: &Tensor<A, E, S>,
) -> Tensor<A, E, S> {
    let _place = ReportedAt::caller();
    checked("solve", &b.shape(), square_factors(a).and_then(|factors| factors.solution(b)))
}

#[track_caller]
pub(super) fn square_factors<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Result<Lu<A, E, RDyn>, String> {
    squares(&a.shape())?;
    Ok(lu(&a.clone().into_dyn()))
}

/// The Cholesky factor of a positive definite matrix, to be kept and solved with. It is a tree, so that programs take and give it.
///
/// ```
/// use deltaray::linalg::CholeskyFactor;
/// use deltaray::prelude::*;
///
/// let factor = CholeskyFactor::new(&Matrix::from([[4.0, 2.0], [2.0, 5.0]]));
/// assert_eq!(factor.solve(&Vector::from([8.0, 12.0])).to_vec(), [1.0, 2.0]);
/// assert_eq!(factor.log_determinant().item(), 16.0_f64.ln());
/// ```
///
/// Matrix and factor belong together: derivatives of solutions and determinants are those of the matrix, and nothing comes of the
/// factor. With a factor L from elsewhere that is `CholeskyFactor { matrix: l.dot(&l.t()), lower: l }`.
#[derive(Clone, Tree)]
pub struct CholeskyFactor<A: Algebra, E: Float, R: Rank> {
    /// The matrix A, of which the symmetric part counts.
    pub matrix: Tensor<A, E, R>,
    /// The lower triangular factor.
    pub lower: Tensor<A, E, R>,
}

impl<A: Algebra, E: Float, R: Rank> CholeskyFactor<A, E, R> {
    /// The factor of the symmetric part of a matrix; NaN where that is not positive definite.
    ///
    /// # Panics
    ///
    /// When the matrices are not square; staged, that is recorded instead.
    #[track_caller]
    pub fn new(a: &Tensor<A, E, R>) -> Self {
        CholeskyFactor { matrix: a.clone(), lower: factor::cholesky(a) }
    }

    /// The solution x of A x = b: one right side for each matrix, or a matrix with one in each column. The derivative is
    /// ẋ = A⁻¹ (ḃ − Ȧ x), by the same factor.
    ///
    /// # Panics
    ///
    /// When the right sides have another number of rows; staged, that is recorded instead.
    #[track_caller]
    pub fn solve<S: RightSide<R>>(&self, b: &Tensor<A, E, S>) -> Tensor<A, E, S> {
        let _place = ReportedAt::caller();
        checked("solve", &b.shape(), self.solution(b))
    }

    #[track_caller]
    pub(super) fn solution<S: Rank>(&self, b: &Tensor<A, E, S>) -> Result<Tensor<A, E, RDyn>, String> {
        let fixed = [&self.matrix, &self.lower].map(|array| array.clone().into_dyn());
        with_columns(&[&fixed[0], &fixed[1]], b, |fixed, b| {
            operation(MatrixOperation::SolvePositive, &[&fixed[0], &fixed[1], b])
        })
    }

    #[track_caller]
    fn of_factor(&self, op: MatrixOperation) -> Result<Tensor<A, E, RDyn>, String> {
        operation(op, &[&self.matrix.clone().into_dyn(), &self.lower.clone().into_dyn()])
    }

    /// The natural logarithm of the determinant of A, for each matrix. The derivative is the trace of A⁻¹ Ȧ.
    #[track_caller]
    pub fn log_determinant(&self) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
        let _place = ReportedAt::caller();
        let result = self.of_factor(MatrixOperation::LogDeterminant).map(|result| {
            let rank = result.rank();
            result.remove_axis(rank - 1).remove_axis(rank - 2)
        });
        checked("log_determinant", &[], result)
    }

    /// The inverse of A.
    #[track_caller]
    pub fn inverse(&self) -> Tensor<A, E, R> {
        let _place = ReportedAt::caller();
        checked("inverse", &self.matrix.shape(), self.of_factor(MatrixOperation::InversePositive))
    }
}

/// The solution x of A x = b for a positive definite matrix A, by [`cholesky`](super::cholesky) of its symmetric part: one right
/// side for each matrix, or a matrix with one in each column.
///
/// ```
/// use deltaray::linalg::solve_spd;
/// use deltaray::prelude::*;
///
/// let (a, b) = (Matrix::from([[4.0, 2.0], [2.0, 5.0]]), Vector::from([8.0, 12.0]));
/// assert_eq!(solve_spd(&a, &b).to_vec(), [1.0, 2.0]);
/// ```
///
/// To solve with one matrix often, keep a [`CholeskyFactor`].
///
/// # Panics
///
/// As [`solve`].
#[track_caller]
pub fn solve_spd<A: Algebra, E: Float, R: Rank, S: RightSide<R>>(
    a: &Tensor<A, E, R>,
    b: &Tensor<A, E, S>,
) -> Tensor<A, E, S> {
    let _place = ReportedAt::caller();
    checked("solve_spd", &b.shape(), positive_factor(a).and_then(|factor| factor.solution(b)))
}

#[track_caller]
pub(super) fn positive_factor<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
) -> Result<CholeskyFactor<A, E, R>, String> {
    squares(&a.shape())?;
    Ok(CholeskyFactor::new(a))
}

/// The x that makes ‖A x − b‖ least, for any m × n matrix A, and of several such x the one of least norm: x = A⁺ b, by the
/// [`pseudo_inverse`](super::pseudo_inverse). One right side for each matrix, or a matrix with one in each column.
///
/// ```
/// use deltaray::linalg::lstsq;
/// use deltaray::prelude::*;
///
/// // A line through three points.
/// let (a, y) = (Matrix::from([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), Vector::from([1.0, 3.0, 5.0]));
/// let line = lstsq(&a, &y).to_vec();
/// assert!((line[0] - 1.0_f64).abs() < 1e-12 && (line[1] - 2.0_f64).abs() < 1e-12);
/// // Of all x with x₀ + 2 x₁ = 5, the shortest.
/// let shortest = lstsq(&Matrix::from([[1.0, 2.0], [2.0, 4.0]]), &Vector::from([5.0, 10.0]));
/// assert!((shortest - Vector::from([1.0, 2.0])).abs().lt(1e-12).all().item());
/// ```
///
/// As in NumPy and JAX, singular values of no more than the larger extent times the precision of the numbers, times the largest, count
/// as 0. The derivative is that of matrices of the same rank, at every order. A matrix with independent columns has the same
/// solution by [`Qr::solve`](super::Qr::solve), which takes no singular values. A pseudo-inverse that is out of the range
/// of numbers makes the result infinite or NaN.
///
/// # Panics
///
/// When the right sides have another number of rows than the matrix; in a staged function that is the error of
/// [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn lstsq<A: Algebra, E: Float, R: Rank, S: RightSide<R>>(
    a: &Tensor<A, E, R>,
    b: &Tensor<A, E, S>,
) -> Tensor<A, E, S> {
    let _place = ReportedAt::caller();
    checked("lstsq", &b.shape(), least_squares(a, b))
}

/// So many that residuals are some roundings of the right side where the condition number is at most a thousandth of 1 / ε.
const CORRECTIONS: usize = 3;

#[track_caller]
pub(super) fn least_squares<A: Algebra, E: Float, R: Rank, S: Rank>(
    a: &Tensor<A, E, R>,
    b: &Tensor<A, E, S>,
) -> Result<Tensor<A, E, RDyn>, String> {
    with_columns(&[&a.clone().into_dyn()], b, |a, b| {
        fit(a, b)?;
        let inverse = operation(MatrixOperation::PseudoInverse, &[&a[0]])?;
        // The rounding of the pseudo-inverse leaves a residual, which corrections make small. In exact arithmetic they are 0 for all
        // matrices of one rank, so that no derivative comes of them.
        Ok((0..CORRECTIONS).fold(inverse.matmul(b), |x, _| {
            let correction = inverse.matmul(&(b - a[0].matmul(&x)));
            x + correction.stop_gradient()
        }))
    })
}

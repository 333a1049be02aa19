//! Functions of plain arrays whose failures are errors that say which matrix has no result, and why.

use super::solve::{least_squares, positive_factor, square_factors};
use super::{CholeskyFactor, Lu, RightSide, lu, made, matrices, operation};
use crate::array::ReportedAt;
use crate::concrete::Concrete;
use crate::error::{Error, Result};
use crate::operation::MatrixOperation;
use crate::tensor::{Float, Matrix, RDyn, Rank, Tensor, Tensor3, Vector};
use std::panic::Location;

type Array<E> = Tensor<Concrete, E, RDyn>;

/// A result, and whether the factors that it is found with are those of regular matrices.
struct Solved<E: Float> {
    result: Array<E>,
    is_factored: bool,
}

/// A result by factors of square matrices: there may be no right side to show that there are none.
#[track_caller]
fn by_lu<E: Float, R: Rank>(
    a: &Tensor<Concrete, E, R>,
    solution: impl FnOnce(&Lu<Concrete, E, RDyn>) -> std::result::Result<Array<E>, String>,
) -> std::result::Result<Solved<E>, String> {
    let factors = square_factors(a)?;
    let is_regular = factors.pivots()?.cast::<f64>().abs().gt(0.0).all().item();
    Ok(Solved { result: solution(&factors)?, is_factored: is_regular && is_finite(&factors.packed) })
}

/// Whether all elements are finite.
pub(crate) fn is_finite<E: Float, R: Rank>(a: &Tensor<Concrete, E, R>) -> bool {
    a.cast::<f64>().abs().lt(f64::INFINITY).all().item()
}

/// The result, if it, the matrices and their factors are finite, and no matrix is singular. Otherwise the error names the first matrix
/// whose elements are not finite, or that has this flaw.
#[track_caller]
fn tried<E: Float, R: Rank, S: Rank>(
    name: &str,
    a: &Tensor<Concrete, E, R>,
    result: std::result::Result<Solved<E>, String>,
    flaw: impl Fn(&Matrix<Concrete, E>) -> Option<String>,
) -> Result<Tensor<Concrete, E, S>> {
    let place = ReportedAt::or(Location::caller());
    let Solved { result, is_factored } = result.map_err(|problem| Error::operands(name, problem, place))?;
    if is_factored && is_finite(&result) && is_finite(a) {
        return Ok(Tensor::wrap(result.into_array()));
    }
    let shape = a.shape();
    let (batch, [m, n]) = matrices(&shape).map_err(|problem| Error::operands(name, problem, place))?;
    let count: usize = batch.iter().product();
    let each: Tensor3<Concrete, E> = a.reshape((count, m, n));
    let found = (0..count).find_map(|number| {
        let one: Matrix<Concrete, E> = each.at(number);
        let problem = if is_finite(&one) { flaw(&one)? } else { "has elements that are not finite".into() };
        Some((number, problem))
    });
    let problem = match found {
        Some((_, problem)) if batch.is_empty() => format!("the matrix of {m} by {n} {problem}"),
        Some((mut number, problem)) => {
            let mut position = vec![0; batch.len()];
            for (place, extent) in position.iter_mut().zip(batch).rev() {
                (*place, number) = (number % extent, number / extent);
            }
            format!("matrix {position:?} of shape {:?} {problem}", &shape[..])
        }
        None => format!("a result of shape {:?} is not finite, though the matrices are", &result.shape()[..]),
    };
    Err(Error::operands(name, problem, place))
}

/// The column at which elimination finds that a matrix is not positive definite: the first k of them are.
fn indefinite<E: Float>(a: &Matrix<Concrete, E>) -> Option<String> {
    let has_factor = |k: usize| {
        let leading = a.slice(0, ..k).slice(1, ..k);
        is_finite(&CholeskyFactor::new(&leading).lower)
    };
    let n = a.shape()[0];
    let (mut definite, mut rest) = (0, n + 1);
    while definite + 1 < rest {
        let middle = definite.midpoint(rest);
        if has_factor(middle) { definite = middle } else { rest = middle }
    }
    (definite < n).then(|| format!("is not positive definite: column {definite} has no positive pivot"))
}

/// The first column that depends on those before it, or is not in the range of numbers when these are eliminated.
fn dependent<E: Float>(a: &Matrix<Concrete, E>) -> Option<String> {
    let upper = lu(a).upper();
    (0..a.shape()[0]).find_map(|column| {
        let above: Vector<Concrete, E> = upper.index_axis(1, column);
        if !is_finite(&above) {
            return Some(format!("has factors that are not finite: column {column} is too large"));
        }
        let is_zero = above.at(column).cast::<f64>().item() == 0.0;
        is_zero.then(|| format!("is singular: column {column} depends on those before it"))
    })
}

/// As [`cholesky`](super::cholesky), of plain arrays.
///
/// ```
/// use deltaray::linalg::try_cholesky;
/// use deltaray::prelude::*;
///
/// let a: Tensor3<Concrete, f64> = stack(&[Matrix::from([[4.0, 2.0], [2.0, 5.0]]), Matrix::from([[1.0, 2.0], [2.0, 1.0]])]);
/// assert_eq!(try_cholesky(&a.at(0))?, [[2.0, 0.0], [1.0, 2.0]].into());
/// let error = try_cholesky(&a).unwrap_err().to_string();
/// let expected = "try_cholesky: matrix [1] of shape [2, 2, 2] is not positive definite: column 1 has no positive pivot";
/// assert!(error.starts_with(expected), "{error}");
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Operands`] when the matrices are not square, and where one has elements that are not finite, or is not positive definite.
/// The error names the first such matrix, and a column of it, counted from 0.
#[track_caller]
pub fn try_cholesky<E: Float, R: Rank>(a: &Tensor<Concrete, E, R>) -> Result<Tensor<Concrete, E, R>> {
    let _place = ReportedAt::caller();
    let factor = operation(MatrixOperation::Cholesky, &[&a.clone().into_dyn()]);
    tried("try_cholesky", a, factor.map(|result| Solved { result, is_factored: true }), indefinite)
}

/// As [`solve`](super::solve), of plain arrays.
///
/// ```
/// use deltaray::linalg::try_solve;
/// use deltaray::prelude::*;
///
/// let (a, b) = (Matrix::from([[0.0, 2.0], [4.0, 4.0]]), Vector::from([2.0, 8.0]));
/// assert_eq!(try_solve(&a, &b)?.to_vec(), [1.0, 1.0]);
/// let error = try_solve(&Matrix::from([[1.0, 2.0], [2.0, 4.0]]), &b).unwrap_err().to_string();
/// assert!(error.starts_with("try_solve: the matrix of 2 by 2 is singular: column 1 depends on those before it"), "{error}");
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// A matrix that is only as good as singular has a solution, of few right digits: see [`condition_number`](super::condition_number).
///
/// # Errors
///
/// [`Error::Operands`] when the operands do not fit, where a matrix is singular, so that a pivot is 0, or has elements or factors that
/// are not finite, and where a solution is not finite because the right sides are not, or numbers overflow.
#[track_caller]
pub fn try_solve<E: Float, R: Rank, S: RightSide<R>>(
    a: &Tensor<Concrete, E, R>,
    b: &Tensor<Concrete, E, S>,
) -> Result<Tensor<Concrete, E, S>> {
    let _place = ReportedAt::caller();
    tried("try_solve", a, by_lu(a, |factors| factors.solution(b)), dependent)
}

/// As [`solve_spd`](super::solve_spd), of plain arrays.
///
/// # Errors
///
/// As [`try_cholesky`], and where the right sides do not fit or have elements that are not finite.
#[track_caller]
pub fn try_solve_spd<E: Float, R: Rank, S: RightSide<R>>(
    a: &Tensor<Concrete, E, R>,
    b: &Tensor<Concrete, E, S>,
) -> Result<Tensor<Concrete, E, S>> {
    let _place = ReportedAt::caller();
    let solved = positive_factor(a)
        .and_then(|factor| Ok(Solved { result: factor.solution(b)?, is_factored: is_finite(&factor.lower) }));
    tried("try_solve_spd", a, solved, indefinite)
}

/// As [`inverse`](super::inverse), of plain arrays.
///
/// # Errors
///
/// As [`try_solve`].
#[track_caller]
pub fn try_inverse<E: Float, R: Rank>(a: &Tensor<Concrete, E, R>) -> Result<Tensor<Concrete, E, R>> {
    let _place = ReportedAt::caller();
    tried("try_inverse", a, by_lu(a, made::inverse_by), dependent)
}

/// As [`lstsq`](super::lstsq), of plain arrays.
///
/// # Errors
///
/// [`Error::Operands`] when the operands do not fit, and where elements or a solution are not finite. Any other matrix has a solution.
#[track_caller]
pub fn try_lstsq<E: Float, R: Rank, S: RightSide<R>>(
    a: &Tensor<Concrete, E, R>,
    b: &Tensor<Concrete, E, S>,
) -> Result<Tensor<Concrete, E, S>> {
    let _place = ReportedAt::caller();
    let solved = least_squares(a, b).map(|result| Solved { result, is_factored: true });
    tried("try_lstsq", a, solved, |_| None)
}

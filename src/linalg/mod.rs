//! Linear algebra: factorisations, systems of equations, and functions that are made of these.
//!
//! A matrix is the last two axes of an array; functions act on each of the matrices along the axes before. All of it runs in every
//! algebra, compiled and exported, and has derivatives of every order, whose rules are products, masks and triangular solves:
//! Murray, "Differentiation of the Cholesky decomposition" (arXiv 1602.07527), for that one; Walter and Lehmann (arXiv 1001.1654) for
//! LU and QR.
//!
//! ```
//! use deltaray::linalg::{CholeskyFactor, cholesky};
//! use deltaray::prelude::*;
//!
//! // The negative logarithm of a Gaussian density, but for a constant.
//! fn surprise<A: Algebra>(k: &Matrix<A, f64>, y: &Vector<A, f64>) -> Scalar<A, f64> {
//!     let factor = CholeskyFactor::new(k);
//!     0.5 * y.dot(&factor.solve(y)) + 0.5 * factor.log_determinant()
//! }
//! let (k, y) = (Matrix::from([[4.0, 2.0], [2.0, 5.0]]), Vector::from([1.0, 2.0]));
//! assert_eq!(cholesky(&k), [[2.0, 0.0], [1.0, 2.0]].into());
//! let gradient = grad(|k| surprise(k, &y.lift()), &k);
//! assert_eq!(gradient.shape()[..], [2, 2]);
//! ```
//!
//! # Where there is no result
//!
//! A function of a matrix that has no result, such as the Cholesky factor of one that is not positive definite, results in NaN,
//! for that matrix of several alone; the solution of a singular system has infinities or NaN. No function panics because of the
//! elements. Of plain arrays, [`try_cholesky`] and its kind result in an error that says which matrix failed, and why.

mod banded;
mod eager;
mod exponential;
mod factor;
mod made;
mod parts;
mod solve;
mod spectra;
mod spectral;
mod triangular;

pub use crate::operation::{Exponent, SpectralFunction, Triangle};
pub use banded::{solve_banded, tridiagonal_solve};
pub(crate) use eager::is_finite;
pub use eager::{try_cholesky, try_inverse, try_lstsq, try_solve, try_solve_spd};
pub use exponential::expm;
pub use factor::{Ldl, Lu, Qr, cholesky, cholesky_upper, full_qr, ldl, lu, qr};
pub use made::{
    column_sum_norm, determinant, diagonal_matrix, frobenius_norm, inverse, kron, log_determinant, matrix_power,
    quadratic_form, row_sum_norm, slog_determinant, trace, triangle_lower, triangle_upper,
};
pub use solve::{CholeskyFactor, lstsq, solve, solve_spd};
pub use spectra::{
    Eigh, Svd, condition_number, eigh, eigh_values, full_svd, pseudo_inverse, singular_values, spectral_norm, svd,
};
pub use spectral::{logm, spectral_function, spectral_sum, sqrtm};
pub use triangular::{RightSide, solve_triangular, solve_triangular_right};

use parts::{Side, diagonal, kept, part, turned};

use crate::algebra::Algebra;
use crate::operation::MatrixOperation;
use crate::tensor::apply::fail;
use crate::tensor::{Float, RDyn, Rank, Tensor};
use crate::term::{Never, Op, infer};

/// The extents of the axes before matrices, and those of the matrices.
pub(crate) fn matrices(shape: &[usize]) -> Result<(&[usize], [usize; 2]), String> {
    match shape {
        [batch @ .., rows, columns] => Ok((batch, [*rows, *columns])),
        _ => Err(format!("takes matrices, not shape {shape:?}")),
    }
}

/// As [`matrices`], of square ones: their extent.
fn squares(shape: &[usize]) -> Result<(&[usize], usize), String> {
    match matrices(shape)? {
        (batch, [n, m]) if n == m => Ok((batch, n)),
        (_, [m, n]) => Err(format!("takes a square matrix, not one of {m} by {n}")),
    }
}

/// One operation on matrices, if the operands fit.
#[track_caller]
fn operation<A: Algebra, E: Float>(
    op: MatrixOperation,
    operands: &[&Tensor<A, E, RDyn>],
) -> Result<Tensor<A, E, RDyn>, String> {
    let types: Vec<_> = operands.iter().map(|operand| A::type_of(operand.array())).collect();
    let types: Vec<_> = types.iter().collect();
    infer::output(&Op::<Never>::Matrix(op), &types).and_then(|ty| ty.check_size())?;
    Ok(Tensor::wrap(A::matrix(op, operands.iter().map(|operand| operand.array().clone()).collect())))
}

/// The result with its rank, or the failure of the function of this name, for which an array of this shape stands.
#[track_caller]
fn checked<A: Algebra, E: Float, R: Rank>(
    name: &str,
    like: &[usize],
    result: Result<Tensor<A, E, RDyn>, String>,
) -> Tensor<A, E, R> {
    match result {
        Ok(result) => Tensor::wrap(result.into_array()),
        Err(problem) => fail(name, problem, like),
    }
}

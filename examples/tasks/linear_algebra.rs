//! Linear algebra: sums of factors, determinants, solutions, eigenvalues and singular values, of one large matrix or many small ones.

use deltaray::linalg;
use deltaray::prelude::*;
use deltaray::tensor::Float;

/// The sum of a Cholesky factor.
#[differentiable]
pub fn cholesky<E: Float>(a: Tensor3<E>) -> Scalar<E> {
    linalg::cholesky(a).sum()
}

/// The logarithm of the determinant of positive definite matrices.
#[differentiable]
pub fn log_determinant<E: Float>(a: Tensor3<E>) -> Scalar<E> {
    linalg::log_determinant(a).sum()
}

/// The sum of solutions.
#[differentiable]
pub fn solve<E: Float>((a, b): (Tensor3<E>, Matrix<E>)) -> Scalar<E> {
    linalg::solve(a, b).sum()
}

/// The sum of LU factors.
#[differentiable]
pub fn lu<E: Float>(a: Tensor3<E>) -> Scalar<E> {
    linalg::lu(a).packed.sum()
}

/// The sum of the triangular factor of QR.
#[differentiable]
pub fn qr<E: Float>(a: Tensor3<E>) -> Scalar<E> {
    linalg::qr(a).r.sum()
}

/// The sum of the logarithms of eigenvalues.
#[differentiable]
pub fn eigenvalues<E: Float>(a: Tensor3<E>) -> Scalar<E> {
    linalg::eigh_values(a).ln().sum()
}

/// The sum of singular values.
#[differentiable]
pub fn singular_values<E: Float>(a: Tensor3<E>) -> Scalar<E> {
    linalg::singular_values(a).sum()
}

/// The marginal likelihood of a Gaussian process, given the logarithms of length, amplitude and noise.
#[differentiable]
pub fn gaussian_process((parameters, x, y): (Vector<f64>, Vector<f64>, Vector<f64>)) -> Scalar<f64> {
    let distance = (x.insert_axis(1) - x.insert_axis(0)) * (-parameters[0]).exp();
    let kernel = (2.0 * parameters[1] - 0.5 * distance.powi(2)).exp();
    let factor = linalg::CholeskyFactor::new(&(kernel + (2.0 * parameters[2]).exp() * eye(x.len())));
    0.5 * linalg::quadratic_form(&factor, y) + 0.5 * factor.log_determinant()
}

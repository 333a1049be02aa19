//! Eigenvalues and singular values, with their vectors.

use super::{Side, checked, full_qr, matrices, operation, part};
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::operation::MatrixOperation;
use crate::tensor::{Float, Rank, Tensor, concatenate};
use deltaray_derive::Tree;

/// The eigenvalues and eigenvectors of a symmetric matrix.
#[derive(Clone, Tree)]
pub struct Eigh<A: Algebra, E: Float, R: Rank> {
    /// The eigenvalues, ascending; one axis less than the vectors.
    pub values: Tensor<A, E, R::Smaller>,
    /// Orthonormal eigenvectors, as columns. The largest element of each, the first of several, is positive.
    pub vectors: Tensor<A, E, R>,
}

/// The eigenvalues and eigenvectors of the symmetric part of a matrix.
///
/// ```
/// use deltaray::linalg::eigh;
/// use deltaray::prelude::*;
///
/// let a = Matrix::from([[2.0, 1.0], [1.0, 2.0]]);
/// let spectrum = eigh(&a);
/// assert!((spectrum.values - Vector::from([1.0, 3.0])).abs().lt(1e-12).all().item());
/// ```
///
/// With M = Vᵀ Ȧ V, eigenvalues move by its diagonal, and eigenvectors by V (F ∘ M), where F has 1 / (λⱼ − λᵢ), and 0 where both are as
/// good as equal: differ by no more than 8 n ε of the largest. So first derivatives are finite. Where eigenvalues are equal they are
/// right for symmetric functions of these values, and for projectors on all of their vectors, and wrong for others, V f(Λ) Vᵀ
/// among them: take [`spectral_function`](super::spectral_function) or [`spectral_sum`](super::spectral_sum), which are right at
/// every order. Eigenvalues that differ by g times the largest leave first derivatives an error of ε / g, and second ones of ε / g²;
/// where g is no more than the cube root of ε, second derivatives are NaN.
///
/// # Panics
///
/// When the matrices are not square; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn eigh<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Eigh<A, E, R> {
    let _place = ReportedAt::caller();
    let shape = a.shape();
    match operation(MatrixOperation::Eigh, &[&a.clone().into_dyn()]) {
        Ok(packed) => {
            let n = shape[shape.len() - 1];
            let values = part(&packed, Side::Rows, n..n + 1).remove_axis(shape.len() - 2);
            let vectors = part(&packed, Side::Rows, 0..n);
            Eigh { values: Tensor::wrap(values.into_array()), vectors: Tensor::wrap(vectors.into_array()) }
        }
        Err(problem) => Eigh {
            values: checked("eigh", &shape, Err(problem.clone())),
            vectors: checked("eigh", &shape, Err(problem)),
        },
    }
}

/// The eigenvalues of the symmetric part of a matrix, ascending.
///
/// ```
/// use deltaray::linalg::eigh_values;
/// use deltaray::prelude::*;
///
/// let values = eigh_values(&Matrix::from([[2.0, 1.0], [1.0, 2.0]]));
/// assert!((values - Vector::from([1.0, 3.0])).abs().lt(1e-12).all().item());
/// ```
///
/// The derivative is that of [`eigh`].
///
/// # Panics
///
/// As [`eigh`].
#[track_caller]
pub fn eigh_values<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R::Smaller> {
    let _place = ReportedAt::caller();
    row("eigh_values", MatrixOperation::EighValues, a)
}

/// A result of one row for each matrix, without that axis.
#[track_caller]
fn row<A: Algebra, E: Float, R: Rank>(
    name: &str,
    op: MatrixOperation,
    a: &Tensor<A, E, R>,
) -> Tensor<A, E, R::Smaller> {
    let packed = operation(op, &[&a.clone().into_dyn()]);
    checked(name, &a.shape(), packed.map(|packed| packed.remove_axis(packed.rank() - 2)))
}

/// The singular values and vectors of a matrix.
#[derive(Clone, Tree)]
pub struct Svd<A: Algebra, E: Float, R: Rank> {
    /// Left singular vectors, as columns: m × k. The largest element of each is positive or, where m < n, that of each column of `v`.
    pub u: Tensor<A, E, R>,
    /// The singular values, which descend: k; one axis less than the vectors.
    pub values: Tensor<A, E, R::Smaller>,
    /// Right singular vectors, as columns: n × k.
    pub v: Tensor<A, E, R>,
}

/// The singular value decomposition A = U S Vᵀ of an m × n matrix, thin: k, the number of singular values, is the lesser of m and n.
///
/// ```
/// use deltaray::linalg::svd;
/// use deltaray::prelude::*;
///
/// let a = Matrix::from([[0.0, 3.0], [4.0, 0.0], [0.0, 0.0]]);
/// let parts = svd(&a);
/// assert!((&parts.values - Vector::from([4.0, 3.0])).abs().lt(1e-12).all().item());
/// let product = (&parts.u * &parts.values).dot(&parts.v.t());
/// assert!((product - a).abs().lt(1e-12).all().item());
/// ```
///
/// With P = Uᵀ Ȧ V, values move by its diagonal. Quotients by differences and sums of values that are as good as 0 are 0 in the
/// derivatives of vectors, as for [`eigh`], so that first derivatives are finite. Where values are equal, or 0 in a matrix that is not
/// square, they are right for symmetric functions of these values and for projectors on all of their vectors, and wrong for
/// others, U f(S) Vᵀ among them. A value of 0 is a kink, where the derivative is the one along these vectors. Errors by small gaps
/// are those of [`eigh`]; second derivatives are NaN where two values, or in a matrix that is not square a value and 0, differ
/// by no more than the cube root of ε times the largest.
///
/// # Panics
///
/// When the array has fewer than two axes; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn svd<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Svd<A, E, R> {
    let _place = ReportedAt::caller();
    let shape = a.shape();
    match operation(MatrixOperation::Svd, &[&a.clone().into_dyn()]) {
        Ok(packed) => {
            let (m, n) = (shape[shape.len() - 2], shape[shape.len() - 1]);
            let values = part(&packed, Side::Rows, m..m + 1).remove_axis(shape.len() - 2);
            let (u, v) = (part(&packed, Side::Rows, 0..m), part(&packed, Side::Rows, m + 1..m + 1 + n));
            Svd {
                u: Tensor::wrap(u.into_array()),
                values: Tensor::wrap(values.into_array()),
                v: Tensor::wrap(v.into_array()),
            }
        }
        Err(problem) => {
            let placeholder: Tensor<A, E, R> = checked("svd", &shape, Err(problem.clone()));
            Svd { u: placeholder.clone(), values: checked("svd", &shape, Err(problem)), v: placeholder }
        }
    }
}

/// As [`svd`], where U and V are square, m × m and n × n: the columns that the thin decomposition lacks complete it to an orthogonal
/// matrix.
///
/// ```
/// use deltaray::linalg::full_svd;
/// use deltaray::prelude::*;
///
/// let u = full_svd(&Matrix::from([[3.0], [4.0]])).u;
/// assert!((u.dot(&u.t()) - eye(2)).abs().lt(1e-12).all().item());
/// ```
///
/// Columns that the matrix does not determine move by what keeps them orthogonal to the others, and not among themselves.
///
/// # Panics
///
/// As [`svd`].
#[track_caller]
pub fn full_svd<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Svd<A, E, R> {
    let _place = ReportedAt::caller();
    let shape = a.shape();
    if let Err(problem) = matrices(&shape) {
        let placeholder: Tensor<A, E, R> = checked("full_svd", &shape, Err(problem.clone()));
        return Svd { u: placeholder.clone(), values: checked("full_svd", &shape, Err(problem)), v: placeholder };
    }
    let Svd { u, values, v } = svd(a);
    Svd { u: completed(u), values, v: completed(v) }
}

/// Orthonormal columns, and behind them as many as make them an orthogonal matrix.
#[track_caller]
fn completed<A: Algebra, E: Float, R: Rank>(columns: Tensor<A, E, R>) -> Tensor<A, E, R> {
    let shape = columns.shape();
    let (axis, m, k) = (shape.len() - 1, shape[shape.len() - 2], shape[shape.len() - 1]);
    if m == k {
        return columns;
    }
    let columns = columns.into_dyn();
    let rest = part(&full_qr(&columns).q, Side::Columns, k..m);
    Tensor::wrap(concatenate(axis, &[columns, rest]).into_array())
}

/// The singular values of a matrix, which descend.
///
/// ```
/// use deltaray::linalg::singular_values;
/// use deltaray::prelude::*;
///
/// let values = singular_values(&Matrix::from([[0.0, 3.0], [4.0, 0.0]]));
/// assert!((values - Vector::from([4.0, 3.0])).abs().lt(1e-12).all().item());
/// ```
///
/// The derivative is that of [`svd`].
///
/// # Panics
///
/// As [`svd`].
#[track_caller]
pub fn singular_values<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R::Smaller> {
    let _place = ReportedAt::caller();
    row("singular_values", MatrixOperation::SvdValues, a)
}

/// The largest singular value of each matrix over the least one: by how much a relative error of a right side may grow in the
/// solution of a system of equations.
///
/// ```
/// use deltaray::linalg::condition_number;
/// use deltaray::prelude::*;
///
/// let number: f64 = condition_number(&Matrix::from([[8.0, 0.0], [0.0, 2.0]])).item();
/// assert!((number - 4.0).abs() < 1e-12);
/// ```
///
/// # Panics
///
/// When the array has fewer than two axes, or a matrix has no element; in a staged function that is the error of
/// [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn condition_number<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
    let _place = ReportedAt::caller();
    let shape = a.shape();
    let result = matrices(&shape).map(|(_, [m, n])| m.min(n)).and_then(|count| {
        if count == 0 {
            return Err(format!("a matrix of shape {:?} has no singular value", &shape[..]));
        }
        let packed = operation(MatrixOperation::SvdValues, &[&a.clone().into_dyn()])?;
        let values = packed.remove_axis(packed.rank() - 2);
        let last = values.rank() - 1;
        Ok(values.slice(last, 0..1).remove_axis(last) / values.slice(last, count - 1..count).remove_axis(last))
    });
    checked("condition_number", &shape, result)
}

/// The Moore–Penrose inverse of each m × n matrix, n × m. Singular values of no more than the larger extent times the
/// precision of the numbers, times the largest, count as 0.
///
/// ```
/// use deltaray::linalg::pseudo_inverse;
/// use deltaray::prelude::*;
///
/// let inverse = pseudo_inverse(&Matrix::from([[2.0, 0.0], [0.0, 0.0], [0.0, 4.0]]));
/// assert!((inverse - Matrix::from([[0.5, 0.0, 0.0], [0.0, 0.0, 0.25]])).abs().lt(1e-12).all().item());
/// ```
///
/// The derivative is that of matrices of the same rank (Golub and Pereyra, 1973), at every order. Of a matrix of lower rank, second
/// derivatives along directions that leave its rank depend on the order of these, for there the function has none.
///
/// # Panics
///
/// As [`svd`].
#[track_caller]
pub fn pseudo_inverse<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    checked("pseudo_inverse", &a.shape(), operation(MatrixOperation::PseudoInverse, &[&a.clone().into_dyn()]))
}

/// The largest singular value of each matrix: the most by which it lengthens a vector. 0 for a matrix without elements.
///
/// ```
/// use deltaray::linalg::spectral_norm;
/// use deltaray::prelude::*;
///
/// let norm: f64 = spectral_norm(&Matrix::from([[0.0, 3.0], [4.0, 0.0]])).item();
/// assert!((norm - 4.0).abs() < 1e-12);
/// ```
///
/// # Panics
///
/// As [`svd`].
#[track_caller]
pub fn spectral_norm<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
    let _place = ReportedAt::caller();
    let packed = operation(MatrixOperation::SvdValues, &[&a.clone().into_dyn()]);
    let result = packed.map(|packed| {
        let rank = packed.rank();
        match packed.shape()[rank - 1] {
            0 => packed.sum_axis(rank - 1).remove_axis(rank - 2),
            _ => packed.slice(rank - 1, 0..1).remove_axis(rank - 1).remove_axis(rank - 2),
        }
    });
    checked("spectral_norm", &a.shape(), result)
}

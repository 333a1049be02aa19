//! Factorisations of matrices.

use super::triangular::{RightSide, fit, with_columns};
use super::{Side, Triangle, checked, diagonal, kept, matrices, operation, part, turned};
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::operation::MatrixOperation;
use crate::tensor::apply::fail;
use crate::tensor::{Float, RDyn, Rank, Tensor, ones};
use deltaray_derive::Tree;

/// The Cholesky factor of a positive definite matrix: the lower triangular L with L Lᵀ = A, where A is the symmetric part of `a`.
///
/// ```
/// use deltaray::linalg::cholesky;
/// use deltaray::prelude::*;
///
/// let a: Matrix<_, f64> = Matrix::from([[4.0, 2.0], [2.0, 5.0]]);
/// assert_eq!(cholesky(&a), [[2.0, 0.0], [1.0, 2.0]].into());
/// assert!(cholesky(&-a).to_vec()[0].is_nan());
/// ```
///
/// The derivative is Murray's (arXiv 1602.07527): L̇ = L Φ(L⁻¹ Ȧ L⁻ᵀ), where Φ keeps what is below the diagonal and half of it; a kernel
/// of its own computes it, and another one the gradient. A matrix that is not positive definite has NaN for its factor.
///
/// # Panics
///
/// When the matrices are not square; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn cholesky<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    checked("cholesky", &a.shape(), operation(MatrixOperation::Cholesky, &[&a.clone().into_dyn()]))
}

/// The upper triangular U with Uᵀ U = A: the transpose of [`cholesky`].
///
/// ```
/// use deltaray::linalg::cholesky_upper;
/// use deltaray::prelude::*;
///
/// let a = Matrix::from([[4.0, 2.0], [2.0, 5.0]]);
/// assert_eq!(cholesky_upper(&a), [[2.0, 1.0], [0.0, 2.0]].into());
/// ```
///
/// # Panics
///
/// As [`cholesky`].
#[track_caller]
pub fn cholesky_upper<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    let factor = operation(MatrixOperation::Cholesky, &[&a.clone().into_dyn()]);
    checked("cholesky_upper", &a.shape(), factor.map(|factor| turned(&factor)))
}

/// The factors of A = L D Lᵀ.
#[derive(Clone, Tree)]
pub struct Ldl<A: Algebra, E: Float, R: Rank> {
    /// L, lower triangular with 1 on its diagonal.
    pub lower: Tensor<A, E, R>,
    /// The diagonal of D; one axis less.
    pub diagonal: Tensor<A, E, R::Smaller>,
}

/// The factorisation A = L D Lᵀ of the symmetric part of a positive definite matrix, by its [`cholesky`] factor, without pivoting.
///
/// ```
/// use deltaray::linalg::{Ldl, ldl};
/// use deltaray::prelude::*;
///
/// let Ldl { lower, diagonal } = ldl(&Matrix::from([[4.0, 2.0], [2.0, 5.0]]));
/// assert_eq!(lower, [[1.0, 0.0], [0.5, 1.0]].into());
/// assert_eq!(diagonal.to_vec(), [4.0, 4.0]);
/// ```
///
/// A matrix that is not positive definite, so that not all of its leading minors are positive, has NaN for its factors.
///
/// # Panics
///
/// As [`cholesky`].
#[track_caller]
pub fn ldl<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Ldl<A, E, R> {
    let _place = ReportedAt::caller();
    let shape = a.shape();
    let factors = operation(MatrixOperation::Cholesky, &[&a.clone().into_dyn()]).and_then(|factor| {
        let diagonal = super::diagonal(&factor)?;
        Ok((&factor / diagonal.insert_axis(diagonal.rank() - 1), &diagonal * &diagonal))
    });
    let [lower, diagonal] = match factors {
        Ok((lower, diagonal)) => [Ok(lower), Ok(diagonal)],
        Err(problem) => [Err(problem.clone()), Err(problem)],
    };
    Ldl { lower: checked("ldl", &shape, lower), diagonal: checked("ldl", &shape, diagonal) }
}

/// The factors of P A = L U, where P changes the order of rows, so that no division is by a small number.
///
/// [`Lu::solve`] solves systems of equations with the matrix, as often as there are right sides. Derivatives of solutions are those of
/// the matrix.
#[derive(Clone, Tree)]
pub struct Lu<A: Algebra, E: Float, R: Rank> {
    /// The matrix A.
    pub matrix: Tensor<A, E, R>,
    /// L below the diagonal, where it has 1, and U on and above it; beside them, in a last column, the number of the row of A that
    /// each row of P A is.
    pub packed: Tensor<A, E, R>,
}

/// The LU factorisation of a matrix, which need not be square, with partial pivoting.
///
/// ```
/// use deltaray::linalg::lu;
/// use deltaray::prelude::*;
///
/// let a = Matrix::from([[1.0, 2.0], [4.0, 4.0]]);
/// let factors = lu(&a);
/// assert_eq!(factors.order().to_vec(), [1, 0]);
/// assert_eq!(factors.lower(), [[1.0, 0.0], [0.25, 1.0]].into());
/// assert_eq!(factors.upper(), [[4.0, 4.0], [0.0, 1.0]].into());
/// assert_eq!(factors.solve(&Vector::from([3.0, 8.0])).to_vec(), [1.0, 1.0]);
/// ```
///
/// With X = L⁻¹ P Ȧ U⁻¹, the derivative of L is L times what is below the diagonal of X, and that of U is the rest of X times U. The
/// order of rows does not move. A singular matrix has factors, of which U has 0 on the diagonal, and no derivative.
///
/// # Panics
///
/// When the array has fewer than two axes, or matrices of `f32` have more than 2²⁴ rows, whose numbers `f32` does not tell apart; in a
/// staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn lu<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Lu<A, E, R> {
    let _place = ReportedAt::caller();
    let packed = operation(MatrixOperation::Lu, &[&a.clone().into_dyn()]);
    Lu { matrix: a.clone(), packed: checked("lu", &a.shape(), packed) }
}

impl<A: Algebra, E: Float, R: Rank> Lu<A, E, R> {
    /// A part of the factors, given both and the lesser of their extents.
    #[track_caller]
    fn factor(
        &self,
        wanted: impl FnOnce(&Tensor<A, E, RDyn>, usize) -> Result<Tensor<A, E, RDyn>, String>,
    ) -> Result<Tensor<A, E, RDyn>, String> {
        let (packed, [m, n]) = self.whole()?;
        wanted(&part(&packed, Side::Columns, 0..n), m.min(n))
    }

    /// All that is packed, with the extents of the matrix, if these are factors of one like that.
    fn whole(&self) -> Result<(Tensor<A, E, RDyn>, [usize; 2]), String> {
        let (shape, packed) = (self.matrix.shape(), self.packed.clone().into_dyn());
        let (batch, [m, n]) = matrices(&shape)?;
        let own = packed.shape();
        match own[..] == *[batch, &[m, n.saturating_add(1)]].concat() {
            true => Ok((packed, [m, n])),
            false => Err(format!("an array of shape {:?} has no factors of one of shape {:?}", &own[..], &shape[..])),
        }
    }

    /// The number of the row of A that each row of P A is.
    ///
    /// # Panics
    ///
    /// As [`lu`].
    #[track_caller]
    pub fn order(&self) -> Tensor<A, i64, R::Smaller> {
        let _place = ReportedAt::caller();
        match self.whole() {
            Ok((packed, [_, n])) => {
                let order = part(&packed, Side::Columns, n..n + 1).remove_axis(packed.rank() - 1);
                Tensor::wrap(order.cast::<i64>().into_array())
            }
            Err(problem) => fail("order", problem, &self.matrix.shape()),
        }
    }

    /// L, of as many rows as the matrix, with 1 on its diagonal.
    #[track_caller]
    pub fn lower(&self) -> Tensor<A, E, R> {
        let _place = ReportedAt::caller();
        let lower = self.factor(|factors, count| {
            let columns = part(factors, Side::Columns, 0..count);
            let shape = columns.shape();
            let diagonal = kept(&ones(&shape[..]), |row, column| row.equal(column));
            // Of a single row nothing is below the diagonal, so that no derivative comes of it, though it were NaN.
            let is_single = shape[shape.len() - 2] == 1;
            Ok(if is_single { diagonal } else { kept(&columns, |row, column| row.gt(column)) + diagonal })
        });
        checked("lower", &self.matrix.shape(), lower)
    }

    /// U, of as many columns as the matrix.
    #[track_caller]
    pub fn upper(&self) -> Tensor<A, E, R> {
        let _place = ReportedAt::caller();
        let upper =
            self.factor(|factors, count| Ok(kept(&part(factors, Side::Rows, 0..count), |row, column| row.le(column))));
        checked("upper", &self.matrix.shape(), upper)
    }

    /// The solution x of A x = b, for a square matrix A: one right side for each matrix, or a matrix with one in each column. The
    /// derivative is ẋ = A⁻¹ (ḃ − Ȧ x), by the same factors.
    ///
    /// # Panics
    ///
    /// When the matrix is not square, or the right side has another number of rows; staged, that is recorded instead.
    #[track_caller]
    pub fn solve<S: RightSide<R>>(&self, b: &Tensor<A, E, S>) -> Tensor<A, E, S> {
        let _place = ReportedAt::caller();
        checked("solve", &b.shape(), self.solution(b))
    }

    #[track_caller]
    pub(super) fn solution<S: Rank>(&self, b: &Tensor<A, E, S>) -> Result<Tensor<A, E, RDyn>, String> {
        let fixed = [&self.matrix, &self.packed].map(|array| array.clone().into_dyn());
        with_columns(&[&fixed[0], &fixed[1]], b, |fixed, b| {
            operation(MatrixOperation::SolveGeneral, &[&fixed[0], &fixed[1], b])
        })
    }

    /// The elements on the diagonal of U.
    #[track_caller]
    pub(super) fn pivots(&self) -> Result<Tensor<A, E, RDyn>, String> {
        self.factor(|factors, _| diagonal(factors))
    }
}

/// The factors of A = Q R.
///
/// [`Qr::solve`] solves least squares problems with the matrix, as often as there are right sides.
#[derive(Clone, Tree)]
pub struct Qr<A: Algebra, E: Float, R: Rank> {
    /// A matrix with orthonormal columns.
    pub q: Tensor<A, E, R>,
    /// An upper triangular matrix.
    pub r: Tensor<A, E, R>,
}

impl<A: Algebra, E: Float, R: Rank> Qr<A, E, R> {
    /// The x that makes ‖A x − b‖ least, for an m × n matrix A with independent columns: one right side for each matrix, or a matrix with
    /// one in each column. Of other matrices, [`lstsq`](super::lstsq) has the solution of least norm.
    ///
    /// ```
    /// use deltaray::linalg::qr;
    /// use deltaray::prelude::*;
    ///
    /// // Lines through three points.
    /// let factors = qr(&Matrix::from([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]));
    /// for (y, line) in [([1.0, 3.0, 5.0], [1.0, 2.0]), ([2.0, 2.0, 2.0], [2.0, 0.0])] {
    ///     let found = factors.solve(&Vector::from(y));
    ///     assert!((found - Vector::from(line)).abs().lt(1e-12).all().item());
    /// }
    /// ```
    ///
    /// The derivative is that of the factors. Where columns are dependent, the solution and its derivative are not finite or, because of
    /// rounding, numbers that mean nothing.
    ///
    /// # Panics
    ///
    /// When the matrix has more columns than rows, or the right sides have another number of rows; staged, that is recorded instead.
    #[track_caller]
    pub fn solve<S: RightSide<R>>(&self, b: &Tensor<A, E, S>) -> Tensor<A, E, S> {
        let _place = ReportedAt::caller();
        let fixed = [&self.q, &self.r].map(|array| array.clone().into_dyn());
        let solution = with_columns(&[&fixed[0], &fixed[1]], b, |fixed, b| {
            fit(fixed, b)?;
            let (q, r) = (fixed[0].shape(), fixed[1].shape());
            let ((_, [m, own]), (_, [k, n])) = (matrices(&q)?, matrices(&r)?);
            if own != k || k < n {
                let reason = match own == k {
                    true => "leave many solutions, of which `lstsq` has that of least norm",
                    false => "don't fit",
                };
                return Err(format!("Q of {m} by {own} and R of {k} by {n} {reason}"));
            }
            let (q, r) = (part(&fixed[0], Side::Columns, 0..n), part(&fixed[1], Side::Rows, 0..n));
            operation(MatrixOperation::Solve(Triangle::UPPER), &[&r, &turned(&q).matmul(b)])
        });
        checked("solve", &b.shape(), solution)
    }
}

#[track_caller]
fn orthogonal<A: Algebra, E: Float, R: Rank>(name: &str, op: MatrixOperation, a: &Tensor<A, E, R>) -> Qr<A, E, R> {
    let shape = a.shape();
    match operation(op, &[&a.clone().into_dyn()]) {
        Ok(packed) => {
            let (m, n) = (shape[shape.len() - 2], shape[shape.len() - 1]);
            let (q, r) = (part(&packed, Side::Rows, 0..m), part(&packed, Side::Rows, m..m + n));
            Qr { q: Tensor::wrap(q.into_array()), r: Tensor::wrap(turned(&r).into_array()) }
        }
        Err(problem) => {
            let placeholder: Tensor<A, E, R> = checked(name, &shape, Err(problem));
            Qr { q: placeholder.clone(), r: placeholder }
        }
    }
}

/// The QR factorisation of an m × n matrix by Householder's reflections: Q is m × k and R is k × n, where k is the lesser of m and
/// n. Elements on the diagonal of R may be negative.
///
/// ```
/// use deltaray::linalg::{Qr, qr};
/// use deltaray::prelude::*;
///
/// let Qr { q, r } = qr(&Matrix::from([[3.0, 1.0], [4.0, 2.0]]));
/// assert_eq!((q.dot(&r) * 1e9).round() / 1e9, [[3.0, 1.0], [4.0, 2.0]].into());
/// assert_eq!(r.at((1, 0)).item(), 0.0);
/// ```
///
/// The derivative exists where the first k columns are independent. Of dependent ones it has no meaning, and is not finite, or very
/// large, as rounding makes R singular or nearly so.
///
/// # Panics
///
/// When the array has fewer than two axes; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn qr<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Qr<A, E, R> {
    let _place = ReportedAt::caller();
    orthogonal("qr", MatrixOperation::Qr, a)
}

/// As [`qr`], where Q is square, m × m, and R is m × n.
///
/// ```
/// use deltaray::linalg::{Qr, full_qr};
/// use deltaray::prelude::*;
///
/// let Qr { q, r } = full_qr(&Matrix::from([[3.0], [4.0]]));
/// assert_eq!((q.shape()[..].to_vec(), r.shape()[..].to_vec()), (vec![2, 2], vec![2, 1]));
/// ```
///
/// Columns of Q that A does not determine move by what keeps them orthogonal to the others, and not among themselves.
///
/// # Panics
///
/// As [`qr`].
#[track_caller]
pub fn full_qr<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Qr<A, E, R> {
    let _place = ReportedAt::caller();
    orthogonal("full_qr", MatrixOperation::FullQr, a)
}

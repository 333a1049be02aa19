//! Systems of equations with triangular matrices, and the right sides of systems.

use super::{Triangle, checked, matrices, operation, turned};
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::operation::MatrixOperation;
use crate::shape::Shape;
use crate::tensor::{Float, R1, R2, R3, R4, R5, R6, RDyn, Rank, Tensor, broadcast_shape};

/// The ranks of right sides of systems with matrices of rank `R`: as many axes, for a matrix with a right side in each column, or
/// one less, for a single right side.
#[diagnostic::on_unimplemented(
    message = "an array of rank `{Self}` is no right side for matrices of rank `{R}`",
    note = "a right side has as many axes as the matrix, with a column for each system, or one less"
)]
pub trait RightSide<R: Rank>: Rank {}

macro_rules! right_sides {
    ($($side:ident of $matrix:ident),*) => {
        $(impl RightSide<$matrix> for $side {})*
    };
}

right_sides!(R1 of R2, R2 of R2, R2 of R3, R3 of R3, R3 of R4, R4 of R4, R4 of R5, R5 of R5, R5 of R6, R6 of R6, RDyn of RDyn);

/// A function of matrices, the first square or not and the others its factors, and of right sides, which are matrices too; axes before
/// them are those of all, broadcast.
pub(super) fn with_columns<A: Algebra, E: Float, S: Rank>(
    fixed: &[&Tensor<A, E, RDyn>],
    b: &Tensor<A, E, S>,
    f: impl FnOnce(&[Tensor<A, E, RDyn>], &Tensor<A, E, RDyn>) -> Result<Tensor<A, E, RDyn>, String>,
) -> Result<Tensor<A, E, RDyn>, String> {
    let (shape, side) = (fixed[0].shape(), b.shape());
    let (batch, _) = matrices(&shape)?;
    let problem = || format!("a matrix of shape {:?} and a right side of shape {:?} don't fit", &shape[..], &side[..]);
    let is_single = side.len() + 1 == shape.len();
    if !is_single && side.len() != shape.len() {
        return Err(problem());
    }
    let columns = if is_single { b.clone().into_dyn().insert_axis(side.len()) } else { b.clone().into_dyn() };
    let columns_shape = columns.shape();
    let (own, _) = matrices(&columns_shape)?;
    let all = broadcast_shape(batch, own).ok_or_else(problem)?;
    let whole = |array: &Tensor<A, E, RDyn>| {
        let own = array.shape();
        let shape: Shape = all.iter().chain(&own[own.len() - 2..]).copied().collect();
        array.broadcast_to(shape)
    };
    let fixed: Vec<Tensor<A, E, RDyn>> = fixed.iter().map(|array| whole(array)).collect();
    let result = f(&fixed, &whole(&columns))?;
    Ok(if is_single { result.remove_axis(side.len()) } else { result })
}

/// The solution x of A x = b for a triangular matrix A, of which only that triangle is read: one right side for each matrix, or a
/// matrix with one in each column.
///
/// ```
/// use deltaray::linalg::{Triangle, solve_triangular};
/// use deltaray::prelude::*;
///
/// let (l, b) = (Matrix::from([[2.0, 0.0], [1.0, 4.0]]), Vector::from([4.0, 10.0]));
/// assert_eq!(solve_triangular(&l, &b, Triangle::LOWER).to_vec(), [2.0, 2.0]);
/// assert_eq!(solve_triangular(&l, &b, Triangle::LOWER.transposed()).to_vec(), [0.75, 2.5]);
/// assert_eq!(solve_triangular(&l, &b, Triangle::LOWER.unit()).to_vec(), [4.0, 6.0]);
/// ```
///
/// The derivative is ẋ = A⁻¹ (ḃ − Ȧ x).
///
/// # Panics
///
/// When the matrices are not square, or the right sides have another number of rows; in a staged function that is the error of
/// [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn solve_triangular<A: Algebra, E: Float, R: Rank, S: RightSide<R>>(
    a: &Tensor<A, E, R>,
    b: &Tensor<A, E, S>,
    triangle: Triangle,
) -> Tensor<A, E, S> {
    let _place = ReportedAt::caller();
    let result =
        with_columns(&[&a.clone().into_dyn()], b, |a, b| operation(MatrixOperation::Solve(triangle), &[&a[0], b]));
    checked("solve_triangular", &b.shape(), result)
}

/// The solution X of X A = B for a triangular matrix A, of which only that triangle is read: the matrix B has a right side in each
/// row.
///
/// ```
/// use deltaray::linalg::{Triangle, solve_triangular_right};
/// use deltaray::prelude::*;
///
/// let (u, b) = (Matrix::from([[2.0, 1.0], [0.0, 4.0]]), Matrix::from([[4.0, 10.0]]));
/// assert_eq!(solve_triangular_right(&u, &b, Triangle::UPPER), [[2.0, 2.0]].into());
/// ```
///
/// # Panics
///
/// As [`solve_triangular`], of the columns of B.
#[track_caller]
pub fn solve_triangular_right<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
    b: &Tensor<A, E, R>,
    triangle: Triangle,
) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    let like = b.shape();
    let result = matrices(&like).map(|_| turned(&b.clone().into_dyn())).and_then(|b| {
        with_columns(&[&a.clone().into_dyn()], &b, |a, b| {
            operation(MatrixOperation::Solve(triangle.transposed()), &[&a[0], b])
        })
    });
    checked("solve_triangular_right", &like, result.map(|x| turned(&x)))
}

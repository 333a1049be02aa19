//! Systems of equations with triangular matrices, and the right sides of systems.

use super::{Triangle, checked, matrices, operation, squares, turned};
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

/// A function of matrices, the first square or not and the others its factors, and of right sides, which are matrices too. Axes before
/// them broadcast, but the matrices keep theirs: right sides along an axis of which a matrix has one position are columns of
/// one system, so that its factors serve all of them.
pub(super) fn with_columns<A: Algebra, E: Float, S: Rank>(
    fixed: &[&Tensor<A, E, RDyn>],
    b: &Tensor<A, E, S>,
    f: impl FnOnce(&[Tensor<A, E, RDyn>], &Tensor<A, E, RDyn>) -> Result<Tensor<A, E, RDyn>, String>,
) -> Result<Tensor<A, E, RDyn>, String> {
    let (shape, side) = (fixed[0].shape(), b.shape());
    named_columns(fixed, b, &|| unfit("a matrix", &shape, &side), f)
}

/// The problem of right sides whose axes are none for matrices, given by an array of a name.
pub(super) fn unfit(name: &str, shape: &[usize], side: &[usize]) -> String {
    format!("{name} of shape {shape:?} and a right side of shape {side:?} don't fit")
}

/// As [`with_columns`], where the problem of axes that don't fit is given.
pub(super) fn named_columns<A: Algebra, E: Float, S: Rank>(
    fixed: &[&Tensor<A, E, RDyn>],
    b: &Tensor<A, E, S>,
    problem: &dyn Fn() -> String,
    f: impl FnOnce(&[Tensor<A, E, RDyn>], &Tensor<A, E, RDyn>) -> Result<Tensor<A, E, RDyn>, String>,
) -> Result<Tensor<A, E, RDyn>, String> {
    let (shape, side) = (fixed[0].shape(), b.shape());
    let (batch, _) = matrices(&shape)?;
    let is_single = side.len() + 1 == shape.len();
    if !is_single && side.len() != shape.len() {
        return Err(problem());
    }
    let columns = if is_single { b.clone().into_dyn().insert_axis(side.len()) } else { b.clone().into_dyn() };
    let columns_shape = columns.shape();
    let (own, _) = matrices(&columns_shape)?;
    let all = broadcast_shape(batch, own).ok_or_else(problem)?;
    let fixed: Vec<Tensor<A, E, RDyn>> = fixed.iter().map(|&array| array.clone()).collect();
    let result = together(batch, &all, &columns, |columns| f(&fixed, columns))?;
    Ok(if is_single { result.remove_axis(side.len()) } else { result })
}

/// A function of right sides with these axes before them, and matrices that have those, of right sides with all of these axes.
fn together<A: Algebra, E: Float>(
    batch: &[usize],
    all: &[usize],
    columns: &Tensor<A, E, RDyn>,
    f: impl FnOnce(&Tensor<A, E, RDyn>) -> Result<Tensor<A, E, RDyn>, String>,
) -> Result<Tensor<A, E, RDyn>, String> {
    let axes = all.len();
    let with = |batch: &[usize], inner: &[usize]| -> Shape { batch.iter().chain(inner).copied().collect() };
    let whole = columns.broadcast_to(with(all, &columns.shape()[axes..]));
    let (shared, kept): (Vec<usize>, Vec<usize>) = (0..axes).partition(|&axis| batch[axis] != all[axis]);
    if shared.is_empty() {
        return f(&whole);
    }
    let order: Vec<usize> = kept.iter().chain(&[axes]).chain(&shared).chain(&[axes + 1]).copied().collect();
    let apart = whole.tr(&order);
    let apart_shape = apart.shape();
    let (before, behind) = apart_shape.split_at(kept.len() + 1);
    let count = behind.iter().try_fold(1_usize, |count, &extent| count.checked_mul(extent));
    let count = count.ok_or_else(|| format!("right sides of shape {:?} are too many", &whole.shape()[..]))?;
    let result = f(&apart.reshape(with(batch, &[before[kept.len()], count])))?;
    let rows = result.shape()[axes];
    let result = result.reshape(with(&with(&before[..kept.len()], &[rows]), behind));
    let mut back = vec![0; axes + 2];
    order.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
    Ok(result.tr(&back))
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
    let (shape, like) = (a.shape(), b.shape());
    let result = matrices(&like).and_then(|(_, [_, columns])| {
        let (_, n) = squares(&shape)?;
        if columns != n {
            return Err(format!("a matrix of {n} by {n} does not fit a right side of {columns} columns"));
        }
        let problem = || unfit("a matrix", &shape, &like);
        named_columns(&[&a.clone().into_dyn()], &turned(&b.clone().into_dyn()), &problem, |a, b| {
            operation(MatrixOperation::Solve(triangle.transposed()), &[&a[0], b])
        })
    });
    checked("solve_triangular_right", &like, result.map(|x| turned(&x)))
}

/// The failure of a matrix and right sides of another number of rows.
pub(super) fn fit<A: Algebra, E: Float>(a: &[Tensor<A, E, RDyn>], b: &Tensor<A, E, RDyn>) -> Result<(), String> {
    let (shape, side) = (a[0].shape(), b.shape());
    let ((_, [m, n]), (_, [rows, _])) = (matrices(&shape)?, matrices(&side)?);
    match rows == m {
        true => Ok(()),
        false => Err(format!("a matrix of {m} by {n} does not fit a right side of {rows} rows")),
    }
}

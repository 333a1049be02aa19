//! Systems of equations with matrices whose elements lie near the diagonal.

use super::triangular::{RightSide, named_columns, unfit, with_columns};
use super::{Side, checked, matrices, operation, part};
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::operation::MatrixOperation;
use crate::tensor::{Float, RDyn, Rank, Tensor, concatenate};

/// The solution x of A x = b for a matrix A with these numbers of bands below its diagonal and above it: one right side for each
/// matrix, or a matrix with one in each column. Time and memory are in proportion to the elements of the bands.
///
/// The bands are the rows of a matrix of as many columns as A, the uppermost first, as in SciPy: element (i, j) of A is at
/// `(above + i - j, j)`. Places that belong to no element, as the first one of the band above the diagonal, are not read.
///
/// ```
/// use deltaray::linalg::solve_banded;
/// use deltaray::prelude::*;
///
/// // [[2, 1, 0], [3, 4, 1], [0, 5, 6]]
/// let nothing = f64::NAN;
/// let bands = Matrix::from([[nothing, 1.0, 1.0], [2.0, 4.0, 6.0], [3.0, 5.0, nothing]]);
/// let b = Vector::from([3.0, 8.0, 11.0]);
/// let x = solve_banded((1, 1), &bands, &b);
/// assert!((x - 1.0).abs().lt(1e-12).all().item());
/// ```
///
/// Rows change places, so that no division is by a small number, as in LAPACK's `gbsv`. The derivative is ẋ = A⁻¹ (ḃ − Ȧ x). The
/// solution of a singular system has infinities or NaN.
///
/// # Panics
///
/// When the numbers of bands, the bands and the right sides do not fit each other; in a staged function that is the error of
/// [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn solve_banded<A: Algebra, E: Float, R: Rank, S: RightSide<R>>(
    (below, above): (usize, usize),
    bands: &Tensor<A, E, R>,
    b: &Tensor<A, E, S>,
) -> Tensor<A, E, S> {
    let _place = ReportedAt::caller();
    let result = with_columns(&[&bands.clone().into_dyn()], b, |bands, b| {
        let shape = bands[0].shape();
        let (_, [rows, n]) = matrices(&shape)?;
        if below.checked_add(above).and_then(|others| others.checked_add(1)) != Some(rows) {
            return Err(format!(
                "a matrix of {rows} by {n} does not have a row for the diagonal, {below} for bands below it and {above} for bands above it"
            ));
        }
        // As rows of the transpose, whose bands below the diagonal these are, the lowest first.
        let (first, rest) = (part(&bands[0], Side::Rows, 0..above), part(&bands[0], Side::Rows, above..rows));
        operation(MatrixOperation::SolveBandedTransposed, &[&first, &rest, b])
    });
    checked("solve_banded", &b.shape(), result)
}

/// The solution x of A x = b for a tridiagonal matrix A: one right side for each matrix, or a matrix with one in each column. Time and
/// memory are in proportion to the number of rows.
///
/// Row i of A has `lower[i]`, `diagonal[i]` and `upper[i]`, as in JAX. The first element of `lower` and the last of `upper` are beside
/// the matrix, and are not read.
///
/// ```
/// use deltaray::linalg::tridiagonal_solve;
/// use deltaray::prelude::*;
///
/// // [[2, 1, 0], [3, 4, 1], [0, 5, 6]]
/// let nothing = f64::NAN;
/// let lower = Vector::from([nothing, 3.0, 5.0]);
/// let (diagonal, upper) = (Vector::from([2.0, 4.0, 6.0]), Vector::from([1.0, 1.0, nothing]));
/// let b = Vector::from([3.0, 8.0, 11.0]);
/// let x = tridiagonal_solve(&lower, &diagonal, &upper, &b);
/// assert!((x - 1.0).abs().lt(1e-12).all().item());
/// ```
///
/// As [`solve_banded`], of which this is the case of one band on either side.
///
/// # Panics
///
/// When the bands differ in shape, or the right sides have another number of rows; in a staged function that is the error of
/// [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn tridiagonal_solve<A: Algebra, E: Float, R: Rank, S: RightSide<R::Larger>>(
    lower: &Tensor<A, E, R>,
    diagonal: &Tensor<A, E, R>,
    upper: &Tensor<A, E, R>,
    b: &Tensor<A, E, S>,
) -> Tensor<A, E, S> {
    let _place = ReportedAt::caller();
    let rows = |bands: &[&Tensor<A, E, R>]| -> Result<Tensor<A, E, RDyn>, String> {
        let shapes = [lower, diagonal, upper].map(Tensor::shape);
        let axes = shapes[1].len().checked_sub(1).ok_or("takes bands of a matrix, not numbers")?;
        if shapes.iter().any(|shape| *shape != shapes[1]) {
            let [lower, diagonal, upper] = shapes;
            return Err(format!("bands of shapes {:?}, {:?} and {:?} differ", &lower[..], &diagonal[..], &upper[..]));
        }
        let rows: Vec<_> = bands.iter().map(|&band| band.clone().into_dyn().insert_axis(axes)).collect();
        Ok(concatenate(axes, &rows))
    };
    let result = rows(&[lower]).and_then(|lower| {
        let rest = rows(&[diagonal, upper])?;
        let problem = || unfit("bands", &diagonal.shape(), &b.shape());
        named_columns(&[&lower, &rest], b, &problem, |bands, b| {
            operation(MatrixOperation::SolveBanded, &[&bands[0], &bands[1], b])
        })
    });
    checked("tridiagonal_solve", &b.shape(), result)
}

//! Functions that are made of factorisations, products and masks.

use super::solve::square_factors;
use super::{CholeskyFactor, Lu, Side, checked, diagonal, kept, lu, matrices, operation, squares};
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::operation::MatrixOperation;
use crate::shape::Shape;
use crate::tensor::apply::fail;
use crate::tensor::{Float, Number, RDyn, Rank, Tensor, eye, ones, zeros};

/// The elements on and below the diagonal; those above become 0.
///
/// ```
/// use deltaray::linalg::triangle_lower;
/// use deltaray::prelude::*;
///
/// assert_eq!(triangle_lower(&Matrix::from([[1.0, 2.0], [3.0, 4.0]])), [[1.0, 0.0], [3.0, 4.0]].into());
/// ```
///
/// # Panics
///
/// When the array has fewer than two axes; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn triangle_lower<A: Algebra, E: Number, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R> {
    triangle("triangle_lower", a, |row, column| row.ge(column))
}

/// The elements on and above the diagonal; those below become 0.
///
/// ```
/// use deltaray::linalg::triangle_upper;
/// use deltaray::prelude::*;
///
/// assert_eq!(triangle_upper(&Matrix::from([[1.0, 2.0], [3.0, 4.0]])), [[1.0, 2.0], [0.0, 4.0]].into());
/// ```
///
/// # Panics
///
/// As [`triangle_lower`].
#[track_caller]
pub fn triangle_upper<A: Algebra, E: Number, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R> {
    triangle("triangle_upper", a, |row, column| row.le(column))
}

#[track_caller]
fn triangle<A: Algebra, E: Number, R: Rank>(
    name: &str,
    a: &Tensor<A, E, R>,
    condition: impl FnOnce(&Tensor<A, i64, RDyn>, &Tensor<A, i64, RDyn>) -> Tensor<A, bool, RDyn>,
) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    match matrices(&a.shape()) {
        Ok(_) => Tensor::wrap(kept(&a.clone().into_dyn(), condition).into_array()),
        Err(problem) => fail(name, problem, &a.shape()),
    }
}

/// The sum of the elements on the diagonal, for each matrix.
///
/// ```
/// use deltaray::linalg::trace;
/// use deltaray::prelude::*;
///
/// assert_eq!(trace(&Matrix::from([[1.0, 2.0], [3.0, 4.0]])).item(), 5.0);
/// ```
///
/// # Panics
///
/// As [`triangle_lower`].
#[track_caller]
pub fn trace<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
    let _place = ReportedAt::caller();
    let result = diagonal(&a.clone().into_dyn()).map(|diagonal| diagonal.sum_axis(diagonal.rank() - 1));
    checked("trace", &a.shape(), result)
}

/// The inverse of each matrix, by [`lu`]. A solution of A x = b is found faster, and more precisely, by [`solve`](super::solve).
///
/// ```
/// use deltaray::linalg::inverse;
/// use deltaray::prelude::*;
///
/// assert_eq!(inverse(&Matrix::from([[0.0, 2.0], [4.0, 0.0]])), [[0.0, 0.25], [0.5, 0.0]].into());
/// ```
///
/// # Panics
///
/// When the matrices are not square; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn inverse<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    checked("inverse", &a.shape(), square_factors(a).and_then(|factors| inverse_by(&factors)))
}

#[track_caller]
pub(super) fn inverse_by<A: Algebra, E: Float>(factors: &Lu<A, E, RDyn>) -> Result<Tensor<A, E, RDyn>, String> {
    let shape = factors.matrix.shape();
    let (_, n) = squares(&shape)?;
    let identity: Tensor<A, E, RDyn> = eye(n).into_dyn().broadcast_to(&shape[..]);
    factors.solution(&identity)
}

/// The determinant of each matrix, by [`lu`]; of a matrix without rows it is 1.
///
/// ```
/// use deltaray::linalg::determinant;
/// use deltaray::prelude::*;
///
/// assert_eq!(determinant(&Matrix::from([[1.0, 2.0], [4.0, 4.0]])).item(), -4.0);
/// ```
///
/// The gradient has the cofactors, which any matrix has, also a singular one; so have derivatives of every order up to 8. Those of
/// matrices of more than 3 rows take as long as their inverses, or as their [`svd`](super::svd) where one of them is nearly singular.
///
/// # Panics
///
/// As [`inverse`].
#[track_caller]
pub fn determinant<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
    let _place = ReportedAt::caller();
    let result = squares(&a.shape()).and_then(|_| {
        let a = a.clone().into_dyn();
        let factors = lu(&a).packed;
        operation(MatrixOperation::Determinant, &[&a, &factors])
    });
    let result = result.map(|result| result.remove_axis(result.rank() - 1).remove_axis(result.rank() - 2));
    checked("determinant", &a.shape(), result)
}

/// The sign of each determinant, and the natural logarithm of its absolute value, which is finite where the determinant itself is out
/// of the range of numbers.
///
/// ```
/// use deltaray::linalg::slog_determinant;
/// use deltaray::prelude::*;
///
/// let (sign, logarithm) = slog_determinant(&Matrix::from([[1.0, 2.0], [4.0, 4.0]]));
/// assert_eq!((sign.item(), logarithm.item()), (-1.0, 4.0_f64.ln()));
/// ```
///
/// # Panics
///
/// As [`inverse`].
#[allow(clippy::type_complexity)]
#[track_caller]
pub fn slog_determinant<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
) -> (Tensor<A, E, <R::Smaller as Rank>::Smaller>, Tensor<A, E, <R::Smaller as Rank>::Smaller>) {
    let _place = ReportedAt::caller();
    match pivots(&a.clone().into_dyn()) {
        Ok((sign, diagonal)) => {
            let last = diagonal.rank() - 1;
            let signs = sign * diagonal.sign().product_axis(last);
            let logarithm = diagonal.abs().ln().sum_axis(last);
            (Tensor::wrap(signs.into_array()), Tensor::wrap(logarithm.into_array()))
        }
        Err(problem) => {
            let placeholder: Tensor<A, E, <R::Smaller as Rank>::Smaller> =
                checked("slog_determinant", &a.shape(), Err(problem));
            (placeholder.clone(), placeholder)
        }
    }
}

/// The sign of the order of rows, and the diagonal of U, of the LU factors.
#[allow(clippy::type_complexity)]
#[track_caller]
fn pivots<A: Algebra, E: Float>(a: &Tensor<A, E, RDyn>) -> Result<(Tensor<A, E, RDyn>, Tensor<A, E, RDyn>), String> {
    let shape = a.shape();
    let (batch, n) = squares(&shape)?;
    let axes = batch.len();
    let factors = lu(a);
    // Whether a row stands before one that it followed: for each pair of rows.
    let pairs: Shape = batch.iter().copied().chain([n, n]).collect();
    let order = factors.order();
    let along = |axis: usize| order.insert_axis(axis).broadcast_to(&pairs[..]);
    let is_turned = along(axes + 1).gt(&along(axes));
    let turned = kept(&is_turned.cast::<i64>(), |row, column| row.lt(column));
    let count = turned.sum_axis(axes + 1).sum_axis(axes) % 2;
    let sign = (count * -2 + 1).cast::<E>();
    Ok((sign, factors.pivots()?))
}

/// The natural logarithm of the determinant of each positive definite matrix, by the Cholesky factor of its symmetric part.
///
/// ```
/// use deltaray::linalg::log_determinant;
/// use deltaray::prelude::*;
///
/// assert_eq!(log_determinant(&Matrix::from([[4.0, 2.0], [2.0, 5.0]])).item(), 16.0_f64.ln());
/// ```
///
/// Other matrices have [`slog_determinant`]. The derivative is the trace of A⁻¹ Ȧ.
///
/// # Panics
///
/// As [`inverse`].
#[track_caller]
pub fn log_determinant<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
    let _place = ReportedAt::caller();
    match squares(&a.shape()) {
        Ok(_) => CholeskyFactor::new(a).log_determinant(),
        Err(problem) => fail("log_determinant", problem, &[]),
    }
}

/// A matrix to an integer power; a negative power is one of the [`inverse`], and the power 0 is the identity.
///
/// ```
/// use deltaray::linalg::matrix_power;
/// use deltaray::prelude::*;
///
/// assert_eq!(matrix_power(&Matrix::from([[1.0, 1.0], [1.0, 0.0]]), 10).at((0, 1)).item(), 55.0);
/// ```
///
/// # Panics
///
/// As [`inverse`].
#[track_caller]
pub fn matrix_power<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>, power: i32) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    let shape = a.shape();
    if let Err(problem) = squares(&shape) {
        return fail("matrix_power", problem, &shape);
    }
    let mut square = if power < 0 { inverse(&a.clone().into_dyn()) } else { a.clone().into_dyn() };
    let mut rest = power.unsigned_abs();
    let mut product: Option<Tensor<A, E, RDyn>> = None;
    while rest > 0 {
        if rest % 2 == 1 {
            product = Some(product.map_or_else(|| square.clone(), |product| product.matmul(&square)));
        }
        rest /= 2;
        if rest > 0 {
            square = square.matmul(&square);
        }
    }
    let identity = || eye(shape[shape.len() - 1]).into_dyn().broadcast_to(&shape[..]);
    Tensor::wrap(product.unwrap_or_else(identity).into_array())
}

/// The Kronecker product: each element of the first matrix, times the second one as a block.
///
/// ```
/// use deltaray::linalg::kron;
/// use deltaray::prelude::*;
///
/// let product = kron(&Matrix::from([[1.0, 2.0]]), &Matrix::from([[1.0], [3.0]]));
/// assert_eq!(product, [[1.0, 2.0], [3.0, 6.0]].into());
/// ```
///
/// # Panics
///
/// When the arrays have fewer than two axes, or the axes before matrices differ; in a staged function that is the error of
/// [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn kron<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>, b: &Tensor<A, E, R>) -> Tensor<A, E, R> {
    let _place = ReportedAt::caller();
    let (left, right) = (a.shape(), b.shape());
    let result = matrices(&left).and_then(|(batch, [m, n])| {
        let (other, [p, q]) = matrices(&right)?;
        if batch != other {
            return Err(format!("the axes before matrices differ in shapes {:?} and {:?}", &left[..], &right[..]));
        }
        let axes = batch.len();
        let shape = |extents: [usize; 4]| batch.iter().copied().chain(extents).collect::<Shape>();
        let spread = |array: &Tensor<A, E, R>, places: [usize; 2]| {
            let whole = shape([m, p, n, q]);
            let places: Shape = (0..axes).chain(places.map(|place| axes + place)).collect();
            let map = AffineMap::broadcast(&array.shape(), &whole, &places);
            Tensor::<A, E, RDyn>::wrap(A::view(array.array().clone(), &map))
        };
        let (Some(rows), Some(columns)) = (m.checked_mul(p), n.checked_mul(q)) else {
            return Err(format!("the product of shapes {:?} and {:?} is too large", &left[..], &right[..]));
        };
        let product = spread(a, [0, 2]) * spread(b, [1, 3]);
        let result: Shape = batch.iter().copied().chain([rows, columns]).collect();
        Ok(product.reshape(result))
    });
    checked("kron", &left, result)
}

/// xᵀ A⁻¹ x for each positive definite matrix and vector, by the factor of A: the square of Mahalanobis' distance from 0.
///
/// ```
/// use deltaray::linalg::{CholeskyFactor, quadratic_form};
/// use deltaray::prelude::*;
///
/// let factor = CholeskyFactor::new(&Matrix::from([[4.0, 0.0], [0.0, 9.0]]));
/// assert_eq!(quadratic_form(&factor, &Vector::from([2.0, 6.0])).item(), 5.0);
/// ```
///
/// # Panics
///
/// When the vector has another number of elements; in a staged function that is the error of [`stage`](crate::derivative::stage)
/// instead.
#[track_caller]
pub fn quadratic_form<A: Algebra, E: Float, R: Rank>(
    factor: &CholeskyFactor<A, E, R>,
    x: &Tensor<A, E, R::Smaller>,
) -> Tensor<A, E, <R::Smaller as Rank>::Smaller>
where
    R::Smaller: super::RightSide<R>,
{
    let _place = ReportedAt::caller();
    let form = factor.solution(x).map(|solution| {
        let products = x.clone().into_dyn() * solution;
        products.sum_axis(products.rank().saturating_sub(1))
    });
    checked("quadratic_form", &[], form)
}

/// A matrix with these elements on its diagonal, and zeros beside, for each row of numbers.
///
/// ```
/// use deltaray::linalg::diagonal_matrix;
/// use deltaray::prelude::*;
///
/// assert_eq!(diagonal_matrix(&Vector::from([1.0, 2.0])), [[1.0, 0.0], [0.0, 2.0]].into());
/// ```
///
/// # Panics
///
/// When the array has no axis; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn diagonal_matrix<A: Algebra, E: Number, R: Rank>(x: &Tensor<A, E, R>) -> Tensor<A, E, R::Larger> {
    let _place = ReportedAt::caller();
    let shape = x.shape();
    let Some(&n) = shape.last() else {
        return fail("diagonal_matrix", "takes a row of elements, not a scalar", &shape);
    };
    let rows = x.clone().into_dyn().insert_axis(shape.len() - 1);
    let square: Shape = shape.iter().copied().chain([n]).collect();
    Tensor::wrap(kept(&rows.broadcast_to(square), |row, column| row.equal(column)).into_array())
}

/// The Frobenius norm of each matrix: the square root of the sum of all squares. Its derivative at 0 is 0.
///
/// ```
/// use deltaray::linalg::frobenius_norm;
/// use deltaray::prelude::*;
///
/// assert_eq!(frobenius_norm(&Matrix::from([[1.0, 2.0], [2.0, 4.0]])).item(), 5.0);
/// ```
///
/// # Panics
///
/// As [`triangle_lower`].
#[track_caller]
pub fn frobenius_norm<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
    let _place = ReportedAt::caller();
    let shape = a.shape();
    let result = matrices(&shape).map(|(batch, _)| {
        let squares = (a * a).into_dyn().sum_axis(batch.len() + 1).sum_axis(batch.len());
        // The root of 0 has an infinite derivative.
        let is_zero = squares.equal(&zeros(batch));
        is_zero.select(zeros(batch), is_zero.select(ones(batch), squares).sqrt())
    });
    checked("frobenius_norm", &shape, result)
}

/// The largest sum of absolute values in a column, for each matrix: the norm that is written ‖A‖₁. 0 for a matrix without elements.
///
/// ```
/// use deltaray::linalg::column_sum_norm;
/// use deltaray::prelude::*;
///
/// assert_eq!(column_sum_norm(&Matrix::from([[1.0, -2.0], [3.0, 4.0]])).item(), 6.0);
/// ```
///
/// # Panics
///
/// As [`triangle_lower`].
#[track_caller]
pub fn column_sum_norm<A: Algebra, E: Float, R: Rank>(
    a: &Tensor<A, E, R>,
) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
    let _place = ReportedAt::caller();
    sum_norm("column_sum_norm", a, Side::Rows)
}

/// The largest sum of absolute values in a row, for each matrix: the norm that is written ‖A‖∞. 0 for a matrix without elements.
///
/// ```
/// use deltaray::linalg::row_sum_norm;
/// use deltaray::prelude::*;
///
/// assert_eq!(row_sum_norm(&Matrix::from([[1.0, -2.0], [3.0, 4.0]])).item(), 7.0);
/// ```
///
/// # Panics
///
/// As [`triangle_lower`].
#[track_caller]
pub fn row_sum_norm<A: Algebra, E: Float, R: Rank>(a: &Tensor<A, E, R>) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
    let _place = ReportedAt::caller();
    sum_norm("row_sum_norm", a, Side::Columns)
}

/// The largest of the sums over one side of matrices.
#[track_caller]
fn sum_norm<A: Algebra, E: Float, R: Rank>(
    name: &str,
    a: &Tensor<A, E, R>,
    summed: Side,
) -> Tensor<A, E, <R::Smaller as Rank>::Smaller> {
    let shape = a.shape();
    let result = matrices(&shape).map(|(batch, [m, n])| {
        let axes = batch.len();
        let (axis, rest) = if matches!(summed, Side::Rows) { (axes, n) } else { (axes + 1, m) };
        let sums = a.abs().into_dyn().sum_axis(axis);
        if rest == 0 { sums.sum_axis(axes) } else { sums.max_axis(axes) }
    });
    checked(name, &shape, result)
}

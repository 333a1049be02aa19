//! Positive definite matrices, given their Cholesky factor.

use super::{MatrixElement, half, triangular};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, linalg::general_mat_mul, s};

/// Matrices of so many rows are not cut.
const SMALL: usize = 16;

/// Writes the solution X of A X = B.
pub(super) fn solve_into<T: MatrixElement>(lower: ArrayView2<T>, b: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    out.assign(&b);
    triangular::solve_lower(lower, false, out.view_mut());
    triangular::solve_upper(lower.reversed_axes(), false, out);
}

/// Writes the inverse, which is the square of that of the factor. The scratch has as many elements.
pub(super) fn inverse_into<T: MatrixElement>(lower: ArrayView2<T>, mut out: ArrayViewMut2<T>, scratch: &mut [T]) {
    let n = lower.nrows();
    let mut inverse = ArrayViewMut2::from_shape((n, n), scratch).expect("as many elements");
    inverse.fill(T::ZERO);
    invert(lower, inverse.view_mut());
    square(inverse.view(), out.view_mut());
    for row in 0..n {
        for column in row + 1..n {
            out[[row, column]] = out[[column, row]];
        }
    }
}

/// Writes the inverse of a lower triangular matrix. Elements above the diagonal are 0, and stay so.
fn invert<T: MatrixElement>(lower: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    let n = lower.nrows();
    if n <= SMALL {
        for row in 0..n {
            let (known, mut rest) = out.view_mut().split_at(Axis(0), row);
            let mut own = rest.row_mut(0);
            for at in 0..row {
                let factor = lower[[row, at]];
                own.slice_mut(s![..=at]).zip_mut_with(&known.slice(s![at, ..=at]), |x, &y| *x = *x - factor * y);
            }
            own[row] = T::one();
            let inverse = T::one() / lower[[row, row]];
            own.slice_mut(s![..=row]).mapv_inplace(|x| x * inverse);
        }
        return;
    }
    let cut = half(n);
    let (above, below) = out.split_at(Axis(0), cut);
    let (mut first, _) = above.split_at(Axis(1), cut);
    let (mut beside, second) = below.split_at(Axis(1), cut);
    invert(lower.slice(s![..cut, ..cut]), first.view_mut());
    // What is beside: −L₂₂⁻¹ L₂₁ X₁₁, where X₁₁ is lower triangular.
    beside.fill(T::ZERO);
    multiply_lower(lower.slice(s![cut.., ..cut]), first.view(), beside.view_mut());
    beside.mapv_inplace(|x| -x);
    triangular::solve_lower(lower.slice(s![cut.., cut..]), false, beside);
    invert(lower.slice(s![cut.., cut..]), second);
}

/// Adds A X to a matrix, where X is lower triangular, with zeros above the diagonal.
fn multiply_lower<T: MatrixElement>(a: ArrayView2<T>, x: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    let n = x.nrows();
    if n <= 4 * SMALL {
        return general_mat_mul(T::one(), &a, &x, T::one(), &mut out);
    }
    let cut = half(n);
    let (left, right) = a.split_at(Axis(1), cut);
    let (mut first, second) = out.split_at(Axis(1), cut);
    multiply_lower(left, x.slice(s![..cut, ..cut]), first.view_mut());
    general_mat_mul(T::one(), &right, &x.slice(s![cut.., ..cut]), T::one(), &mut first);
    multiply_lower(right, x.slice(s![cut.., cut..]), second);
}

/// Writes the lower triangle of Xᵀ X, where X is lower triangular, with zeros above the diagonal.
fn square<T: MatrixElement>(x: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    let n = x.nrows();
    if n <= SMALL {
        out.fill(T::ZERO);
        for line in x.rows() {
            for (row, &factor) in line.iter().enumerate() {
                out.slice_mut(s![row, ..=row]).zip_mut_with(&line.slice(s![..=row]), |y, &x| *y = *y + factor * x);
            }
        }
        return;
    }
    if n <= 4 * SMALL {
        return general_mat_mul(T::one(), &x.t(), &x, T::ZERO, &mut out);
    }
    let cut = half(n);
    let (above, below) = out.split_at(Axis(0), cut);
    let (mut first, _) = above.split_at(Axis(1), cut);
    let (mut beside, second) = below.split_at(Axis(1), cut);
    let part = x.slice(s![cut.., ..cut]);
    square(x.slice(s![..cut, ..cut]), first.view_mut());
    add_square(part, first);
    beside.fill(T::ZERO);
    // X₂₂ᵀ X₂₁: its transpose, X₂₁ᵀ X₂₂, has the triangular matrix at the right.
    multiply_lower(part.reversed_axes(), x.slice(s![cut.., cut..]), beside.reversed_axes());
    square(x.slice(s![cut.., cut..]), second);
}

/// Adds the lower triangle of Bᵀ B to a matrix. Elements above the diagonal become anything.
fn add_square<T: MatrixElement>(b: ArrayView2<T>, mut a: ArrayViewMut2<T>) {
    let n = a.nrows();
    if n <= 4 * SMALL {
        return general_mat_mul(T::one(), &b.t(), &b, T::one(), &mut a);
    }
    let cut = half(n);
    let (left, right) = b.split_at(Axis(1), cut);
    let (above, below) = a.split_at(Axis(0), cut);
    let (first, _) = above.split_at(Axis(1), cut);
    let (mut beside, second) = below.split_at(Axis(1), cut);
    add_square(left, first);
    general_mat_mul(T::one(), &right.t(), &left, T::one(), &mut beside);
    add_square(right, second);
}

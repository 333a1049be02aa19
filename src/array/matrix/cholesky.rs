//! The Cholesky factorisation.

use super::{MatrixElement, half, triangular};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, linalg::general_mat_mul, s};

/// Matrices of so many rows are not cut.
const SMALL: usize = 16;
/// Squares of so many rows are not cut, though half of their elements is not wanted.
const SMALL_SQUARE: usize = 64;

/// Writes the lower factor of the symmetric part of a matrix, or NaN where that is not positive definite.
pub(super) fn factor_into<T: MatrixElement>(a: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    let half = T::one() / T::number(2);
    for i in 0..a.nrows() {
        for j in 0..i {
            // Halves before the sum, which may overflow.
            out[[i, j]] = a[[i, j]] * half + a[[j, i]] * half;
        }
        out[[i, i]] = a[[i, i]];
    }
    if !factor(out.view_mut()) {
        out.fill(T::NAN);
        return;
    }
    for i in 0..a.nrows() {
        out.slice_mut(s![i, i + 1..]).fill(T::ZERO);
    }
}

/// Replaces the lower triangle by its factor; whether it is positive definite. Elements above the diagonal become anything.
fn factor<T: MatrixElement>(mut a: ArrayViewMut2<T>) -> bool {
    let n = a.nrows();
    if n <= SMALL {
        return (0..n).all(|row| factor_row(&mut a, row));
    }
    let cut = half(n);
    let (above, below) = a.split_at(Axis(0), cut);
    let (mut first, _) = above.split_at(Axis(1), cut);
    let (mut beside, mut second) = below.split_at(Axis(1), cut);
    if !factor(first.view_mut()) {
        return false;
    }
    triangular::solve_lower(first.view(), false, beside.view_mut().reversed_axes());
    subtract_square(beside.view(), second.view_mut());
    factor(second)
}

/// A row of the factor, given those above.
fn factor_row<T: MatrixElement>(a: &mut ArrayViewMut2<T>, row: usize) -> bool {
    for column in 0..=row {
        let mut sum = a[[row, column]];
        for at in 0..column {
            sum = sum - a[[row, at]] * a[[column, at]];
        }
        if column < row {
            a[[row, column]] = sum / a[[column, column]];
        } else if sum > T::ZERO && sum < T::HIGHEST {
            a[[row, row]] = sum.square_root();
        } else {
            return false;
        }
    }
    true
}

/// Subtracts B Bᵀ from the lower triangle of a matrix. Elements above the diagonal become anything.
fn subtract_square<T: MatrixElement>(b: ArrayView2<T>, mut a: ArrayViewMut2<T>) {
    let n = a.nrows();
    if n <= SMALL_SQUARE {
        return general_mat_mul(-T::one(), &b, &b.t(), T::one(), &mut a);
    }
    let cut = half(n);
    let (b_above, b_below) = b.split_at(Axis(0), cut);
    let (above, below) = a.split_at(Axis(0), cut);
    let (first, _) = above.split_at(Axis(1), cut);
    let (mut beside, second) = below.split_at(Axis(1), cut);
    subtract_square(b_above, first);
    general_mat_mul(-T::one(), &b_below, &b_above.t(), T::one(), &mut beside);
    subtract_square(b_below, second);
}

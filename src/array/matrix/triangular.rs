//! Systems of equations with triangular matrices.

use super::{MatrixElement, half};
use crate::operation::Triangle;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, linalg::general_mat_mul};

/// Matrices of so many rows are not cut.
const SMALL: usize = 16;

/// Writes the solution X of A X = B, where A is as the triangle says.
pub(super) fn solve_into<T: MatrixElement>(
    triangle: Triangle,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
) {
    out.assign(&b);
    let unit = triangle.has_unit_diagonal;
    match (triangle.is_lower, triangle.is_transposed) {
        (true, false) => solve_lower(a, unit, out),
        (false, true) => solve_lower(a.reversed_axes(), unit, out),
        (false, false) => solve_upper(a, unit, out),
        (true, true) => solve_upper(a.reversed_axes(), unit, out),
    }
}

/// Replaces B by the solution of L X = B.
pub(super) fn solve_lower<T: MatrixElement>(l: ArrayView2<T>, unit: bool, mut b: ArrayViewMut2<T>) {
    let n = l.nrows();
    if n <= SMALL {
        for i in 0..n {
            substitute(&l, unit, b.view_mut(), i, 0..i);
        }
        return;
    }
    let cut = half(n);
    let (above, below) = l.split_at(Axis(0), cut);
    let (first, _) = above.split_at(Axis(1), cut);
    let (beside, second) = below.split_at(Axis(1), cut);
    let (mut top, mut bottom) = b.split_at(Axis(0), cut);
    solve_lower(first, unit, top.view_mut());
    general_mat_mul(-T::one(), &beside, &top, T::one(), &mut bottom);
    solve_lower(second, unit, bottom);
}

/// Replaces B by the solution of U X = B.
pub(super) fn solve_upper<T: MatrixElement>(u: ArrayView2<T>, unit: bool, mut b: ArrayViewMut2<T>) {
    let n = u.nrows();
    if n <= SMALL {
        for i in (0..n).rev() {
            substitute(&u, unit, b.view_mut(), i, i + 1..n);
        }
        return;
    }
    let cut = half(n);
    let (above, below) = u.split_at(Axis(0), cut);
    let (first, beside) = above.split_at(Axis(1), cut);
    let (_, second) = below.split_at(Axis(1), cut);
    let (mut top, mut bottom) = b.split_at(Axis(0), cut);
    solve_upper(second, unit, bottom.view_mut());
    general_mat_mul(-T::one(), &beside, &bottom, T::one(), &mut top);
    solve_upper(first, unit, top);
}

/// Solves for a row of B, given the rows of the solution at these positions.
fn substitute<T: MatrixElement>(
    a: &ArrayView2<T>,
    unit: bool,
    mut b: ArrayViewMut2<T>,
    row: usize,
    known: std::ops::Range<usize>,
) {
    let diagonal = a[[row, row]];
    if b.strides()[1] == 1 {
        // Rows are contiguous: they are added to each other.
        let (above, mut rest) = b.split_at(Axis(0), row);
        let (mut own, below) = rest.view_mut().split_at(Axis(0), 1);
        for at in known {
            let other = if at < row { above.row(at) } else { below.row(at - row - 1) };
            let factor = a[[row, at]];
            own.row_mut(0).zip_mut_with(&other, |own, &other| *own = *own - factor * other);
        }
        if !unit {
            own.mapv_inplace(|x| x / diagonal);
        }
        return;
    }
    for mut column in b.columns_mut() {
        let mut sum = column[row];
        for at in known.clone() {
            sum = sum - a[[row, at]] * column[at];
        }
        column[row] = if unit { sum } else { sum / diagonal };
    }
}

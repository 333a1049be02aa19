//! The factorisation P A = L U, with partial pivoting.

use super::{MatrixElement, triangular};
use ndarray::{ArrayView2, ArrayViewMut1, ArrayViewMut2, Axis, linalg::general_mat_mul, s};

/// Matrices of so many columns are not cut.
const SMALL: usize = 16;

/// Writes both factors, and beside them the number of the row of A that each row of P A is.
pub(super) fn factor_into<T: MatrixElement>(a: ArrayView2<T>, out: ArrayViewMut2<T>) {
    let n = a.ncols();
    let (mut factors, order) = out.split_at(Axis(1), n);
    factors.assign(&a);
    let mut order = order.index_axis_move(Axis(1), 0);
    for (row, place) in order.iter_mut().enumerate() {
        *place = T::number(row);
    }
    factor(factors, &mut order);
}

/// Replaces a matrix by its factors. Rows change places, as do the elements of the other view beside them.
fn factor<T: MatrixElement>(mut a: ArrayViewMut2<T>, order: &mut ArrayViewMut1<T>) {
    let (m, n) = a.dim();
    for start in (0..m.min(n)).step_by(SMALL) {
        let end = (start + SMALL).min(n).min(m);
        for column in start..end {
            eliminate(&mut a, order, column, end);
        }
        if end == n {
            break;
        }
        // The columns after these, at once.
        let (above, below) = a.view_mut().split_at(Axis(0), end);
        let (known, mut top) = above.split_at(Axis(1), end);
        let (beside, mut rest) = below.split_at(Axis(1), end);
        triangular::solve_lower(known.slice(s![start.., start..]), true, top.slice_mut(s![start.., ..]));
        general_mat_mul(-T::one(), &beside.slice(s![.., start..]), &top.slice(s![start.., ..]), T::one(), &mut rest);
    }
}

/// Brings the largest element of a column, or the first NaN, to the diagonal, and eliminates those below from the columns before
/// `end`.
fn eliminate<T: MatrixElement>(a: &mut ArrayViewMut2<T>, order: &mut ArrayViewMut1<T>, column: usize, end: usize) {
    let (mut pivot, mut largest) = (column, a[[column, column]].magnitude());
    for row in column + 1..a.nrows() {
        let size = a[[row, column]].magnitude();
        if size > largest || (size.is_nan() && !largest.is_nan()) {
            (pivot, largest) = (row, size);
        }
    }
    if pivot != column {
        let (mut first, mut second) = a.multi_slice_mut((s![column, ..], s![pivot, ..]));
        first.iter_mut().zip(&mut second).for_each(|(x, y)| std::mem::swap(x, y));
        order.swap(column, pivot);
    }
    let diagonal = a[[column, column]];
    // A column of zeros has nothing to eliminate.
    if diagonal == T::ZERO {
        return;
    }
    let (above, mut below) = a.view_mut().split_at(Axis(0), column + 1);
    let own = above.slice(s![column, column + 1..end]);
    for mut row in below.rows_mut() {
        let factor = row[column] / diagonal;
        row[column] = factor;
        row.slice_mut(s![column + 1..end]).zip_mut_with(&own, |x, &own| *x = *x - factor * own);
    }
}

/// Writes the solution X of A X = B, given both factors of A and beside them the order of its rows.
pub(super) fn solve_into<T: MatrixElement>(packed: ArrayView2<T>, b: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    let n = packed.nrows();
    let (factors, order) = packed.split_at(Axis(1), n);
    for (mut row, &place) in out.rows_mut().into_iter().zip(&order.index_axis_move(Axis(1), 0)) {
        row.assign(&b.row(position(place, n)));
    }
    triangular::solve_lower(factors, true, out.view_mut());
    triangular::solve_upper(factors, false, out);
}

/// As [`solve_into`], with the transpose of A. The scratch has as many elements as B.
pub(super) fn solve_transposed_into<T: MatrixElement>(
    packed: ArrayView2<T>,
    b: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let n = packed.nrows();
    let (factors, order) = packed.split_at(Axis(1), n);
    let mut x = ArrayViewMut2::from_shape(b.raw_dim(), scratch).expect("as many elements");
    x.assign(&b);
    triangular::solve_lower(factors.t(), false, x.view_mut());
    triangular::solve_upper(factors.t(), true, x.view_mut());
    for (row, &place) in x.rows().into_iter().zip(&order.index_axis_move(Axis(1), 0)) {
        out.row_mut(position(place, n)).assign(&row);
    }
}

/// A row's number, which is one of a matrix of so many rows whatever somebody has written there.
fn position<T: MatrixElement>(place: T, rows: usize) -> usize {
    let number: i64 = place.cast();
    usize::try_from(number).unwrap_or(0).min(rows - 1)
}

//! The factorisation P A = L U, with partial pivoting.

use super::hardware::Update;
use super::machine::Machine;
use super::rows::assign_in_parts;
use super::{MatrixElement, Part, half, triangular};
use ndarray::{ArrayView2, ArrayViewMut1, ArrayViewMut2, Axis, s};

/// Columns that are eliminated one by one.
const PANEL: usize = 16;

/// Elements of scratch for a matrix: a few columns.
pub(super) fn scratch([m, n]: [usize; 2]) -> usize {
    m * PANEL.min(n)
}

/// Writes both factors, and beside them the number of the row of A that each row of P A is.
pub(super) fn factor_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    a: ArrayView2<T>,
    out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let (m, n) = a.dim();
    let count = m.min(n);
    let (mut factors, order) = out.split_at(Axis(1), n);
    factors.assign(&a);
    let mut order = order.index_axis_move(Axis(1), 0);
    for (row, place) in order.iter_mut().enumerate() {
        *place = T::number(row);
    }
    factor(on, &mut factors, &mut order, [0, count], scratch);
    if n > count {
        let (left, right) = factors.split_at(Axis(1), count);
        triangular::solve_lower(on, left.view(), true, right);
    }
}

/// Eliminates some columns, given those before. Whole rows change places, as do the elements of the other view beside them.
fn factor<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    a: &mut ArrayViewMut2<T>,
    order: &mut ArrayViewMut1<T>,
    [start, end]: [usize; 2],
    scratch: &mut [T],
) {
    if end - start <= PANEL {
        return on.run(Part::Eliminate(a.view_mut(), order.view_mut(), [start, end], scratch));
    }
    let middle = start + half(end - start);
    factor(on, a, order, [start, middle], scratch);
    let (above, below) = a.view_mut().split_at(Axis(0), middle);
    let (known, mut top) = above.split_at(Axis(1), middle);
    let (beside, mut rest) = below.split_at(Axis(1), middle);
    let mut top = top.slice_mut(s![start.., ..end - middle]);
    triangular::solve_lower(on, known.slice(s![start.., start..]), true, top.view_mut());
    let rest = rest.slice_mut(s![.., ..end - middle]);
    on.multiply(Update::Subtract, beside.slice(s![.., start..]), top.view(), rest);
    factor(on, a, order, [middle, end], scratch);
}

/// Brings the largest element of each column, or the first NaN, to the diagonal, and eliminates those below. Columns lie one after the
/// other in the scratch meanwhile.
#[inline(always)]
pub(super) fn eliminate<T: MatrixElement>(
    mut a: ArrayViewMut2<T>,
    mut order: ArrayViewMut1<T>,
    [start, end]: [usize; 2],
    scratch: &mut [T],
) {
    let height = a.nrows() - start;
    let scratch = &mut scratch[..height * (end - start)];
    for (row, own) in a.slice(s![start.., start..end]).rows().into_iter().enumerate() {
        for (column, &x) in own.iter().enumerate() {
            scratch[column * height + row] = x;
        }
    }
    let mut pivots = [0; PANEL];
    for step in 0..end - start {
        let (known, rest) = scratch.split_at_mut((step + 1) * height);
        let own = &mut known[step * height..];
        let pivot = pivot(&own[step..]) + step;
        pivots[step] = pivot;
        own.swap(step, pivot);
        rest.chunks_exact_mut(height).for_each(|column| column.swap(step, pivot));
        known[..step * height].chunks_exact_mut(height).for_each(|column| column.swap(step, pivot));
        let own = &mut known[step * height..];
        let diagonal = own[step];
        // A column of zeros has nothing to eliminate.
        if diagonal == T::ZERO {
            continue;
        }
        for x in &mut own[step + 1..] {
            *x = *x / diagonal;
        }
        for column in rest.chunks_exact_mut(height) {
            let factor = column[step];
            for (x, &own) in column[step + 1..].iter_mut().zip(&own[step + 1..]) {
                *x = *x - factor * own;
            }
        }
    }
    for (step, pivot) in pivots.into_iter().take(end - start).enumerate().filter(|(step, pivot)| step != pivot) {
        let (mut first, mut second) = a.multi_slice_mut((s![start + step, ..], s![start + pivot, ..]));
        // The columns of the panel are written below.
        first.iter_mut().zip(&mut second).for_each(|(x, y)| std::mem::swap(x, y));
        order.swap(start + step, start + pivot);
    }
    for (row, mut own) in a.slice_mut(s![start.., start..end]).rows_mut().into_iter().enumerate() {
        for (column, x) in own.iter_mut().enumerate() {
            *x = scratch[column * height + row];
        }
    }
}

/// The position of the largest element, or of the first NaN.
#[inline(always)]
fn pivot<T: MatrixElement>(column: &[T]) -> usize {
    let (mut pivot, mut largest) = (0, column[0].magnitude());
    for (row, x) in column.iter().enumerate() {
        let size = x.magnitude();
        if size > largest || (size.is_nan() && !largest.is_nan()) {
            (pivot, largest) = (row, size);
        }
    }
    pivot
}

/// Writes the solution X of A X = B, given both factors of A and beside them the order of its rows.
pub(super) fn solve_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    packed: ArrayView2<T>,
    b: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
) {
    let n = packed.nrows();
    let (factors, order) = packed.split_at(Axis(1), n);
    order_into(order, b, out.view_mut());
    triangular::solve_lower(on, factors, true, out.view_mut());
    triangular::solve_upper(on, factors, false, out);
}

/// As [`solve_into`], with the transpose of A. The scratch has as many elements as B.
pub(super) fn solve_transposed_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    packed: ArrayView2<T>,
    b: ArrayView2<T>,
    out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let n = packed.nrows();
    let (factors, order) = packed.split_at(Axis(1), n);
    let mut x = ArrayViewMut2::from_shape(b.raw_dim(), scratch).expect("as many elements");
    assign_in_parts(on, b, x.view_mut());
    triangular::solve_lower(on, factors.t(), false, x.view_mut());
    triangular::solve_upper(on, factors.t(), true, x.view_mut());
    order_back_into(order, x.view(), out);
}

/// Writes rows in an order.
pub(super) fn order_into<T: MatrixElement>(order: ArrayView2<T>, b: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    for (mut row, &place) in out.rows_mut().into_iter().zip(order) {
        row.assign(&b.row(position(place, b.nrows())));
    }
}

/// Writes rows in an order to where they were before.
pub(super) fn order_back_into<T: MatrixElement>(order: ArrayView2<T>, x: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    for (row, &place) in x.rows().into_iter().zip(order) {
        out.row_mut(position(place, x.nrows())).assign(&row);
    }
}

/// A row's number, which is one of a matrix of so many rows whatever somebody has written there.
#[inline(always)]
pub(super) fn position<T: MatrixElement>(place: T, rows: usize) -> usize {
    let number: i64 = place.cast();
    usize::try_from(number).unwrap_or(0).min(rows - 1)
}

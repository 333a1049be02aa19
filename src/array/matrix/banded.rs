//! Systems of equations with banded matrices, by elimination with partial pivoting, as LAPACK's `gbsv`.
//!
//! Only so many rows meet in a step as there are bands below the diagonal, and one more. Each is kept from the column of the step
//! on, so that an exchange of two rows is one of their elements, and what the exchanges fill in has room behind the bands.

use super::MatrixElement;
use super::rows::divide_by;
use ndarray::{ArrayView2, ArrayViewMut2};

/// Bands below the diagonal of a matrix and above it, given the rows of both operands.
fn bands(is_transposed: bool, lower: usize, upper: usize) -> [usize; 2] {
    if is_transposed { [upper - 1, lower] } else { [lower, upper - 1] }
}

/// Elements of scratch, given the extents of both operands.
pub(super) fn scratch([lower, _]: [usize; 2], [upper, n]: [usize; 2]) -> usize {
    (lower + upper) * n
}

/// Writes the solution X of A X = B, where A, or its transpose, has the bands `lower`, from the lowest up, and `upper`, from the
/// diagonal on: column i of both belongs to row i of A, or to column i of its transpose.
pub(super) fn solve_into<T: MatrixElement>(
    is_transposed: bool,
    lower: ArrayView2<T>,
    upper: ArrayView2<T>,
    b: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    if out.is_empty() {
        return;
    }
    let [below, above] = bands(is_transposed, lower.nrows(), upper.nrows());
    out.assign(&b);
    let columns = b.ncols();
    let sides = out.as_slice_mut().expect("rows lie one after the other");
    let system = (lower, upper);
    // Loops over a known number of elements are no loops.
    match (below, above, columns) {
        (1, 1, 1) => solve(is_transposed, [1, 3, 1], system, scratch, sides),
        _ => solve(is_transposed, [below, below + 1 + above, columns], system, scratch, sides),
    }
}

#[inline(always)]
fn solve<T: MatrixElement>(
    is_transposed: bool,
    [below, width, columns]: [usize; 3],
    (lower, upper): (ArrayView2<T>, ArrayView2<T>),
    rows: &mut [T],
    sides: &mut [T],
) {
    let n = upper.ncols();
    let element = |band: usize, at: usize| match band.checked_sub(lower.nrows()) {
        Some(band) => upper[[band, at]],
        None => lower[[band, at]],
    };
    for (row, places) in rows.chunks_exact_mut(width).enumerate() {
        let first = row.saturating_sub(below);
        for (column, place) in (first..).zip(places) {
            let band = column + below - row;
            *place = match column < n && band < width {
                true if is_transposed => element(width - 1 - band, column),
                true => element(band, row),
                false => T::ZERO,
            };
        }
    }
    eliminate([below, width, columns], rows, sides);
    substitute([width, columns], rows, sides);
}

/// Brings the largest element of each column, or the first NaN, to the diagonal, and eliminates those below. Each row ends with its
/// elements from the diagonal on.
#[inline(always)]
fn eliminate<T: MatrixElement>([below, width, count]: [usize; 3], rows: &mut [T], sides: &mut [T]) {
    let n = rows.len() / width;
    for column in 0..n {
        let last = (column + below).min(n - 1);
        let (mut pivot, mut largest) = (column, rows[column * width].magnitude());
        for row in column + 1..=last {
            let size = rows[row * width].magnitude();
            if size > largest || (size.is_nan() && !largest.is_nan()) {
                (pivot, largest) = (row, size);
            }
        }
        let (own, others) = rows[column * width..(last + 1) * width].split_at_mut(width);
        let (side, other_sides) = sides[column * count..(last + 1) * count].split_at_mut(count);
        if let Some(other) = (pivot - column).checked_sub(1) {
            own.swap_with_slice(&mut others[other * width..][..width]);
            side.swap_with_slice(&mut other_sides[other * count..][..count]);
        }
        let diagonal = own[0];
        for other in 0..last - column {
            let row = &mut others[other * width..][..width];
            // A column of zeros has nothing to eliminate.
            let factor = if diagonal == T::ZERO { T::ZERO } else { row[0] / diagonal };
            for at in 1..width {
                row[at - 1] = row[at] - factor * own[at];
            }
            row[width - 1] = T::ZERO;
            let other_side = &mut other_sides[other * count..][..count];
            for (x, &own) in other_side.iter_mut().zip(&*side) {
                *x = *x - factor * own;
            }
        }
    }
}

/// Replaces right sides by solutions, given the rows from the diagonal on.
#[inline(always)]
fn substitute<T: MatrixElement>([width, count]: [usize; 2], rows: &[T], sides: &mut [T]) {
    for row in (0..rows.len() / width).rev() {
        let (own, known) = sides[row * count..].split_at_mut(count);
        let elements = &rows[row * width..][..width];
        for (&factor, known) in elements[1..].iter().zip(known.chunks_exact(count)) {
            for (x, &known) in own.iter_mut().zip(known) {
                *x = *x - factor * known;
            }
        }
        divide_by(own, elements[0]);
    }
}

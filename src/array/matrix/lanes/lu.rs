//! Small matrices that are not symmetric: factors with partial pivoting, and systems of equations.

use super::vector::{Cells, MOST};
use crate::array::matrix::Vector;
use crate::array::matrix::{MatrixElement, lu::position};
use crate::operation::Triangle;

/// Of so few rows those that stay are exchanged too: nobody knows in advance which do.
const ALL: usize = 4;

/// Writes both factors, and beside them the number of the row of A that each row of P A is.
#[inline(always)]
pub(super) fn factor<T: MatrixElement, V: Vector<T>>([m, n]: [usize; 2], a: &Cells<T>, x: &mut Cells<T>) {
    for row in 0..m {
        for column in 0..n {
            x.put::<V>(row, column, a.at(row, column));
        }
        x.put(row, n, V::all(T::number(row)));
    }
    let zero = V::all(T::ZERO);
    for step in 0..m.min(n) {
        exchange::<T, V>([m, n], step, x);
        let diagonal: V = x.at(step, step);
        // A column of zeros has nothing to eliminate.
        let divisor = diagonal.if_equal(zero, V::all(T::one()), diagonal);
        for row in step + 1..m {
            let factor = x.at::<V>(row, step) / divisor;
            x.put(row, step, factor);
            let factor = diagonal.if_equal(zero, zero, factor);
            for column in step + 1..n {
                let rest: V = x.at(row, column);
                x.put(row, column, rest.minus_product(factor, x.at(step, column)));
            }
        }
    }
}

/// Brings the row with the largest element of a column, or the first NaN, to the diagonal.
#[inline(always)]
fn exchange<T: MatrixElement, V: Vector<T>>([m, n]: [usize; 2], step: usize, x: &mut Cells<T>) {
    let mut largest = x.at::<V>(step, step).magnitude();
    let mut pivot = V::all(T::number(step));
    for row in step + 1..m {
        let (size, number) = (x.at::<V>(row, step).magnitude(), V::all(T::number(row)));
        (largest, pivot) = (larger(size, largest, size, largest), larger(size, largest, number, pivot));
    }
    let mut numbers = [T::ZERO; MOST];
    pivot.write(&mut numbers);
    for row in step + 1..m {
        // A function of slices would be compiled without the instructions.
        let mut is_pivot = false;
        for number in numbers.iter().take(V::LANES) {
            is_pivot |= *number == T::number(row);
        }
        if m > ALL && !is_pivot {
            continue;
        }
        let number = V::all(T::number(row));
        for column in 0..=n {
            let (first, second): (V, V) = (x.at(step, column), x.at(row, column));
            x.put(step, column, pivot.if_equal(number, second, first));
            x.put(row, column, pivot.if_equal(number, first, second));
        }
    }
}

/// The third vector where the first is larger than the second, or is the only NaN of the two; else the fourth.
#[inline(always)]
fn larger<T, V: Vector<T>>(size: V, largest: V, yes: V, no: V) -> V {
    let if_numbers = size.if_greater(largest, yes, no);
    let if_nan = largest.if_equal(largest, yes, no);
    size.if_equal(size, if_numbers, if_nan)
}

/// The places of the rows of the right side, of which there are so many, in the order of a row of the factors.
#[inline(always)]
fn places<T: MatrixElement, V: Vector<T>>(rows: usize, packed: &Cells<T>, row: usize) -> [usize; MOST] {
    let mut numbers = [T::ZERO; MOST];
    packed.at::<V>(row, packed.columns - 1).write(&mut numbers);
    let mut places = [0; MOST];
    for lane in 0..V::LANES {
        places[lane] = position(numbers[lane], rows);
    }
    places
}

/// Writes the rows of B in the order of the factors or, of rows in this order, `BACK` to where they were.
#[inline(always)]
fn order<const BACK: bool, T: MatrixElement, V: Vector<T>>(
    rows: usize,
    packed: &Cells<T>,
    b: &Cells<T>,
    x: &mut Cells<T>,
) {
    let last = packed.columns - 1;
    if rows <= ALL {
        for row in 0..rows {
            for column in 0..x.columns {
                let mut found: V = b.at(0, column);
                for other in 1..rows {
                    let (before, after) = if BACK { (row, other) } else { (other, row) };
                    let number: V = packed.at(after, last);
                    found = number.if_equal(V::all(T::number(before)), b.at(other, column), found);
                }
                x.put(row, column, found);
            }
        }
        return;
    }
    for row in 0..rows {
        let places = places::<T, V>(rows, packed, row);
        for column in 0..x.columns {
            for (lane, &place) in places.iter().enumerate().take(V::LANES) {
                let (from, to) = if BACK { (row, place) } else { (place, row) };
                let element = b.elements[(from * x.columns + column) * V::LANES + lane];
                x.elements[(to * x.columns + column) * V::LANES + lane] = element;
            }
        }
    }
}

/// Writes the solution X of A X = B, given both factors of A and beside them the order of its rows.
#[inline(always)]
pub(super) fn solve<T: MatrixElement, V: Vector<T>>(n: usize, packed: &Cells<T>, b: &Cells<T>, x: &mut Cells<T>) {
    order::<false, T, V>(n, packed, b, x);
    super::solve::<T, V>(Triangle::LOWER.unit(), n, packed, x);
    super::solve::<T, V>(Triangle::UPPER, n, packed, x);
}

/// As [`solve`], with the transpose of A. The right side becomes anything.
#[inline(always)]
pub(super) fn solve_transposed<T: MatrixElement, V: Vector<T>>(
    n: usize,
    packed: &Cells<T>,
    b: &mut Cells<T>,
    x: &mut Cells<T>,
) {
    super::solve::<T, V>(Triangle::UPPER.transposed(), n, packed, b);
    super::solve::<T, V>(Triangle::LOWER.unit().transposed(), n, packed, b);
    order::<true, T, V>(n, packed, b, x);
}

/// Writes X with X₋ U + L X₊ = P S, where X₋ is what is below the diagonal of X, and X₊ the rest of it.
#[inline(always)]
pub(super) fn forward<T: MatrixElement, V: Vector<T>>(
    [m, n]: [usize; 2],
    packed: &Cells<T>,
    s: &Cells<T>,
    x: &mut Cells<T>,
) {
    order::<false, T, V>(m, packed, s, x);
    for row in 0..m {
        for column in 0..n {
            let mut sum: V = x.at(row, column);
            for known in 0..row.min(column) {
                sum = sum.minus_product(x.at(row, known), packed.at(known, column));
                sum = sum.minus_product(packed.at(row, known), x.at(known, column));
            }
            if column < row {
                sum = sum.minus_product(packed.at(row, column), x.at(column, column)) / packed.at(column, column);
            }
            x.put(row, column, sum);
        }
    }
}

/// Writes Y such that P Y Uᵀ has what is below the diagonal of Z, and Lᵀ P Y the rest of it. Z becomes P Y.
#[inline(always)]
pub(super) fn adjoint<T: MatrixElement, V: Vector<T>>(
    [m, n]: [usize; 2],
    packed: &Cells<T>,
    z: &mut Cells<T>,
    y: &mut Cells<T>,
) {
    for row in (0..m).rev() {
        for column in (0..n).rev() {
            let mut sum: V = z.at(row, column);
            if column < row {
                // The one before comes last, so that all others need not wait for it.
                for known in (column + 1..n).rev() {
                    sum = sum.minus_product(z.at(row, known), packed.at(column, known));
                }
                sum = sum / packed.at(column, column);
            } else {
                for known in row + 1..m {
                    sum = sum.minus_product(packed.at(known, row), z.at(known, column));
                }
            }
            z.put(row, column, sum);
        }
    }
    order::<true, T, V>(m, packed, z, y);
}

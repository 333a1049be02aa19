//! Small matrices that are not symmetric: factors with partial pivoting, and systems of equations.

use super::vector::{Cells, MOST};
use crate::array::matrix::Vector;
use crate::array::matrix::{MatrixElement, lu::position};
use crate::operation::Triangle;

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
        if !numbers[..V::LANES].contains(&T::number(row)) {
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

/// The places of the rows of the right side, in the order of a row of the factors.
#[inline(always)]
fn places<T: MatrixElement, V: Vector<T>>(n: usize, packed: &Cells<T>, row: usize) -> [usize; MOST] {
    let mut numbers = [T::ZERO; MOST];
    packed.at::<V>(row, n).write(&mut numbers);
    let mut places = [0; MOST];
    for lane in 0..V::LANES {
        places[lane] = position(numbers[lane], n);
    }
    places
}

/// Writes the solution X of A X = B, given both factors of A and beside them the order of its rows.
#[inline(always)]
pub(super) fn solve<T: MatrixElement, V: Vector<T>>(n: usize, packed: &Cells<T>, b: &Cells<T>, x: &mut Cells<T>) {
    for row in 0..n {
        let places = places::<T, V>(n, packed, row);
        for column in 0..x.columns {
            for (lane, place) in places.iter().enumerate().take(V::LANES) {
                let from = b.elements[(place * x.columns + column) * V::LANES + lane];
                x.elements[(row * x.columns + column) * V::LANES + lane] = from;
            }
        }
    }
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
    for row in 0..n {
        let places = places::<T, V>(n, packed, row);
        for column in 0..x.columns {
            for (lane, place) in places.iter().enumerate().take(V::LANES) {
                let from = b.elements[(row * x.columns + column) * V::LANES + lane];
                x.elements[(place * x.columns + column) * V::LANES + lane] = from;
            }
        }
    }
}

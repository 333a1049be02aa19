//! Small positive definite matrices, their factors and the derivatives of these.

use super::vector::Cells;
use crate::array::matrix::MatrixElement;
use crate::array::matrix::Vector;

/// An element of the symmetric part: halves before the sum, which may overflow.
#[inline(always)]
fn symmetric<T: MatrixElement, V: Vector<T>>(a: &Cells<T>, row: usize, column: usize) -> V {
    let half = V::all(T::one() / T::number(2));
    let (x, y): (V, V) = (a.at(row, column), a.at(column, row));
    if row == column { x } else { x * half + y * half }
}

/// Replaces matrices by their factors.
#[inline(always)]
pub(super) fn cholesky<T: MatrixElement, V: Vector<T>>(n: usize, a: &mut Cells<T>) {
    let (zero, nan) = (V::all(T::ZERO), V::all(T::NAN));
    // NaN where a matrix is not positive definite.
    let mut failed = zero;
    for column in 0..n {
        let mut sum: V = a.at(column, column);
        for at in 0..column {
            let x: V = a.at(column, at);
            sum = sum.minus_product(x, x);
        }
        failed = sum.if_greater(zero, V::all(T::HIGHEST).if_greater(sum, failed, nan), nan);
        let root = sum.root();
        let inverse = V::all(T::one()) / root;
        a.put(column, column, root);
        for row in column + 1..n {
            let mut sum: V = symmetric(a, row, column);
            for at in 0..column {
                sum = sum.minus_product(a.at(row, at), a.at(column, at));
            }
            a.put(row, column, sum * inverse);
        }
    }
    for row in 0..n {
        for column in 0..n {
            let x = if column > row { zero } else { a.at(row, column) };
            a.put(row, column, failed.if_equal(failed, x, nan));
        }
    }
}

/// Replaces S by the lower triangular X with X Lᵀ + L Xᵀ = S, the symmetric part of the operand.
#[inline(always)]
pub(super) fn forward<T: MatrixElement, V: Vector<T>>(n: usize, l: &Cells<T>, s: &mut Cells<T>) {
    for column in 0..n {
        let diagonal: V = l.at(column, column);
        for row in column..n {
            let mut sum: V = symmetric(s, row, column);
            for known in 0..column {
                sum = sum.minus_product(s.at(row, known), l.at(column, known));
                sum = sum.minus_product(l.at(row, known), s.at(column, known));
            }
            s.put(
                row,
                column,
                match row == column {
                    true => sum / (diagonal + diagonal),
                    false => sum.minus_product(l.at(row, column), s.at(column, column)) / diagonal,
                },
            );
        }
    }
    for row in 0..n {
        for column in row + 1..n {
            s.put(row, column, V::all(T::ZERO));
        }
    }
}

/// Replaces Z by the symmetric Y for which 2 Y L has the lower triangle of Z.
#[inline(always)]
pub(super) fn adjoint<T: MatrixElement, V: Vector<T>>(n: usize, l: &Cells<T>, z: &mut Cells<T>) {
    for column in (0..n).rev() {
        let diagonal: V = l.at(column, column);
        for row in (column..n).rev() {
            let mut sum: V = z.at(row, column);
            for known in column + 1..n {
                sum = sum.minus_product(z.at(row, known), l.at(known, column));
            }
            let found = sum / diagonal;
            z.put(row, column, found);
            z.put(column, row, found);
        }
    }
    let half = V::all(T::one() / T::number(2));
    for row in 0..n {
        for column in 0..n {
            z.put(row, column, z.at::<V>(row, column) * half);
        }
    }
}

/// Replaces factors L by their inverses, and writes the squares of these, the inverses of the matrices.
#[inline(always)]
pub(super) fn inverse<T: MatrixElement, V: Vector<T>>(n: usize, l: &mut Cells<T>, out: &mut Cells<T>) {
    // Column by column, since an element needs those to its right as they were.
    for column in 0..n {
        let own: V = V::all(T::one()) / l.at(column, column);
        for row in column + 1..n {
            let mut sum: V = V::all(T::ZERO).minus_product(l.at(row, column), own);
            for known in column + 1..row {
                sum = sum.minus_product(l.at(row, known), out.at(known, column));
            }
            out.put(row, column, sum / l.at(row, row));
        }
        out.put(column, column, own);
    }
    for row in 0..n {
        for column in 0..=row {
            l.put::<V>(row, column, out.at(row, column));
        }
    }
    for row in 0..n {
        for column in 0..=row {
            let mut sum: V = V::all(T::ZERO);
            for known in row..n {
                sum = sum + l.at::<V>(known, row) * l.at(known, column);
            }
            out.put(row, column, sum);
            out.put(column, row, sum);
        }
    }
}

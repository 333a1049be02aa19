//! The Cholesky factorisation.

use super::hardware::{Update, Vector};
use super::machine::{Cut, MOVE, Machine, divide, multiply_lower, subtract};
use super::{BASE, MatrixElement, Part, half, quarters_mut, triangular};
use ndarray::{ArrayView2, ArrayViewMut2, s};

/// Writes the lower factor of the symmetric part of a matrix, or NaN where that is not positive definite.
pub(super) fn factor_into<T: MatrixElement>(on: &mut dyn Machine<T>, a: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    symmetric_into(on, a, out.view_mut());
    if !factor(on, out.view_mut()) {
        out.fill(T::NAN);
        return;
    }
    on.in_parts(Cut::Rows, MOVE * out.len() / 2, out, &|_, start, mut out| clear_upper(start, &mut out));
}

/// Writes the lower triangle of the symmetric part of a matrix. Rows of both lie one after the other.
pub(super) fn symmetric_into<T: MatrixElement>(on: &mut dyn Machine<T>, a: ArrayView2<T>, out: ArrayViewMut2<T>) {
    on.in_parts(Cut::TriangleRows, MOVE * out.len() / 2, out, &|_, start, out| symmetric_rows(a, start, out));
}

fn symmetric_rows<T: MatrixElement>(a: ArrayView2<T>, start: usize, out: ArrayViewMut2<T>) {
    let (n, half) = (a.nrows(), T::one() / T::number(2));
    let (Some(a), Some(out)) = (a.to_slice(), out.into_slice()) else { unreachable!("matrices are in one piece") };
    // By tiles, since columns are far apart in memory.
    for (first, rows) in (start..).step_by(BASE).zip(out.chunks_mut((BASE * n).max(1))) {
        for left in (0..first + BASE).step_by(BASE) {
            for (row, out) in (first..).zip(rows.chunks_exact_mut(n)) {
                let columns = left..(left + BASE).min(row);
                for (column, out) in columns.clone().zip(&mut out[left.min(row)..]) {
                    // Halves before the sum, which may overflow.
                    *out = a[row * n + column] * half + a[column * n + row] * half;
                }
            }
        }
    }
    for (row, out) in (start..).zip(out.chunks_exact_mut(n.max(1))) {
        out[row] = a[row * n + row];
    }
}

/// Writes zeros above the diagonal of some rows from one on.
#[inline(always)]
pub(super) fn clear_upper<T: MatrixElement>(start: usize, rows: &mut ArrayViewMut2<T>) {
    for (at, mut row) in rows.rows_mut().into_iter().enumerate() {
        row.slice_mut(s![start + at + 1..]).fill(T::ZERO);
    }
}

/// Replaces the lower triangle by its factor; whether it is positive definite. Elements above the diagonal become anything.
fn factor<T: MatrixElement>(on: &mut dyn Machine<T>, a: ArrayViewMut2<T>) -> bool {
    let n = a.nrows();
    if n <= BASE {
        let mut is_definite = false;
        on.run(Part::Cholesky(a, &mut is_definite));
        return is_definite;
    }
    let cut = half(n);
    let [mut first, _, mut beside, mut second] = quarters_mut(a, cut);
    if !factor(on, first.view_mut()) {
        return false;
    }
    triangular::solve_lower(on, first.view(), false, beside.view_mut().reversed_axes());
    multiply_lower(on, Update::Subtract, beside.view(), beside.t(), second.view_mut());
    factor(on, second)
}

/// The transpose of the lower triangle of a few rows, zeros below it.
#[inline(always)]
pub(super) fn turned<T: MatrixElement>(a: ArrayView2<T>) -> [[T; BASE]; BASE] {
    let mut turned = [[T::ZERO; BASE]; BASE];
    for (row, own) in a.rows().into_iter().enumerate().take(BASE) {
        for (column, &x) in turned.iter_mut().zip(own).take(row + 1) {
            column[row] = x;
        }
    }
    turned
}

/// The factor of a few rows, if they are positive definite; its transpose has its columns as vectors.
#[inline(always)]
pub(super) fn factor_small<T: MatrixElement, V: Vector<T>>(mut a: ArrayViewMut2<T>, is_definite: &mut bool) {
    let n = a.nrows();
    assert!(n <= BASE);
    let mut u = turned(a.view());
    for step in 0..n {
        let pivot = u[step][step];
        if !(pivot > T::ZERO && pivot < T::HIGHEST) {
            return;
        }
        let root = pivot.square_root();
        divide::<T, V, BASE>(&mut u[step], root);
        let own = u[step];
        for row in step + 1..n {
            subtract::<T, V, BASE>(&mut u[row], own[row], &own);
        }
    }
    for (row, mut own) in a.rows_mut().into_iter().enumerate().take(BASE) {
        for (x, column) in own.iter_mut().zip(&u).take(row + 1) {
            *x = column[row];
        }
    }
    *is_definite = true;
}

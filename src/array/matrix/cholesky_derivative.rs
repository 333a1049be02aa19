//! The derivative of the Cholesky factorisation, and its transpose (Murray, arXiv 1602.07527), as systems of equations: X with
//! X Lᵀ + L Xᵀ = S, and the symmetric Y for which 2 Y L has the lower triangle of Z.

use super::cholesky::{clear_upper, symmetric_into, turned};
use super::hardware::{Update, Vector};
use super::machine::{Cut, MOVE, Machine, divide, multiply_lower, subtract};
use super::rows::assign_in_parts;
use super::{BASE, MatrixElement, Part, half, quarters, quarters_mut, triangular};
use ndarray::{ArrayView2, ArrayViewMut2, s};

/// Writes the lower triangular X with X Lᵀ + L Xᵀ = S, the symmetric part of a matrix.
pub(super) fn forward_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    l: ArrayView2<T>,
    s: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
) {
    symmetric_into(on, s, out.view_mut());
    forward(on, l, out);
}

/// Replaces the lower triangle S by X, with zeros above the diagonal.
fn forward<T: MatrixElement>(on: &mut dyn Machine<T>, l: ArrayView2<T>, s: ArrayViewMut2<T>) {
    let n = l.nrows();
    if n <= BASE {
        return on.run(Part::CholeskyForward(l, s));
    }
    let cut = half(n);
    let [l_first, _, l_beside, l_second] = quarters(l, cut);
    let [mut first, mut above, mut beside, mut second] = quarters_mut(s, cut);
    forward(on, l_first, first.view_mut());
    on.multiply(Update::Subtract, l_beside, first.t(), beside.view_mut());
    triangular::solve_lower(on, l_first, false, beside.view_mut().reversed_axes());
    multiply_lower(on, Update::Subtract, beside.view(), l_beside.t(), second.view_mut());
    multiply_lower(on, Update::Subtract, l_beside, beside.t(), second.view_mut());
    forward(on, l_second, second);
    above.fill(T::ZERO);
}

/// A column at a time, each taken out of the rest. Transposes have columns as vectors.
#[inline(always)]
pub(super) fn forward_small<T: MatrixElement, V: Vector<T>>(l: ArrayView2<T>, mut s: ArrayViewMut2<T>) {
    let n = l.nrows();
    assert!(n <= BASE);
    let (u, mut x) = (turned(l), turned(s.view()));
    for step in 0..n {
        let (factor, diagonal) = (u[step], u[step][step]);
        let half = x[step][step] / (diagonal + diagonal);
        subtract::<T, V, BASE>(&mut x[step], half, &factor);
        divide::<T, V, BASE>(&mut x[step], diagonal);
        let own = x[step];
        for row in step + 1..n {
            subtract::<T, V, BASE>(&mut x[row], own[row], &factor);
            subtract::<T, V, BASE>(&mut x[row], factor[row], &own);
        }
    }
    for (row, mut own) in s.rows_mut().into_iter().enumerate().take(BASE) {
        for (s, column) in own.iter_mut().zip(&x).take(row + 1) {
            *s = column[row];
        }
    }
    clear_upper(0, &mut s);
}

/// Writes the symmetric Y for which 2 Y L has the lower triangle of Z.
pub(super) fn adjoint_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    l: ArrayView2<T>,
    z: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
) {
    on.in_parts(Cut::Rows, MOVE * z.len(), out.view_mut(), &|_, start, out| {
        let (z, half) = (z.slice(s![start..start + out.nrows(), ..]), T::one() / T::number(2));
        let (Some(z), Some(out)) = (z.to_slice(), out.into_slice()) else { unreachable!("matrices are in one piece") };
        for (out, &z) in out.iter_mut().zip(z) {
            *out = z * half;
        }
    });
    adjoint(on, l, out);
}

/// Replaces Z / 2 by Y.
fn adjoint<T: MatrixElement>(on: &mut dyn Machine<T>, l: ArrayView2<T>, w: ArrayViewMut2<T>) {
    let n = l.nrows();
    if n <= BASE {
        return on.run(Part::CholeskyAdjoint(l, w));
    }
    let cut = half(n);
    let [l_first, _, l_beside, l_second] = quarters(l, cut);
    let [mut first, above, mut beside, mut second] = quarters_mut(w, cut);
    adjoint(on, l_second, second.view_mut());
    on.multiply(Update::Subtract, second.view(), l_beside, beside.view_mut());
    triangular::solve_upper(on, l_first.reversed_axes(), false, beside.view_mut().reversed_axes());
    multiply_lower(on, Update::Subtract, beside.t(), l_beside, first.view_mut());
    adjoint(on, l_first, first);
    assign_in_parts(on, beside.t(), above);
}

/// A column at a time from the last on, which is a row too.
#[inline(always)]
pub(super) fn adjoint_small<T: MatrixElement, V: Vector<T>>(l: ArrayView2<T>, mut z: ArrayViewMut2<T>) {
    let n = l.nrows();
    assert!(n <= BASE);
    let (u, mut w) = (turned(l), turned(z.view()));
    for step in (0..n).rev() {
        let mut own = w[step];
        let diagonal = u[step][step];
        for known in step + 1..n {
            subtract::<T, V, BASE>(&mut own, u[step][known], &w[known]);
        }
        let mut last = own[step];
        for row in step + 1..n {
            own[row] = own[row] / diagonal;
            last = last - u[step][row] * own[row];
        }
        own[step] = last / diagonal;
        for row in step + 1..n {
            w[row][step] = own[row];
        }
        w[step] = own;
    }
    // Rows are known from the diagonal on; before it they are columns.
    for (row, mut own) in z.rows_mut().into_iter().enumerate().take(BASE) {
        for (column, z) in own.iter_mut().enumerate().take(BASE) {
            *z = w[row.min(column)][row.max(column)];
        }
    }
}

//! The Cholesky factorisation.

use super::machine::{Machine, Update, multiply_lower};
use super::{BASE, MatrixElement, half, quarters_mut, triangular};
use ndarray::{ArrayView2, ArrayViewMut2, s};

/// Writes the lower factor of the symmetric part of a matrix, or NaN where that is not positive definite.
pub(super) fn factor_into<T: MatrixElement, M: Machine<T>>(on: &mut M, a: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    on.run(|| symmetric_into(a, out.view_mut()));
    if !factor(on, out.view_mut()) {
        out.fill(T::NAN);
        return;
    }
    clear_upper(out);
}

/// Writes the lower triangle of the symmetric part of a matrix.
#[inline(always)]
pub(super) fn symmetric_into<T: MatrixElement>(a: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    let (n, half) = (a.nrows(), T::one() / T::number(2));
    // By tiles, since columns are far apart in memory.
    for first in (0..n).step_by(BASE) {
        let end = (first + BASE).min(n);
        for start in (0..end).step_by(BASE) {
            let across = turned(a.slice(s![start..(start + BASE).min(n), first..end]), BASE);
            for row in first..end {
                let columns = start..(start + BASE).min(row);
                let own = a.slice(s![row, columns.clone()]);
                let pairs = own.iter().zip(&across[row - first]);
                // Halves before the sum, which may overflow.
                let sums = pairs.map(|(&x, &y)| x * half + y * half);
                out.slice_mut(s![row, columns]).iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
            }
        }
    }
    out.diag_mut().assign(&a.diag());
}

/// Writes zeros above the diagonal.
pub(super) fn clear_upper<T: MatrixElement>(mut a: ArrayViewMut2<T>) {
    for row in 0..a.nrows() {
        a.slice_mut(s![row, row + 1..]).fill(T::ZERO);
    }
}

/// Replaces the lower triangle by its factor; whether it is positive definite. Elements above the diagonal become anything.
fn factor<T: MatrixElement, M: Machine<T>>(on: &mut M, a: ArrayViewMut2<T>) -> bool {
    let n = a.nrows();
    if n <= BASE {
        let mut is_definite = false;
        on.run(|| is_definite = factor_small(a));
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

/// The transpose of a few rows: of so many elements of the first row, and one more of each that follows. Others are 0.
#[inline(always)]
pub(super) fn turned<T: MatrixElement>(a: ArrayView2<T>, count: usize) -> [[T; BASE]; BASE] {
    let mut turned = [[T::ZERO; BASE]; BASE];
    for (row, own) in a.rows().into_iter().enumerate().take(BASE) {
        turned.iter_mut().zip(own).take(count + row).for_each(|(column, &x)| column[row] = x);
    }
    turned
}

/// The factor of a few rows, whose transpose has its columns as vectors.
#[inline(always)]
fn factor_small<T: MatrixElement>(mut a: ArrayViewMut2<T>) -> bool {
    let n = a.nrows();
    assert!(n <= BASE);
    let mut u = turned(a.view(), 1);
    for step in 0..n {
        let pivot = u[step][step];
        if !(pivot > T::ZERO && pivot < T::HIGHEST) {
            return false;
        }
        let root = pivot.square_root();
        u[step].iter_mut().for_each(|x| *x = *x / root);
        let own = u[step];
        for row in step + 1..n {
            let factor = own[row];
            for at in 0..BASE {
                u[row][at] = u[row][at] - factor * own[at];
            }
        }
    }
    for (row, mut own) in a.rows_mut().into_iter().enumerate().take(BASE) {
        own.iter_mut().zip(&u).take(row + 1).for_each(|(x, column)| *x = column[row]);
    }
    true
}

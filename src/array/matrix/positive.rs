//! Positive definite matrices, given their Cholesky factor.

use super::hardware::{Update, Vector};
use super::machine::{Machine, divide, multiply_by_lower, multiply_lower, subtract};
use super::rows::assign_in_parts;
use super::{BASE, MatrixElement, Part, half, quarters, quarters_mut, triangular};
use ndarray::{ArrayView2, ArrayViewMut2};

/// Writes the solution X of A X = B.
pub(super) fn solve_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    lower: ArrayView2<T>,
    b: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
) {
    assign_in_parts(on, b, out.view_mut());
    triangular::solve_lower(on, lower, false, out.view_mut());
    triangular::solve_upper(on, lower.reversed_axes(), false, out);
}

/// Writes the inverse, which is the square of that of the factor. The scratch has as many elements.
pub(super) fn inverse_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    lower: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let n = lower.nrows();
    let mut inverse = ArrayViewMut2::from_shape((n, n), scratch).expect("as many elements");
    inverse.fill(T::ZERO);
    invert(on, lower, inverse.view_mut());
    square(on, inverse.view(), out.view_mut());
    mirror(on, out);
}

/// Copies what is below the diagonal to above it.
fn mirror<T: MatrixElement>(on: &mut dyn Machine<T>, a: ArrayViewMut2<T>) {
    let n = a.nrows();
    if n <= BASE {
        let mut a = a;
        for row in 0..n {
            for column in row + 1..n {
                a[[row, column]] = a[[column, row]];
            }
        }
        return;
    }
    let [first, above, beside, second] = quarters_mut(a, half(n));
    assign_in_parts(on, beside.t(), above);
    mirror(on, first);
    mirror(on, second);
}

/// Writes the inverse of a lower triangular matrix. Elements above the diagonal are 0, and stay so.
fn invert<T: MatrixElement>(on: &mut dyn Machine<T>, lower: ArrayView2<T>, out: ArrayViewMut2<T>) {
    let n = lower.nrows();
    if n <= BASE {
        return on.run(Part::Invert(lower, out));
    }
    let cut = half(n);
    let [l_first, _, l_beside, l_second] = quarters(lower, cut);
    let [mut first, _, mut beside, second] = quarters_mut(out, cut);
    invert(on, l_first, first.view_mut());
    // The block below the diagonal: −L₂₂⁻¹ L₂₁ X₁₁, where X₁₁ is lower triangular.
    beside.fill(T::ZERO);
    multiply_by_lower(on, Update::Subtract, l_beside, first.view(), beside.view_mut());
    triangular::solve_lower(on, l_second, false, beside);
    invert(on, l_second, second);
}

/// Row by row, each by those above.
#[inline(always)]
pub(super) fn invert_small<T: MatrixElement, V: Vector<T>>(lower: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    let n = lower.nrows();
    assert!(n <= BASE);
    let mut x = [[T::ZERO; BASE]; BASE];
    for row in 0..n {
        let mut own = [T::ZERO; BASE];
        own[row] = T::one();
        for known in 0..row {
            subtract::<T, V, BASE>(&mut own, lower[[row, known]], &x[known]);
        }
        divide::<T, V, BASE>(&mut own, lower[[row, row]]);
        // Zeros, whatever they were divided by.
        own[row + 1..].fill(T::ZERO);
        x[row] = own;
        for (out, &x) in out.row_mut(row).iter_mut().zip(&own).take(row + 1) {
            *out = x;
        }
    }
}

/// Writes the lower triangle of Xᵀ X, where X is lower triangular, with zeros above the diagonal. Elements above the diagonal become
/// anything.
fn square<T: MatrixElement>(on: &mut dyn Machine<T>, x: ArrayView2<T>, out: ArrayViewMut2<T>) {
    let n = x.nrows();
    if n <= 2 * BASE {
        return on.multiply(Update::Set, x.t(), x, out);
    }
    let cut = half(n);
    let [x_first, _, x_beside, x_second] = quarters(x, cut);
    let [mut first, _, beside, second] = quarters_mut(out, cut);
    square(on, x_first, first.view_mut());
    multiply_lower(on, Update::Add, x_beside.t(), x_beside, first);
    // X₂₂ᵀ X₂₁: its transpose, X₂₁ᵀ X₂₂, has the triangular matrix at the right.
    multiply_by_lower(on, Update::Set, x_beside.reversed_axes(), x_second, beside.reversed_axes());
    square(on, x_second, second);
}

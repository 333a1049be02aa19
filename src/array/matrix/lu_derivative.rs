//! The derivative of the factorisation P A = L U, and its transpose, as systems of equations: X with X₋ U + L X₊ = P S, where X₋ is
//! what is below the diagonal of X, and X₊ the rest of it; and Y such that P Y Uᵀ has what is below the diagonal of Z, and Lᵀ P Y the
//! rest of it.

use super::hardware::{Update, Vector};
use super::machine::{Machine, divide, subtract};
use super::rows::assign_in_parts;
use super::{BASE, MatrixElement, Part, half, lu, quarters, quarters_mut, triangular};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, aview_mut2, aview2, s};

/// Writes X, given both factors of A and beside them the order of its rows.
pub(super) fn forward_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    packed: ArrayView2<T>,
    s: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
) {
    let (factors, order) = packed.split_at(Axis(1), s.ncols());
    lu::order_into(order, s, out.view_mut());
    forward(on, factors, out);
}

/// Replaces P S by X.
fn forward<T: MatrixElement>(on: &mut dyn Machine<T>, factors: ArrayView2<T>, x: ArrayViewMut2<T>) {
    let (m, n) = x.dim();
    if m.max(n) <= BASE {
        return on.run(Part::LuForward(factors, x));
    }
    let cut = cut([m, n]);
    let [known, right, beside, rest] = quarters(factors, cut);
    let [mut first, mut above, mut below, mut second] = quarters_mut(x, cut);
    forward(on, known, first.view_mut());
    if n > cut {
        subtract_lower_product(on, true, first.view(), right, above.view_mut());
        triangular::solve_lower(on, known, true, above.view_mut());
    }
    if m > cut {
        subtract_lower_product(on, false, first.t(), beside.reversed_axes(), below.view_mut().reversed_axes());
        triangular::solve_lower(on, known.reversed_axes(), false, below.view_mut().reversed_axes());
    }
    if m == n {
        on.multiply(Update::Subtract, below.view(), right, second.view_mut());
        on.multiply(Update::Subtract, beside, above.view(), second.view_mut());
        forward(on, rest, second);
    }
}

/// Row and column by row and column, each taken out of the rest.
#[inline(always)]
pub(super) fn forward_small<T: MatrixElement, V: Vector<T>>(factors: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    let (m, n) = out.dim();
    assert!(m <= BASE && n <= BASE);
    let (known, mut x) = (rows(factors), rows(out.view()));
    // The strictly lower triangle, column by column.
    let mut below = [[T::ZERO; BASE]; BASE];
    for step in 0..m.min(n) {
        let own = x[step];
        let (mut column, mut factor) = ([T::ZERO; BASE], [T::ZERO; BASE]);
        for row in step + 1..m {
            (column[row], factor[row]) = (x[row][step], known[row][step]);
        }
        subtract::<T, V, BASE>(&mut column, own[step], &factor);
        divide::<T, V, BASE>(&mut column, known[step][step]);
        for row in step + 1..m {
            subtract::<T, V, BASE>(&mut x[row], column[row], &known[step]);
            subtract::<T, V, BASE>(&mut x[row], factor[row], &own);
        }
        below[step] = column;
    }
    for (row, mut own) in out.rows_mut().into_iter().enumerate().take(BASE) {
        for (column, out) in own.iter_mut().enumerate().take(BASE) {
            *out = if column < row { below[column][row] } else { x[row][column] };
        }
    }
}

/// Writes Y, given both factors of A and beside them the order of its rows. The scratch has as many elements.
pub(super) fn adjoint_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    packed: ArrayView2<T>,
    z: ArrayView2<T>,
    out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let (factors, order) = packed.split_at(Axis(1), z.ncols());
    let mut w = ArrayViewMut2::from_shape(z.raw_dim(), scratch).expect("as many elements");
    assign_in_parts(on, z, w.view_mut());
    adjoint(on, factors, w.view_mut());
    lu::order_back_into(order, w.view(), out);
}

/// Replaces Z by P Y.
fn adjoint<T: MatrixElement>(on: &mut dyn Machine<T>, factors: ArrayView2<T>, w: ArrayViewMut2<T>) {
    let (m, n) = w.dim();
    if m.max(n) <= BASE {
        return on.run(Part::LuAdjoint(factors, w));
    }
    let cut = cut([m, n]);
    let [known, right, beside, rest] = quarters(factors, cut);
    let [mut first, mut above, mut below, mut second] = quarters_mut(w, cut);
    if m == n {
        adjoint(on, rest, second.view_mut());
        on.multiply(Update::Subtract, second.view(), right.reversed_axes(), below.view_mut());
        on.multiply(Update::Subtract, beside.reversed_axes(), second.view(), above.view_mut());
    }
    if m > cut {
        triangular::solve_upper(on, known, false, below.view_mut().reversed_axes());
        subtract_within_lower(on, false, below.t(), beside, first.view_mut().reversed_axes());
    }
    if n > cut {
        triangular::solve_upper(on, known.reversed_axes(), true, above.view_mut());
        subtract_within_lower(on, true, above.view(), right.reversed_axes(), first.view_mut());
    }
    adjoint(on, known, first);
}

/// Row and column by row and column from the last on, each by those after it.
#[inline(always)]
pub(super) fn adjoint_small<T: MatrixElement, V: Vector<T>>(factors: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    let (m, n) = out.dim();
    assert!(m <= BASE && n <= BASE);
    // Rows from the diagonal on, and columns below it.
    let (known, mut across, mut down) = (rows(factors), rows(out.view()), rows(out.t()));
    for step in (0..m.min(n)).rev() {
        let mut column = down[step];
        for after in step + 1..n {
            subtract::<T, V, BASE>(&mut column, known[step][after], &down[after]);
        }
        divide::<T, V, BASE>(&mut column, known[step][step]);
        for row in step + 1..m {
            across[row][step] = column[row];
        }
        let mut own = across[step];
        for after in step + 1..m {
            subtract::<T, V, BASE>(&mut own, known[after][step], &across[after]);
        }
        down[step] = column;
        for after in step..n {
            down[after][step] = own[after];
        }
        across[step] = own;
    }
    for (mut own, x) in out.rows_mut().into_iter().zip(&across) {
        for (out, &x) in own.iter_mut().zip(x) {
            *out = x;
        }
    }
}

/// A few rows, with zeros behind them.
#[inline(always)]
fn rows<T: MatrixElement>(a: ArrayView2<T>) -> [[T; BASE]; BASE] {
    let mut rows = [[T::ZERO; BASE]; BASE];
    for (own, row) in rows.iter_mut().zip(a.rows()) {
        for (own, &x) in own.iter_mut().zip(row) {
            *own = x;
        }
    }
    rows
}

/// Where a matrix is cut: the shorter side of one that is not square is not.
fn cut([m, n]: [usize; 2]) -> usize {
    if m == n { half(n) } else { m.min(n) }
}

/// Subtracts T B from C, where T is a triangle of a matrix: what is below the diagonal, with or without that.
fn subtract_lower_product<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    is_strict: bool,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    c: ArrayViewMut2<T>,
) {
    let n = a.nrows();
    if n <= BASE {
        let mut triangle = [[T::ZERO; BASE]; BASE];
        for (row, (own, a)) in triangle.iter_mut().zip(a.rows()).enumerate() {
            for (own, &a) in own.iter_mut().zip(a).take(row + usize::from(!is_strict)) {
                *own = a;
            }
        }
        return on.multiply(Update::Subtract, aview2(&triangle).slice(s![..n, ..n]), b, c);
    }
    let [first, _, beside, second] = quarters(a, half(n));
    let (b_first, b_second) = b.split_at(Axis(0), half(n));
    let (c_first, mut c_second) = c.split_at(Axis(0), half(n));
    subtract_lower_product(on, is_strict, first, b_first, c_first);
    on.multiply(Update::Subtract, beside, b_first, c_second.view_mut());
    subtract_lower_product(on, is_strict, second, b_second, c_second);
}

/// Subtracts what is below the diagonal of A B, with or without that, from C. The rest stays.
fn subtract_within_lower<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    is_strict: bool,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    mut c: ArrayViewMut2<T>,
) {
    let n = c.nrows();
    if n <= BASE {
        let mut product = [[T::ZERO; BASE]; BASE];
        on.multiply(Update::Set, a, b, aview_mut2(&mut product).slice_mut(s![..n, ..n]));
        for (row, (mut own, product)) in c.rows_mut().into_iter().zip(&product).enumerate() {
            for (c, &product) in own.iter_mut().zip(product).take(row + usize::from(!is_strict)) {
                *c = *c - product;
            }
        }
        return;
    }
    let (above, below) = a.split_at(Axis(0), half(n));
    let (left, right) = b.split_at(Axis(1), half(n));
    let [first, _, beside, second] = quarters_mut(c, half(n));
    subtract_within_lower(on, is_strict, above, left, first);
    on.multiply(Update::Subtract, below, left, beside);
    subtract_within_lower(on, is_strict, below, right, second);
}

//! Systems of equations with triangular matrices.

use super::hardware::{Update, Vector};
use super::machine::{Cut, Machine, divide, subtract};
use super::rows::assign_in_parts;
use super::{BASE, MatrixElement, Part, half, quarters};
use crate::operation::Triangle;
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2, Axis};

/// Columns of right sides that are solved for at once.
const WIDTH: usize = 16;

/// Writes the solution X of A X = B, where A is as the triangle says.
pub(super) fn solve_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    triangle: Triangle,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
) {
    assign_in_parts(on, b, out.view_mut());
    let unit = triangle.has_unit_diagonal;
    match (triangle.is_lower, triangle.is_transposed) {
        (true, false) => solve_lower(on, a, unit, out),
        (false, true) => solve_lower(on, a.reversed_axes(), unit, out),
        (false, false) => solve_upper(on, a, unit, out),
        (true, true) => solve_upper(on, a.reversed_axes(), unit, out),
    }
}

/// Replaces B by the solution of U X = B.
pub(super) fn solve_upper<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    mut u: ArrayView2<T>,
    unit: bool,
    mut b: ArrayViewMut2<T>,
) {
    // With rows and columns in the opposite order it is a lower triangular matrix.
    u.invert_axis(Axis(0));
    u.invert_axis(Axis(1));
    b.invert_axis(Axis(0));
    solve_lower(on, u, unit, b);
}

/// Replaces B by the solution of L X = B.
pub(super) fn solve_lower<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    l: ArrayView2<T>,
    unit: bool,
    b: ArrayViewMut2<T>,
) {
    let work = l.len().saturating_mul(b.ncols()) / 2;
    on.in_parts(Cut::Columns, work, b, &|on, _, b| solve_columns(on, l, unit, b));
}

/// As [`solve_lower`], for columns that are not cut.
fn solve_columns<T: MatrixElement>(on: &mut dyn Machine<T>, l: ArrayView2<T>, unit: bool, b: ArrayViewMut2<T>) {
    let n = l.nrows();
    if n <= BASE {
        return on.run(Part::Substitute(l, unit, b));
    }
    let step = b.strides()[0];
    if b.ncols() == 1 && step.abs() == 1 && l.strides().contains(&step) {
        return on.run(Part::SubstituteOne(l, unit, b));
    }
    let cut = half(n);
    let [first, _, beside, second] = quarters(l, cut);
    let (mut top, mut bottom) = b.split_at(Axis(0), cut);
    solve_columns(on, first, unit, top.view_mut());
    on.multiply(Update::Subtract, beside, top.view(), bottom.view_mut());
    solve_columns(on, second, unit, bottom);
}

/// The solution for a few rows, as vectors of some columns of the right side.
#[inline(always)]
pub(super) fn substitute<T: MatrixElement, V: Vector<T>>(l: ArrayView2<T>, unit: bool, mut b: ArrayViewMut2<T>) {
    let n = l.nrows();
    assert!(n <= BASE);
    // Column by column.
    let mut factors = [[T::ZERO; BASE]; BASE];
    copy(l.reversed_axes(), &mut factors);
    for mut part in b.axis_chunks_iter_mut(Axis(1), WIDTH) {
        let mut x = [[T::ZERO; WIDTH]; BASE];
        copy(part.view(), &mut x);
        for known in 0..n {
            if !unit {
                divide::<T, V, WIDTH>(&mut x[known], factors[known][known]);
            }
            let own = x[known];
            for row in known + 1..n {
                subtract::<T, V, WIDTH>(&mut x[row], factors[known][row], &own);
            }
        }
        if part.strides()[0].abs() == 1 {
            for (at, mut column) in part.columns_mut().into_iter().enumerate().take(WIDTH) {
                for (b, x) in column.iter_mut().zip(&x) {
                    *b = x[at];
                }
            }
            continue;
        }
        for (mut row, x) in part.rows_mut().into_iter().zip(&x) {
            for (b, &x) in row.iter_mut().zip(x) {
                *b = x;
            }
        }
    }
}

/// Copies a small matrix, along the axis whose elements lie together.
#[inline(always)]
fn copy<T: MatrixElement, const N: usize>(from: ArrayView2<T>, to: &mut [[T; N]; BASE]) {
    if from.strides()[0].abs() == 1 {
        for (at, column) in from.columns().into_iter().enumerate().take(N) {
            for (to, &x) in to.iter_mut().zip(column) {
                to[at] = x;
            }
        }
        return;
    }
    for (row, to) in from.rows().into_iter().zip(to) {
        for (to, &x) in to.iter_mut().zip(row) {
            *to = x;
        }
    }
}

/// The solution for one right side. Rows or columns of the matrix are contiguous, as is that, forwards or backwards.
#[inline(always)]
pub(super) fn substitute_one<T: MatrixElement>(l: ArrayView2<T>, unit: bool, mut b: ArrayViewMut2<T>) {
    fn run<'a, T>(mut elements: ArrayView1<'a, T>) -> &'a [T] {
        if elements.strides()[0] < 0 {
            elements.invert_axis(Axis(0));
        }
        elements.to_slice().unwrap_or(&[])
    }
    let n = l.nrows();
    let has_rows = l.strides()[1] == b.strides()[0];
    for row in 0..n {
        let (known, mut rest) = b.view_mut().split_at(Axis(0), row);
        let mut own = rest[[0, 0]];
        if has_rows {
            own = own - dot(run(l.row(row).split_at(Axis(0), row).0), run(known.column(0)));
        }
        if !unit {
            own = own / l[[row, row]];
        }
        rest[[0, 0]] = own;
        if !has_rows {
            let factors = l.column(row).split_at(Axis(0), row + 1).1;
            let (_, mut below) = rest.split_at(Axis(0), 1);
            if below.strides()[0] < 0 {
                below.invert_axis(Axis(0));
            }
            let below = below.into_slice().unwrap_or(&mut []);
            for (x, &factor) in below.iter_mut().zip(run(factors)) {
                *x = *x - factor * own;
            }
        }
    }
}

/// The sum of products, in sums of as many as vectors have elements.
#[inline(always)]
fn dot<T: MatrixElement>(a: &[T], b: &[T]) -> T {
    const SUMS: usize = 32;
    let mut sums = [T::ZERO; SUMS];
    let (a, a_rest) = a.as_chunks::<SUMS>();
    let (b, b_rest) = b.as_chunks::<SUMS>();
    for (a, b) in a.iter().zip(b) {
        for at in 0..SUMS {
            sums[at] = sums[at] + a[at] * b[at];
        }
    }
    for (at, (&a, &b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[at] = sums[at] + a * b;
    }
    let mut sum = T::ZERO;
    for x in sums {
        sum = sum + x;
    }
    sum
}

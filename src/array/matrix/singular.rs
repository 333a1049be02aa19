//! Singular values and vectors, of a square matrix: that itself, or R of a matrix Q R with more rows than columns.

use super::bidiagonal::{self, Bidiagonal};
use super::eigen::{is_turned, product_after_first, sort};
use super::reflections::{product_into, product_scratch};
use super::rotations::Sweeps;
use super::rows::{assign, divide_by, largest, scale, transpose, unit};
use super::{Machine, MatrixElement, Part, Update, matrix, matrix_mut, qr};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};

/// Elements of scratch for a matrix.
pub(super) fn scratch([m, n]: [usize; 2]) -> usize {
    let (long, k) = (m.max(n), m.min(n));
    // The values, and what of the matrix is beside them, with both kinds of factors; the square matrix, the vectors of reflections,
    // both kinds of singular vectors, and what is needed for these; then, of a matrix that is not square, that, or its left
    // vectors, and its factors.
    let inner = bidiagonal::scratch(k).max(product_scratch(k, [k, k])).max(2 * Sweeps::<f64>::scratch(k));
    let outer = if long > k { (2 * long + k) * k + qr::scratch([long, k], Some(k)) } else { 0 };
    4 * k + 4 * k * k + inner + outer
}

/// Takes so many elements away from the beginning of scratch.
fn part<'s, T>(scratch: &mut &'s mut [T], count: usize) -> &'s mut [T] {
    let (own, rest) = std::mem::take(scratch).split_at_mut(count);
    *scratch = rest;
    own
}

/// Writes the left vectors as columns, above a row of the singular values, which descend, above the right vectors as columns; or the
/// values alone, if there is no room for more.
pub(super) fn factor_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    a: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let unit = parts_into(on, a, out.view_mut(), scratch);
    let row = if out.nrows() > 1 { a.nrows() } else { 0 };
    out.row_mut(row).mapv_inplace(|value| value * unit);
}

/// As [`factor_into`], with the values over a number, which is the result: in the range of numbers where they may not be.
fn parts_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    a: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
    mut scratch: &mut [T],
) -> T {
    let (m, n) = a.dim();
    let (long, k) = (m.max(n), m.min(n));
    if k == 0 {
        return T::one();
    }
    let has_vectors = out.nrows() > 1;
    let tall = if m < n { a.reversed_axes() } else { a };
    let scratch = &mut scratch;
    let (values, above) = (part(scratch, k), part(scratch, k));
    let (of_columns, of_rows) = (part(scratch, k), part(scratch, k));
    let (work, beside) = (part(scratch, k * k), part(scratch, k * k));
    let (left, right) = (part(scratch, k * k), part(scratch, k * k));
    let is_square = long == k;
    let whole: &mut [T] = if is_square { &mut [] } else { part(scratch, long * k) };
    let q: &mut [T] = if is_square { &mut [] } else { part(scratch, (long + k) * k) };
    let Some(unit) = scaled(tall, if is_square { &mut *work } else { &mut *whole }) else {
        out.fill(T::NAN);
        return T::one();
    };
    if !is_square {
        let (q, mut r) = matrix_mut(q, 0, [long + k, k]).split_at(Axis(0), long);
        qr::factor_into(on, matrix(whole, 0, [long, k]), has_vectors.then_some(q), r.view_mut(), scratch);
        assign(r.view().reversed_axes(), matrix_mut(work, 0, [k, k]));
    }
    let factors = [&mut *of_columns, &mut *of_rows];
    on.run(Part::Bidiagonal(work, beside, factors, [&mut *values, &mut *above], scratch));
    let (left, right) = if has_vectors { (left, right) } else { Default::default() };
    if has_vectors {
        product_into(on, (matrix(beside, 0, [k, k]), None), of_columns, matrix_mut(left, 0, [k, k]), scratch);
        product_after_first(on, matrix(work, 0, [k, k]), of_rows, matrix_mut(right, 0, [k, k]), scratch);
        transpose(k, left);
        transpose(k, right);
    }
    let (first, second) = scratch.split_at_mut(Sweeps::<T>::scratch(k));
    let vectors = [&mut Sweeps::new(on, k, left, first), &mut Sweeps::new(on, k, right, second)];
    if !(Bidiagonal { diagonal: &mut *values, above }).diagonalise(vectors) {
        out.fill(T::NAN);
        return unit;
    }
    for (number, value) in values.iter_mut().enumerate() {
        if *value < T::ZERO {
            *value = -*value;
            if has_vectors {
                scale(&mut right[number * k..(number + 1) * k], -T::one());
            }
        }
    }
    sort(values, [&mut *left, &mut *right], |x, y| x > y);
    let row = if has_vectors { m } else { 0 };
    out.row_mut(row).iter_mut().zip(&*values).for_each(|(place, &value)| *place = value);
    if !has_vectors {
        return unit;
    }
    // Rows of Uᵀ.
    let left = if is_square {
        left
    } else {
        let turned = matrix(&q[..long * k], 0, [long, k]).reversed_axes();
        on.multiply(Update::Set, matrix(left, 0, [k, k]), turned, matrix_mut(whole, 0, [k, long]));
        whole
    };
    for (left, right) in left.chunks_exact_mut(long).zip(right.chunks_exact_mut(k)) {
        if is_turned(left) {
            scale(left, -T::one());
            scale(right, -T::one());
        }
    }
    let (first, second) = (s![..m, ..], s![m + 1.., ..]);
    let (of_left, of_right) = if m < n { (second, first) } else { (first, second) };
    assign(matrix(left, 0, [k, long]).reversed_axes(), out.slice_mut(of_left));
    assign(matrix(right, 0, [k, k]).reversed_axes(), out.slice_mut(of_right));
    unit
}

/// Copies a matrix, over a number, which is the result if all numbers are finite.
fn scaled<T: MatrixElement>(a: ArrayView2<T>, to: &mut [T]) -> Option<T> {
    let (m, n) = a.dim();
    assign(a, matrix_mut(to, 0, [m, n]));
    let unit = unit(largest(to))?;
    if unit != T::one() {
        divide_by(to, unit);
    }
    Some(unit)
}

/// Elements of scratch for a pseudo-inverse.
pub(super) fn inverse_scratch([m, n]: [usize; 2]) -> usize {
    (m + 1 + n) * m.min(n) + scratch([m, n])
}

/// Writes the pseudo-inverse of a matrix.
pub(super) fn inverse_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    a: ArrayView2<T>,
    out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let (m, n) = a.dim();
    let k = m.min(n);
    let (packed, rest) = scratch.split_at_mut((m + 1 + n) * k);
    let mut packed = matrix_mut(packed, 0, [m + 1 + n, k]);
    let unit = parts_into(on, a, packed.view_mut(), rest);
    let (u, mut others) = packed.split_at(Axis(0), m);
    let (values, mut v) = others.view_mut().split_at(Axis(0), 1);
    let bound = if k > 0 { values[[0, 0]] * T::PRECISION * T::number(m.max(n)) } else { T::ZERO };
    for (mut column, &value) in v.columns_mut().into_iter().zip(values.row(0)) {
        // NaN stays NaN.
        let inverse = if value <= bound { T::ZERO } else { T::one() / value / unit };
        column.mapv_inplace(|x| x * inverse);
    }
    on.multiply(Update::Set, v.view(), u.t(), out);
}

//! The factorisation A = Q R by reflections (Householder), several columns at a time.

use super::reflections::{
    BLOCK, FEW, combine_halves, is_blocked, product_into, product_scratch, reflect, reflection, subtract,
};
use super::rows::{assign, largest, scale};
use super::{Machine, MatrixElement, Part, half, matrix, matrix_mut};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};

/// Elements of scratch for a matrix, and so many columns of Q, if that is wanted.
pub(super) fn scratch([m, n]: [usize; 2], columns: Option<usize>) -> usize {
    let count = m.min(n);
    let product = columns.map_or(0, |columns| product_scratch(count, [m, columns]));
    // The matrix, the vectors of reflections, alone and combined, the factors of all, and what products need.
    m * n + 2 * kept(count, columns.is_some()) * m + count + (BLOCK * n).max(product)
}

/// How many of so many reflections are kept: all of them for Q, else one block after the other.
fn kept(count: usize, has_q: bool) -> usize {
    if has_q { count } else { count.min(BLOCK) }
}

/// Writes the transpose of R, and Q if that is wanted.
pub(super) fn factor_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    a: ArrayView2<T>,
    q: Option<ArrayViewMut2<T>>,
    r: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let (m, n) = a.dim();
    let count = m.min(n);
    let kept = kept(count, q.is_some());
    let (work, rest) = scratch.split_at_mut(m * n);
    let (vectors, rest) = rest.split_at_mut(kept * m);
    let (combined, rest) = rest.split_at_mut(kept * m);
    let (factors, rest) = rest.split_at_mut(count);
    let mut work = matrix_mut(work, 0, [m, n]);
    let unit = scaled(a, work.view_mut());
    for start in (0..count).step_by(BLOCK) {
        let end = (start + BLOCK).min(count);
        let (mut known, after) = work.view_mut().slice_move(s![start.., start..]).split_at(Axis(1), end - start);
        let [mut vectors, mut combined] = [&mut *vectors, &mut *combined].map(|rows| {
            // Blocks that are not kept take the place of those before.
            let first = if q.is_some() { start } else { 0 };
            let block = matrix_mut(&mut rows[first * m..], 0, [end - start, m]);
            block.slice_move(s![.., start..])
        });
        assign(known.t(), vectors.view_mut());
        let factors = &mut factors[start..end];
        if (q.is_some() && is_blocked(count)) || end < n {
            factor_block(on, 0, known.view_mut(), [vectors.view_mut(), combined.view_mut()], factors, rest);
        } else {
            on.run(Part::Reflect(0, known, vectors.view_mut(), factors));
        }
        if end < n {
            subtract(on, [combined.view(), vectors.view()], after, rest);
        }
    }
    write_r(work.view(), unit, r);
    let Some(q) = q else { return };
    let [vectors, combined] = [vectors, combined].map(|rows| matrix(rows, 0, [count, m]));
    product_into(on, (vectors, Some(combined)), factors, q, rest);
}

/// Copies a matrix, times a number that keeps norms in the range of numbers: they may be larger than elements, and differences twice
/// as large as norms.
fn scaled<T: MatrixElement>(a: ArrayView2<T>, mut to: ArrayViewMut2<T>) -> T {
    assign(a, to.view_mut());
    let bound = T::LARGEST * T::PRECISION;
    let elements = to.into_slice().unwrap_or(&mut []);
    if largest(elements) <= bound {
        return T::one();
    }
    scale(elements, T::PRECISION);
    T::PRECISION
}

/// Reflects columns, given as rows, each to one of R. The reflections' vectors take the place of the rows, the rows of
/// [`combine_few`](super::reflections::combine_few) of all stand in another matrix.
fn factor_block<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    start: usize,
    mut r: ArrayViewMut2<T>,
    [mut rows, mut combined]: [ArrayViewMut2<T>; 2],
    factors: &mut [T],
    scratch: &mut [T],
) {
    if factors.len() <= FEW {
        on.run(Part::Reflect(start, r, rows.view_mut(), factors));
        return on.run(Part::Combine(rows.view(), factors, combined.view_mut()));
    }
    let middle = half(factors.len());
    let (mut first, mut second) = rows.split_at(Axis(0), middle);
    let (mut above, mut below) = combined.split_at(Axis(0), middle);
    let (before, after) = factors.split_at_mut(middle);
    factor_block(on, start, r.view_mut(), [first.view_mut(), above.view_mut()], before, scratch);
    subtract(on, [above.view(), first.view()], second.view_mut().reversed_axes(), scratch);
    factor_block(on, start + middle, r, [second.view_mut(), below.view_mut()], after, scratch);
    combine_halves(on, above, [second.view(), below.view()], scratch);
}

/// As [`factor_block`], one by one, without the other matrix.
#[inline(always)]
pub(super) fn factor_few<T: MatrixElement>(
    start: usize,
    mut r: ArrayViewMut2<T>,
    mut rows: ArrayViewMut2<T>,
    factors: &mut [T],
) {
    for (number, place) in factors.iter_mut().enumerate() {
        let at = start + number;
        let (mut known, mut others) = rows.view_mut().split_at(Axis(0), number + 1);
        let own = known.row_mut(number).into_slice().unwrap_or(&mut []);
        let (above, vector) = own.split_at_mut(at);
        let (norm, factor) = reflection(vector);
        *place = factor;
        for (row, x) in above.iter_mut().enumerate() {
            r[[row, at]] = *x;
            *x = T::ZERO;
        }
        r[[at, at]] = norm;
        for other in others.rows_mut() {
            reflect(&mut other.into_slice().unwrap_or(&mut [])[at..], vector, factor);
        }
    }
}

/// Writes the transpose of R, given a matrix with R on and above its diagonal.
fn write_r<T: MatrixElement>(work: ArrayView2<T>, unit: T, mut out: ArrayViewMut2<T>) {
    let k = out.ncols();
    assign(work.slice(s![..k, ..]).reversed_axes(), out.view_mut());
    for (row, mut elements) in out.rows_mut().into_iter().enumerate() {
        elements.slice_mut(s![(row + 1).min(k)..]).fill(T::ZERO);
        if unit != T::one() {
            for x in &mut elements {
                *x = *x / unit;
            }
        }
    }
}

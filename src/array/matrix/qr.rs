//! The factorisation A = Q R by reflections (Householder), several columns at a time.

use super::reflections::{BLOCK, combine, is_blocked, product_into, product_scratch, reflect, reflection, subtract};
use super::rows::{assign, largest, scale};
use super::{Machine, MatrixElement, matrix, matrix_mut};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};

/// Elements of scratch for a matrix, and so many columns of Q.
pub(super) fn scratch([m, n]: [usize; 2], k: usize) -> usize {
    let count = m.min(n);
    // The matrix, the vectors of all reflections, alone and combined, their factors, and what products need.
    m * n + 2 * count * m + count + (BLOCK * n).max(product_scratch(count, [m, k]))
}

/// Writes Q above the transpose of R.
pub(super) fn factor_into<T: MatrixElement, M: Machine<T>>(
    on: &mut M,
    a: ArrayView2<T>,
    out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let (m, n) = a.dim();
    let count = m.min(n);
    let (work, rest) = scratch.split_at_mut(m * n);
    let (vectors, rest) = rest.split_at_mut(count * m);
    let (combined, rest) = rest.split_at_mut(count * m);
    let (factors, rest) = rest.split_at_mut(count);
    let mut work = matrix_mut(work, 0, [m, n]);
    let mut unit = T::one();
    on.run(
        #[inline(always)]
        || unit = scaled(a, work.view_mut()),
    );
    for start in (0..count).step_by(BLOCK) {
        let end = (start + BLOCK).min(count);
        let (mut known, mut after) = work.view_mut().split_at(Axis(1), end);
        let [vectors, combined] = [&mut *vectors, &mut *combined].map(|rows| &mut rows[start * m..end * m]);
        let factors = &mut factors[start..end];
        let mut combined = matrix_mut(combined, 0, [end - start, m]);
        let mut combined = combined.slice_mut(s![.., start..]);
        on.run(
            #[inline(always)]
            || {
                factor_block(start, known.view_mut(), vectors, factors);
                let vectors = matrix(vectors, 0, [end - start, m]);
                if is_blocked(count) || end < n {
                    combine(vectors.slice(s![.., start..]), factors, combined.view_mut());
                }
            },
        );
        if end < n {
            let vectors = matrix(vectors, 0, [end - start, m]);
            let own = vectors.slice(s![.., start..]);
            subtract(on, [combined.view(), own], after.slice_mut(s![start.., ..]), rest);
        }
    }
    let (q, r) = out.split_at(Axis(0), m);
    on.run(
        #[inline(always)]
        || write_r(work.view(), unit, r),
    );
    let [vectors, combined] = [vectors, combined].map(|rows| matrix(rows, 0, [count, m]));
    product_into(on, (vectors, Some(combined)), factors, q, rest);
}

/// Copies a matrix, times a number that keeps norms in the range of numbers: they may be larger than elements, and differences twice
/// as large as norms.
#[inline(always)]
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

/// Reflects columns from one on, each to one of R, which takes its place. The reflections' vectors become rows of the block.
#[inline(always)]
fn factor_block<T: MatrixElement>(start: usize, mut columns: ArrayViewMut2<T>, block: &mut [T], factors: &mut [T]) {
    let m = columns.nrows();
    let mut rows = matrix_mut(block, 0, [factors.len(), m]);
    assign(columns.slice(s![start.., start..]).reversed_axes(), rows.slice_mut(s![.., start..]));
    for (number, place) in factors.iter_mut().enumerate() {
        let at = start + number;
        let (own, others) = block[number * m..].split_at_mut(m);
        let (r, vector) = own.split_at_mut(at);
        let (norm, factor) = reflection(vector);
        *place = factor;
        for (row, &x) in r.iter().enumerate().skip(start) {
            columns[[row, at]] = x;
        }
        columns[[at, at]] = norm;
        r.fill(T::ZERO);
        for other in others.chunks_exact_mut(m) {
            reflect(&mut other[at..], vector, factor);
        }
    }
}

/// Writes the transpose of R, given a matrix with R on and above its diagonal.
#[inline(always)]
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

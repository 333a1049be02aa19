//! Singular values and vectors, by rotations of columns until they are orthogonal (Hestenes, 1958), which finds small values as
//! precisely as large ones.

use super::eigen::{is_turned, sort, turn};
use super::{MatrixElement, qr};
use crate::array::products::dot;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, linalg::general_mat_mul, s};

/// The most times that all pairs of columns are rotated.
const SWEEPS: usize = 60;

/// Elements of scratch for a matrix.
pub(super) fn scratch([m, n]: [usize; 2]) -> usize {
    let (long, k) = (m.max(n), m.min(n));
    // The scaled matrix, its factors, what that takes, four squares, the values, and the left vectors.
    long * k + (long + k) * k + qr::scratch([long, k]) + 4 * k * k + k + long * k
}

/// Writes the left vectors as columns, above a row of the singular values, which descend, above the right vectors as columns; or the
/// values alone, if there is no room for more.
pub(super) fn factor_into<T: MatrixElement>(a: ArrayView2<T>, mut out: ArrayViewMut2<T>, scratch: &mut [T]) {
    let (m, n) = a.dim();
    let (long, k) = (m.max(n), m.min(n));
    if k == 0 {
        return;
    }
    let has_vectors = out.nrows() > 1;
    let largest = a.iter().fold(T::ZERO, |largest, x| {
        let size = x.magnitude();
        if size > largest || size.is_nan() { size } else { largest }
    });
    if a.iter().any(|x| x.is_nan()) || largest >= T::HIGHEST {
        return out.fill(T::NAN);
    }
    let unit = if largest > T::ZERO { largest } else { T::one() };
    let mut rest = scratch;
    let mut part = |rows: usize, columns: usize| {
        let (own, others) = std::mem::take(&mut rest).split_at_mut(rows * columns);
        rest = others;
        ArrayViewMut2::from_shape((rows, columns), own).expect("as many elements")
    };
    // A tall matrix, Q R: the values are those of the square matrix R.
    let tall = if m < n { a.reversed_axes() } else { a };
    let (mut scaled, mut factors) = (part(long, k), part(long + k, k));
    let (mut inner, mut work, mut right) = (part(1, qr::scratch([long, k])), part(k, k), part(k, k));
    let (mut values, mut left, mut directions) = (part(1, k), part(long, k), part(2 * k, k));
    let inner = inner.as_slice_mut().expect("contiguous");
    scaled.zip_mut_with(&tall, |place, &x| *place = x / unit);
    qr::factor_into(scaled.view(), factors.view_mut(), inner);
    let (q, r) = (factors.slice(s![..long, ..]), factors.slice(s![long.., ..]));
    // Rows of the work are columns of R, and rows of the other those of the right vectors.
    work.assign(&r);
    right.fill(T::ZERO);
    right.diag_mut().fill(T::one());
    let (rows, others) = (work.as_slice_mut().expect("contiguous"), right.as_slice_mut().expect("contiguous"));
    if !rotate(k, rows, others, has_vectors) {
        return out.fill(T::NAN);
    }
    let values = values.as_slice_mut().expect("contiguous");
    for (value, column) in values.iter_mut().zip(rows.chunks_exact(k)) {
        *value = dot(k, (column, 0, 1), (column, 0, 1)).square_root();
    }
    sort(values, [&mut *rows, &mut *others], |x, y| x > y);
    let row = if has_vectors { m } else { 0 };
    out.row_mut(row).iter_mut().zip(&*values).for_each(|(place, &value)| *place = value * unit);
    if !has_vectors {
        return;
    }
    // Columns that are 0 have no direction: the reflections of another factorisation complete them.
    qr::factor_into(work.t(), directions.view_mut(), inner);
    general_mat_mul(T::one(), &q, &directions.slice(s![..k, ..]), T::ZERO, &mut left);
    for column in 0..k {
        // The sign is that of the product, and then of the largest element.
        let sign = if directions[[k + column, column]] < T::ZERO { -T::one() } else { T::one() };
        left.column_mut(column).mapv_inplace(|x| x * sign);
        let sign = if is_turned(left.column(column)) { -T::one() } else { T::one() };
        left.column_mut(column).mapv_inplace(|x| x * sign);
        right.row_mut(column).mapv_inplace(|x| x * sign);
    }
    let (first, second) = (s![..m, ..], s![m + 1.., ..]);
    let (of_left, of_right) = if m < n { (second, first) } else { (first, second) };
    out.slice_mut(of_left).assign(&left);
    out.slice_mut(of_right).assign(&right.t());
}

/// Elements of scratch for a pseudo-inverse.
pub(super) fn inverse_scratch([m, n]: [usize; 2]) -> usize {
    (m + 1 + n) * m.min(n) + scratch([m, n])
}

/// Writes the pseudo-inverse of a matrix.
pub(super) fn inverse_into<T: MatrixElement>(a: ArrayView2<T>, mut out: ArrayViewMut2<T>, scratch: &mut [T]) {
    let (m, n) = a.dim();
    let k = m.min(n);
    let (packed, rest) = scratch.split_at_mut((m + 1 + n) * k);
    let mut packed = ArrayViewMut2::from_shape((m + 1 + n, k), packed).expect("as many elements");
    factor_into(a, packed.view_mut(), rest);
    let (u, mut others) = packed.split_at(Axis(0), m);
    let (values, mut v) = others.view_mut().split_at(Axis(0), 1);
    let bound = if k > 0 { values[[0, 0]] * T::PRECISION * T::number(m.max(n)) } else { T::ZERO };
    for (mut column, &value) in v.columns_mut().into_iter().zip(values.row(0)) {
        // NaN stays NaN.
        let inverse = if value <= bound { T::ZERO } else { T::one() / value };
        column.mapv_inplace(|x| x * inverse);
    }
    general_mat_mul(T::one(), &v, &u.t(), T::ZERO, &mut out);
}

/// Sweeps after which a row that is 0 but for rounding is not rotated any more: rounding errors of the other rows keep it from being
/// orthogonal to others like it.
const SWEEPS_OF_ALL: usize = 15;

/// Rotates pairs of rows until all are orthogonal, and the rows of the other matrix with them; whether that comes to an end.
fn rotate<T: MatrixElement>(k: usize, work: &mut [T], right: &mut [T], has_vectors: bool) -> bool {
    let precision = T::PRECISION * T::number(k);
    let whole = dot(k * k, (&*work, 0, 1), (&*work, 0, 1));
    for sweep in 0..SWEEPS {
        let least = if sweep < SWEEPS_OF_ALL { T::ZERO } else { precision * precision * whole };
        let mut is_done = true;
        for first in 0..k {
            for second in first + 1..k {
                let (before, after) = work.split_at_mut(second * k);
                let (x, y) = (&mut before[first * k..(first + 1) * k], &mut after[..k]);
                let (a, b) = (dot(k, (x, 0, 1), (x, 0, 1)), dot(k, (y, 0, 1), (y, 0, 1)));
                let c = dot(k, (x, 0, 1), (y, 0, 1));
                let is_rounding = a <= least || b <= least;
                if c.magnitude() <= T::PRECISION * (a * b).square_root() || c == T::ZERO || is_rounding {
                    continue;
                }
                is_done = false;
                let slope = (b - a) / (c + c);
                let length = (T::one() + slope * slope).square_root();
                let tangent =
                    if slope < T::ZERO { -(T::one() / (length - slope)) } else { T::one() / (length + slope) };
                let cosine = T::one() / (T::one() + tangent * tangent).square_root();
                let sine = cosine * tangent;
                turn(x, y, cosine, sine);
                if has_vectors {
                    let (before, after) = right.split_at_mut(second * k);
                    turn(&mut before[first * k..(first + 1) * k], &mut after[..k], cosine, sine);
                }
            }
        }
        if is_done {
            return true;
        }
    }
    false
}

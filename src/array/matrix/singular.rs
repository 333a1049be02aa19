//! Singular values and vectors, by rotations of columns until they are orthogonal (Hestenes, 1958), which finds small values as
//! precisely as large ones.

use super::eigen::is_turned;
use super::{MatrixElement, qr};
use crate::array::products::dot;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};

/// The most times that all pairs of columns are rotated.
const SWEEPS: usize = 60;

/// Writes the left vectors as columns, above a row of the singular values, which descend, above the right vectors as columns; or the
/// values alone, if there is no room for more.
pub(super) fn factor_into<T: MatrixElement>(a: ArrayView2<T>, mut out: ArrayViewMut2<T>) {
    let (m, n) = a.dim();
    let k = m.min(n);
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
    // A tall matrix, Q R: the values are those of the square matrix R.
    let tall = if m < n { a.reversed_axes() } else { a };
    let scaled = tall.mapv(|x| x / unit);
    let (long, _) = tall.dim();
    let mut factors = Array2::from_elem((long + k, k), T::ZERO);
    let mut scratch = vec![T::ZERO; long * k + long];
    qr::factor_into(scaled.view(), factors.view_mut(), &mut scratch);
    let (q, r) = (factors.slice(s![..long, ..]), factors.slice(s![long.., ..]));
    // Rows of the work are columns of R, and rows of the other those of the right vectors.
    let mut work: Vec<T> = r.iter().copied().collect();
    let mut right: Vec<T> = Array2::<T>::eye(k).into_raw_vec_and_offset().0;
    if !rotate(k, &mut work, &mut right, has_vectors) {
        return out.fill(T::NAN);
    }
    let mut order: Vec<(T, usize)> =
        work.chunks_exact(k).map(|column| dot(k, (column, 0, 1), (column, 0, 1)).square_root()).zip(0..).collect();
    order.sort_by(|(x, _), (y, _)| y.partial_cmp(x).unwrap_or(std::cmp::Ordering::Equal));
    if !has_vectors {
        out.row_mut(0).iter_mut().zip(&order).for_each(|(place, (value, _))| *place = *value * unit);
        return;
    }
    // Columns that are 0 have no direction: the reflections of another factorisation complete them.
    let sorted = Array2::from_shape_fn((k, k), |(row, column)| work[order[column].1 * k + row]);
    let mut directions = Array2::from_elem((2 * k, k), T::ZERO);
    qr::factor_into(sorted.view(), directions.view_mut(), &mut scratch);
    let mut left = q.dot(&directions.slice(s![..k, ..]));
    let mut vectors = Array2::from_shape_fn((k, k), |(row, column)| right[order[column].1 * k + row]);
    for column in 0..k {
        // The sign is that of the product, and then of the largest element.
        let mut sign = if directions[[k + column, column]] < T::ZERO { -T::one() } else { T::one() };
        left.column_mut(column).mapv_inplace(|x| x * sign);
        let own: Vec<T> = left.column(column).to_vec();
        sign = if is_turned(&own) { -T::one() } else { T::one() };
        left.column_mut(column).mapv_inplace(|x| x * sign);
        vectors.column_mut(column).mapv_inplace(|x| x * sign);
        out[[m, column]] = order[column].0 * unit;
    }
    let (left, vectors) = if m < n { (vectors, left) } else { (left, vectors) };
    out.slice_mut(s![..m, ..]).assign(&left);
    out.slice_mut(s![m + 1.., ..]).assign(&vectors);
}

/// Rotates pairs of rows until all are orthogonal, and the rows of the other matrix with them; whether that comes to an end.
fn rotate<T: MatrixElement>(k: usize, work: &mut [T], right: &mut [T], has_vectors: bool) -> bool {
    for _ in 0..SWEEPS {
        let mut is_done = true;
        for first in 0..k {
            for second in first + 1..k {
                let (before, after) = work.split_at_mut(second * k);
                let (x, y) = (&mut before[first * k..(first + 1) * k], &mut after[..k]);
                let (a, b) = (dot(k, (x, 0, 1), (x, 0, 1)), dot(k, (y, 0, 1), (y, 0, 1)));
                let c = dot(k, (x, 0, 1), (y, 0, 1));
                if c.magnitude() <= T::PRECISION * (a * b).square_root() || c == T::ZERO {
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

fn turn<T: MatrixElement>(x: &mut [T], y: &mut [T], cosine: T, sine: T) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

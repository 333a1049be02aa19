//! The factorisation A = Q R by reflections (Householder).

use super::MatrixElement;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};

/// Elements of scratch for a matrix.
pub(super) fn scratch([m, n]: [usize; 2]) -> usize {
    m * n + m.max(n) + m.min(n)
}

/// Writes Q above the transpose of R.
pub(super) fn factor_into<T: MatrixElement>(a: ArrayView2<T>, mut out: ArrayViewMut2<T>, scratch: &mut [T]) {
    let (m, n) = a.dim();
    let k = out.ncols();
    let (work, rest) = scratch.split_at_mut(m * n);
    let (scales, sums) = rest.split_at_mut(m.min(n));
    let mut work = ArrayViewMut2::from_shape((m, n), work).expect("as many elements");
    work.assign(&a);
    let count = m.min(n);
    // The reflections, I − t v vᵀ where v is 1 at the diagonal, stay below the diagonal.
    for (column, scale) in scales.iter_mut().enumerate() {
        *scale = reflection(&mut work, column);
        reflect(&mut work, column, column + 1, *scale, sums);
    }
    for row in 0..n {
        for column in 0..k {
            out[[m + row, column]] = if column <= row && column < m { work[[column, row]] } else { T::ZERO };
        }
    }
    let mut q = out.slice_mut(s![..m, ..]);
    q.fill(T::ZERO);
    q.diag_mut().fill(T::one());
    for column in (0..count).rev() {
        let v = work.slice(s![column + 1.., column]);
        let mut rows = q.slice_mut(s![column.., column..]);
        apply(scales[column], v, &mut rows, sums);
    }
}

/// Makes the reflection that takes a column, from the diagonal on, to a multiple of the first unit vector. The column becomes
/// that multiple above the reflection's vector, whose first element is 1; the result is its factor.
fn reflection<T: MatrixElement>(a: &mut ArrayViewMut2<T>, column: usize) -> T {
    let m = a.nrows();
    let mut largest = T::ZERO;
    for row in column + 1..m {
        let size = a[[row, column]].magnitude();
        if size > largest || size.is_nan() {
            largest = size;
        }
    }
    if largest == T::ZERO {
        return T::ZERO;
    }
    let first = a[[column, column]];
    let first_size = first.magnitude();
    let unit = if first_size > largest { first_size } else { largest };
    // Scaled, so that no square is out of the range of numbers.
    let mut sum = (first / unit) * (first / unit);
    for row in column + 1..m {
        let x = a[[row, column]] / unit;
        sum = sum + x * x;
    }
    let norm = unit * sum.square_root();
    let norm = if first > T::ZERO { -norm } else { norm };
    let distance = first - norm;
    for row in column + 1..m {
        a[[row, column]] = a[[row, column]] / distance;
    }
    a[[column, column]] = norm;
    -distance / norm
}

/// Applies a reflection to the columns after its own.
fn reflect<T: MatrixElement>(a: &mut ArrayViewMut2<T>, column: usize, from: usize, scale: T, sums: &mut [T]) {
    let (known, mut rest) = a.view_mut().split_at(Axis(1), from);
    let v = known.slice(s![column + 1.., column]);
    apply(scale, v, &mut rest.slice_mut(s![column.., ..]), sums);
}

/// Applies a reflection, given its vector after the 1, to a matrix.
fn apply<T: MatrixElement>(scale: T, v: ndarray::ArrayView1<T>, a: &mut ArrayViewMut2<T>, sums: &mut [T]) {
    if scale == T::ZERO {
        return;
    }
    let mut sums = ndarray::ArrayViewMut1::from(&mut sums[..a.ncols()]);
    sums.assign(&a.row(0));
    for (row, &x) in v.iter().enumerate() {
        sums.zip_mut_with(&a.row(row + 1), |sum, &y| *sum = *sum + x * y);
    }
    sums.mapv_inplace(|sum| sum * scale);
    a.row_mut(0).zip_mut_with(&sums, |y, &sum| *y = *y - sum);
    for (row, &x) in v.iter().enumerate() {
        a.row_mut(row + 1).zip_mut_with(&sums, |y, &sum| *y = *y - x * sum);
    }
}

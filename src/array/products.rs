//! Matrix products of strided matrices, and their special shapes.

use crate::array::scalar::ElementType;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder, linalg::general_mat_mul};

/// A matrix in a buffer: its first element, and how far apart rows and columns are.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixLayout {
    pub start: usize,
    pub rows: usize,
    pub columns: usize,
}

impl MatrixLayout {
    fn transposed(self) -> MatrixLayout {
        MatrixLayout { start: self.start, rows: self.columns, columns: self.rows }
    }

    fn at(self, row: usize, column: usize) -> usize {
        self.start + row * self.rows + column * self.columns
    }
}

/// Element types with a matrix product.
pub(super) trait BlockedProduct: ElementType {
    /// The product of large matrices by blocks, where there is one for the type: `c = a · b`, `m × k` by `k × n`.
    fn blocked(
        size: [usize; 3],
        a: (&[Self], MatrixLayout),
        b: (&[Self], MatrixLayout),
        c: (&mut [Self], MatrixLayout),
    ) -> bool;
}

macro_rules! blocked {
    ($($t:ident)*) => {$(
        impl BlockedProduct for $t {
            fn blocked(
                [m, k, n]: [usize; 3],
                (a, at): (&[$t], MatrixLayout),
                (b, bt): (&[$t], MatrixLayout),
                (c, ct): (&mut [$t], MatrixLayout),
            ) -> bool {
                let a = ArrayView2::from_shape((m, k).strides((at.rows, at.columns)), &a[at.start..]);
                let b = ArrayView2::from_shape((k, n).strides((bt.rows, bt.columns)), &b[bt.start..]);
                let c = ArrayViewMut2::from_shape((m, n).strides((ct.rows, ct.columns)), &mut c[ct.start..]);
                match (a, b, c) {
                    (Ok(a), Ok(b), Ok(mut c)) => general_mat_mul(1.0, &a, &b, 0.0, &mut c),
                    _ => unreachable!("strides of axes of an array do not overlap"),
                }
                true
            }
        }
    )*};
}

blocked!(f32 f64);

impl BlockedProduct for i32 {
    fn blocked(
        _: [usize; 3],
        _: (&[i32], MatrixLayout),
        _: (&[i32], MatrixLayout),
        _: (&mut [i32], MatrixLayout),
    ) -> bool {
        false
    }
}

impl BlockedProduct for i64 {
    fn blocked(
        _: [usize; 3],
        _: (&[i64], MatrixLayout),
        _: (&[i64], MatrixLayout),
        _: (&mut [i64], MatrixLayout),
    ) -> bool {
        false
    }
}

/// Products of fewer multiplications are computed by plain loops.
const SMALL: usize = 256;

/// Sets `c`, which is zero, to `a · b`: `m × k` by `k × n`.
pub(crate) fn product<T: BlockedProduct>(
    [m, k, n]: [usize; 3],
    (a, at): (&[T], MatrixLayout),
    (b, bt): (&[T], MatrixLayout),
    (c, ct): (&mut [T], MatrixLayout),
) {
    if m == 1 && n == 1 {
        c[ct.start] = dot(k, (a, at.start, at.columns), (b, bt.start, bt.rows));
    } else if n == 1 {
        matrix_by_vector([m, k], (a, at), (b, bt.start, bt.rows), (c, ct.start, ct.rows));
    } else if m == 1 {
        matrix_by_vector([n, k], (b, bt.transposed()), (a, at.start, at.columns), (c, ct.start, ct.columns));
    } else if k > 1 && m * k * n > SMALL && T::blocked([m, k, n], (a, at), (b, bt), (c, ct)) {
    } else if ct.columns == 1 && bt.columns == 1 {
        for i in 0..m {
            let out = &mut c[ct.at(i, 0)..ct.at(i, n)];
            for l in 0..k {
                add_scaled(out, &b[bt.at(l, 0)..bt.at(l, n)], a[at.at(i, l)]);
            }
        }
    } else if ct.rows == 1 && at.rows == 1 {
        for j in 0..n {
            let out = &mut c[ct.at(0, j)..ct.at(m, j)];
            for l in 0..k {
                add_scaled(out, &a[at.at(0, l)..at.at(m, l)], b[bt.at(l, j)]);
            }
        }
    } else {
        for i in 0..m {
            for j in 0..n {
                c[ct.at(i, j)] = dot(k, (a, at.at(i, 0), at.columns), (b, bt.at(0, j), bt.rows));
            }
        }
    }
}

fn add_scaled<T: ElementType>(out: &mut [T], x: &[T], factor: T) {
    out.iter_mut().zip(x).for_each(|(out, &x)| *out = out.plus(x.times(factor)));
}

/// Number of partial sums of a product of contiguous vectors.
const LANES: usize = 8;

/// The sum of products of two strided vectors, each given by buffer, start and stride.
pub(crate) fn dot<T: ElementType>(k: usize, (a, i, s): (&[T], usize, usize), (b, j, t): (&[T], usize, usize)) -> T {
    if k == 0 {
        return T::ZERO;
    }
    if s == 1 && t == 1 {
        let (a, a_rest) = a[i..i + k].as_chunks::<LANES>();
        let (b, b_rest) = b[j..j + k].as_chunks::<LANES>();
        let mut lanes = [T::ZERO; LANES];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                lanes[lane] = lanes[lane].plus(a[lane].times(b[lane]));
            }
        }
        let sum = lanes.into_iter().fold(T::ZERO, T::plus);
        return a_rest.iter().zip(b_rest).fold(sum, |sum, (&a, &b)| sum.plus(a.times(b)));
    }
    (0..k).fold(T::ZERO, |sum, l| sum.plus(a[i + l * s].times(b[j + l * t])))
}

/// Sets `y`, which is zero, to `a · x`; vectors are given by buffer, start and stride.
fn matrix_by_vector<T: ElementType>(
    [m, k]: [usize; 2],
    (a, at): (&[T], MatrixLayout),
    (x, j, t): (&[T], usize, usize),
    (y, i, s): (&mut [T], usize, usize),
) {
    // Columns that are contiguous are added up; else every element is a sum of products.
    if at.rows == 1 && s == 1 && at.columns != 1 {
        let y = &mut y[i..i + m];
        for l in 0..k {
            add_scaled(y, &a[at.at(0, l)..at.at(m, l)], x[j + l * t]);
        }
    } else {
        for row in 0..m {
            y[i + row * s] = dot(k, (a, at.at(row, 0), at.columns), (x, j, t));
        }
    }
}

//! Loops over contiguous elements, which become vectors where they are inlined into code for more instructions.

use super::MatrixElement;
use super::machine::{Cut, MOVE, Machine};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};

/// Partial sums of long rows, and of what is left of them.
const LONG: usize = 32;
pub(super) const SHORT: usize = 8;

/// The sum of products of elements.
#[inline(always)]
pub(super) fn dot<T: MatrixElement>(a: &[T], b: &[T]) -> T {
    let (a, a_rest) = a.as_chunks::<LONG>();
    let (b, b_rest) = b.as_chunks::<LONG>();
    let mut sums = [T::ZERO; SHORT];
    if !a.is_empty() {
        let mut lanes = [T::ZERO; LONG];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LONG {
                lanes[lane] = lanes[lane] + a[lane] * b[lane];
            }
        }
        for lane in 0..SHORT {
            sums[lane] = (lanes[lane] + lanes[lane + SHORT]) + (lanes[lane + 2 * SHORT] + lanes[lane + 3 * SHORT]);
        }
    }
    let (a, a_rest) = a_rest.as_chunks::<SHORT>();
    let (b, b_rest) = b_rest.as_chunks::<SHORT>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..SHORT {
            sums[lane] = sums[lane] + a[lane] * b[lane];
        }
    }
    let mut sum = total(sums);
    for (&a, &b) in a_rest.iter().zip(b_rest) {
        sum = sum + a * b;
    }
    sum
}

/// The sum of partial sums. All loops have constant bounds, so that partial sums stay in registers.
#[inline(always)]
pub(super) fn total<T: MatrixElement>(sums: [T; SHORT]) -> T {
    let mut halves = [T::ZERO; SHORT / 2];
    for lane in 0..SHORT / 2 {
        halves[lane] = sums[lane] + sums[lane + SHORT / 2];
    }
    let [a, b, c, d] = halves;
    (a + b) + (c + d)
}

/// Adds a multiple of a row to another one.
#[inline(always)]
pub(super) fn add_scaled<T: MatrixElement>(out: &mut [T], x: &[T], factor: T) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = *out + x * factor;
    }
}

/// Multiplies a row by a number.
#[inline(always)]
pub(super) fn scale<T: MatrixElement>(row: &mut [T], factor: T) {
    for x in row {
        *x = *x * factor;
    }
}

/// Divides a row by a number.
#[inline(always)]
pub(super) fn divide_by<T: MatrixElement>(row: &mut [T], divisor: T) {
    for x in row {
        *x = *x / divisor;
    }
}

/// The largest magnitude, or NaN where there is one.
#[inline(always)]
pub(super) fn largest<T: MatrixElement>(row: &[T]) -> T {
    let mut largest = T::ZERO;
    for x in row {
        let size = x.magnitude();
        largest = if size > largest || size.is_nan() { size } else { largest };
    }
    largest
}

/// The divisor of a matrix, whose largest element is given, that brings squares of its elements into the range of numbers; none if
/// there is an infinity or NaN.
#[inline(always)]
pub(super) fn unit<T: MatrixElement>(largest: T) -> Option<T> {
    // The fourth root of the largest number, so that sums of squares are far from both ends of the range.
    let bound = T::LARGEST.square_root().square_root();
    let is_near_1 = largest < bound && largest * bound > T::one();
    (largest < T::HIGHEST).then_some(if is_near_1 || largest == T::ZERO { T::one() } else { largest })
}

/// Rows and columns of the squares that [`assign`] copies.
const TILE: usize = 16;

/// Copies a matrix to another one, square by square, since one of both may be transposed.
pub(super) fn assign<T: MatrixElement>(from: ArrayView2<T>, mut to: ArrayViewMut2<T>) {
    if let (Some(from), Some(to)) = (from.to_slice(), to.as_slice_mut()) {
        return to.copy_from_slice(from);
    }
    for (from, mut to) in from.axis_chunks_iter(Axis(0), TILE).zip(to.axis_chunks_iter_mut(Axis(0), TILE)) {
        for (from, mut to) in from.axis_chunks_iter(Axis(1), TILE).zip(to.axis_chunks_iter_mut(Axis(1), TILE)) {
            for (from, mut to) in from.rows().into_iter().zip(to.rows_mut()) {
                for (to, &x) in to.iter_mut().zip(from) {
                    *to = x;
                }
            }
        }
    }
}

/// As [`assign`], on any number of threads.
pub(super) fn assign_in_parts<T: MatrixElement>(on: &mut dyn Machine<T>, from: ArrayView2<T>, to: ArrayViewMut2<T>) {
    on.in_parts(Cut::Rows, MOVE * from.len(), to, &|_, start, to| {
        assign(from.slice(s![start..start + to.nrows(), ..]), to);
    });
}

/// Turns the rows of a square matrix into its columns.
pub(super) fn transpose<T: MatrixElement>(n: usize, a: &mut [T]) {
    for top in (0..n).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for row in top..(top + TILE).min(n) {
                for column in left..(left + TILE).min(row) {
                    a.swap(row * n + column, column * n + row);
                }
            }
        }
    }
}

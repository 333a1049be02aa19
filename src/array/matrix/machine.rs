//! Services of the machine that runs a kernel: products, and vectors.

use super::elements::Elements;
use super::hardware::{Update, Vector};
use super::{MatrixElement, half, quarters, quarters_mut};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, linalg::general_mat_mul};

/// Squares of so many rows are not cut, though half of their elements is not wanted.
const SMALL_SQUARE: usize = 64;

/// Whoever runs kernels.
pub(crate) trait Machine<T> {
    /// The vectors that hold small matrices, one in each lane.
    type Vector: Vector<T>;

    /// Updates C by A B.
    fn multiply(&mut self, update: Update, a: ArrayView2<T>, b: ArrayView2<T>, c: ArrayViewMut2<T>);
    /// Runs a part of a kernel that is no product. The closure says `#[inline(always)]`, as the functions that it calls do: else they
    /// would be compiled without the instructions that not every machine has.
    fn run(&self, part: impl FnOnce());
}

/// Subtracts a multiple of one row from another. Rows are whole vectors.
#[inline(always)]
pub(super) fn subtract<T: MatrixElement, V: Vector<T>, const N: usize>(x: &mut [T; N], factor: T, y: &[T; N]) {
    let factor = V::all(factor);
    for at in (0..N).step_by(V::LANES) {
        V::read(&x[at..]).minus_product(factor, V::read(&y[at..])).write(&mut x[at..]);
    }
}

/// Divides a row by a number.
#[inline(always)]
pub(super) fn divide<T: MatrixElement, V: Vector<T>, const N: usize>(x: &mut [T; N], divisor: T) {
    for at in (0..N).step_by(V::LANES) {
        (V::read(&x[at..]) / V::all(divisor)).write(&mut x[at..]);
    }
}

/// The instructions of every machine.
pub(super) struct AnyMachine;

impl<T: MatrixElement> Machine<T> for AnyMachine {
    type Vector = Elements<T>;

    fn multiply(&mut self, update: Update, a: ArrayView2<T>, b: ArrayView2<T>, mut c: ArrayViewMut2<T>) {
        let (product, kept) = match update {
            Update::Set => (T::one(), T::ZERO),
            Update::Add => (T::one(), T::one()),
            Update::Subtract => (-T::one(), T::one()),
        };
        general_mat_mul(product, &a, &b, kept, &mut c);
    }

    fn run(&self, part: impl FnOnce()) {
        part();
    }
}

/// Updates the lower triangle of C by A B. Elements above the diagonal become anything.
pub(super) fn multiply_lower<T: MatrixElement, M: Machine<T>>(
    on: &mut M,
    update: Update,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    c: ArrayViewMut2<T>,
) {
    let n = c.nrows();
    if n <= SMALL_SQUARE {
        return on.multiply(update, a, b, c);
    }
    let cut = half(n);
    let (above, below) = a.split_at(Axis(0), cut);
    let (left, right) = b.split_at(Axis(1), cut);
    let [first, _, beside, second] = quarters_mut(c, cut);
    multiply_lower(on, update, above, left, first);
    on.multiply(update, below, left, beside);
    multiply_lower(on, update, below, right, second);
}

/// Adds A X to a matrix, where X is lower triangular, with zeros above the diagonal.
pub(super) fn add_times_lower<T: MatrixElement, M: Machine<T>>(
    on: &mut M,
    a: ArrayView2<T>,
    x: ArrayView2<T>,
    out: ArrayViewMut2<T>,
) {
    let n = x.nrows();
    if n <= SMALL_SQUARE {
        return on.multiply(Update::Add, a, x, out);
    }
    let cut = half(n);
    let (left, right) = a.split_at(Axis(1), cut);
    let (mut first, second) = out.split_at(Axis(1), cut);
    let [x_first, _, x_beside, x_second] = quarters(x, cut);
    add_times_lower(on, left, x_first, first.view_mut());
    on.multiply(Update::Add, right, x_beside, first);
    add_times_lower(on, right, x_second, second);
}

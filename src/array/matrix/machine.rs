//! What kernels ask of the machine that runs them.

use super::lanes::{Elements, Vector};
use super::{MatrixElement, half, quarters, quarters_mut};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, linalg::general_mat_mul};

/// Squares of so many rows are not cut, though half of their elements is not wanted.
const SMALL_SQUARE: usize = 64;

/// How a product meets the matrix that it is written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Update {
    /// It takes the place of what is there.
    Set,
    /// It is added to what is there.
    Add,
    /// It is subtracted from what is there.
    Subtract,
}

/// Whoever runs kernels.
pub(crate) trait Machine<T> {
    /// What small matrices are done with.
    type Vector: Vector<T>;

    /// Updates C by A B.
    fn multiply(&mut self, update: Update, a: ArrayView2<T>, b: ArrayView2<T>, c: ArrayViewMut2<T>);
    /// Runs a small part of a kernel, all of which is inlined, so that it may be compiled for instructions that not every machine has.
    fn run(&self, part: impl FnOnce());
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

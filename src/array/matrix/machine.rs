//! Services of the machine that runs a kernel: products, and vectors.

use super::elements::Elements;
use super::hardware::{Target, Update, Vector};
use super::parts::Part;
use super::{MatrixElement, half, quarters, quarters_mut};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, linalg::general_mat_mul, s};

/// Squares of so many rows are not cut, though half of their elements is not wanted.
const SMALL_SQUARE: usize = 64;

/// As many multiplications take the time of an element that is moved from one matrix in memory to another.
pub(super) const MOVE: usize = 16;

/// How a matrix is cut into parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    Rows,
    /// Rows of which each is as much work as a lower triangle has elements there.
    TriangleRows,
    Columns,
}

/// Whoever runs kernels. Its types are not known to them, so that they are compiled once for each type of elements.
pub(crate) trait Machine<T> {
    /// Updates C by A B.
    fn multiply(&mut self, update: Update, a: ArrayView2<T>, b: ArrayView2<T>, c: ArrayViewMut2<T>);
    /// Runs a part of a kernel that is no product.
    fn run(&self, part: Part<T>);
    /// Calls a function for the parts of a matrix, each with the number of its first row or column: for all of it at once, or on several
    /// threads, if so many multiplications are worth it. No element may depend on where it is cut.
    fn in_parts(&mut self, cut: Cut, work: usize, out: ArrayViewMut2<T>, part: &OnPart<T>);
}

/// A function of a machine, the number of a part's first row or column, and the part.
pub(crate) type OnPart<'f, T> = dyn Fn(&mut dyn Machine<T>, usize, ArrayViewMut2<T>) + Sync + 'f;

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
#[derive(Clone, Copy)]
pub(crate) struct AnyMachine;

impl<T: MatrixElement> Target<T> for AnyMachine {
    type Vector = Elements<T>;

    // A function of its own, as those for other instructions are: all parts in one would be too much at once.
    #[inline(never)]
    fn run(self, part: impl FnOnce()) {
        part();
    }
}

impl<T: MatrixElement> Machine<T> for AnyMachine {
    fn multiply(&mut self, update: Update, a: ArrayView2<T>, b: ArrayView2<T>, mut c: ArrayViewMut2<T>) {
        let (product, kept) = match update {
            Update::Set => (T::one(), T::ZERO),
            Update::Add => (T::one(), T::one()),
            Update::Subtract => (-T::one(), T::one()),
        };
        general_mat_mul(product, &a, &b, kept, &mut c);
    }

    fn run(&self, part: Part<T>) {
        part.run_by(AnyMachine);
    }

    fn in_parts(&mut self, _: Cut, _: usize, out: ArrayViewMut2<T>, part: &OnPart<T>) {
        part(self, 0, out);
    }
}

/// Updates the lower triangle of C by A B. Elements above the diagonal become anything.
pub(super) fn multiply_lower<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    update: Update,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    c: ArrayViewMut2<T>,
) {
    let work = c.len().saturating_mul(a.ncols()) / 2;
    on.in_parts(Cut::TriangleRows, work, c, &|on, start, c| {
        let end = start + c.nrows();
        let a = a.slice(s![start..end, ..]);
        let (before, own) = c.split_at(Axis(1), start);
        if start > 0 {
            on.multiply(update, a, b.slice(s![.., ..start]), before);
        }
        multiply_square(on, update, a, b.slice(s![.., start..end]), own.slice_move(s![.., ..end - start]));
    });
}

/// As [`multiply_lower`], on one thread.
fn multiply_square<T: MatrixElement>(
    on: &mut dyn Machine<T>,
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
    multiply_square(on, update, above, left, first);
    on.multiply(update, below, left, beside);
    multiply_square(on, update, below, right, second);
}

/// Updates a matrix by A X, where X is lower triangular, with zeros above the diagonal.
pub(super) fn multiply_by_lower<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    update: Update,
    a: ArrayView2<T>,
    x: ArrayView2<T>,
    out: ArrayViewMut2<T>,
) {
    let n = x.nrows();
    if n <= SMALL_SQUARE {
        return on.multiply(update, a, x, out);
    }
    let cut = half(n);
    let (left, right) = a.split_at(Axis(1), cut);
    let (mut first, second) = out.split_at(Axis(1), cut);
    let [x_first, _, x_beside, x_second] = quarters(x, cut);
    multiply_by_lower(on, update, left, x_first, first.view_mut());
    let rest = if update == Update::Set { Update::Add } else { update };
    on.multiply(rest, right, x_beside, first);
    multiply_by_lower(on, update, right, x_second, second);
}

//! Reflections I − t v vᵀ (Householder, 1958), several of which are one I − V T Vᵀ (Schreiber and Van Loan, 1989). Their vectors are
//! rows of a matrix, with 1 on its diagonal and zeros before it.

use super::rows::{add_scaled, divide_by, dot, largest, scale};
use super::{Machine, MatrixElement, Part, Update, half, matrix_mut};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};

/// Reflections that are applied at once.
pub(super) const BLOCK: usize = 32;
/// Reflections whose vectors are combined one by one.
pub(super) const FEW: usize = 16;
/// Fewer of them are applied one by one.
const SMALL: usize = 48;

/// Replaces a vector by that of the reflection that takes it to a multiple of the first unit vector, whose own first element is 1.
/// Returns the multiple, and the reflection's factor, which is 0 where there is nothing to reflect.
#[inline(always)]
pub(super) fn reflection<T: MatrixElement>(vector: &mut [T]) -> (T, T) {
    let Some((first, rest)) = vector.split_first_mut() else { return (T::ZERO, T::ZERO) };
    let own = std::mem::replace(first, T::one());
    let rest_square = dot(rest, rest);
    let square = rest_square + own * own;
    let result = |own: T, norm: T| {
        let norm = if own > T::ZERO { -norm } else { norm };
        (norm, own - norm)
    };
    // Squares that are far from both ends of the range of numbers are precise.
    if square < T::HIGHEST && rest_square * T::LARGEST * T::PRECISION > T::one() {
        let (norm, distance) = result(own, square.square_root());
        divide_by(rest, distance);
        return (norm, -distance / norm);
    }
    let most = largest(rest);
    if most == T::ZERO {
        return (own, T::ZERO);
    }
    let unit = if own.magnitude() > most { own.magnitude() } else { most };
    let own = own / unit;
    divide_by(rest, unit);
    let (norm, distance) = result(own, (dot(rest, rest) + own * own).square_root());
    divide_by(rest, distance);
    (norm * unit, -distance / norm)
}

/// Reflects a vector.
#[inline(always)]
pub(super) fn reflect<T: MatrixElement>(x: &mut [T], vector: &[T], factor: T) {
    if factor != T::ZERO {
        let product = dot(x, vector);
        add_scaled(x, vector, -(factor * product));
    }
}

/// Writes T Vᵀ. The scratch has as many elements as one half of the vectors times the other.
fn combine<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    vectors: ArrayView2<T>,
    factors: &[T],
    out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    if factors.len() <= FEW {
        return on.run(Part::Combine(vectors, factors, out));
    }
    let middle = half(factors.len());
    let (first, second) = vectors.split_at(Axis(0), middle);
    let (mut above, mut below) = out.split_at(Axis(0), middle);
    combine(on, first, &factors[..middle], above.view_mut(), scratch);
    combine(on, second, &factors[middle..], below.view_mut(), scratch);
    combine_halves(on, above, [second, below.view()], scratch);
}

/// Turns rows of [`combine`] of some vectors into those of a product with reflections after them, given the vectors of these and
/// their own rows.
pub(super) fn combine_halves<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    mut above: ArrayViewMut2<T>,
    below: [ArrayView2<T>; 2],
    scratch: &mut [T],
) {
    // Elements before a vector's own first one are 0.
    let start = above.nrows();
    let [vectors, combined] = below.map(|rows| rows.slice_move(s![.., start..]));
    subtract(on, [combined, vectors], above.slice_mut(s![.., start..]).reversed_axes(), scratch);
}

/// As [`combine`]: each row is that of V times its factor, less what the rows after it take away.
#[inline(always)]
pub(super) fn combine_few<T: MatrixElement>(vectors: ArrayView2<T>, factors: &[T], mut out: ArrayViewMut2<T>) {
    let count = vectors.nrows();
    let vector = |number: usize| vectors.row(number).to_slice().unwrap_or(&[]);
    for at in (0..count).rev() {
        let (mut own, after) = out.view_mut().split_at(Axis(0), at + 1);
        let own = own.row_mut(at).into_slice().unwrap_or(&mut []);
        own.copy_from_slice(vector(at));
        for (other, after) in (at + 1..count).zip(after.rows()) {
            // Elements before a row's own first one are 0.
            let product = dot(&vector(at)[other..], &vector(other)[other..]);
            add_scaled(&mut own[other..], &after.to_slice().unwrap_or(&[])[other..], -product);
        }
        scale(own, factors[at]);
    }
}

/// Subtracts Aᵀ B C from C. The scratch has as many elements as B C.
pub(super) fn subtract<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    [a, b]: [ArrayView2<T>; 2],
    mut c: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let mut product = matrix_mut(scratch, 0, [b.nrows(), c.ncols()]);
    on.multiply(Update::Set, b, c.view(), product.view_mut());
    on.multiply(Update::Subtract, a.reversed_axes(), product.view(), c.view_mut());
}

/// Whether a product of so many reflections is one of blocks.
pub(super) fn is_blocked(count: usize) -> bool {
    count >= SMALL
}

/// Elements of scratch for a product of so many reflections, as a matrix of these extents.
pub(super) fn product_scratch(count: usize, [m, n]: [usize; 2]) -> usize {
    if is_blocked(count) { BLOCK * (m + n) } else { n }
}

/// Writes the product of all reflections, with the first at the left, or as many columns of it as there is room for. Rows of
/// [`combine`] may be given, of blocks that start as they do here.
pub(super) fn product_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    (vectors, known): (ArrayView2<T>, Option<ArrayView2<T>>),
    factors: &[T],
    mut out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let (m, count) = (out.nrows(), factors.len());
    out.fill(T::ZERO);
    out.diag_mut().fill(T::one());
    if !is_blocked(count) {
        return on.run(Part::Product(vectors, factors, out, scratch));
    }
    let (elements, scratch) = scratch.split_at_mut(BLOCK * m);
    for start in (0..count).step_by(BLOCK).rev() {
        let end = (start + BLOCK).min(count);
        let own = vectors.slice(s![start..end, start..]);
        let mut combined = matrix_mut(elements, 0, [own.nrows(), own.ncols()]);
        let combined = match &known {
            Some(known) => known.slice(s![start..end, start..]),
            None => {
                combine(on, own, &factors[start..end], combined.view_mut(), scratch);
                combined.view()
            }
        };
        subtract(on, [own, combined], out.slice_mut(s![start.., start..]), scratch);
    }
}

/// Applies all reflections, one by one, to the identity or its first columns.
#[inline(always)]
pub(super) fn product_of_few<T: MatrixElement>(
    vectors: ArrayView2<T>,
    factors: &[T],
    mut out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    for (at, &factor) in factors.iter().enumerate().rev() {
        let vector = vectors.slice(s![at, at..]);
        apply(vector.to_slice().unwrap_or(&[]), factor, out.slice_mut(s![at.., at..]), scratch);
    }
}

/// Reflects the columns of a matrix. The scratch has an element for each.
#[inline(always)]
fn apply<T: MatrixElement>(vector: &[T], factor: T, mut a: ArrayViewMut2<T>, scratch: &mut [T]) {
    if factor == T::ZERO {
        return;
    }
    let sums = &mut scratch[..a.ncols()];
    sums.fill(T::ZERO);
    for (&x, row) in vector.iter().zip(a.rows()) {
        add_scaled(sums, row.to_slice().unwrap_or(&[]), x);
    }
    for (&x, row) in vector.iter().zip(a.rows_mut()) {
        add_scaled(row.into_slice().unwrap_or(&mut []), sums, -(factor * x));
    }
}

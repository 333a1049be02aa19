//! Small matrices as products Q R, by reflections (Householder).

use super::LARGEST;
use super::vector::Cells;
use crate::array::matrix::MatrixElement;
use crate::array::matrix::Vector;

/// Writes the transpose of R, below Q if that is wanted. The matrices become anything.
#[inline(always)]
pub(super) fn factor<T: MatrixElement, V: Vector<T>>(
    [m, n]: [usize; 2],
    has_q: bool,
    a: &mut Cells<T>,
    out: &mut Cells<T>,
) {
    let (zero, one) = (V::all(T::ZERO), V::all(T::one()));
    let unit = scale::<T, V>([m, n], a);
    let mut factors = [zero; LARGEST];
    for (at, factor) in factors.iter_mut().enumerate().take(m.min(n)) {
        *factor = reflection::<T, V>(m, at, a);
        for column in at + 1..n {
            let x = reflected::<T, V>([m, at], a, *factor, a, column);
            a.put(at, column, a.at::<V>(at, column) - x);
            for row in at + 1..m {
                a.put(row, column, a.at::<V>(row, column).minus_product(a.at(row, at), x));
            }
        }
    }
    let k = out.columns;
    let (above, count) = if has_q { (m, m.min(n)) } else { (0, 0) };
    for row in 0..above {
        for column in 0..k {
            out.put(row, column, if row == column { one } else { zero });
        }
    }
    for at in (0..count).rev() {
        for column in at..k {
            let x = reflected::<T, V>([m, at], a, factors[at], out, column);
            out.put(at, column, out.at::<V>(at, column) - x);
            for row in at + 1..m {
                out.put(row, column, out.at::<V>(row, column).minus_product(a.at(row, at), x));
            }
        }
    }
    for row in 0..n {
        for column in 0..k {
            out.put(above + row, column, if column > row { zero } else { a.at::<V>(column, row) / unit });
        }
    }
}

/// Multiplies matrices by a number, which is returned and keeps norms in the range of numbers: they may be larger than elements, and
/// differences twice as large as norms.
#[inline(always)]
fn scale<T: MatrixElement, V: Vector<T>>([m, n]: [usize; 2], a: &mut Cells<T>) -> V {
    let one = V::all(T::one());
    let (bound, less) = (V::all(T::LARGEST * T::PRECISION), V::all(T::PRECISION));
    let mut unit = one;
    for row in 0..m {
        for column in 0..n {
            unit = a.at::<V>(row, column).magnitude().if_greater(bound, less, unit);
        }
    }
    for row in 0..m {
        for column in 0..n {
            a.put(row, column, a.at::<V>(row, column) * unit);
        }
    }
    unit
}

/// Replaces what is below the diagonal of a column by the vector of the reflection that takes it to 0, whose first element is 1, and the
/// diagonal by what that becomes. Returns the reflection's factor, which is 0 where there is nothing to reflect.
#[inline(always)]
fn reflection<T: MatrixElement, V: Vector<T>>(m: usize, at: usize, a: &mut Cells<T>) -> V {
    let (zero, one) = (V::all(T::ZERO), V::all(T::one()));
    let own: V = a.at(at, at);
    let (mut most, mut sum) = (own.magnitude(), zero);
    for row in at + 1..m {
        let size = a.at::<V>(row, at).magnitude();
        (most, sum) = (size.if_greater(most, size, most), sum + size);
    }
    // Elements relative to the largest, whose squares are in the range of numbers.
    let unit = sum.if_equal(zero, one, most);
    let first = own / unit;
    let mut square = first * first;
    for row in at + 1..m {
        let x = a.at::<V>(row, at) / unit;
        square = square + x * x;
    }
    let norm = square.root() * unit;
    let norm = own.if_greater(zero, zero - norm, norm);
    let distance = own - norm;
    for row in at + 1..m {
        a.put(row, at, sum.if_equal(zero, zero, a.at::<V>(row, at) / distance));
    }
    a.put(at, at, sum.if_equal(zero, own, norm));
    sum.if_equal(zero, zero, (zero - distance) / norm)
}

/// The number that a reflection subtracts from the first element of a column and, times elements of its vector, from those below.
#[inline(always)]
fn reflected<T: MatrixElement, V: Vector<T>>(
    [m, at]: [usize; 2],
    vectors: &Cells<T>,
    factor: V,
    moved: &Cells<T>,
    column: usize,
) -> V {
    let mut product: V = moved.at(at, column);
    for row in at + 1..m {
        product = product + vectors.at::<V>(row, at) * moved.at(row, column);
    }
    // Not even infinities move where there is nothing to reflect.
    let zero = V::all(T::ZERO);
    factor.if_equal(zero, zero, factor * product)
}

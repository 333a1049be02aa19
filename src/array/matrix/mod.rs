//! Linear algebra on plain arrays: factorisations, and systems of equations with triangular matrices.
//!
//! All is blocked by recursion: a matrix is cut into halves, and most of the work is products, until what is left is small.

mod cholesky;
mod lu;
mod qr;
mod triangular;

use crate::array::memory::{self, OutOfMemory};
use crate::array::scalar::ElementType;
use crate::array::{Array, Data};
use crate::operation::MatrixOperation;
use crate::shape::{Shape, size};
use ndarray::{ArrayView2, ArrayViewMut2, LinalgScalar};
use std::ops::Neg;

/// The floats, with what factorisations need of them.
pub(super) trait MatrixElement: ElementType + LinalgScalar + Neg<Output = Self> {
    const NAN: Self;
    fn square_root(self) -> Self;
    fn magnitude(self) -> Self;
    fn number(x: usize) -> Self;
}

macro_rules! element {
    ($($t:ident)*) => {$(
        impl MatrixElement for $t {
            const NAN: $t = $t::NAN;
            #[inline]
            fn square_root(self) -> $t {
                self.sqrt()
            }
            #[inline]
            fn magnitude(self) -> $t {
                self.abs()
            }
            #[inline]
            fn number(x: usize) -> $t {
                x as $t
            }
        }
    )*};
}

element!(f32 f64);

/// One operation on the matrices of floats of one type.
pub(crate) fn apply(op: MatrixOperation, operands: &[Array]) -> Result<Array, OutOfMemory> {
    match &operands[0] {
        Array::F32(_) => apply_to::<f32>(op, operands),
        Array::F64(_) => apply_to::<f64>(op, operands),
        _ => unreachable!("matrices are of floats"),
    }
}

/// The elements of an array in memory.
fn elements<T: ElementType>(array: &Array) -> Result<Data<T>, OutOfMemory> {
    match T::unwrap(array).expect("operands have one element type") {
        Data::Uniform(shape, x) => Ok(Data::from_vec(shape, memory::filled(shape, *x)?)),
        dense => Ok(dense.clone()),
    }
}

/// The extents of matrices, and those of the axes before.
fn split(shape: &[usize]) -> (&[usize], [usize; 2]) {
    let (batch, matrix) = shape.split_at(shape.len() - 2);
    (batch, [matrix[0], matrix[1]])
}

fn apply_to<T: MatrixElement>(op: MatrixOperation, operands: &[Array]) -> Result<Array, OutOfMemory> {
    let operands = operands.iter().map(elements).collect::<Result<Vec<Data<T>>, OutOfMemory>>()?;
    let extents: Vec<[usize; 2]> = operands.iter().map(|operand| split(operand.shape()).1).collect();
    let (batch, [m, n]) = split(operands[0].shape());
    let result = op.result(&extents).expect("operands fit");
    let shape: Shape = batch.iter().copied().chain(result).collect();
    let mut out: Vec<T> = memory::filled(&shape, T::ZERO)?;
    if out.is_empty() {
        return Ok(T::wrap(Data::from_vec(&shape, out)));
    }
    let slices: Vec<&[T]> = operands.iter().map(|operand| operand.as_slice().unwrap_or(&[])).collect();
    let mut scratch: Vec<T> = match op {
        MatrixOperation::Qr | MatrixOperation::FullQr => memory::filled(&[m * n + m.max(n)], T::ZERO)?,
        _ => Vec::new(),
    };
    for number in 0..size(batch) {
        let of = |position: usize| matrix(slices[position], number, extents[position]);
        let out = matrix_mut(&mut out, number, result);
        match op {
            MatrixOperation::Solve(triangle) => triangular::solve_into(triangle, of(0), of(1), out),
            MatrixOperation::Cholesky => cholesky::factor_into(of(0), out),
            MatrixOperation::Lu => lu::factor_into(of(0), out),
            MatrixOperation::Qr | MatrixOperation::FullQr => qr::factor_into(of(0), out, &mut scratch),
        }
    }
    Ok(T::wrap(Data::from_vec(&shape, out)))
}

/// One of several matrices that lie one after the other.
fn matrix<T>(elements: &[T], number: usize, [rows, columns]: [usize; 2]) -> ArrayView2<'_, T> {
    let count = rows * columns;
    let elements = &elements[number * count..(number + 1) * count];
    ArrayView2::from_shape((rows, columns), elements).expect("as many elements")
}

fn matrix_mut<T>(elements: &mut [T], number: usize, [rows, columns]: [usize; 2]) -> ArrayViewMut2<'_, T> {
    let count = rows * columns;
    let elements = &mut elements[number * count..(number + 1) * count];
    ArrayViewMut2::from_shape((rows, columns), elements).expect("as many elements")
}

/// Where a matrix is cut into halves: a multiple of the size that is not cut any more, if it can be.
fn half(n: usize) -> usize {
    const UNIT: usize = 16;
    match n / 2 {
        half if half >= UNIT => half.next_multiple_of(UNIT),
        half => half,
    }
}

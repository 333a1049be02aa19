//! Linear algebra on plain arrays: factorisations, and systems of equations with triangular matrices.
//!
//! All is blocked by recursion: a matrix is cut into halves, and most of the work is products, until what is left is small.

mod banded;
mod bidiagonal;
mod cholesky;
mod cholesky_derivative;
mod eigen;
mod elements;
mod hardware;
mod lanes;
mod lu;
mod lu_derivative;
mod machine;
mod parts;
mod positive;
mod qr;
mod reflections;
mod rotations;
mod rows;
mod singular;
mod triangular;

use crate::array::memory::{self, OutOfMemory};
use crate::array::scalar::ElementType;
use crate::array::{Array, Data};
use crate::operation::{CLUSTER, MatrixOperation};
use crate::shape::{Shape, size};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, LinalgScalar};
use smallvec::SmallVec;
use std::ops::Neg;

pub(crate) use hardware::{Target, Update, Vector};
pub(crate) use machine::{AnyMachine, Cut, Machine, OnPart};
pub(crate) use parts::Part;

/// Matrices of so many rows are not cut, where they are done by vectors of elements.
const BASE: usize = 32;

/// The floats, with what factorisations need of them.
pub(crate) trait MatrixElement: ElementType + LinalgScalar + Neg<Output = Self> {
    const NAN: Self;
    /// The distance of 1 from the next number.
    const PRECISION: Self;
    /// The largest number.
    const LARGEST: Self;
    fn square_root(self) -> Self;
    fn magnitude(self) -> Self;
    fn logarithm(self) -> Self;
    fn number(x: usize) -> Self;
}

macro_rules! element {
    ($($t:ident)*) => {$(
        impl MatrixElement for $t {
            const NAN: $t = $t::NAN;
            const PRECISION: $t = $t::EPSILON;
            const LARGEST: $t = $t::MAX;
            #[inline]
            fn square_root(self) -> $t {
                self.sqrt()
            }
            #[inline]
            fn magnitude(self) -> $t {
                self.abs()
            }
            #[inline]
            fn logarithm(self) -> $t {
                self.ln()
            }
            #[inline]
            fn number(x: usize) -> $t {
                x as $t
            }
        }
    )*};
}

element!(f32 f64);

/// One operation on the matrices of arrays of one type.
pub(crate) fn apply(op: MatrixOperation, operands: &[Array]) -> Result<Array, OutOfMemory> {
    match &operands[0] {
        Array::F32(_) => apply_to::<f32>(op, operands),
        Array::F64(_) => apply_to::<f64>(op, operands),
        _ => unreachable!("matrices are of floats"),
    }
}

/// The elements of an array in memory.
pub(super) fn elements<T: ElementType>(array: &Array) -> Result<Data<T>, OutOfMemory> {
    match T::unwrap(array).expect("operands have one element type") {
        Data::Uniform(shape, x) => Ok(Data::from_vec(shape, memory::filled(shape, *x)?)),
        dense => Ok(dense.clone()),
    }
}

fn apply_to<T: MatrixElement>(op: MatrixOperation, operands: &[Array]) -> Result<Array, OutOfMemory> {
    let operands = operands.iter().map(elements).collect::<Result<Vec<Data<T>>, OutOfMemory>>()?;
    let (batch, _) = operands[0].shape().split_at(operands[0].shape().len() - 2);
    let sized = SizedOperation::new(op, size(batch), operands.iter().map(|operand| operand.shape()));
    let shape: Shape = batch.iter().copied().chain(sized.result).collect();
    let mut out: Vec<T> = memory::filled(&shape, T::ZERO)?;
    if out.is_empty() {
        return Ok(T::wrap(Data::from_vec(&shape, out)));
    }
    let mut scratch: Vec<T> = memory::filled(&[sized.scratch()], T::ZERO)?;
    let slices: SmallVec<[&[T]; 3]> = operands.iter().map(|operand| operand.as_slice().unwrap_or(&[])).collect();
    run(&mut AnyMachine, (&sized, size(batch), &slices), &mut out, &mut scratch);
    Ok(T::wrap(Data::from_vec(&shape, out)))
}

/// An operation on matrices with these rows and columns.
#[derive(Clone, Debug)]
pub(crate) struct SizedOperation {
    pub(crate) op: MatrixOperation,
    pub(crate) operands: SmallVec<[[usize; 2]; 3]>,
    pub(crate) result: [usize; 2],
    /// Whether several matrices are done at once.
    has_lanes: bool,
}

impl SizedOperation {
    /// The operation on arrays of these shapes, for so many matrices in all.
    pub(crate) fn new<'s>(
        op: MatrixOperation,
        count: usize,
        shapes: impl Iterator<Item = &'s [usize]>,
    ) -> SizedOperation {
        let matrix = |shape: &[usize]| [shape[shape.len() - 2], shape[shape.len() - 1]];
        let operands: SmallVec<[[usize; 2]; 3]> = shapes.map(matrix).collect();
        let result = op.result(&operands).expect("operands fit");
        let has_lanes = lanes::are_lanes(op, &operands, count);
        SizedOperation { op, operands, result, has_lanes }
    }

    /// The largest product that it asks a machine for: none has more rows, summed elements or columns.
    pub(crate) fn products(&self) -> [usize; 3] {
        let most = self.operands.iter().flatten().max().copied().unwrap_or(0);
        if self.needs().0 { [most; 3] } else { [0; 3] }
    }

    /// Elements of scratch that it needs.
    pub(crate) fn scratch(&self) -> usize {
        self.needs().1
    }

    /// Whether it asks a machine for products, and how many elements of scratch it needs.
    fn needs(&self) -> (bool, usize) {
        let own = self.operands[0];
        if self.has_lanes {
            return (false, lanes::scratch(self));
        }
        match self.op {
            MatrixOperation::Qr | MatrixOperation::FullQr => (true, qr::scratch(own, Some(self.result[1]))),
            MatrixOperation::QrTriangle => (true, qr::scratch(own, None)),
            MatrixOperation::Eigh => (true, eigen::scratch(own[0])),
            MatrixOperation::EighValues => (false, eigen::scratch(own[0])),
            MatrixOperation::Svd | MatrixOperation::SvdValues => (true, singular::scratch(own)),
            MatrixOperation::PseudoInverse => (true, singular::inverse_scratch(own)),
            MatrixOperation::Lu => (true, lu::scratch(own)),
            MatrixOperation::InversePositive => (true, own[0] * own[0]),
            MatrixOperation::SolveGeneralTransposed | MatrixOperation::LuAdjoint => (true, own[0] * self.result[1]),
            MatrixOperation::SolveBanded | MatrixOperation::SolveBandedTransposed => {
                (false, banded::scratch(own, self.operands[1]))
            }
            MatrixOperation::LogDeterminant
            | MatrixOperation::InverseDifferences
            | MatrixOperation::InverseSums
            | MatrixOperation::Unique => (false, 0),
            _ => (true, 0),
        }
    }
}

/// Runs an operation on so many matrices, which lie one after the other.
pub(crate) fn run<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    (sized, count, operands): (&SizedOperation, usize, &[&[T]]),
    out: &mut [T],
    scratch: &mut [T],
) {
    if sized.has_lanes {
        return on.run(Part::Lanes(lanes::Work { sized, count, operands, out, scratch }));
    }
    for number in 0..count {
        let of = |position: usize| matrix(operands[position], number, sized.operands[position]);
        let mut out = matrix_mut(out, number, sized.result);
        match sized.op {
            MatrixOperation::Solve(triangle) => triangular::solve_into(on, triangle, of(0), of(1), out),
            MatrixOperation::SolveGeneral => lu::solve_into(on, of(1), of(2), out),
            MatrixOperation::SolveGeneralTransposed => lu::solve_transposed_into(on, of(1), of(2), out, scratch),
            MatrixOperation::SolveBanded => banded::solve_into(false, of(0), of(1), of(2), out, scratch),
            MatrixOperation::SolveBandedTransposed => banded::solve_into(true, of(0), of(1), of(2), out, scratch),
            MatrixOperation::SolvePositive => positive::solve_into(on, of(1), of(2), out),
            MatrixOperation::InversePositive => positive::inverse_into(on, of(1), out, scratch),
            MatrixOperation::Cholesky => cholesky::factor_into(on, of(0), out),
            MatrixOperation::CholeskyForward => cholesky_derivative::forward_into(on, of(0), of(1), out),
            MatrixOperation::CholeskyAdjoint => cholesky_derivative::adjoint_into(on, of(0), of(1), out),
            MatrixOperation::Lu => lu::factor_into(on, of(0), out, scratch),
            MatrixOperation::LuForward => lu_derivative::forward_into(on, of(0), of(1), out),
            MatrixOperation::LuAdjoint => lu_derivative::adjoint_into(on, of(0), of(1), out, scratch),
            MatrixOperation::Qr | MatrixOperation::FullQr => {
                let (q, r) = out.split_at(Axis(0), sized.operands[0][0]);
                qr::factor_into(on, of(0), Some(q), r, scratch);
            }
            MatrixOperation::QrTriangle => qr::factor_into(on, of(0), None, out, scratch),
            MatrixOperation::Eigh | MatrixOperation::EighValues => eigen::factor_into(on, of(0), out, scratch),
            MatrixOperation::Svd | MatrixOperation::SvdValues => singular::factor_into(on, of(0), out, scratch),
            MatrixOperation::PseudoInverse => singular::inverse_into(on, of(0), out, scratch),
            MatrixOperation::InverseDifferences => inverses_into(of(0), out, |x, y| x - y),
            MatrixOperation::InverseSums => inverses_into(of(0), out, |x, y| x + y),
            MatrixOperation::Unique => out.assign(&of(0)),
            op => unreachable!("written out as a program: {op:?}"),
        }
    }
}

/// Writes 1 over differences, or sums, of a row's values, and 0 where these are as good as 0.
fn inverses_into<T: MatrixElement>(values: ArrayView2<T>, mut out: ArrayViewMut2<T>, difference: impl Fn(T, T) -> T) {
    let row = values.row(0);
    let largest = row.iter().fold(T::ZERO, |most, x| if x.magnitude() > most { x.magnitude() } else { most });
    let bound = largest * T::from_f64(CLUSTER) * T::PRECISION * T::number(row.len());
    for ((i, j), place) in out.indexed_iter_mut() {
        let distance = difference(row[j], row[i]);
        *place = if distance.magnitude() > bound { T::one() / distance } else { T::ZERO };
    }
}

/// One of several matrices that lie one after the other.
#[inline(always)]
fn matrix<T>(elements: &[T], number: usize, [rows, columns]: [usize; 2]) -> ArrayView2<'_, T> {
    let count = rows * columns;
    let elements = &elements[number * count..(number + 1) * count];
    ArrayView2::from_shape((rows, columns), elements).expect("as many elements")
}

#[inline(always)]
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

/// The four parts of a matrix that is cut before a row and a column of the same number.
fn quarters<T>(a: ArrayView2<'_, T>, cut: usize) -> [ArrayView2<'_, T>; 4] {
    let (above, below) = a.split_at(Axis(0), cut);
    let ((first, second), (third, fourth)) = (above.split_at(Axis(1), cut), below.split_at(Axis(1), cut));
    [first, second, third, fourth]
}

fn quarters_mut<T>(a: ArrayViewMut2<'_, T>, cut: usize) -> [ArrayViewMut2<'_, T>; 4] {
    let (above, below) = a.split_at(Axis(0), cut);
    let ((first, second), (third, fourth)) = (above.split_at(Axis(1), cut), below.split_at(Axis(1), cut));
    [first, second, third, fourth]
}

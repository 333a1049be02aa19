//! Small matrices, several at once: each element is a vector of those of as many matrices, so that vectors go across matrices.

mod lu;
mod positive;
mod qr;
mod vector;

use super::hardware::Vector;
use super::{MatrixElement, SizedOperation};
use crate::operation::{MatrixOperation, Triangle};
use vector::Cells;

/// Matrices of more rows, or columns, are done one by one.
const LARGEST: usize = 16;

/// So few matrices of more rows are done one by one too.
const FEW: usize = 4;
const SMALL: usize = 12;

/// Whether several of so many matrices are done at once.
pub(super) fn are_lanes(op: MatrixOperation, operands: &[[usize; 2]], count: usize) -> bool {
    let has_lanes = matches!(
        op,
        MatrixOperation::Cholesky
            | MatrixOperation::CholeskyForward
            | MatrixOperation::CholeskyAdjoint
            | MatrixOperation::Lu
            | MatrixOperation::LuForward
            | MatrixOperation::LuAdjoint
            | MatrixOperation::Qr
            | MatrixOperation::QrTriangle
            | MatrixOperation::FullQr
            | MatrixOperation::Solve(_)
            | MatrixOperation::SolveGeneral
            | MatrixOperation::SolveGeneralTransposed
            | MatrixOperation::SolvePositive
            | MatrixOperation::InversePositive
    );
    // Factors may have a column more than their matrix.
    let [rows, columns] = match op {
        MatrixOperation::LuForward | MatrixOperation::LuAdjoint => operands[1],
        _ => operands[0],
    };
    let most = if count >= FEW { LARGEST } else { SMALL };
    let (smallest, largest) = (rows.min(columns), rows.max(columns));
    let right = operands[operands.len() - 1][1];
    has_lanes && smallest > 0 && largest <= most && (1..=LARGEST + 1).contains(&right)
}

/// Elements of scratch: all operands and the result, of as many matrices as a vector has elements.
pub(super) fn scratch(sized: &SizedOperation) -> usize {
    let size = |[rows, columns]: [usize; 2]| rows * columns;
    let operands = sized.operands.iter().map(|&extents| size(extents));
    vector::MOST * (operands.sum::<usize>() + size(sized.result))
}

/// An expression of an extent, written out for a few.
macro_rules! unrolled {
    ($n:ident => $expression:expr) => {
        match $n {
            3 if V::IS_REGISTER => {
                let $n = 3;
                $expression
            }
            4 if V::IS_REGISTER => {
                let $n = 4;
                $expression
            }
            $n => $expression,
        }
    };
}

/// As [`unrolled`], of two extents, where they are equal.
macro_rules! square {
    ([$m:ident, $n:ident] => $expression:expr) => {
        match $m == $n {
            true => unrolled!($n => {
                let $m = $n;
                $expression
            }),
            false => $expression,
        }
    };
}

/// An operation on so many matrices, which lie one after the other.
pub(crate) struct Work<'a, T> {
    pub sized: &'a SizedOperation,
    pub count: usize,
    pub operands: &'a [&'a [T]],
    pub out: &'a mut [T],
    pub scratch: &'a mut [T],
}

/// Runs the operation.
#[inline(always)]
pub(super) fn run<T: MatrixElement, V: Vector<T>>(Work { sized, count, operands, out, scratch }: Work<T>) {
    let [m, n] = sized.operands[0];
    for first in (0..count).step_by(V::LANES) {
        match sized.op {
            MatrixOperation::Cholesky => {
                let (mut x, _) = cells::<T, V>(scratch, [n, n]);
                x.gather::<V>(operands[0], first, n * n);
                unrolled!(n => positive::cholesky::<T, V>(n, &mut x));
                x.scatter::<V>(&mut out[first * n * n..], n * n);
            }
            MatrixOperation::CholeskyForward | MatrixOperation::CholeskyAdjoint | MatrixOperation::InversePositive => {
                let (mut l, scratch) = cells::<T, V>(scratch, [n, n]);
                let (mut x, _) = cells::<T, V>(scratch, [n, n]);
                let last = usize::from(sized.op == MatrixOperation::InversePositive);
                l.gather::<V>(operands[last], first, n * n);
                x.gather::<V>(operands[1], first, n * n);
                match sized.op {
                    MatrixOperation::CholeskyForward => unrolled!(n => positive::forward::<T, V>(n, &l, &mut x)),
                    MatrixOperation::CholeskyAdjoint => unrolled!(n => positive::adjoint::<T, V>(n, &l, &mut x)),
                    _ => unrolled!(n => positive::inverse::<T, V>(n, &mut l, &mut x)),
                }
                x.scatter::<V>(&mut out[first * n * n..], n * n);
            }
            MatrixOperation::Lu => {
                let (mut a, scratch) = cells::<T, V>(scratch, [m, n]);
                let (mut x, _) = cells::<T, V>(scratch, [m, n + 1]);
                a.gather::<V>(operands[0], first, m * n);
                square!([m, n] => lu::factor::<T, V>([m, n], &a, &mut x));
                x.scatter::<V>(&mut out[first * m * (n + 1)..], m * (n + 1));
            }
            MatrixOperation::Qr | MatrixOperation::QrTriangle | MatrixOperation::FullQr => {
                let (mut a, scratch) = cells::<T, V>(scratch, [m, n]);
                let (mut x, _) = cells::<T, V>(scratch, sized.result);
                a.gather::<V>(operands[0], first, m * n);
                square!([m, n] => qr::factor::<T, V>([m, n], sized.op != MatrixOperation::QrTriangle, &mut a, &mut x));
                let each = sized.result[0] * sized.result[1];
                x.scatter::<V>(&mut out[first * each..], each);
            }
            MatrixOperation::LuForward
            | MatrixOperation::LuAdjoint
            | MatrixOperation::SolveGeneral
            | MatrixOperation::SolveGeneralTransposed => {
                let (last, [m, n]) = (operands.len() - 1, sized.result);
                let [_, columns] = sized.operands[last - 1];
                let (mut packed, scratch) = cells::<T, V>(scratch, [m, columns]);
                let (mut b, scratch) = cells::<T, V>(scratch, [m, n]);
                let (mut x, _) = cells::<T, V>(scratch, [m, n]);
                packed.gather::<V>(operands[last - 1], first, m * columns);
                b.gather::<V>(operands[last], first, m * n);
                match sized.op {
                    MatrixOperation::LuForward => square!([m, n] => lu::forward::<T, V>([m, n], &packed, &b, &mut x)),
                    MatrixOperation::LuAdjoint => {
                        square!([m, n] => lu::adjoint::<T, V>([m, n], &packed, &mut b, &mut x))
                    }
                    MatrixOperation::SolveGeneral => unrolled!(m => lu::solve::<T, V>(m, &packed, &b, &mut x)),
                    _ => unrolled!(m => lu::solve_transposed::<T, V>(m, &packed, &mut b, &mut x)),
                }
                x.scatter::<V>(&mut out[first * m * n..], m * n);
            }
            op => {
                let columns = sized.result[1];
                let (mut a, scratch) = cells::<T, V>(scratch, [n, n]);
                let (mut x, _) = cells::<T, V>(scratch, [n, columns]);
                a.gather::<V>(operands[operands.len() - 2], first, n * n);
                x.gather::<V>(operands[operands.len() - 1], first, n * columns);
                match op {
                    MatrixOperation::Solve(triangle) => solve::<T, V>(triangle, n, &a, &mut x),
                    _ => {
                        solve::<T, V>(Triangle::LOWER, n, &a, &mut x);
                        solve::<T, V>(Triangle::LOWER.transposed(), n, &a, &mut x);
                    }
                }
                x.scatter::<V>(&mut out[first * n * columns..], n * columns);
            }
        }
    }
}

/// Room for matrices of this size, and the rest.
#[inline(always)]
fn cells<T: MatrixElement, V: Vector<T>>(scratch: &mut [T], [rows, columns]: [usize; 2]) -> (Cells<'_, T>, &mut [T]) {
    let (elements, rest) = scratch.split_at_mut(rows * columns * V::LANES);
    (Cells { elements, columns }, rest)
}

/// Replaces the right sides by solutions.
#[inline(always)]
fn solve<T: MatrixElement, V: Vector<T>>(triangle: Triangle, n: usize, a: &Cells<T>, x: &mut Cells<T>) {
    let is_forwards = triangle.is_lower != triangle.is_transposed;
    for column in 0..x.columns {
        for step in 0..n {
            let row = if is_forwards { step } else { n - 1 - step };
            let mut sum: V = x.at(row, column);
            for number in 0..step {
                let known = if is_forwards { number } else { n - 1 - number };
                let [above, beside] = if triangle.is_transposed { [known, row] } else { [row, known] };
                sum = sum.minus_product(a.at(above, beside), x.at(known, column));
            }
            x.put(row, column, if triangle.has_unit_diagonal { sum } else { sum / a.at(row, row) });
        }
    }
}

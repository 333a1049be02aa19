//! Small matrices, several at once: each element is a vector of those of as many matrices, so that vectors go across matrices.

mod lu;
mod positive;
mod qr;
mod vector;

use super::hardware::{Target, Vector};
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

/// Runs an expression of an extent, or of two, which is written out for a few where they are equal.
macro_rules! unrolled {
    ($on:ident, $($n:ident),* => $expression:expr) => {
        $on.run(
            #[inline(always)]
            || {
                if V::IS_REGISTER $(&& $n == 3)* {
                    $(let $n = 3;)*
                    $expression
                } else if V::IS_REGISTER $(&& $n == 4)* {
                    $(let $n = 4;)*
                    $expression
                } else {
                    $expression
                }
            },
        )
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

/// Runs the operation. Each is compiled by itself, since compilers take far more than twice as long for twice the code; so is the
/// code that reads and writes matrices for all of them. Extents are said again where they are written out.
pub(super) fn run<T: MatrixElement, V: Vector<T>, I: Target<T, Vector = V>>(
    on: I,
    Work { sized, count, operands, out, scratch }: Work<T>,
) {
    let size = |[rows, columns]: [usize; 2]| rows * columns;
    // The last two operands, or the only one that is used, from the last on.
    let used = if sized.op == MatrixOperation::InversePositive { 1 } else { operands.len().min(2) };
    let extents = |place: usize| if place < used { sized.operands[operands.len() - 1 - place] } else { [0, 0] };
    let (elements, scratch) = scratch.split_at_mut(size(extents(0)) * V::LANES);
    let mut last = Cells { elements, columns: extents(0)[1] };
    let (elements, scratch) = scratch.split_at_mut(size(extents(1)) * V::LANES);
    let mut other = Cells { elements, columns: extents(1)[1] };
    let mut result = Cells { elements: &mut scratch[..size(sized.result) * V::LANES], columns: sized.result[1] };
    let [m, n] = match sized.op {
        MatrixOperation::LuForward | MatrixOperation::LuAdjoint => sized.result,
        _ => sized.operands[0],
    };
    let each = size(sized.result);
    for first in (0..count).step_by(V::LANES) {
        for (place, cells) in [&mut last, &mut other].into_iter().enumerate().take(used) {
            let (matrices, each) = (operands[operands.len() - 1 - place], size(extents(place)));
            on.run(
                #[inline(always)]
                || cells.gather::<V>(matrices, first, each),
            );
        }
        let (last, other, x) = (&mut last, &mut other, &mut result);
        let found = match sized.op {
            MatrixOperation::Cholesky => {
                unrolled!(on, n => positive::cholesky::<T, V>(n, &mut last.of::<V>([n, n])));
                last
            }
            MatrixOperation::CholeskyForward => {
                unrolled!(on, n => positive::forward::<T, V>(n, &other.of::<V>([n, n]), &mut last.of::<V>([n, n])));
                last
            }
            MatrixOperation::CholeskyAdjoint => {
                unrolled!(on, n => positive::adjoint::<T, V>(n, &other.of::<V>([n, n]), &mut last.of::<V>([n, n])));
                last
            }
            MatrixOperation::InversePositive => {
                unrolled!(on, n => positive::inverse::<T, V>(n, &mut last.of::<V>([n, n]), &mut x.of::<V>([n, n])));
                x
            }
            MatrixOperation::Lu => {
                unrolled!(on, m, n => lu::factor::<T, V>([m, n], &last.of::<V>([m, n]), &mut x.of::<V>([m, n + 1])));
                x
            }
            MatrixOperation::Qr | MatrixOperation::QrTriangle | MatrixOperation::FullQr => {
                let has_q = sized.op != MatrixOperation::QrTriangle;
                unrolled!(on, m, n => qr::factor::<T, V>([m, n], has_q, &mut last.of::<V>([m, n]), x));
                x
            }
            MatrixOperation::LuForward => {
                unrolled!(on, m, n => lu::forward::<T, V>([m, n], other, &last.of::<V>([m, n]), &mut x.of::<V>([m, n])));
                x
            }
            MatrixOperation::LuAdjoint => {
                unrolled!(on, m, n => lu::adjoint::<T, V>([m, n], other, &mut last.of::<V>([m, n]), &mut x.of::<V>([m, n])));
                x
            }
            MatrixOperation::SolveGeneral => {
                unrolled!(on, n => lu::solve::<T, V>(n, other, last, x));
                x
            }
            MatrixOperation::SolveGeneralTransposed => {
                unrolled!(on, n => lu::solve_transposed::<T, V>(n, other, last, x));
                x
            }
            op => {
                let triangles = match op {
                    MatrixOperation::Solve(triangle) => [Some(triangle), None],
                    _ => [Triangle::LOWER, Triangle::LOWER.transposed()].map(Some),
                };
                for triangle in triangles.into_iter().flatten() {
                    on.run(
                        #[inline(always)]
                        || solve::<T, V>(triangle, n, other, last),
                    );
                }
                last
            }
        };
        on.run(
            #[inline(always)]
            || found.scatter::<V>(&mut out[first * each..], each),
        );
    }
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

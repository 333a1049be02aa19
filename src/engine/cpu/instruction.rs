//! The instructions of nests, and the stretches of tiles on which they work.

use super::pieces::{Broken, ReducedRows, RowPieces};
use super::scatter::AlongKernel;
use super::slot::Slot;
use super::vector::{GatherKernel, RampKernel, RowsKernel, StridedKernel, VectorKernel};
use smallvec::SmallVec;

/// An affine function of the loops' positions, for numbers and guards.
#[derive(Clone, Debug)]
pub(super) struct LinearFunction {
    pub(super) offset: i64,
    /// Loops and coefficients, of the vector axis too.
    pub(super) terms: SmallVec<[(u8, i64); 4]>,
    /// The coefficient of the vector axis.
    pub(super) step: i64,
}

impl LinearFunction {
    #[inline]
    pub(super) fn at(&self, index: &[i64]) -> i64 {
        self.terms.iter().fold(self.offset, |sum, &(axis, coefficient)| {
            sum.wrapping_add(coefficient.wrapping_mul(index[axis as usize]))
        })
    }
}

/// Holds on a stretch of a tile.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) position: LinearFunction,
    pub(super) extent: i64,
}

/// The stretch of a tile on which all guards hold.
#[inline]
pub(super) fn stretch(bounds: &[Bound], index: &[i64], count: usize) -> (usize, usize) {
    let (mut low, mut high) = (0i64, count as i64);
    for bound in bounds {
        let (start, step) = (bound.position.at(index), bound.position.step);
        // 0 ≤ start + step · k < extent.
        let (first, end) = match step {
            0 if (0..bound.extent).contains(&start) => continue,
            0 => return (0, 0),
            // The two that nearly all are, without a division.
            1 => (-start, bound.extent - start),
            -1 => (start - bound.extent + 1, start + 1),
            2.. => (-(start.div_euclid(step)), (bound.extent - 1 - start).div_euclid(step) + 1),
            _ => {
                let (step, last) = (-step, bound.extent - 1);
                (-((last - start).div_euclid(step)), start.div_euclid(step) + 1)
            }
        };
        low = low.max(first);
        high = high.min(end);
    }
    if low < high { (low as usize, high as usize) } else { (0, 0) }
}

/// One instruction, for a tile or for a single element.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// Elementwise work and reductions of runs.
    Kernel { run: VectorKernel, result: Slot, a: Slot, b: Slot, c: Slot },
    /// Sums over pairs of elements of rows: places and strides of the results and the operands, in bytes, and how many rows
    /// there are, and in the last step of the outermost loop.
    Rows { run: RowsKernel, result: (Slot, isize), a: (Slot, isize), b: (Slot, isize), rows: u32, last_rows: u32 },
    /// A copy between strided runs; strides in bytes.
    Strided { run: StridedKernel, result: Slot, result_stride: isize, a: Slot, a_stride: isize },
    /// Positions, as numbers.
    Ramp { run: RampKernel, result: Slot, at: LinearFunction },
    /// A copy of the stretch on which guards hold, zeros elsewhere.
    Masked { run: StridedKernel, result: Slot, a: Slot, a_stride: isize, width: usize, bounds: Box<[Bound]> },
    /// A read at a computed position for each element.
    Gather { run: GatherKernel, result: Slot, source: Slot, stride: isize, index: Slot, extent: i64 },
    /// A copy of a run that begins at a computed position, zeros where that is outside; strides and width in bytes.
    Row {
        run: StridedKernel,
        result: Slot,
        width: usize,
        source: Slot,
        source_stride: isize,
        stride: isize,
        index: Slot,
        extent: i64,
    },
    /// From now on the result is the run that begins at a computed position, or zeros where that is outside; stride and
    /// width in bytes.
    Point { result: Slot, zeros: Slot, width: usize, source: Slot, stride: isize, index: Slot, extent: i64 },
    /// A kernel whose result is a run that begins at a computed position, and where that is outside nothing; the operand
    /// `a` is that run too if there is no other. The stride in bytes.
    Into { run: VectorKernel, result: Slot, stride: isize, index: Slot, extent: i64, a: Option<Slot>, b: Slot },
    /// A kernel on the stretch of the result and the operands `a` and `b` on which guards hold; strides in bytes.
    Within { run: VectorKernel, result: Slot, result_stride: isize, operands: [(Slot, isize); 2], bounds: Box<[Bound]> },
    /// Element by element, at computed positions: see [`AlongKernel`].
    Along {
        run: AlongKernel,
        result: Slot,
        along: isize,
        stride: isize,
        index: (Slot, isize),
        extent: i64,
        value: (Slot, isize),
    },
    /// Pieces of rows at computed positions.
    Pieces(Box<RowPieces>),
    /// Copies of rows that do not begin where the ones before them end.
    Broken(Box<Broken>),
    /// Reductions of consecutive rows; a tile has whole rows.
    Reduced(Box<ReducedRows>),
    /// Copies of rows from computed positions, one for each element of the tile: see [`copy_rows`](super::scatter::copy_rows).
    Rowwise {
        result: (Slot, isize),
        source: (Slot, isize),
        stride: isize,
        index: (Slot, isize),
        extent: i64,
        bytes: usize,
    },
}

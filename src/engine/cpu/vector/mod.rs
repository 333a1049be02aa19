//! The instructions of the processor's engine: compiled loops over short runs of elements.
//!
//! A kernel is a function pointer, chosen once for an operation, an element type and the machine's widest vectors, and then
//! called for run after run. Its meaning is the operation table's: the kernels of elementwise operations are compiled from the
//! table's own closures, so that a new row has its kernels without a line here. The transcendental functions, which the
//! standard library has only as calls for one element, also have [vector versions](functions).
//!
//! All loops are plain Rust, compiled once for every set of instructions in [`level`]; the compiler makes the vectors.

mod blocks;
mod columns;
mod convert;
mod dispatch;
mod elementwise;
#[cfg(target_arch = "x86_64")]
pub(super) mod formulas;
mod functions;
pub(super) mod lanes;
mod level;
mod masked;
#[cfg(target_arch = "x86_64")]
mod matrices;
mod movement;
mod operands;
pub(super) mod packed;
mod reduction;
mod rows;
#[cfg(test)]
mod tests;

use crate::operation::{Binary, Comparison, Reduction, Unary};
use crate::shape::DType;
use std::sync::OnceLock;

/// Whether loops are made of registers, and functions are computed by their vector versions. Without optimisation each
/// instruction on a register is a call, so the standard library's functions, which are compiled already, take a tenth of the
/// time.
pub(super) const USES_REGISTERS: bool = cfg!(not(unoptimized));

/// The instructions that kernels are compiled to.
///
/// Loops over elements have at most those of AVX2: on Linux nearly all of their work is machine code, and elsewhere, or without machine
/// code, they make do. Products and factorisations have kernels for all.
///
/// NEON would stand between `Portable` and `Avx2`, with fused multiply-add and vectors of 16 bytes. It needs no entry for
/// correctness, nor for vectors, which are part of the portable instructions of that architecture; it would add the fused forms
/// of the vector functions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Instructions {
    /// Instructions of every machine of the architecture, without fused multiply-add.
    Portable,
    /// Vectors of 32 bytes, with fused multiply-add.
    Avx2,
    /// Vectors of 64 bytes, with fused multiply-add and masks.
    Avx512,
}

impl Instructions {
    /// The widest that this machine has.
    pub(crate) fn detect() -> Instructions {
        static WIDEST: OnceLock<Instructions> = OnceLock::new();
        *WIDEST.get_or_init(level::detect)
    }

    /// All that this machine has, narrowest first.
    #[cfg(test)]
    pub(crate) fn available() -> impl Iterator<Item = Instructions> {
        let all = [Instructions::Portable, Instructions::Avx2, Instructions::Avx512];
        all.into_iter().filter(|&instructions| instructions <= Instructions::detect())
    }
}

/// A loop over runs of elements, with one signature for all; operands that an operation does not have are ignored.
///
/// # Safety
///
/// The machine has the instructions that the kernel was chosen for. The result has room for `count` elements of its type,
/// or for one where the kernel reduces; each operand that is used has `count` valid elements, or one where it is
/// [`OperandForm::One`]. Pointers need no alignment beyond that of their elements. An operand that is a run either does not
/// overlap the result or starts where it starts and has elements that are at least as large; one that is a single element
/// may lie anywhere.
pub(crate) type VectorKernel = unsafe fn(result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize);

/// A loop over two operands, each of which is a run or copies of one element that fill a block, as the masks say.
///
/// # Safety
///
/// As for [`VectorKernel`].
type MaskedKernel =
    unsafe fn(result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize, masks: masked::Masks);

/// Makes copies of operands that are one element, and hands them to a loop.
///
/// # Safety
///
/// As for [`VectorKernel`].
type CopyingKernel =
    unsafe fn(run: MaskedKernel, result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize);

/// A loop over elements at regular distances, in bytes, which may be negative or 0.
///
/// # Safety
///
/// As for [`VectorKernel`], for the elements at these distances; the operand does not overlap the result.
pub(crate) type StridedKernel =
    unsafe fn(result: *mut u8, result_stride: isize, a: *const u8, a_stride: isize, count: usize);

/// Adds a sum over pairs of elements of two operands to the one element of the result, for each of some rows: the places of
/// the first, and the distances from row to row in bytes.
///
/// # Safety
///
/// As for [`VectorKernel`], for each row; the results overlap neither each other nor the operands.
pub(crate) type RowsKernel =
    unsafe fn(result: (*mut u8, isize), a: (*const u8, isize), b: (*const u8, isize), rows: usize, count: usize);

/// Writes `start + i · step` for every position `i`, wrapping.
///
/// # Safety
///
/// The machine has the instructions that the kernel was chosen for, and the result has room for `count` elements.
pub(crate) type RampKernel = unsafe fn(result: *mut i64, start: i64, step: i64, count: usize);

/// Writes the element at `index[i]` strides, in bytes, from the source, or zero where the index is not in `0..extent`.
///
/// # Safety
///
/// The machine has the instructions that the kernel was chosen for. The result has room for `count` elements, the index
/// has as many, and the source has an element at each of the `extent` places. The result overlaps neither.
pub(crate) type GatherKernel =
    unsafe fn(result: *mut u8, source: *const u8, stride: isize, index: *const i64, extent: i64, count: usize);

/// Whether an operand is a run of elements or one element for all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OperandForm {
    /// As many elements as the result has.
    Run,
    /// One element, which meets every element of the other operand.
    One,
}

/// An elementwise operation of one operand. For operations with a parameter, `b` points at it, an `i64`; the kernel is the same
/// whatever the parameter.
pub(crate) fn unary(isa: Instructions, op: Unary, dtype: DType) -> VectorKernel {
    functions::unary(isa, op, dtype).unwrap_or_else(|| elementwise::unary(isa, op, dtype))
}

/// An elementwise operation of two operands of one type.
pub(crate) fn binary(isa: Instructions, op: Binary, dtype: DType, a: OperandForm, b: OperandForm) -> VectorKernel {
    functions::binary(isa, op, dtype, a, b).unwrap_or_else(|| elementwise::binary(isa, op, dtype, a, b))
}

/// An elementwise comparison; the result is boolean, one byte, 0 or 1.
pub(crate) fn compare(isa: Instructions, op: Comparison, dtype: DType, a: OperandForm, b: OperandForm) -> VectorKernel {
    elementwise::compare(isa, op, dtype, a, b)
}

/// Where the mask `a`, a run, is true `b`, else `c`.
pub(crate) fn select(isa: Instructions, dtype: DType, yes: OperandForm, no: OperandForm) -> VectorKernel {
    elementwise::select(isa, dtype, yes, no)
}

/// Conversion of the element type; to integers it saturates.
pub(crate) fn cast(isa: Instructions, from: DType, to: DType) -> VectorKernel {
    convert::cast(isa, from, to)
}

/// A run, unchanged.
pub(crate) fn copy(dtype: DType) -> VectorKernel {
    movement::copy(dtype)
}

/// One element, repeated.
pub(crate) fn fill(isa: Instructions, dtype: DType) -> VectorKernel {
    movement::fill(isa, dtype)
}

/// Adds the product of `a` and `b` to the result; products of floats are not rounded where the instructions have fused
/// multiply-add.
pub(crate) fn multiply_add(isa: Instructions, dtype: DType, a: OperandForm, b: OperandForm) -> VectorKernel {
    elementwise::multiply_add(isa, dtype, a, b)
}

/// Combines the elements of `a`, in an order that depends on their number alone, and the one element of the result.
pub(crate) fn reduce(isa: Instructions, op: Reduction, dtype: DType) -> VectorKernel {
    rows::reduce(isa, op, dtype)
}

/// [`reduce`], of rows; there is no second operand.
pub(crate) fn reduce_rows(isa: Instructions, op: Reduction, dtype: DType) -> RowsKernel {
    rows::reduce_rows(isa, op, dtype)
}

/// Combines each element of the result, a run for all rows, with those of the rows of `b` at its place, in their order.
pub(crate) fn reduce_columns(isa: Instructions, op: Reduction, dtype: DType) -> RowsKernel {
    columns::reduce_columns(isa, op, dtype)
}

/// [`multiply_add`] to the result, a run for all rows, row by row: `b` is a run of each row, and `a` may be an element.
pub(crate) fn multiply_add_columns(isa: Instructions, dtype: DType, a: OperandForm) -> RowsKernel {
    columns::multiply_add_columns(isa, dtype, a)
}

/// Adds the sum of the products of `a` and `b`, in an order that depends on their number alone, to the one element of the
/// result; as [`multiply_add`], products of floats are not rounded where the instructions allow it.
pub(crate) fn dot(isa: Instructions, dtype: DType) -> VectorKernel {
    rows::dot(isa, dtype)
}

/// Adds the sum of (a − b)² of floats, in an order that depends on their number alone, to the one element of the result.
pub(crate) fn square_distance(isa: Instructions, dtype: DType) -> VectorKernel {
    rows::square_distance(isa, dtype)
}

/// [`dot`], of rows.
pub(crate) fn dots(isa: Instructions, dtype: DType) -> RowsKernel {
    rows::dots(isa, dtype)
}

/// [`square_distance`], of rows.
pub(crate) fn square_distances(isa: Instructions, dtype: DType) -> RowsKernel {
    rows::square_distances(isa, dtype)
}

/// Elements at one distance to elements at another.
pub(crate) fn strided_copy(isa: Instructions, dtype: DType) -> StridedKernel {
    movement::strided_copy(isa, dtype)
}

/// Numbers at regular distances.
pub(crate) fn ramp(isa: Instructions) -> RampKernel {
    movement::ramp(isa)
}

/// Elements by their positions; zero, all of its bytes, outside.
pub(crate) fn gather(isa: Instructions, dtype: DType) -> GatherKernel {
    movement::gather(isa, dtype)
}

//! Matrix products on buffers.

use super::arrays::Line;
use super::gemm::{self, Operand};
use super::threads::{Shared, Worker};
use super::vector::Instructions;
use crate::concrete::Arithmetic;
use crate::kernel::Product;
use crate::shape::DType;
use std::ops::Range;

/// Element types that have products.
trait Multiply: Arithmetic {
    /// `result = left · right`, or the sum of that and what was there.
    ///
    /// # Safety
    ///
    /// As [`gemm::Float::multiply`].
    unsafe fn multiply(
        isa: Instructions,
        sizes: [usize; 3],
        operands: [Operand<Self>; 3],
        add: bool,
        packing: &mut [Line],
    );
}

macro_rules! float {
    ($t:ident) => {
        impl Multiply for $t {
            unsafe fn multiply(
                isa: Instructions,
                sizes: [usize; 3],
                operands: [Operand<$t>; 3],
                add: bool,
                packing: &mut [Line],
            ) {
                // SAFETY: as the caller's.
                unsafe { <$t as gemm::Float>::multiply(isa, sizes, operands, add, packing) }
            }
        }
    };
}

float!(f32);
float!(f64);

macro_rules! integer {
    ($t:ident) => {
        impl Multiply for $t {
            unsafe fn multiply(
                _: Instructions,
                [m, k, n]: [usize; 3],
                [a, b, c]: [Operand<$t>; 3],
                add: bool,
                _: &mut [Line],
            ) {
                let at = |x: Operand<$t>, i: usize, j: usize| x.0.wrapping_offset(i as isize * x.1 + j as isize * x.2);
                for i in 0..m {
                    for j in 0..n {
                        // SAFETY: as the caller's.
                        unsafe {
                            let mut sum = if add { *at(c, i, j) } else { 0 };
                            for p in 0..k {
                                sum = sum.plus((*at(a, i, p)).times(*at(b, p, j)));
                            }
                            *at(c, i, j) = sum;
                        }
                    }
                }
            }
        }
    };
}

integer!(i32);
integer!(i64);

/// Multiplications that are worth a chunk.
const WORK: usize = 1 << 19;
/// Chunks at most.
const CHUNKS: usize = 64;
/// Rows of a chunk are a multiple of this, which kernels of matrix products like.
const ROWS: usize = 32;

/// Into how many chunks the products are cut: of whole batches, or of rows of each matrix; which depends on the products
/// alone.
pub(super) fn chunks(product: &Product) -> usize {
    let [m, k, n] = product.sizes;
    let batches: usize = product.batches.iter().product();
    let work = m.saturating_mul(k).saturating_mul(n).saturating_mul(batches);
    let most = if by_batches(product) { batches } else { m.div_ceil(ROWS) };
    (work / WORK).clamp(1, CHUNKS).min(most).max(1)
}

/// Whether chunks are of whole batches, which then have results of their own.
fn by_batches(product: &Product) -> bool {
    let own = product.batches.iter().zip(&product.result.batches).all(|(&extent, &stride)| extent == 1 || stride != 0);
    let batches: usize = product.batches.iter().product();
    own && (batches >= 8 || batches > product.sizes[0] / ROWS)
}

/// Lines of memory that each thread needs for packing.
pub(super) fn packing_lines(product: &Product, dtype: DType) -> usize {
    if dtype.is_float() { gemm::packing_lines(product.sizes, dtype.bytes()) } else { 0 }
}

/// Runs the products of all batches.
///
/// # Safety
///
/// `bases` points at the procedure's buffers, of whose elements these are positions, and the result overlaps no operand. The
/// worker was made for a machine with this product.
pub(super) unsafe fn run(isa: Instructions, product: &Product, dtype: DType, bases: &[*mut u8], worker: &mut Worker) {
    let batches: usize = product.batches.iter().product();
    let (chunks, rows) = (chunks(product), product.sizes[0]);
    let part = |chunk: usize| {
        let cut = |count: usize, unit: usize| {
            let bound = |chunk: usize| (count.div_ceil(unit) * chunk / chunks * unit).min(count);
            bound(chunk)..bound(chunk + 1)
        };
        if by_batches(product) { (cut(batches, 1), 0..rows) } else { (0..batches, cut(rows, ROWS)) }
    };
    let shared = Shared(bases);
    let run = |chunk: usize, packing: &mut [Line]| {
        let (part, bases) = (part(chunk), shared.pointers());
        // SAFETY: as the caller's; chunks are of different results.
        unsafe {
            match dtype {
                DType::F32 => some::<f32>(isa, product, bases, part, packing),
                DType::F64 => some::<f64>(isa, product, bases, part, packing),
                DType::I32 => some::<i32>(isa, product, bases, part, packing),
                DType::I64 => some::<i64>(isa, product, bases, part, packing),
                DType::Bool => unreachable!("products are of numbers"),
            }
        }
    };
    match chunks {
        1 => run(0, &mut worker.own.packing),
        _ => worker.each(chunks, |chunk, _, own| run(chunk, &mut own.packing)),
    }
}

/// Some batches, and of each some rows.
unsafe fn some<T: Multiply>(
    isa: Instructions,
    product: &Product,
    bases: &[*mut u8],
    (batches, rows): (Range<usize>, Range<usize>),
    packing: &mut [Line],
) {
    let operands = [&product.left, &product.right, &product.result];
    let [_, k, n] = product.sizes;
    for number in batches {
        let mut rest = number;
        let mut places = operands.map(|operand| operand.offset);
        places[0] += rows.start * product.left.rows;
        places[2] += rows.start * product.result.rows;
        // Whether an earlier batch has the same result.
        let mut again = product.continues;
        for (axis, &extent) in product.batches.iter().enumerate().rev() {
            let position = rest % extent;
            rest /= extent;
            for (place, operand) in places.iter_mut().zip(&operands) {
                *place += position * operand.batches[axis];
            }
            again |= position > 0 && product.result.batches[axis] == 0;
        }
        let matrix = |which: usize| {
            let operand = operands[which];
            let start = bases[operand.buffer as usize].cast::<T>().wrapping_add(places[which]);
            (start, operand.rows as isize, operand.columns as isize)
        };
        // SAFETY: as the caller's; batches with the same result run one after the other.
        unsafe { T::multiply(isa, [rows.len(), k, n], [0, 1, 2].map(matrix), again, packing) };
    }
}

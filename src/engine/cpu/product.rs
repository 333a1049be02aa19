//! Matrix products on buffers.

use super::threads::{Shared, Worker};
use crate::concrete::Arithmetic;
use crate::kernel::Product;
use crate::shape::DType;
use std::ops::Range;

/// One of three operands: where it begins, and its strides along rows and columns, in elements.
type Operand<T> = (*mut T, isize, isize);

/// Element types that have a product kernel.
trait Multiply: Arithmetic {
    /// `result = left · right`, or the sum of that and what was there.
    ///
    /// # Safety
    ///
    /// The operands have elements at all positions of their matrices, and the result overlaps neither.
    unsafe fn multiply(sizes: [usize; 3], left: Operand<Self>, right: Operand<Self>, result: Operand<Self>, add: bool);
}

macro_rules! float {
    ($t:ident, $gemm:ident) => {
        impl Multiply for $t {
            unsafe fn multiply([m, k, n]: [usize; 3], a: Operand<$t>, b: Operand<$t>, c: Operand<$t>, add: bool) {
                let beta = if add { 1.0 } else { 0.0 };
                // SAFETY: as the caller's.
                unsafe { matrixmultiply::$gemm(m, k, n, 1.0, a.0, a.1, a.2, b.0, b.1, b.2, beta, c.0, c.1, c.2) }
            }
        }
    };
}

float!(f32, sgemm);
float!(f64, dgemm);

macro_rules! integer {
    ($t:ident) => {
        impl Multiply for $t {
            unsafe fn multiply([m, k, n]: [usize; 3], a: Operand<$t>, b: Operand<$t>, c: Operand<$t>, add: bool) {
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

/// Runs the products of all batches.
///
/// # Safety
///
/// `bases` points at the procedure's buffers, of whose elements these are positions, and the result overlaps no operand.
pub(super) unsafe fn run(product: &Product, dtype: DType, bases: &[*mut u8], worker: &mut Worker) {
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
    let run = |chunk: usize| {
        let (batches, rows) = part(chunk);
        // SAFETY: as the caller's; chunks are of different results.
        unsafe {
            match dtype {
                DType::F32 => some::<f32>(product, shared.pointers(), batches, rows),
                DType::F64 => some::<f64>(product, shared.pointers(), batches, rows),
                DType::I32 => some::<i32>(product, shared.pointers(), batches, rows),
                DType::I64 => some::<i64>(product, shared.pointers(), batches, rows),
                DType::Bool => unreachable!("products are of numbers"),
            }
        }
    };
    match chunks {
        1 => run(0),
        _ => worker.each(chunks, |chunk, _, _| run(chunk)),
    }
}

/// Some batches, and of each some rows.
unsafe fn some<T: Multiply>(product: &Product, bases: &[*mut u8], batches: Range<usize>, rows: Range<usize>) {
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
        unsafe { T::multiply([rows.len(), k, n], matrix(0), matrix(1), matrix(2), again) };
    }
}

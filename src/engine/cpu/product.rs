//! Matrix products on buffers.

use crate::concrete::Arithmetic;
use crate::kernel::Product;
use crate::shape::DType;

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

/// Runs the products of all batches.
///
/// # Safety
///
/// `bases` points at the procedure's buffers, of whose elements these are positions, and the result overlaps no operand.
pub(super) unsafe fn run(product: &Product, dtype: DType, bases: &[*mut u8]) {
    // SAFETY: as the caller's.
    unsafe {
        match dtype {
            DType::F32 => batches::<f32>(product, bases),
            DType::F64 => batches::<f64>(product, bases),
            DType::I32 => batches::<i32>(product, bases),
            DType::I64 => batches::<i64>(product, bases),
            DType::Bool => unreachable!("products are of numbers"),
        }
    }
}

unsafe fn batches<T: Multiply>(product: &Product, bases: &[*mut u8]) {
    let operands = [&product.left, &product.right, &product.result];
    let count: usize = product.batches.iter().product();
    for number in 0..count {
        let mut rest = number;
        let mut places = operands.map(|operand| operand.offset);
        // Whether an earlier batch has the same result.
        let mut again = false;
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
        unsafe { T::multiply(product.sizes, matrix(0), matrix(1), matrix(2), again) };
    }
}

//! Vector versions of transcendental functions.
//!
//! A function is written once, for both float types and with or without fused multiply-add, without a branch, so that the
//! loop over a block of elements becomes one over vectors: the argument is reduced to a small interval by exact steps,
//! there a polynomial stands for the function, and the bits of exponent and sign are put in place. Results are within two
//! units in the last place of the exact ones, and special values are those of the operation table.

mod circular;
mod error;
mod exponential;
mod inverse;
mod logarithm;
mod pairs;
mod real;

use super::elementwise::{Blocks, each_block};
use super::level::{Level, Loop, kernel};
use super::{Instructions, Kernel};
use crate::engine::cpu::elements::{load, store};
use crate::operation::Unary;
use crate::shape::DType;
pub(super) use pairs::binary;
use real::Real;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A function with a vector version.
trait Function<T: Real> {
    /// The row of the operation table.
    const ROW: Unary;

    /// The result for an argument that is not outside.
    fn value<L: Level>(x: T) -> T;

    /// Whether the argument is too large for [`Self::value`]; then the result is the operation table's.
    #[inline(always)]
    fn outside<L: Level>(_: T) -> bool {
        false
    }
}

/// Σ cᵢ xⁱ over every `step`th coefficient from the first of them, for a power of x.
#[inline(always)]
fn horner<T: Real, L: Level>(power: T, coefficients: &[T], first: usize, step: usize) -> T {
    let mut at = first + (coefficients.len() - 1 - first) / step * step;
    let mut sum = coefficients[at];
    while at > first {
        at -= step;
        sum = sum.times_plus::<L>(power, coefficients[at]);
    }
    sum
}

/// Σ cᵢ xⁱ; of many coefficients two or four sums, which do not wait for each other.
#[inline(always)]
fn polynomial<T: Real, L: Level>(x: T, coefficients: &[T]) -> T {
    match coefficients.len() {
        0..4 => horner::<T, L>(x, coefficients, 0, 1),
        4..8 => {
            let square = x * x;
            let (even, odd) = (horner::<T, L>(square, coefficients, 0, 2), horner::<T, L>(square, coefficients, 1, 2));
            odd.times_plus::<L>(x, even)
        }
        _ => {
            let square = x * x;
            let fourth = square * square;
            let low = horner::<T, L>(fourth, coefficients, 1, 4)
                .times_plus::<L>(x, horner::<T, L>(fourth, coefficients, 0, 4));
            let high = horner::<T, L>(fourth, coefficients, 3, 4)
                .times_plus::<L>(x, horner::<T, L>(fourth, coefficients, 2, 4));
            high.times_plus::<L>(square, low)
        }
    }
}

/// A constant that any float type holds.
#[inline(always)]
fn number<T: Real>(x: f64) -> T {
    T::from_f64(x)
}

/// Writes the function of a block of elements.
///
/// # Safety
///
/// The pointers point at a block each, which may be the same.
#[inline(always)]
unsafe fn block<T: Real, F: Function<T>, L: Level, const COUNT: usize>(result: *mut T, a: *const T) {
    // Nothing is written to the result before the block is complete, and the loops count, since what iterators hide is not
    // always seen through here.
    let mut values = [const { MaybeUninit::<T>::uninit() }; COUNT];
    let mut any_outside = false;
    // SAFETY: the caller promises a block.
    let x = unsafe { load(a.cast::<[T; COUNT]>()) };
    let mut at = 0;
    while at < COUNT {
        values[at] = MaybeUninit::new(F::value::<L>(x[at]));
        any_outside |= F::outside::<L>(x[at]);
        at += 1;
    }
    if any_outside {
        // SAFETY: the caller promises a block.
        unsafe { correct_outside::<T, F, L>(values.as_mut_ptr().cast(), a, COUNT) };
    }
    // SAFETY: the caller promises a block; all of it is written.
    unsafe { store(result.cast(), values) };
}

/// Writes what the operation table says for the arguments that are outside.
///
/// # Safety
///
/// The pointers point at as many elements as the block has.
#[cold]
#[inline(never)]
unsafe fn correct_outside<T: Real, F: Function<T>, L: Level>(values: *mut T, a: *const T, count: usize) {
    for at in 0..count {
        // SAFETY: the caller promises a block.
        unsafe {
            let x = a.add(at).read();
            if F::outside::<L>(x) {
                values.add(at).write(T::by_table(F::ROW, x));
            }
        }
    }
}

/// The loop of a function with a vector version.
struct Vectors<T, F>(PhantomData<(T, F)>);

/// Results and operands of such a function.
struct Runs<T, F, L>(*mut T, *const T, PhantomData<(F, L)>);

impl<T: Real, F: Function<T>, L: Level> Blocks for Runs<T, F, L> {
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) {
        // SAFETY: as the caller's.
        unsafe { block::<T, F, L, COUNT>(self.0.wrapping_add(start), self.1.wrapping_add(start)) };
    }
}

impl<T: Real, F: Function<T>> Loop for Vectors<T, F> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: the caller promises elements and room at the positions below `count`.
        unsafe { each_block(count, Runs::<T, F, L>(result.cast(), a.cast(), PhantomData)) };
    }
}

/// The kernel of an operation that has a vector version.
pub(super) fn unary(isa: Instructions, op: Unary, dtype: DType) -> Option<Kernel> {
    match (op, dtype, isa) {
        // With two elements to a vector, what is computed for both halves of the line takes longer than a call for one.
        (Unary::Erf, DType::F64, Instructions::Portable) => None,
        (_, DType::F32, _) => of_floats::<f32>(isa, op),
        (_, DType::F64, _) => of_floats::<f64>(isa, op),
        _ => None,
    }
}

fn of_floats<T: Real>(isa: Instructions, op: Unary) -> Option<Kernel> {
    macro_rules! kernels {
        ($($module:ident: $($function:ident)*;)*) => {
            match op {
                $($(Unary::$function => kernel::<Vectors<T, $module::$function>>(isa),)*)*
                _ => return None,
            }
        };
    }
    Some(kernels! {
        exponential: Exp Exp2 Expm1 Sinh Cosh Tanh Sigmoid Softplus;
        logarithm: Ln Log2 Log10 Ln1p;
        circular: Sin Cos Tan;
        inverse: Atan Asin Acos;
        error: Erf;
    })
}

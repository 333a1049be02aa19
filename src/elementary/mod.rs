//! Elementary functions, as formulas without branches.
//!
//! A function is written once, for both float types and with or without fused multiply-add, without a branch, so that a loop
//! over elements becomes one over vectors: the argument is reduced to a small interval by exact steps, there a polynomial stands
//! for the function, and the bits of exponent and sign are put in place. Results are within two units in the last place of the
//! exact ones, and special values are those of the operation table.
//!
//! A formula is computed on [`Lanes`](lanes::Lanes): one element, a register of an engine's, or a value that notes each
//! operation.

pub(crate) mod circular;
mod element;
pub(crate) mod error;
pub(crate) mod exponential;
pub(crate) mod inverse;
pub(crate) mod lanes;
pub(crate) mod logarithm;
pub(crate) mod pairs;
mod real;
pub(crate) mod traced;

use crate::array::ElementType;
use crate::operation::{Binary, Unary};
use crate::shape::DType;
use lanes::{Lanes, Rounding};
use pairs::Pairwise;

/// Calls a macro with the functions of one operand, by the modules that they are in.
macro_rules! each_function {
    ($callback:ident) => {
        $callback! {
            exponential: Exp Exp2 Expm1 Sinh Cosh Tanh Sigmoid Softplus;
            logarithm: Ln Log2 Log10 Ln1p;
            circular: Sin Cos Tan;
            inverse: Atan Asin Acos;
            error: Erf;
        }
    };
}
pub(crate) use each_function;

macro_rules! of_one {
    ($($module:ident: $($function:ident)*;)*) => {
        /// A function of one operand, and where that is not what the formula's value is; `None` without a formula.
        pub(crate) fn unary<T: Lanes, L: Rounding>(op: Unary, x: T) -> Option<(T, T::Mask)> {
            fn of<F: VectorFunction, T: Lanes, L: Rounding>(x: T) -> (T, T::Mask) {
                (F::value::<T, L>(x), F::outside::<T, L>(x))
            }
            Some(match op {
                $($(Unary::$function => of::<$module::$function, T, L>(x),)*)*
                _ => return None,
            })
        }
    };
}
each_function!(of_one);

/// As [`unary`], of two operands.
pub(crate) fn binary<T: Lanes, L: Rounding>(op: Binary, a: T, b: T) -> Option<(T, T::Mask)> {
    fn of<F: Pairwise, T: Lanes, L: Rounding>(a: T, b: T) -> (T, T::Mask) {
        (F::value::<T, L>(a, b), F::outside::<T>(a, b))
    }
    Some(match op {
        Binary::LogAddExp => of::<pairs::LogAddExp, T, L>(a, b),
        Binary::Xlogy => of::<pairs::Xlogy, T, L>(a, b),
        // Of doubles it needs products that are not rounded.
        Binary::Pow if L::FUSED || T::Element::DTYPE == DType::F32 => of::<pairs::Pow, T, L>(a, b),
        _ => return None,
    })
}

/// A function of one operand with a formula.
pub(crate) trait VectorFunction {
    /// The row of the operation table.
    const ROW: Unary;

    /// The results for arguments that are not outside.
    fn value<T: Lanes, L: Rounding>(x: T) -> T;

    /// Which arguments are too large for [`Self::value`]; their results are the operation table's.
    #[inline(always)]
    fn outside<T: Lanes, L: Rounding>(_: T) -> T::Mask {
        T::NONE
    }
}

/// Σ cᵢ xⁱ over every `step`th coefficient from the first of them, for a power of x.
#[inline(always)]
fn horner<T: Lanes, L: Rounding>(power: T, coefficients: &[T::Element], first: usize, step: usize) -> T {
    let mut at = first + (coefficients.len() - 1 - first) / step * step;
    let mut sum = T::of(coefficients[at]);
    while at > first {
        at -= step;
        sum = sum.times_plus::<L>(power, T::of(coefficients[at]));
    }
    sum
}

/// Σ cᵢ xⁱ; of many coefficients two or four sums, which do not wait for each other. Up to ten coefficients wait no longer in two
/// sums than in four, which take an operation more.
#[inline(always)]
fn polynomial<T: Lanes, L: Rounding>(x: T, coefficients: &[T::Element]) -> T {
    match coefficients.len() {
        0..4 => horner::<T, L>(x, coefficients, 0, 1),
        4..11 => {
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

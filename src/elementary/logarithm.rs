//! Logarithms.

use super::lanes::{Lanes, Real, Rounding};
use super::{VectorFunction, polynomial};
use crate::operation::Unary;

/// A positive number as 2ᵏ (1 + f), with a whole k and 1 + f from √½ to √2.
struct ReducedNumber<T> {
    k: T,
    f: T,
}

#[inline(always)]
fn reduced<T: Lanes>(x: T) -> ReducedNumber<T> {
    // Only numbers of full precision can be split.
    let small = x.less(T::of(<T::Element>::SMALLEST_NORMAL));
    let (k, rest, _) = T::either(small, x * T::of(<T::Element>::ENLARGE.0), x).split();
    ReducedNumber { k: T::either(small, k - T::of(<T::Element>::ENLARGE.1), k), f: rest - T::number(1.0) }
}

/// The logarithm of an x that is none of those that the reduction takes for positive and finite.
#[inline(always)]
fn with_special<T: Lanes>(x: T, value: T) -> T {
    let value = T::either(x.greater(T::number(0.0)), value, T::number(f64::NAN));
    let value = T::either(x.equals(T::number(0.0)), T::number(f64::NEG_INFINITY), value);
    // The infinite one is its own logarithm.
    T::either(x.equals(T::number(f64::INFINITY)), x, value)
}

/// k ln 2 + ln(1 + f).
#[inline(always)]
fn natural<T: Lanes, L: Rounding>(k: T, f: T) -> T {
    let square = f * f;
    let low = (square * f)
        .times_plus::<L>(polynomial::<T, L>(f, <T::Element>::LOGARITHM), k * T::of(<T::Element>::LN_2_PARTS.1));
    let rest = square.times_plus::<L>(T::number(-0.5), low);
    k.times_plus::<L>(T::of(<T::Element>::LN_2_PARTS.0), f + rest)
}

/// k · unit + ln(1 + f) / ln(base), where unit and 1 / ln(base) are in two parts.
#[inline(always)]
fn to_base<T: Lanes, L: Rounding>(
    ReducedNumber { k, f }: ReducedNumber<T>,
    unit: (T::Element, T::Element),
    inverse: (T::Element, T::Element),
) -> T {
    let (unit, inverse) = ((T::of(unit.0), T::of(unit.1)), (T::of(inverse.0), T::of(inverse.1)));
    let square = f * f;
    let half_square = square * T::number(0.5);
    // The logarithm in two parts; the first has so few digits that its products are exact.
    let high = (f - half_square).head();
    let low = (square * f).times_plus::<L>(polynomial::<T, L>(f, <T::Element>::LOGARITHM), (f - high) - half_square);
    let whole = k * unit.0;
    let product = high * inverse.0;
    let sum = whole + product;
    let rest = low.times_plus::<L>(inverse.0, (low + high).times_plus::<L>(inverse.1, k * unit.1));
    sum + (rest + ((whole - sum) + product))
}

pub(crate) struct Ln;

impl VectorFunction for Ln {
    const ROW: Unary = Unary::Ln;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let ReducedNumber { k, f } = reduced(x);
        with_special(x, natural::<T, L>(k, f))
    }
}

pub(crate) struct Log2;

impl VectorFunction for Log2 {
    const ROW: Unary = Unary::Log2;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        with_special(x, to_base::<T, L>(reduced(x), <T::Element>::ONE_PARTS, <T::Element>::LOG2_E_PARTS))
    }
}

pub(crate) struct Log10;

impl VectorFunction for Log10 {
    const ROW: Unary = Unary::Log10;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        with_special(x, to_base::<T, L>(reduced(x), <T::Element>::LOG10_2_PARTS, <T::Element>::LOG10_E_PARTS))
    }
}

/// ln(1 + x), for x that is not −1 or below, nor infinite.
#[inline(always)]
pub(super) fn ln_1p_of<T: Lanes, L: Rounding>(x: T) -> T {
    let one = T::number(1.0);
    let (k, rest, inverse) = (one + x).split();
    // With the power of two of 1 + x, x has no digits that are lost in the sum: 2⁻ᵏ (1 + x) − 1 is one rounding away.
    let exact = x.times_plus::<L>(inverse, inverse - one);
    natural::<T, L>(k, T::either(x.greater(T::of(<T::Element>::ONE_IS_LOST)), rest - one, exact))
}

pub(crate) struct Ln1p;

impl VectorFunction for Ln1p {
    const ROW: Unary = Unary::Ln1p;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let value = with_special(T::number(1.0) + x, ln_1p_of::<T, L>(x));
        // It keeps the sign of zero.
        T::either(x.equals(T::number(0.0)), x, value)
    }
}

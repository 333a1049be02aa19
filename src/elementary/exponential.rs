//! Exponentials, and functions made from them.

use super::lanes::{Lanes, Real, Rounding};
use super::logarithm::ln_1p_of;
use super::{VectorFunction, polynomial};
use crate::operation::Unary;

/// An argument as n ln 2 + r, with a whole n and |r| up to ln 2 / 2.
struct ReducedExponent<T> {
    n: T,
    /// n in the last bits.
    sum: T,
    r: T,
}

/// The argument within bounds; NaN stays NaN.
#[inline(always)]
pub(super) fn within<T: Lanes>(x: T, (low, high): (T::Element, T::Element)) -> T {
    x.at_least(T::of(low)).at_most(T::of(high))
}

#[inline(always)]
fn reduced<T: Lanes, L: Rounding>(x: T) -> ReducedExponent<T> {
    let sum = x.times_plus::<L>(T::of(<T::Element>::LOG2_E), T::of(<T::Element>::ROUND));
    let n = sum - T::of(<T::Element>::ROUND);
    let r = n.times_plus::<L>(-T::of(<T::Element>::LN_2_PARTS.0), x);
    ReducedExponent { n, sum, r: n.times_plus::<L>(-T::of(<T::Element>::LN_2_PARTS.1), r) }
}

/// exp(r) − 1 − r.
#[inline(always)]
fn beyond_linear<T: Lanes, L: Rounding>(r: T) -> T {
    r * r * polynomial::<T, L>(r, <T::Element>::EXPONENTIAL)
}

/// exp(r).
#[inline(always)]
fn exp_of_rest<T: Lanes, L: Rounding>(r: T) -> T {
    let less_one = (r * r).times_plus::<L>(polynomial::<T, L>(r, <T::Element>::EXPONENTIAL), r);
    T::number(1.0) + less_one
}

/// exp(x + low), with a low part that is much smaller than 1.
#[inline(always)]
pub(super) fn exp_of_sum<T: Lanes, L: Rounding>(x: T, low: T) -> T {
    let ReducedExponent { n, sum, r } = reduced::<T, L>(within(x, <T::Element>::EXPONENTS));
    exp_of_rest::<T, L>(r + low).scaled(n, sum)
}

/// exp(x) − 1 as a sum of two, the first the larger.
#[inline(always)]
fn exp_m1_in_parts<T: Lanes, L: Rounding>(x: T) -> (T, T) {
    let ReducedExponent { n, sum, r } = reduced::<T, L>(x);
    T::scaled_less_one::<L>(n, sum, r, beyond_linear::<T, L>(r))
}

/// The argument within bounds; below the lower one only where scaling by powers of two needs it.
#[inline(always)]
fn within_for_scaling<T: Lanes>(x: T, (low, high): (T::Element, T::Element)) -> T {
    x.at_least_for_scaling(T::of(low)).at_most(T::of(high))
}

/// exp(x) for x within bounds.
#[inline(always)]
fn exp_of_bounded<T: Lanes, L: Rounding>(x: T) -> T {
    let ReducedExponent { n, sum, r } = reduced::<T, L>(x);
    exp_of_rest::<T, L>(r).scaled(n, sum)
}

/// The value, or 0 for arguments below the bound, whatever the value is there. Products with numbers of less than full precision
/// take a hundred times as long as others, which exponentials that nearly vanish would meet everywhere. A few of these numbers are
/// kept: the derivatives of `erf` and `erfc` are 2/√π times an exponential, and so of full precision where it just is not.
#[inline(always)]
fn or_vanishing<T: Lanes>(x: T, bound: T::Element, value: T) -> T {
    T::either(x.less(T::of(bound)), T::number(0.0), value)
}

pub(crate) struct Exp;

impl VectorFunction for Exp {
    const ROW: Unary = Unary::Exp;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let bounds = <T::Element>::KEPT_EXPONENTS;
        or_vanishing(x, bounds.0, exp_of_bounded::<T, L>(within_for_scaling(x, bounds)))
    }
}

pub(crate) struct Exp2;

impl VectorFunction for Exp2 {
    const ROW: Unary = Unary::Exp2;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let bounds = <T::Element>::KEPT_BINARY_EXPONENTS;
        let bounded = within_for_scaling(x, bounds);
        let sum = bounded + T::of(<T::Element>::ROUND);
        let n = sum - T::of(<T::Element>::ROUND);
        let r = (bounded - n) * T::of(<T::Element>::LN_2);
        or_vanishing(x, bounds.0, exp_of_rest::<T, L>(r).scaled(n, sum))
    }
}

pub(crate) struct Expm1;

impl VectorFunction for Expm1 {
    const ROW: Unary = Unary::Expm1;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let bounded = x.at_least(T::number(-40.0)).at_most(T::of(<T::Element>::EXPONENTS.1));
        let (linear, rest) = exp_m1_in_parts::<T, L>(bounded);
        (linear + rest).signed(x)
    }
}

/// Half of an exponential that is 1 or more, since the exponential is infinite before its half is.
#[inline(always)]
fn half_exp_of_size<T: Lanes, L: Rounding>(size: T) -> T {
    let ReducedExponent { n, sum, r } = reduced::<T, L>(size.at_most(T::of(<T::Element>::EXPONENTS.1)));
    (exp_of_rest::<T, L>(r) * T::number(0.5)).scaled(n, sum)
}

pub(crate) struct Sinh;

impl VectorFunction for Sinh {
    const ROW: Unary = Unary::Sinh;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let size = x.size();
        let half = half_exp_of_size::<T, L>(size);
        let large = half - T::number(0.25) / half;
        let square = size * size;
        let small = (size * square).times_plus::<L>(polynomial::<T, L>(square, <T::Element>::HYPERBOLIC_SINE), size);
        T::either(size.less(T::number(1.0)), small, large).signed(x)
    }
}

pub(crate) struct Cosh;

impl VectorFunction for Cosh {
    const ROW: Unary = Unary::Cosh;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let half = half_exp_of_size::<T, L>(x.size());
        half + T::number(0.25) / half
    }
}

pub(crate) struct Tanh;

impl VectorFunction for Tanh {
    const ROW: Unary = Unary::Tanh;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let size = x.size().at_most(T::of(<T::Element>::TANGENT_IS_ONE));
        let (linear, rest) = exp_m1_in_parts::<T, L>(size + size);
        let (half, two) = (T::number(0.5), T::number(2.0));
        // With e for exp(2x) − 1, the result is e / (e + 2), and 1 / (e + 2) is half of its distance to 1, which serves to add
        // the rounding errors of numerator and denominator.
        let above = linear + rest;
        let above_low = rest - (above - linear);
        let below = above + two;
        // Either of the terms may be the larger.
        let added = below - above;
        let below_low = ((above - (below - added)) + (two - added)) + above_low;
        let quotient = above / below;
        let inverse = half - half * quotient;
        let lost = quotient.times_plus::<L>(-below_low, above_low);
        inverse.times_plus::<L>(lost, quotient).signed(x)
    }
}

pub(crate) struct Sigmoid;

impl VectorFunction for Sigmoid {
    const ROW: Unary = Unary::Sigmoid;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let one = T::number(1.0);
        // An exponential that nearly vanishes is lost in the sum.
        one / (one + exp_of_bounded::<T, L>(within(-x, <T::Element>::KEPT_EXPONENTS)))
    }
}

pub(crate) struct Softplus;

impl VectorFunction for Softplus {
    const ROW: Unary = Unary::Softplus;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let positive = T::either(x.greater(T::number(0.0)), x, T::number(0.0));
        positive + ln_1p_of::<T, L>(Exp::value::<T, L>(-x.size()))
    }
}

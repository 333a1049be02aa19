//! Exponentials, and what is made of them.

use super::logarithm::ln_1p_of;
use super::real::Real;
use super::{Function, number, polynomial};
use crate::engine::cpu::vector::level::Level;
use crate::operation::Unary;

/// An argument as n ln 2 + r, with a whole n and |r| up to ln 2 / 2.
struct Reduced<T> {
    /// n in the last bits.
    sum: T,
    r: T,
}

/// The argument within bounds; NaN stays NaN.
#[inline(always)]
pub(super) fn within<T: Real>(x: T, (low, high): (T, T)) -> T {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

#[inline(always)]
fn reduced<T: Real, L: Level>(x: T) -> Reduced<T> {
    let sum = x.times_plus::<L>(T::LOG2_E, T::ROUND);
    let n = sum - T::ROUND;
    let r = n.times_plus::<L>(-T::LN_2_PARTS.0, x);
    Reduced { sum, r: n.times_plus::<L>(-T::LN_2_PARTS.1, r) }
}

/// exp(r) − 1 − r.
#[inline(always)]
fn beyond_linear<T: Real, L: Level>(r: T) -> T {
    r * r * polynomial::<T, L>(r, T::EXPONENTIAL)
}

/// exp(x) · factor, with a factor that is a power of two.
#[inline(always)]
fn exp_of<T: Real, L: Level>(reduced: &Reduced<T>, factor: T) -> T {
    let (first, second, _) = T::powers(reduced.sum);
    let value = number::<T>(1.0) + (reduced.r + beyond_linear::<T, L>(reduced.r));
    value * first * (second * factor)
}

/// exp(x + low), with a low part that is much smaller than 1.
#[inline(always)]
pub(super) fn exp_of_sum<T: Real, L: Level>(x: T, low: T) -> T {
    let Reduced { sum, r } = reduced::<T, L>(within(x, T::EXPONENTS));
    exp_of::<T, L>(&Reduced { sum, r: r + low }, number(1.0))
}

/// exp(x) − 1 as a sum of two, the first the larger.
#[inline(always)]
fn exp_m1_in_parts<T: Real, L: Level>(x: T) -> (T, T) {
    let Reduced { sum, r } = reduced::<T, L>(x);
    let (first, second, inverse) = T::powers(sum);
    // 2ⁿ r + (2ⁿ − 1) and 2ⁿ times the rest.
    let linear = first.times_plus::<L>(r, first - inverse);
    (linear * second, beyond_linear::<T, L>(r) * first * second)
}

/// What is computed of an argument within bounds, and 0 below them. Products with numbers of less than full precision take a
/// hundred times as long as others, which exponentials that nearly vanish would meet everywhere.
#[inline(always)]
fn or_vanishing<T: Real>(x: T, bounds: (T, T), compute: impl Fn(T) -> T) -> T {
    let value = compute(within(x, bounds));
    if x < bounds.0 { T::ZERO } else { value }
}

pub(super) struct Exp;

impl<T: Real> Function<T> for Exp {
    const ROW: Unary = Unary::Exp;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        or_vanishing(x, T::NORMAL_EXPONENTS, |x| exp_of::<T, L>(&reduced::<T, L>(x), number(1.0)))
    }
}

pub(super) struct Exp2;

impl<T: Real> Function<T> for Exp2 {
    const ROW: Unary = Unary::Exp2;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        or_vanishing(x, T::NORMAL_BINARY_EXPONENTS, |x| {
            let sum = x + T::ROUND;
            let r = (x - (sum - T::ROUND)) * T::LN_2;
            exp_of::<T, L>(&Reduced { sum, r }, number(1.0))
        })
    }
}

pub(super) struct Expm1;

impl<T: Real> Function<T> for Expm1 {
    const ROW: Unary = Unary::Expm1;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let bounds = (number(-40.0), T::EXPONENTS.1);
        let (linear, rest) = exp_m1_in_parts::<T, L>(within(x, bounds));
        (linear + rest).signed(x)
    }
}

/// Half of an exponential that is 1 or more, since the exponential is infinite before its half is.
#[inline(always)]
fn half_exp_of_size<T: Real, L: Level>(size: T) -> T {
    exp_of::<T, L>(&reduced::<T, L>(within(size, (T::ZERO, T::EXPONENTS.1))), number(0.5))
}

pub(super) struct Sinh;

impl<T: Real> Function<T> for Sinh {
    const ROW: Unary = Unary::Sinh;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let size = x.size();
        let half = half_exp_of_size::<T, L>(size);
        let large = half - number::<T>(0.25) / half;
        let square = size * size;
        let small = (size * square).times_plus::<L>(polynomial::<T, L>(square, T::HYPERBOLIC_SINE), size);
        (if size < number(1.0) { small } else { large }).signed(x)
    }
}

pub(super) struct Cosh;

impl<T: Real> Function<T> for Cosh {
    const ROW: Unary = Unary::Cosh;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let half = half_exp_of_size::<T, L>(x.size());
        half + number::<T>(0.25) / half
    }
}

pub(super) struct Tanh;

impl<T: Real> Function<T> for Tanh {
    const ROW: Unary = Unary::Tanh;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let size = within(x.size(), (T::ZERO, T::TANGENT_IS_ONE));
        let (linear, rest) = exp_m1_in_parts::<T, L>(size + size);
        let (half, two) = (number::<T>(0.5), number::<T>(2.0));
        // With e for exp(2x) − 1, the result is e / (e + 2), and 1 / (e + 2) is half of what it lacks to 1; which serves to
        // add what numerator and denominator have been rounded by.
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

pub(super) struct Sigmoid;

impl<T: Real> Function<T> for Sigmoid {
    const ROW: Unary = Unary::Sigmoid;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let one = number::<T>(1.0);
        one / (one + <Exp as Function<T>>::value::<L>(-x))
    }
}

pub(super) struct Softplus;

impl<T: Real> Function<T> for Softplus {
    const ROW: Unary = Unary::Softplus;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let positive = if x > T::ZERO { x } else { T::ZERO };
        positive + ln_1p_of::<T, L>(<Exp as Function<T>>::value::<L>(-x.size()))
    }
}

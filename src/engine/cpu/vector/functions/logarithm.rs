//! Logarithms.

use super::real::Real;
use super::{Function, number, polynomial};
use crate::engine::cpu::vector::level::Level;
use crate::operation::Unary;

/// A positive number as 2ᵏ (1 + f), with a whole k and 1 + f from √½ to √2.
struct Reduced<T> {
    k: T,
    f: T,
}

#[inline(always)]
fn reduced<T: Real>(x: T) -> Reduced<T> {
    // Only numbers of full precision can be split.
    let small = x < T::SMALLEST_NORMAL;
    let (k, rest, _) = (if small { x * T::ENLARGE.0 } else { x }).split();
    Reduced { k: if small { k - T::ENLARGE.1 } else { k }, f: rest - number(1.0) }
}

/// The logarithm of an x that is none of those that the reduction takes for positive and finite.
#[inline(always)]
fn with_special<T: Real>(x: T, value: T) -> T {
    let value = if x > T::ZERO { value } else { T::from_f64(f64::NAN) };
    let value = if x == T::ZERO { T::LOWEST } else { value };
    // The infinite one is its own logarithm.
    if x == T::HIGHEST { x } else { value }
}

/// k ln 2 + ln(1 + f).
#[inline(always)]
fn natural<T: Real, L: Level>(k: T, f: T) -> T {
    let square = f * f;
    let low = (square * f).times_plus::<L>(polynomial::<T, L>(f, T::LOGARITHM), k * T::LN_2_PARTS.1);
    let rest = square.times_plus::<L>(number(-0.5), low);
    k.times_plus::<L>(T::LN_2_PARTS.0, f + rest)
}

/// k · unit + ln(1 + f) / ln(base), where unit and 1 / ln(base) are in two parts.
#[inline(always)]
fn to_base<T: Real, L: Level>(Reduced { k, f }: Reduced<T>, unit: (T, T), inverse: (T, T)) -> T {
    let square = f * f;
    let half_square = square * number(0.5);
    // The logarithm in two parts, of which the first has so few digits that its products are exact.
    let high = (f - half_square).head();
    let low = (square * f).times_plus::<L>(polynomial::<T, L>(f, T::LOGARITHM), (f - high) - half_square);
    let whole = k * unit.0;
    let product = high * inverse.0;
    let sum = whole + product;
    let rest = low.times_plus::<L>(inverse.0, (low + high).times_plus::<L>(inverse.1, k * unit.1));
    sum + (rest + ((whole - sum) + product))
}

pub(super) struct Ln;

impl<T: Real> Function<T> for Ln {
    const ROW: Unary = Unary::Ln;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let Reduced { k, f } = reduced(x);
        with_special(x, natural::<T, L>(k, f))
    }
}

pub(super) struct Log2;

impl<T: Real> Function<T> for Log2 {
    const ROW: Unary = Unary::Log2;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        with_special(x, to_base::<T, L>(reduced(x), (number(1.0), T::ZERO), T::LOG2_E_PARTS))
    }
}

pub(super) struct Log10;

impl<T: Real> Function<T> for Log10 {
    const ROW: Unary = Unary::Log10;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        with_special(x, to_base::<T, L>(reduced(x), T::LOG10_2_PARTS, T::LOG10_E_PARTS))
    }
}

/// ln(1 + x), for x that is not −1 or below, nor infinite.
#[inline(always)]
pub(super) fn ln_1p_of<T: Real, L: Level>(x: T) -> T {
    let one = number::<T>(1.0);
    let (k, rest, inverse) = (one + x).split();
    // With the power of two of 1 + x, x has no digits that are lost in the sum: 2⁻ᵏ (1 + x) − 1 is one rounding away.
    let exact = x.times_plus::<L>(inverse, inverse - one);
    natural::<T, L>(k, if x > T::ONE_IS_LOST { rest - one } else { exact })
}

pub(super) struct Ln1p;

impl<T: Real> Function<T> for Ln1p {
    const ROW: Unary = Unary::Ln1p;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let value = with_special(number::<T>(1.0) + x, ln_1p_of::<T, L>(x));
        // It keeps the sign of zero.
        if x == T::ZERO { x } else { value }
    }
}

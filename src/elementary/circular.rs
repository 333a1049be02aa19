//! Sine, cosine and tangent.

use super::lanes::{Lanes, Mask, Real, Rounding};
use super::{VectorFunction, polynomial};
use crate::operation::Unary;

/// An angle as n π/2 + r, with a whole n and |r| up to π/4.
struct ReducedAngle<T: Lanes> {
    r: T,
    /// The part that r lacks, without the last rounding.
    rest: T,
    /// The last rounding error: at most half a unit of r. Only the tangent needs it.
    rounding: T,
    /// Whether n is odd, and whether its half is, rounded down.
    bits: (T::Mask, T::Mask),
}

#[inline(always)]
fn half_pi<T: Real, L: Rounding>() -> ([T; 4], T) {
    if L::FUSED { T::FUSED_HALF_PI } else { T::PLAIN_HALF_PI }
}

#[inline(always)]
fn reduced<T: Lanes, L: Rounding>(x: T) -> ReducedAngle<T> {
    let sum = x.times_plus::<L>(T::of(<T::Element>::TWO_OVER_PI), T::of(<T::Element>::ROUND));
    let n = sum - T::of(<T::Element>::ROUND);
    let [first, second, third, fourth] = half_pi::<T::Element, L>().0;
    let (first, second, third, fourth) = (T::of(first), T::of(second), T::of(third), T::of(fourth));
    // The first step is exact. The second is exact too if little is left, since its part of π/2 is short; elsewhere its
    // rounding error is kept. The same holds for the third; and the fourth always takes away much less than is left.
    let left = n.times_plus::<L>(-first, x);
    let less = n.times_plus::<L>(-second, left);
    let r = n.times_plus::<L>(-third, less);
    let rest = n.times_plus::<L>(-second, left - less);
    let rest = n.times_plus::<L>(-fourth, rest);
    let rounding = n.times_plus::<L>(-third, less - r);
    ReducedAngle { r, rest, rounding, bits: sum.last_bits() }
}

/// Whether an angle has too many digits before the point for the parts of π/2.
#[inline(always)]
fn too_large<T: Lanes, L: Rounding>(x: T) -> T::Mask {
    x.size().greater(T::of(half_pi::<T::Element, L>().1))
}

/// A number as a sum of a large and a small one.
type TwoParts<T> = (T, T);

/// sin(r + rest).
#[inline(always)]
fn sine<T: Lanes, L: Rounding>(r: T, rest: T) -> TwoParts<T> {
    let square = r * r;
    (r, (square * r).times_plus::<L>(polynomial::<T, L>(square, <T::Element>::SINE), rest))
}

/// cos(r + rest).
#[inline(always)]
fn cosine<T: Lanes, L: Rounding>(r: T, rest: T) -> TwoParts<T> {
    let one = T::number(1.0);
    let square = r * r;
    let half_square = square * T::number(0.5);
    let high = one - half_square;
    // The rounding error of the difference.
    let low = (one - high) - half_square;
    let low = r.times_plus::<L>(-rest, low);
    (high, (square * square).times_plus::<L>(polynomial::<T, L>(square, <T::Element>::COSINE), low))
}

/// The first parts where the mask holds, else the others.
#[inline(always)]
fn either<T: Lanes>(mask: T::Mask, yes: TwoParts<T>, no: TwoParts<T>) -> TwoParts<T> {
    (T::either(mask, yes.0, no.0), T::either(mask, yes.1, no.1))
}

/// The sum of the parts, and its rounding error.
#[inline(always)]
fn rounded<T: Lanes>((high, low): TwoParts<T>) -> TwoParts<T> {
    let sum = high + low;
    (sum, low - (sum - high))
}

pub(crate) struct Sin;

impl VectorFunction for Sin {
    const ROW: Unary = Unary::Sin;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let ReducedAngle { r, rest, bits: (odd, negative), .. } = reduced::<T, L>(x);
        let (high, low) = either(odd, cosine::<T, L>(r, rest), sine::<T, L>(r, rest));
        let value = high + low;
        let value = T::either(negative, -value, value);
        // It keeps the sign of zero.
        T::either(x.equals(T::number(0.0)), x, value)
    }
    #[inline(always)]
    fn outside<T: Lanes, L: Rounding>(x: T) -> T::Mask {
        too_large::<T, L>(x)
    }
}

pub(crate) struct Cos;

impl VectorFunction for Cos {
    const ROW: Unary = Unary::Cos;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let ReducedAngle { r, rest, bits: (odd, half_odd), .. } = reduced::<T, L>(x);
        let (high, low) = either(odd, sine::<T, L>(r, rest), cosine::<T, L>(r, rest));
        let value = high + low;
        T::either(odd.differs(half_odd), -value, value)
    }
    #[inline(always)]
    fn outside<T: Lanes, L: Rounding>(x: T) -> T::Mask {
        too_large::<T, L>(x)
    }
}

pub(crate) struct Tan;

impl VectorFunction for Tan {
    const ROW: Unary = Unary::Tan;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let ReducedAngle { r, rest, rounding, bits: (odd, _) } = reduced::<T, L>(x);
        let rest = rest + rounding;
        let (sine, cosine) = (sine::<T, L>(r, rest), cosine::<T, L>(r, rest));
        let (above, below) = (either(odd, cosine, sine), either(odd, sine, cosine));
        let (above, below) = (rounded(above), rounded(below));
        let quotient = above.0 / below.0;
        // The rounding error of the quotient, for which a rough inverse of the divisor is enough. The inverse of the cosine is
        // about 1 + r²/2 + 5r⁴/24; times the cotangent it is the inverse of the sine.
        let square = r * r;
        let of_cosine = square.times_plus::<L>(square.times_plus::<L>(T::number(0.21), T::number(0.5)), T::number(1.0));
        let inverse = T::either(odd, quotient * of_cosine, of_cosine);
        let value = inverse.times_plus::<L>(quotient.times_plus::<L>(-below.1, above.1), quotient);
        let value = T::either(odd, -value, value);
        T::either(x.equals(T::number(0.0)), x, value)
    }
    #[inline(always)]
    fn outside<T: Lanes, L: Rounding>(x: T) -> T::Mask {
        too_large::<T, L>(x)
    }
}

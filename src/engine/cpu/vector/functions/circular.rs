//! Sine, cosine and tangent.

use super::real::Real;
use super::{Function, number, polynomial};
use crate::engine::cpu::vector::level::Level;
use crate::operation::Unary;

/// An angle as n π/2 + r, with a whole n and |r| up to π/4.
struct Reduced<T> {
    r: T,
    /// What r lacks, but for the last rounding.
    rest: T,
    /// What the last rounding has taken: half a unit of r at most, which no more than the tangent need know of.
    rounding: T,
    /// Whether n is odd, and whether its half is, rounded down.
    bits: (bool, bool),
}

#[inline(always)]
fn half_pi<T: Real, L: Level>() -> ([T; 4], T) {
    if L::FUSED { T::FUSED_HALF_PI } else { T::PLAIN_HALF_PI }
}

#[inline(always)]
fn reduced<T: Real, L: Level>(x: T) -> Reduced<T> {
    let sum = x.times_plus::<L>(T::TWO_OVER_PI, T::ROUND);
    let n = sum - T::ROUND;
    let [first, second, third, fourth] = half_pi::<T, L>().0;
    // The first step is exact. The second is too where little is left, since its part of π/2 is short; elsewhere what it is
    // rounded by is kept. So it is with the third; and what the fourth takes away is always much smaller than what is left.
    let left = n.times_plus::<L>(-first, x);
    let less = n.times_plus::<L>(-second, left);
    let r = n.times_plus::<L>(-third, less);
    let rest = n.times_plus::<L>(-second, left - less);
    let rest = n.times_plus::<L>(-fourth, rest);
    let rounding = n.times_plus::<L>(-third, less - r);
    Reduced { r, rest, rounding, bits: T::last_bits(sum) }
}

/// Whether an angle has too many digits before the point for the parts of π/2.
#[inline(always)]
fn too_large<T: Real, L: Level>(x: T) -> bool {
    x.size() > half_pi::<T, L>().1
}

/// A number as a sum of a large and a small one.
type Parts<T> = (T, T);

/// sin(r + rest).
#[inline(always)]
fn sine<T: Real, L: Level>(r: T, rest: T) -> Parts<T> {
    let square = r * r;
    (r, (square * r).times_plus::<L>(polynomial::<T, L>(square, T::SINE), rest))
}

/// cos(r + rest).
#[inline(always)]
fn cosine<T: Real, L: Level>(r: T, rest: T) -> Parts<T> {
    let one = number::<T>(1.0);
    let square = r * r;
    let half_square = square * number(0.5);
    let high = one - half_square;
    // What the difference has been rounded by.
    let low = (one - high) - half_square;
    let low = r.times_plus::<L>(-rest, low);
    (high, (square * square).times_plus::<L>(polynomial::<T, L>(square, T::COSINE), low))
}

/// The first parts where the condition holds, else the others.
#[inline(always)]
fn either<T: Real>(condition: bool, yes: Parts<T>, no: Parts<T>) -> Parts<T> {
    (if condition { yes.0 } else { no.0 }, if condition { yes.1 } else { no.1 })
}

pub(super) struct Sin;

impl<T: Real> Function<T> for Sin {
    const ROW: Unary = Unary::Sin;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let Reduced { r, rest, bits: (odd, negative), .. } = reduced::<T, L>(x);
        let (high, low) = either(odd, cosine::<T, L>(r, rest), sine::<T, L>(r, rest));
        let value = high + low;
        let value = if negative { -value } else { value };
        // It keeps the sign of zero.
        if x == T::ZERO { x } else { value }
    }
    #[inline(always)]
    fn outside<L: Level>(x: T) -> bool {
        too_large::<T, L>(x)
    }
}

pub(super) struct Cos;

impl<T: Real> Function<T> for Cos {
    const ROW: Unary = Unary::Cos;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let Reduced { r, rest, bits: (odd, half_odd), .. } = reduced::<T, L>(x);
        let (high, low) = either(odd, sine::<T, L>(r, rest), cosine::<T, L>(r, rest));
        let value = high + low;
        if odd != half_odd { -value } else { value }
    }
    #[inline(always)]
    fn outside<L: Level>(x: T) -> bool {
        too_large::<T, L>(x)
    }
}

pub(super) struct Tan;

impl<T: Real> Function<T> for Tan {
    const ROW: Unary = Unary::Tan;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let Reduced { r, rest, rounding, bits: (odd, _) } = reduced::<T, L>(x);
        let rest = rest + rounding;
        let (sine, cosine) = (sine::<T, L>(r, rest), cosine::<T, L>(r, rest));
        let (above, below) = (either(odd, cosine, sine), either(odd, sine, cosine));
        let rounded = |(high, low): Parts<T>| {
            let sum = high + low;
            (sum, low - (sum - high))
        };
        let (above, below) = (rounded(above), rounded(below));
        let quotient = above.0 / below.0;
        // What the quotient lacks, for which a rough inverse of the divisor will do: with that of the cosine, which is
        // about 1 + r²/2 + 5r⁴/24, that of the sine is the cotangent times it.
        let square = r * r;
        let of_cosine = polynomial::<T, L>(square, &[number(1.0), number(0.5), number(0.21)]);
        let inverse = if odd { quotient * of_cosine } else { of_cosine };
        let value = inverse.times_plus::<L>(quotient.times_plus::<L>(-below.1, above.1), quotient);
        let value = if odd { -value } else { value };
        if x == T::ZERO { x } else { value }
    }
    #[inline(always)]
    fn outside<L: Level>(x: T) -> bool {
        too_large::<T, L>(x)
    }
}

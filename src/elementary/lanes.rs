//! One element, or a register of elements: the values that [formulas](super) are written for, and what these know of the
//! elements' type and of rounding.
//!
//! A formula is written once, without a branch. With one element for its values it is the loop that a compiler may make
//! vectors of; with registers it is made of vectors as it stands, whatever the compiler looks for at the level of
//! optimisation that somebody builds with.
//!
//! Formulas have no closures: these are functions of their own, compiled without the instructions of the registers, unless a
//! compiler finds them small enough to inline.

use crate::array::{Arithmetic, ElementType};
use crate::operation::{Binary, Unary};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The answers to a question about each element.
pub(crate) trait Mask: Copy {
    fn and(self, other: Self) -> Self;
    /// Where the two differ.
    fn differs(self, other: Self) -> Self;
    fn not(self) -> Self;
}

/// The bits of each element, as unsigned whole numbers, which wrap.
pub(crate) trait LaneBits: Copy {
    /// The low bits of this number, for all elements.
    fn of(bits: u64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn differs(self, other: Self) -> Self;
    /// Half of it, rounded down.
    fn halved(self) -> Self;
    /// Moved up from the last bits to the place of a float's exponent.
    fn to_exponent(self) -> Self;
    /// Moved down from the place of a float's exponent to the last bits.
    fn exponent(self) -> Self;
}

/// How sums with products are computed.
pub(crate) trait Rounding {
    /// Whether with one rounding, by one instruction.
    const FUSED: bool;
}

/// One float, a register of floats, or what stands for one.
pub(crate) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The type of an element.
    type Element: Real;
    /// Answers for as many elements.
    type Mask: Mask;
    /// The bits of as many elements.
    type Bits: LaneBits;
    /// As many elements of the wider type.
    type Double: Lanes<Element = f64>;
    /// No, for all elements.
    const NONE: Self::Mask;

    /// One element everywhere.
    fn of(element: Self::Element) -> Self;
    /// Where this is smaller.
    fn less(self, other: Self) -> Self::Mask;
    /// Where this is smaller, or they are equal.
    fn less_or_equal(self, other: Self) -> Self::Mask;
    /// Where they are equal.
    fn equals(self, other: Self) -> Self::Mask;
    /// Where this is larger, or one of them is no number.
    fn exceeds(self, other: Self) -> Self::Mask;
    /// The first where the mask holds, else the second.
    fn either(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// This times the factor, plus the term: with one rounding where these are fused.
    fn times_plus<L: Rounding>(self, factor: Self, term: Self) -> Self;
    /// The square root.
    fn root(self) -> Self;
    /// The larger one; this one if it is no number.
    fn at_least(self, low: Self) -> Self;
    /// [`Lanes::at_least`], unless [`Lanes::scaled`] takes powers of any size: those that it makes of bits must be in range.
    #[inline(always)]
    fn at_least_for_scaling(self, low: Self) -> Self {
        self.at_least(low)
    }
    /// The smaller one; this one if it is no number.
    fn at_most(self, high: Self) -> Self;
    /// The largest whole numbers that are not above.
    fn floor(self) -> Self;
    /// The bits.
    fn bits(self) -> Self::Bits;
    /// The floats of these bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// Where the last bit is set, and where the one before it is.
    fn last_bits(self) -> (Self::Mask, Self::Mask);
    /// The same in the wider type.
    fn double(self) -> Self::Double;
    /// The numbers of the wider type, rounded.
    fn single(double: Self::Double) -> Self;

    /// Where this is larger.
    #[inline(always)]
    fn greater(self, other: Self) -> Self::Mask {
        other.less(self)
    }
    /// A constant that any float type holds.
    #[inline(always)]
    fn number(x: f64) -> Self {
        Self::of(<Self::Element as Arithmetic>::from_f64(x))
    }
    /// Without its sign.
    #[inline(always)]
    fn size(self) -> Self {
        Self::from_bits(self.bits().and(Self::Bits::of(!<Self::Element>::SIGN)))
    }
    /// With the sign of the other.
    #[inline(always)]
    fn signed(self, sign: Self) -> Self {
        let only = Self::Bits::of(<Self::Element>::SIGN);
        Self::from_bits(self.size().bits().or(sign.bits().and(only)))
    }
    /// With the second half of its digits zero.
    #[inline(always)]
    fn head(self) -> Self {
        Self::from_bits(self.bits().and(Self::Bits::of(<Self::Element>::HEAD)))
    }
    /// For a sum of a whole number n with [`Real::ROUND`]: 2 to the power h and 2 to the power n − h, where h is about half of
    /// n, since neither 2 to the power n nor its inverse need be a float; and the inverse of the second.
    #[inline(always)]
    fn powers(sum: Self) -> (Self, Self, Self) {
        let (offset, bias) = (<Self::Element>::OFFSET, <Self::Element>::BIAS);
        // Twice the offset makes the number positive, so that it is halved by a shift without sign.
        let round = Self::of(<Self::Element>::ROUND).bits();
        let whole = sum.bits().minus(round).plus(Self::Bits::of(2 * offset));
        let half = whole.halved();
        let rest = whole.minus(half);
        let to_bias = Self::Bits::of(offset - bias);
        (
            Self::from_bits(half.minus(to_bias).to_exponent()),
            Self::from_bits(rest.minus(to_bias).to_exponent()),
            Self::from_bits(Self::Bits::of(offset + bias).minus(rest).to_exponent()),
        )
    }
    /// The product with 2ⁿ, where n is whole and the sum is that of n with [`Real::ROUND`].
    #[inline(always)]
    fn scaled(self, _n: Self, sum: Self) -> Self {
        let (first, second, _) = Self::powers(sum);
        self * first * second
    }
    /// 2ⁿ (1 + r) − 1 and 2ⁿ times the rest, with n as in [`Lanes::scaled`].
    #[inline(always)]
    fn scaled_less_one<L: Rounding>(_n: Self, sum: Self, r: Self, rest: Self) -> (Self, Self) {
        let (first, second, inverse) = Self::powers(sum);
        (first.times_plus::<L>(r, first - inverse) * second, rest * first * second)
    }
    /// For a positive number x of full precision, the whole k and the m from √½ to √2 with x = 2ᵏ m; and 2⁻ᵏ, unless x is huge.
    #[inline(always)]
    fn split(self) -> (Self, Self, Self) {
        let above = self.bits().minus(Self::Bits::of(<Self::Element>::ROOT_HALF));
        let exponent = above.and(Self::Bits::of(<Self::Element>::EXPONENT));
        // Its top bit is the sign. As the last bits of a large number, it needs no conversion, which few machines have.
        let biased = above.exponent().differs(Self::Bits::of(<Self::Element>::SIGN_OF_EXPONENT));
        let large = Self::of(<Self::Element>::WHOLE);
        let whole = Self::from_bits(large.bits().or(biased)) - Self::of(<Self::Element>::WHOLE_AND_SIGN);
        let rest = Self::from_bits(self.bits().minus(exponent));
        let one = Self::number(1.0).bits();
        (whole, rest, Self::from_bits(one.minus(exponent)))
    }
}

/// A float type, with its constants.
///
/// A constant of more digits than a float has is split into parts that sum up to it. Where products are rounded, all but
/// the last part end in so many zeros that their products with the whole numbers that occur are exact (Cody and Waite).
pub(crate) trait Real: ElementType + Lanes<Element = Self, Mask = bool> {
    /// The bit of the sign.
    const SIGN: u64;
    /// The bits of the exponent and the sign.
    const EXPONENT: u64;
    /// All bits but those of the second half of the digits.
    const HEAD: u64;
    /// The exponent of 1, as it stands in the bits.
    const BIAS: u64;
    /// More than any exponent takes a number below 0.
    const OFFSET: u64;
    /// The highest bit of an exponent with its sign.
    const SIGN_OF_EXPONENT: u64;
    /// A number so large that its last bits count whole ones.
    const WHOLE: Self;
    /// The same, and [`Self::SIGN_OF_EXPONENT`] more.
    const WHOLE_AND_SIGN: Self;
    /// The bits of √½.
    const ROOT_HALF: u64;
    /// Added to a much smaller number, it leaves that rounded to a whole one in the last bits of the sum.
    const ROUND: Self;
    /// The smallest number of full precision.
    const SMALLEST_NORMAL: Self;
    /// A power of two that takes all smaller numbers to those of full precision, and its logarithm to base 2.
    const ENLARGE: (Self, Self);
    /// The number from which ln(1 + x) is ln x.
    const ONE_IS_LOST: Self;
    /// Exponentials are 0 below, and infinite above.
    const EXPONENTS: (Self, Self);
    /// Exponentials are at least 7/8 of the smallest number of full precision from the first on, and infinite above the second.
    const KEPT_EXPONENTS: (Self, Self);
    /// As [`Self::KEPT_EXPONENTS`], for powers of two.
    const KEPT_BINARY_EXPONENTS: (Self, Self);
    /// From where the hyperbolic tangent is 1.
    const TANGENT_IS_ONE: Self;
    /// 1, in two parts.
    const ONE_PARTS: (Self, Self);
    /// 1 / ln 2.
    const LOG2_E: Self;
    /// 1 / ln 2; the first part has half the digits.
    const LOG2_E_PARTS: (Self, Self);
    /// 1 / ln 10; the first part has half the digits.
    const LOG10_E_PARTS: (Self, Self);
    /// ln 2.
    const LN_2: Self;
    /// ln 2; multiples of the first part by exponents are exact.
    const LN_2_PARTS: (Self, Self);
    /// ln 2 / ln 10; multiples of the first part by exponents are exact.
    const LOG10_2_PARTS: (Self, Self);
    /// 2/π.
    const TWO_OVER_PI: Self;
    /// π/2 where products are not rounded, up to this argument; only the second and the third part are short.
    const FUSED_HALF_PI: ([Self; 4], Self);
    /// π/2 where products are rounded, up to this argument.
    const PLAIN_HALF_PI: ([Self; 4], Self);
    /// π/2 in two parts of full precision.
    const HALF_PI: (Self, Self);
    /// (exp(x) − 1 − x) / x² for |x| up to ln 2 / 2.
    const EXPONENTIAL: &'static [Self];
    /// (ln(1 + x) − x + x²/2) / x³ for 1 + x from √½ to √2.
    const LOGARITHM: &'static [Self];
    /// (sin √u / √u − 1) / u for u up to (π/4)².
    const SINE: &'static [Self];
    /// (cos √u − 1 + u/2) / u² for u up to (π/4)².
    const COSINE: &'static [Self];
    /// (atan √u / √u − 1) / u for u up to tan² (π/8).
    const ARCTANGENT: &'static [Self];
    /// (asin √u / √u − 1) / u for u up to ¼.
    const ARCSINE: &'static [Self];
    /// (sinh √u / √u − 1) / u for u up to 1.
    const HYPERBOLIC_SINE: &'static [Self];
    /// erf √u / √u − 1 for u up to 1.
    const ERROR: &'static [Self];
    /// exp(x²) erfc(x) for t = (x − 2)/(x + 2) and x from 1 to [`Self::ERROR_IS_ONE`].
    const COMPLEMENTARY_ERROR: &'static [Self];
    /// From where the error function is 1.
    const ERROR_IS_ONE: Self;

    /// The result according to the operation table.
    fn by_table(op: Unary, x: Self) -> Self;
    /// The table's result for two operands.
    fn pair_by_table(op: Binary, a: Self, b: Self) -> Self;
}

//! One element, or a register of elements: the values that [formulas](super::functions) are written for.
//!
//! A formula is written once, without a branch. With one element for its values it is the loop that a compiler may make
//! vectors of; with registers it is made of vectors as it stands, whatever the compiler looks for at the level of
//! optimisation that somebody builds with.
//!
//! Formulas have no closures: these are functions of their own, compiled without the instructions of the registers, unless a
//! compiler finds them small enough to inline.

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
pub(in crate::engine::cpu) use x86::{BitsHalf32, BitsHalf64, BitsWide32, BitsWide64, Half32, Half64, Wide32, Wide64};
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Quarter32, Quarter64};

use super::functions::Real;
use super::level::{Level, Product};
use crate::engine::cpu::elements::{load, store};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The answers to a question about each element.
pub(in crate::engine::cpu) trait Mask: Copy {
    fn and(self, other: Self) -> Self;
    /// Where the two differ.
    fn differs(self, other: Self) -> Self;
    fn not(self) -> Self;
    /// Whether it is so for any element.
    fn any(self) -> bool;
}

/// The bits of each element, as unsigned whole numbers, which wrap.
pub(super) trait LaneBits: Copy {
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

/// One float, or a register of floats.
///
/// Registers are used only where the machine has their instructions.
pub(super) trait Lanes:
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
    /// How many elements there are.
    const WIDTH: usize;
    /// No, for all elements.
    const NONE: Self::Mask;

    /// One element everywhere.
    fn of(element: Self::Element) -> Self;
    /// The elements from a place on.
    ///
    /// # Safety
    ///
    /// There are so many valid elements.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Writes the elements from a place on.
    ///
    /// # Safety
    ///
    /// There is room for so many.
    unsafe fn store(self, to: *mut Self::Element);
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
    /// This times the factor, plus the term: with one rounding where the level has fused multiply-add.
    fn times_plus<L: Level>(self, factor: Self, term: Self) -> Self;
    /// The square root.
    fn root(self) -> Self;
    /// The larger one; this one if it is no number.
    fn at_least(self, low: Self) -> Self;
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
        Self::of(<Self::Element as crate::array::Arithmetic>::from_f64(x))
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

impl Mask for bool {
    #[inline(always)]
    fn and(self, other: bool) -> bool {
        self & other
    }
    #[inline(always)]
    fn differs(self, other: bool) -> bool {
        self != other
    }
    #[inline(always)]
    fn not(self) -> bool {
        !self
    }
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
}

macro_rules! element {
    ($t:ident, $bits:ident, mantissa: $mantissa:literal) => {
        impl LaneBits for $bits {
            #[inline(always)]
            fn of(bits: u64) -> $bits {
                bits as $bits
            }
            #[inline(always)]
            fn plus(self, other: $bits) -> $bits {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: $bits) -> $bits {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn and(self, other: $bits) -> $bits {
                self & other
            }
            #[inline(always)]
            fn or(self, other: $bits) -> $bits {
                self | other
            }
            #[inline(always)]
            fn differs(self, other: $bits) -> $bits {
                self ^ other
            }
            #[inline(always)]
            fn halved(self) -> $bits {
                self >> 1
            }
            #[inline(always)]
            fn to_exponent(self) -> $bits {
                self << $mantissa
            }
            #[inline(always)]
            fn exponent(self) -> $bits {
                self >> $mantissa
            }
        }

        impl Lanes for $t {
            type Element = $t;
            type Mask = bool;
            type Bits = $bits;
            type Double = f64;
            const WIDTH: usize = 1;
            const NONE: bool = false;
            #[inline(always)]
            fn of(element: $t) -> $t {
                element
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> $t {
                // SAFETY: as the caller's.
                unsafe { load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: as the caller's.
                unsafe { store(to, self) }
            }
            #[inline(always)]
            fn less(self, other: $t) -> bool {
                self < other
            }
            #[inline(always)]
            fn less_or_equal(self, other: $t) -> bool {
                self <= other
            }
            #[inline(always)]
            fn equals(self, other: $t) -> bool {
                self == other
            }
            #[inline(always)]
            #[allow(clippy::neg_cmp_op_on_partial_ord, reason = "it holds of what is no number")]
            fn exceeds(self, other: $t) -> bool {
                !(self <= other)
            }
            #[inline(always)]
            fn either(mask: bool, yes: $t, no: $t) -> $t {
                if mask { yes } else { no }
            }
            #[inline(always)]
            fn times_plus<L: Level>(self, factor: $t, term: $t) -> $t {
                Product::times_plus::<L>(self, factor, term)
            }
            #[inline(always)]
            fn root(self) -> $t {
                self.sqrt()
            }
            #[inline(always)]
            fn size(self) -> $t {
                self.abs()
            }
            #[inline(always)]
            fn signed(self, sign: $t) -> $t {
                self.copysign(sign)
            }
            #[inline(always)]
            fn at_least(self, low: $t) -> $t {
                if self < low { low } else { self }
            }
            #[inline(always)]
            fn at_most(self, high: $t) -> $t {
                if self > high { high } else { self }
            }
            #[inline(always)]
            fn floor(self) -> $t {
                self.floor()
            }
            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits()
            }
            #[inline(always)]
            fn from_bits(bits: $bits) -> $t {
                $t::from_bits(bits)
            }
            #[inline(always)]
            fn last_bits(self) -> (bool, bool) {
                let bits = self.to_bits();
                (bits & 1 != 0, bits & 2 != 0)
            }
            #[inline(always)]
            fn double(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn single(double: f64) -> $t {
                double as $t
            }
        }
    };
}

element!(f32, u32, mantissa: 23);
element!(f64, u64, mantissa: 52);

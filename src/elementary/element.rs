//! Single elements.

use super::lanes::{LaneBits, Lanes, Mask, Rounding};

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
            const NONE: bool = false;
            #[inline(always)]
            fn of(element: $t) -> $t {
                element
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
            fn times_plus<L: Rounding>(self, factor: $t, term: $t) -> $t {
                if L::FUSED { self.mul_add(factor, term) } else { self * factor + term }
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

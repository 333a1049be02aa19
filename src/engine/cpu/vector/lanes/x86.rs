//! Registers of floats, with the instructions of AVX2 and fused multiply-add, and those of 64 bytes with AVX-512.
//!
//! Masks of AVX-512 are a bit an element. Elsewhere a mask is a register in which the first bit of an element, its sign, is the
//! answer; the other bits have no meaning.

use super::{Known, LaneBits, Lanes, Mask, Register, Rounding};
use crate::engine::cpu::elements::{load, store};
use std::arch::x86_64::*;
use std::mem::transmute;
use std::ops::{Add, Div, Mul, Neg, Sub};

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident($register:ident);)*) => {
        $($(#[$doc])* #[derive(Clone, Copy)] pub(in crate::engine::cpu) struct $name(pub(in crate::engine::cpu::vector) $register);)*
    };
}

registers! {
    /// Eight doubles.
    Wide64(__m512d);
    /// Sixteen singles.
    Wide32(__m512);
    /// Four doubles.
    Half64(__m256d);
    /// Eight singles.
    Half32(__m256);
    /// Eight integers of 64 bits, or the bits of as many doubles; so below.
    BitsWide64(__m512i);
    /// Sixteen of 32 bits.
    BitsWide32(__m512i);
    /// Four of 64 bits.
    BitsHalf64(__m256i);
    /// Eight of 32 bits.
    BitsHalf32(__m256i);
}

/// Two registers of doubles, for the elements of one of singles.
#[derive(Clone, Copy)]
pub(in crate::engine::cpu) struct Pair<T>(T, T);

/// Functions of registers, each an instruction. The machine has it, as [`Lanes`] says.
macro_rules! instructions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $t:ty),*) -> $result:ty = $value:expr;)*) => {
        $(
            #[inline(always)]
            $(#[$attribute])*
            fn $name($($argument: $t),*) -> $result {
                // SAFETY: values of this type are made only where the machine has its instructions.
                unsafe { $value }
            }
        )*
    };
}

macro_rules! bits {
    ($bits:ident: $element:ident, mantissa: $mantissa:literal, $splat:ident, $add:ident, $sub:ident, $and:ident,
     $or:ident, $xor:ident, $up:ident, $down:ident) => {
        impl LaneBits for $bits {
            instructions! {
                fn of(bits: u64) -> Self = $bits($splat(bits as $element));
                fn plus(self: Self, other: Self) -> Self = $bits($add(self.0, other.0));
                fn minus(self: Self, other: Self) -> Self = $bits($sub(self.0, other.0));
                fn and(self: Self, other: Self) -> Self = $bits($and(self.0, other.0));
                fn or(self: Self, other: Self) -> Self = $bits($or(self.0, other.0));
                fn differs(self: Self, other: Self) -> Self = $bits($xor(self.0, other.0));
                fn halved(self: Self) -> Self = $bits($down::<1>(self.0));
                fn to_exponent(self: Self) -> Self = $bits($up::<$mantissa>(self.0));
                fn exponent(self: Self) -> Self = $bits($down::<$mantissa>(self.0));
            }
        }
    };
}

bits!(BitsWide64: i64, mantissa: 52, _mm512_set1_epi64, _mm512_add_epi64, _mm512_sub_epi64, _mm512_and_si512,
    _mm512_or_si512, _mm512_xor_si512, _mm512_slli_epi64, _mm512_srli_epi64);
bits!(BitsWide32: i32, mantissa: 23, _mm512_set1_epi32, _mm512_add_epi32, _mm512_sub_epi32, _mm512_and_si512,
    _mm512_or_si512, _mm512_xor_si512, _mm512_slli_epi32, _mm512_srli_epi32);
bits!(BitsHalf64: i64, mantissa: 52, _mm256_set1_epi64x, _mm256_add_epi64, _mm256_sub_epi64, _mm256_and_si256,
    _mm256_or_si256, _mm256_xor_si256, _mm256_slli_epi64, _mm256_srli_epi64);
bits!(BitsHalf32: i32, mantissa: 23, _mm256_set1_epi32, _mm256_add_epi32, _mm256_sub_epi32, _mm256_and_si256,
    _mm256_or_si256, _mm256_xor_si256, _mm256_slli_epi32, _mm256_srli_epi32);

macro_rules! mask {
    ($mask:ident) => {
        impl Mask for $mask {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn differs(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
        }

        impl Known for $mask {
            #[inline(always)]
            fn any(self) -> bool {
                self != 0
            }
        }
    };
    ($name:ident, $and:ident, $xor:ident, $signs:ident, $t:ident) => {
        impl Mask for $name {
            instructions! {
                fn and(self: Self, other: Self) -> Self = $name($and(self.0, other.0));
                fn differs(self: Self, other: Self) -> Self = $name($xor(self.0, other.0));
                fn not(self: Self) -> Self = $name($xor(self.0, <$name as Lanes>::of(-0.0).0));
            }
        }

        impl Known for $name {
            instructions! { fn any(self: Self) -> bool = $signs(self.0) != 0; }
        }
    };
}

mask!(__mmask8);
mask!(__mmask16);
mask!(Half64, _mm256_and_pd, _mm256_xor_pd, _mm256_movemask_pd, f64);
mask!(Half32, _mm256_and_ps, _mm256_xor_ps, _mm256_movemask_ps, f32);

macro_rules! arithmetic {
    ($name:ident, $add:ident, $sub:ident, $mul:ident, $div:ident) => {
        impl Add for $name {
            type Output = Self;
            instructions! { fn add(self: Self, other: Self) -> Self = $name($add(self.0, other.0)); }
        }
        impl Sub for $name {
            type Output = Self;
            instructions! { fn sub(self: Self, other: Self) -> Self = $name($sub(self.0, other.0)); }
        }
        impl Mul for $name {
            type Output = Self;
            instructions! { fn mul(self: Self, other: Self) -> Self = $name($mul(self.0, other.0)); }
        }
        impl Div for $name {
            type Output = Self;
            instructions! { fn div(self: Self, other: Self) -> Self = $name($div(self.0, other.0)); }
        }
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::from_bits(self.bits().differs(Self::of(-0.0).bits()))
            }
        }
    };
}

arithmetic!(Wide64, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd, _mm512_div_pd);
arithmetic!(Wide32, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_div_ps);
arithmetic!(Half64, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_div_pd);
arithmetic!(Half32, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_div_ps);

macro_rules! lanes {
    ($name:ident: $register:ident of $t:ident; $width:literal, mask $mask:ty = $none:expr, bits $bits:ident, double $double:ty;
     $splat:ident, $fused:ident, $root:ident, $round:ident, $max:ident, $min:ident, $to_bits:ident, $from_bits:ident;
     |$a:ident, $b:ident, $is:ident| $compare:expr;
     |$which:ident, $yes:ident, $no:ident| $either:expr;
     |$last:ident| $last_bits:expr;
     |$single:ident| $to_double:expr; |$wide:ident| $to_single:expr) => {
        impl Lanes for $name {
            type Element = $t;
            type Mask = $mask;
            type Bits = $bits;
            type Double = $double;
            const NONE: $mask = $none;
            instructions! {
                fn of(element: $t) -> Self = $name($splat(element));
            }
            #[inline(always)]
            fn less(self, other: Self) -> $mask {
                const $is: i32 = _CMP_LT_OQ;
                let ($a, $b) = (self.0, other.0);
                // SAFETY: as for all instructions of this type.
                unsafe { $compare }
            }
            #[inline(always)]
            fn less_or_equal(self, other: Self) -> $mask {
                const $is: i32 = _CMP_LE_OQ;
                let ($a, $b) = (self.0, other.0);
                // SAFETY: as for all instructions of this type.
                unsafe { $compare }
            }
            #[inline(always)]
            fn equals(self, other: Self) -> $mask {
                const $is: i32 = _CMP_EQ_OQ;
                let ($a, $b) = (self.0, other.0);
                // SAFETY: as for all instructions of this type.
                unsafe { $compare }
            }
            #[inline(always)]
            fn exceeds(self, other: Self) -> $mask {
                const $is: i32 = _CMP_NLE_UQ;
                let ($a, $b) = (self.0, other.0);
                // SAFETY: as for all instructions of this type.
                unsafe { $compare }
            }
            #[inline(always)]
            fn either($which: $mask, $yes: Self, $no: Self) -> Self {
                // SAFETY: as for all instructions of this type.
                $name(unsafe { $either })
            }
            #[inline(always)]
            fn times_plus<L: Rounding>(self, factor: Self, term: Self) -> Self {
                // SAFETY: as for all instructions of this type.
                $name(unsafe { $fused(self.0, factor.0, term.0) })
            }
            instructions! {
                fn root(self: Self) -> Self = $name($root(self.0));
                // The instruction gives its second operand if one of them is no number.
                fn at_least(self: Self, low: Self) -> Self = $name($max(low.0, self.0));
                fn at_most(self: Self, high: Self) -> Self = $name($min(high.0, self.0));
                fn floor(self: Self) -> Self = $name($round::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0));
                fn bits(self: Self) -> $bits = $bits($to_bits(self.0));
                fn from_bits(bits: $bits) -> Self = $name($from_bits(bits.0));
            }
            #[inline(always)]
            fn last_bits(self) -> ($mask, $mask) {
                let $last = self.bits().0;
                // SAFETY: as for all instructions of this type.
                unsafe { $last_bits }
            }
            #[inline(always)]
            #[allow(unused_unsafe, reason = "doubles are as wide already")]
            fn double(self) -> $double {
                let $single = self;
                // SAFETY: as for all instructions of this type.
                unsafe { $to_double }
            }
            #[inline(always)]
            #[allow(unused_unsafe, reason = "doubles are as wide already")]
            fn single($wide: $double) -> Self {
                // SAFETY: as for all instructions of this type.
                unsafe { $to_single }
            }
        }

        impl Register for $name {
            const WIDTH: usize = $width;
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: as the caller's; a register has the bits of its elements.
                $name(unsafe { transmute::<[$t; $width], $register>(load(from.cast())) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: as the caller's; a register has the bits of its elements.
                unsafe { store(to.cast(), transmute::<$register, [$t; $width]>(self.0)) }
            }
        }
    };
}

lanes!(
    Wide64: __m512d of f64; 8, mask __mmask8 = 0, bits BitsWide64, double Wide64;
    _mm512_set1_pd, _mm512_fmadd_pd, _mm512_sqrt_pd, _mm512_roundscale_pd, _mm512_max_pd, _mm512_min_pd, _mm512_castpd_si512, _mm512_castsi512_pd;
    |a, b, IS| _mm512_cmp_pd_mask::<IS>(a, b);
    |mask, yes, no| _mm512_mask_blend_pd(mask, no.0, yes.0);
    |bits| (_mm512_test_epi64_mask(bits, _mm512_set1_epi64(1)), _mm512_test_epi64_mask(bits, _mm512_set1_epi64(2)));
    |same| same; |same| same
);
lanes!(
    Wide32: __m512 of f32; 16, mask __mmask16 = 0, bits BitsWide32, double Pair<Wide64>;
    _mm512_set1_ps, _mm512_fmadd_ps, _mm512_sqrt_ps, _mm512_roundscale_ps, _mm512_max_ps, _mm512_min_ps, _mm512_castps_si512, _mm512_castsi512_ps;
    |a, b, IS| _mm512_cmp_ps_mask::<IS>(a, b);
    |mask, yes, no| _mm512_mask_blend_ps(mask, no.0, yes.0);
    |bits| (_mm512_test_epi32_mask(bits, _mm512_set1_epi32(1)), _mm512_test_epi32_mask(bits, _mm512_set1_epi32(2)));
    |single| Pair(
        Wide64(_mm512_cvtps_pd(_mm512_castps512_ps256(single.0))),
        Wide64(_mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(single.0))),
    );
    |pair| {
        let low = _mm512_castps256_ps512(_mm512_cvtpd_ps(pair.0.0));
        Wide32(_mm512_insertf32x8::<1>(low, _mm512_cvtpd_ps(pair.1.0)))
    }
);
lanes!(
    Half64: __m256d of f64; 4, mask Half64 = Half64(unsafe { transmute::<[f64; 4], __m256d>([0.0; 4]) }), bits BitsHalf64, double Half64;
    _mm256_set1_pd, _mm256_fmadd_pd, _mm256_sqrt_pd, _mm256_round_pd, _mm256_max_pd, _mm256_min_pd, _mm256_castpd_si256, _mm256_castsi256_pd;
    |a, b, IS| Half64(_mm256_cmp_pd::<IS>(a, b));
    |mask, yes, no| _mm256_blendv_pd(no.0, yes.0, mask.0);
    |bits| (
        Half64(_mm256_castsi256_pd(_mm256_slli_epi64::<63>(bits))),
        Half64(_mm256_castsi256_pd(_mm256_slli_epi64::<62>(bits))),
    );
    |same| same; |same| same
);
lanes!(
    Half32: __m256 of f32; 8, mask Half32 = Half32(unsafe { transmute::<[f32; 8], __m256>([0.0; 8]) }), bits BitsHalf32, double Pair<Half64>;
    _mm256_set1_ps, _mm256_fmadd_ps, _mm256_sqrt_ps, _mm256_round_ps, _mm256_max_ps, _mm256_min_ps, _mm256_castps_si256, _mm256_castsi256_ps;
    |a, b, IS| Half32(_mm256_cmp_ps::<IS>(a, b));
    |mask, yes, no| _mm256_blendv_ps(no.0, yes.0, mask.0);
    |bits| (
        Half32(_mm256_castsi256_ps(_mm256_slli_epi32::<31>(bits))),
        Half32(_mm256_castsi256_ps(_mm256_slli_epi32::<30>(bits))),
    );
    |single| Pair(
        Half64(_mm256_cvtps_pd(_mm256_castps256_ps128(single.0))),
        Half64(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(single.0))),
    );
    |pair| Half32(_mm256_set_m128(_mm256_cvtpd_ps(pair.1.0), _mm256_cvtpd_ps(pair.0.0)))
);

/// Both halves alike.
macro_rules! both {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $t:ty),*) -> Self;)*) => {
        $(
            #[inline(always)]
            $(#[$attribute])*
            fn $name($($argument: $t),*) -> Self {
                Pair(T::$name($($argument.0),*), T::$name($($argument.1),*))
            }
        )*
    };
}

impl<T: Mask> Mask for Pair<T> {
    both! {
        fn and(self: Self, other: Self) -> Self;
        fn differs(self: Self, other: Self) -> Self;
        fn not(self: Self) -> Self;
    }
}

impl<T: LaneBits> LaneBits for Pair<T> {
    #[inline(always)]
    fn of(bits: u64) -> Self {
        Pair(T::of(bits), T::of(bits))
    }
    both! {
        fn plus(self: Self, other: Self) -> Self;
        fn minus(self: Self, other: Self) -> Self;
        fn and(self: Self, other: Self) -> Self;
        fn or(self: Self, other: Self) -> Self;
        fn differs(self: Self, other: Self) -> Self;
        fn halved(self: Self) -> Self;
        fn to_exponent(self: Self) -> Self;
        fn exponent(self: Self) -> Self;
    }
}

impl<T: Lanes> Add for Pair<T> {
    type Output = Self;
    both! { fn add(self: Self, other: Self) -> Self; }
}

impl<T: Lanes> Sub for Pair<T> {
    type Output = Self;
    both! { fn sub(self: Self, other: Self) -> Self; }
}

impl<T: Lanes> Mul for Pair<T> {
    type Output = Self;
    both! { fn mul(self: Self, other: Self) -> Self; }
}

impl<T: Lanes> Div for Pair<T> {
    type Output = Self;
    both! { fn div(self: Self, other: Self) -> Self; }
}

impl<T: Lanes> Neg for Pair<T> {
    type Output = Self;
    both! { fn neg(self: Self) -> Self; }
}

impl<T: Lanes<Element = f64>> Lanes for Pair<T> {
    type Element = f64;
    type Mask = Pair<T::Mask>;
    type Bits = Pair<T::Bits>;
    type Double = Self;
    const NONE: Self::Mask = Pair(T::NONE, T::NONE);
    #[inline(always)]
    fn of(element: f64) -> Self {
        Pair(T::of(element), T::of(element))
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        Pair(self.0.less(other.0), self.1.less(other.1))
    }
    #[inline(always)]
    fn less_or_equal(self, other: Self) -> Self::Mask {
        Pair(self.0.less_or_equal(other.0), self.1.less_or_equal(other.1))
    }
    #[inline(always)]
    fn equals(self, other: Self) -> Self::Mask {
        Pair(self.0.equals(other.0), self.1.equals(other.1))
    }
    #[inline(always)]
    fn exceeds(self, other: Self) -> Self::Mask {
        Pair(self.0.exceeds(other.0), self.1.exceeds(other.1))
    }
    #[inline(always)]
    fn times_plus<L: Rounding>(self, factor: Self, term: Self) -> Self {
        Pair(self.0.times_plus::<L>(factor.0, term.0), self.1.times_plus::<L>(factor.1, term.1))
    }
    both! {
        fn root(self: Self) -> Self;
        fn at_least(self: Self, low: Self) -> Self;
        fn at_most(self: Self, high: Self) -> Self;
        fn floor(self: Self) -> Self;
        fn either(mask: Self::Mask, yes: Self, no: Self) -> Self;
        fn from_bits(bits: Self::Bits) -> Self;
    }
    #[inline(always)]
    fn bits(self) -> Self::Bits {
        Pair(self.0.bits(), self.1.bits())
    }
    #[inline(always)]
    fn last_bits(self) -> (Self::Mask, Self::Mask) {
        let (low, high) = (self.0.last_bits(), self.1.last_bits());
        (Pair(low.0, high.0), Pair(low.1, high.1))
    }
    #[inline(always)]
    fn double(self) -> Self {
        self
    }
    #[inline(always)]
    fn single(double: Self) -> Self {
        double
    }
}

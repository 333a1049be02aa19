//! Registers of floats.

use crate::array::matrix::Vector;
use crate::engine::cpu::elements::store;
use crate::engine::cpu::vector::lanes::{Half32, Half64, Lanes, Register, Wide32, Wide64};
use crate::engine::cpu::vector::level::Avx2;
use crate::engine::cpu::vector::packed::{Packed, binary_of_floats, larger, smaller, unary_of_floats};
use crate::operation::{Binary, Unary};
use crate::shape::DType;
use std::arch::x86_64::*;
use std::mem::transmute;

/// Halves of a register of four doubles, added, down to one element.
#[inline(always)]
unsafe fn total_f64(sum: __m256d) -> f64 {
    // SAFETY: as the caller's.
    unsafe {
        let pair = _mm_add_pd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd::<1>(sum));
        _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
    }
}

/// As [`total_f64`], of eight singles.
#[inline(always)]
unsafe fn total_f32(sum: __m256) -> f32 {
    // SAFETY: as the caller's.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
        let pair = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps::<1>(pair, pair)))
    }
}

/// Writes a register to a place of any alignment, which is counted in registers.
#[inline(always)]
unsafe fn put<R: Copy>(register: R, to: *mut u8, place: usize) {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Unaligned<R>(R);
    // SAFETY: the caller promises room; the type has no alignment.
    unsafe { store(to.cast::<Unaligned<R>>().wrapping_add(place), Unaligned(register)) };
}

/// The reversal of the bits of elements.
macro_rules! reversed {
    () => {
        #[inline(always)]
        fn reversed(self) -> Self {
            Self::from_bits(self.bits().reversed())
        }
    };
}

/// The elements of two registers in turns.
macro_rules! zip {
    () => {
        #[inline(always)]
        fn zip(self, other: Self) -> Option<[Self; 2]> {
            Some(Vector::zip(self, other))
        }
    };
}

/// The conversions with instructions; each writes its result.
macro_rules! conversions {
    (|$x:ident, $to:ident| $($dtype:ident => $write:expr;)*) => {
        #[inline(always)]
        fn converts(to: DType) -> bool {
            matches!(to, $(DType::$dtype)|*)
        }
        #[inline(always)]
        unsafe fn convert(self, to: DType, result: *mut u8) {
            let ($x, $to) = (self, result);
            match to {
                // SAFETY: the caller promises room and the instructions.
                $(DType::$dtype => unsafe { $write },)*
                _ => {}
            }
        }
    };
}

macro_rules! floats {
    ($name:ident of $t:ident, mask $mask:ty: |$sum:ident| $total:expr $(; $($rest:tt)*)?) => {
        impl Packed for $name {
            type Element = $t;
            type Mask = $mask;
            const WIDTH: usize = <$name as Register>::WIDTH;
            #[inline(always)]
            fn repeated(element: Self::Element) -> Self {
                <$name as Lanes>::of(element)
            }
            #[inline(always)]
            unsafe fn load(from: *const Self::Element) -> Self {
                // SAFETY: as the caller's.
                unsafe { <$name as Register>::load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut Self::Element) {
                // SAFETY: as the caller's.
                unsafe { <$name as Register>::store(self, to) }
            }
            #[inline(always)]
            fn less(self, other: Self) -> Self::Mask {
                <$name as Lanes>::less(self, other)
            }
            #[inline(always)]
            fn less_or_equal(self, other: Self) -> Self::Mask {
                <$name as Lanes>::less_or_equal(self, other)
            }
            #[inline(always)]
            fn equals(self, other: Self) -> Self::Mask {
                <$name as Lanes>::equals(self, other)
            }
            #[inline(always)]
            fn either(mask: Self::Mask, yes: Self, no: Self) -> Self {
                <$name as Lanes>::either(mask, yes, no)
            }
            #[inline(always)]
            fn total(self) -> Self::Element {
                let $sum = self.0;
                // SAFETY: there is such a register, so that the machine has the instructions.
                unsafe { $total }
            }
            $($($rest)*)?
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                larger(self, other)
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                smaller(self, other)
            }
            #[inline(always)]
            fn multiply_add(self, factor: Self, term: Self) -> Self {
                self.times_plus::<Avx2>(factor, term)
            }
            #[inline(always)]
            fn unary(row: Unary, x: Self) -> Option<Self> {
                unary_of_floats(row, x)
            }
            #[inline(always)]
            fn binary(row: Binary, a: Self, b: Self) -> Option<Self> {
                binary_of_floats(row, a, b)
            }
        }
    };
}

/// 0 for NaN, and the nearest number that `i32` can hold for others.
#[inline(always)]
fn within_32<V: Lanes>(x: V) -> V {
    let number = V::either(x.equals(x), x, V::number(0.0));
    number.at_least(V::number(f64::from(i32::MIN))).at_most(V::number(f64::from(i32::MAX)))
}

/// Where singles are too large for `i32`. The instruction turns numbers outside into the smallest integer.
#[inline(always)]
fn above_32<V: Lanes>(x: V) -> V::Mask {
    V::number(-f64::from(i32::MIN)).less_or_equal(x)
}

/// Integers of doubles without an instruction: the last bits of a large sum, or one after the other.
#[inline(always)]
fn saturated_half(x: Half64) -> __m256i {
    /// From here on to twice as much, the last bit of a double counts whole ones.
    const LARGE: f64 = 6755399441055744.0;
    // SAFETY: there is such a register, so that the machine has the instructions.
    unsafe {
        let whole = Half64(_mm256_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x.0));
        let is_small = Lanes::less(whole.size(), <Half64 as Lanes>::of(LARGE / 3.0));
        if _mm256_movemask_pd(is_small.0) == 0b1111 {
            let large = <Half64 as Lanes>::of(LARGE);
            return _mm256_sub_epi64(_mm256_castpd_si256((whole + large).0), _mm256_castpd_si256(large.0));
        }
        let [a, b, c, d] = transmute::<__m256d, [f64; 4]>(x.0);
        _mm256_setr_epi64x(a as i64, b as i64, c as i64, d as i64)
    }
}

floats!(Wide64 of f64, mask __mmask8:
    |sum| total_f64(_mm256_add_pd(_mm512_castpd512_pd256(sum), _mm512_extractf64x4_pd::<1>(sum)));
    zip!();
);
floats!(Wide32 of f32, mask __mmask16:
    |sum| total_f32(_mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps::<1>(sum)));
    zip!();
);
floats!(Half64 of f64, mask Half64: |sum| total_f64(sum);
    reversed!();
    conversions!(|x, to|
        F32 => put(_mm256_cvtpd_ps(x.0), to, 0);
        I32 => put(_mm256_cvttpd_epi32(within_32(x).0), to, 0);
        I64 => put(saturated_half(x), to, 0);
    );
);
floats!(Half32 of f32, mask Half32: |sum| total_f32(sum);
    reversed!();
    conversions!(|x, to|
        F64 => {
            put(_mm256_cvtps_pd(_mm256_castps256_ps128(x.0)), to, 0);
            put(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x.0)), to, 1)
        };
        I32 => {
            // All bits of the smallest integer the other way are the largest.
            let whole = _mm256_xor_si256(_mm256_cvttps_epi32(x.0), _mm256_castps_si256(above_32(x).0));
            put(_mm256_and_si256(whole, _mm256_castps_si256(Lanes::equals(x, x).0)), to, 0)
        };
        I64 => {
            put(saturated_half(Half64(_mm256_cvtps_pd(_mm256_castps256_ps128(x.0)))), to, 0);
            put(saturated_half(Half64(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x.0)))), to, 1)
        };
    );
);

//! Registers of integers.

use crate::engine::cpu::elements::{load, store};
use crate::engine::cpu::vector::lanes::{BitsHalf32, BitsHalf64, Half32, Half64, LaneBits, Mask};
use crate::engine::cpu::vector::packed::Packed;
use std::arch::x86_64::*;
use std::mem::transmute;

macro_rules! reversed {
    ($($name:ident: $register:ident = |$x:ident| $reversed:expr;)*) => {
        $(
            #[inline(always)]
            unsafe fn $name($x: $register) -> $register {
                // SAFETY: as the caller's.
                unsafe { $reversed }
            }
        )*
    };
}

reversed! {
    reversed_64: __m256i = |x| _mm256_permute4x64_epi64::<0b00_01_10_11>(x);
    reversed_32: __m256i = |x| _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}

/// Products of four integers, with instructions for halves only.
#[inline(always)]
unsafe fn times_64(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: as the caller's.
    unsafe {
        let (a_high, b_high) = (_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
        let crossed = _mm256_add_epi64(_mm256_mul_epu32(a, b_high), _mm256_mul_epu32(a_high, b));
        _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64::<32>(crossed))
    }
}

macro_rules! integers {
    ($name:ident: $register:ident of $t:ident; $width:literal, mask $mask:ty;
     $splat:ident, $reversed:ident, $times:ident; |$a:ident, $b:ident| less: $less:expr, equals: $equals:expr;
     |$which:ident, $yes:ident, $no:ident| $either:expr) => {
        impl Packed for $name {
            type Element = $t;
            type Mask = $mask;
            const WIDTH: usize = $width;
            #[inline(always)]
            fn repeated(element: $t) -> Self {
                // SAFETY: values of this type are made only where the machine has its instructions, here and below.
                $name(unsafe { $splat(element) })
            }
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
            #[inline(always)]
            fn less(self, other: Self) -> $mask {
                let ($a, $b) = (self.0, other.0);
                // SAFETY: as above.
                unsafe { $less }
            }
            #[inline(always)]
            fn less_or_equal(self, other: Self) -> $mask {
                other.less(self).not()
            }
            #[inline(always)]
            fn equals(self, other: Self) -> $mask {
                let ($a, $b) = (self.0, other.0);
                // SAFETY: as above.
                unsafe { $equals }
            }
            #[inline(always)]
            fn either($which: $mask, $yes: Self, $no: Self) -> Self {
                // SAFETY: as above.
                $name(unsafe { $either })
            }
            #[inline(always)]
            fn reversed(self) -> Self {
                // SAFETY: as above.
                $name(unsafe { $reversed(self.0) })
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                LaneBits::plus(self, other)
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                Self::either(self.less(other), other, self)
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                Self::either(other.less(self), other, self)
            }
            #[inline(always)]
            fn multiply_add(self, factor: Self, term: Self) -> Self {
                // SAFETY: as above.
                LaneBits::plus($name(unsafe { $times(self.0, factor.0) }), term)
            }
        }
    };
}

integers!(
    BitsHalf64: __m256i of i64; 4, mask Half64;
    _mm256_set1_epi64x, reversed_64, times_64;
    |a, b| less: Half64(_mm256_castsi256_pd(_mm256_cmpgt_epi64(b, a))),
        equals: Half64(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b)));
    |mask, yes, no| {
        let (yes, no) = (_mm256_castsi256_pd(yes.0), _mm256_castsi256_pd(no.0));
        _mm256_castpd_si256(_mm256_blendv_pd(no, yes, mask.0))
    }
);
integers!(
    BitsHalf32: __m256i of i32; 8, mask Half32;
    _mm256_set1_epi32, reversed_32, _mm256_mullo_epi32;
    |a, b| less: Half32(_mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a))),
        equals: Half32(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)));
    |mask, yes, no| {
        let (yes, no) = (_mm256_castsi256_ps(yes.0), _mm256_castsi256_ps(no.0));
        _mm256_castps_si256(_mm256_blendv_ps(no, yes, mask.0))
    }
);

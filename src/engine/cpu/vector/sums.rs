//! Registers of the elements that products are summed of: those of floats, and of integers, whose arithmetic wraps.
//!
//! Compilers make reads of scattered elements of loops that sum integers in several places at once, so their vectors are
//! spelled out too.

use super::registers::Vector;
use crate::engine::cpu::elements::{load, store};
use std::arch::x86_64::*;
use std::mem::transmute;

/// A register that sums of products are in.
///
/// # Safety
///
/// Its functions are called where the machine has the instructions.
pub(in crate::engine::cpu) trait Register: Copy {
    type Element: Copy;
    const WIDTH: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const Self::Element) -> Self;
    /// One element everywhere.
    unsafe fn splat(element: Self::Element) -> Self;
    unsafe fn store(self, to: *mut Self::Element);
    unsafe fn plus(self, other: Self) -> Self;
    /// This times the factor, plus the term.
    unsafe fn fused(self, factor: Self, term: Self) -> Self;
}

impl<V: Vector> Register for V {
    type Element = V::Element;
    const WIDTH: usize = V::WIDTH;
    #[inline(always)]
    unsafe fn zero() -> V {
        // SAFETY: as the caller's, here and below.
        unsafe { V::zero() }
    }
    #[inline(always)]
    unsafe fn load(from: *const V::Element) -> V {
        // SAFETY: as above.
        unsafe { V::load(from) }
    }
    #[inline(always)]
    unsafe fn splat(element: V::Element) -> V {
        // SAFETY: as above.
        unsafe { V::splat(element) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut V::Element) {
        // SAFETY: as above.
        unsafe { self.store(to) }
    }
    #[inline(always)]
    unsafe fn plus(self, other: V) -> V {
        // SAFETY: as above.
        unsafe { self.plus(other) }
    }
    #[inline(always)]
    unsafe fn fused(self, factor: V, term: V) -> V {
        // SAFETY: as above.
        unsafe { self.fused(factor, term) }
    }
}

macro_rules! integers {
    ($name:ident, $register:ident, $t:ident, $width:literal, $zero:ident, $splat:ident, $plus:ident, $times:ident) => {
        #[derive(Clone, Copy)]
        pub(in crate::engine::cpu) struct $name($register);

        impl Register for $name {
            type Element = $t;
            const WIDTH: usize = $width;
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: as the caller's.
                $name(unsafe { $zero() })
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: as the caller's; a register has the bits of its elements.
                $name(unsafe { transmute::<[$t; $width], $register>(load(from.cast())) })
            }
            #[inline(always)]
            unsafe fn splat(element: $t) -> Self {
                // SAFETY: as the caller's.
                $name(unsafe { $splat(element) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: as the caller's; a register has the bits of its elements.
                unsafe { store(to.cast(), transmute::<$register, [$t; $width]>(self.0)) }
            }
            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                // SAFETY: as the caller's.
                $name(unsafe { $plus(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn fused(self, factor: Self, term: Self) -> Self {
                // SAFETY: as the caller's.
                $name(unsafe { $plus($times(self.0, factor.0), term.0) })
            }
        }
    };
}

/// Products of four integers, of which there are instructions for halves alone.
#[inline(always)]
unsafe fn times_64(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: as the caller's.
    unsafe {
        let (a_high, b_high) = (_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
        let crossed = _mm256_add_epi64(_mm256_mul_epu32(a, b_high), _mm256_mul_epu32(a_high, b));
        _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64::<32>(crossed))
    }
}

integers!(WideI64, __m512i, i64, 8, _mm512_setzero_si512, _mm512_set1_epi64, _mm512_add_epi64, _mm512_mullo_epi64);
integers!(WideI32, __m512i, i32, 16, _mm512_setzero_si512, _mm512_set1_epi32, _mm512_add_epi32, _mm512_mullo_epi32);
integers!(HalfI64, __m256i, i64, 4, _mm256_setzero_si256, _mm256_set1_epi64x, _mm256_add_epi64, times_64);
integers!(HalfI32, __m256i, i32, 8, _mm256_setzero_si256, _mm256_set1_epi32, _mm256_add_epi32, _mm256_mullo_epi32);

//! Vector registers of floats, for the few loops whose vectors compilers don't find by themselves.

use crate::concrete::Scalar;
use crate::engine::cpu::elements::{load, store};
use std::arch::x86_64::*;
use std::mem::transmute;

/// A vector register of floats.
///
/// # Safety
///
/// Its functions are called where the machine has the instructions.
pub(in crate::engine::cpu) trait Vector: Copy {
    type Element: Scalar;
    const WIDTH: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const Self::Element) -> Self;
    /// One element everywhere.
    unsafe fn splat(element: Self::Element) -> Self;
    unsafe fn store(self, to: *mut Self::Element);
    /// The first elements, fewer than the register has, and after them those of this one.
    unsafe fn rest(self, from: *const Self::Element, count: usize) -> Self;
    unsafe fn minus(self, other: Self) -> Self;
    unsafe fn plus(self, other: Self) -> Self;
    /// This times the factor, plus the term.
    unsafe fn fused(self, factor: Self, term: Self) -> Self;
    /// The larger elements, this one's if they are equal; NaN wins.
    unsafe fn larger(self, other: Self) -> Self;
    /// The smaller elements, this one's if they are equal; NaN wins.
    unsafe fn smaller(self, other: Self) -> Self;
    /// The sum of halves, until one element is left.
    unsafe fn total(self) -> Self::Element;
}

/// Halves of a register of eight doubles or sixteen singles, added, down to one element.
#[inline(always)]
unsafe fn total_f64(sum: __m256d) -> f64 {
    // SAFETY: as the caller's.
    unsafe {
        let pair = _mm_add_pd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd::<1>(sum));
        _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
    }
}

#[inline(always)]
unsafe fn total_f32(sum: __m256) -> f32 {
    // SAFETY: as the caller's.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
        let pair = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps::<1>(pair, pair)))
    }
}

macro_rules! vector {
    ($name:ident, $register:ident, $t:ident, $width:literal, $zero:ident, $splat:ident, $minus:ident, $plus:ident,
     $fused:ident, |$else:ident, $from:ident, $count:ident| $rest:expr, |$a:ident, $b:ident, $not:ident| $better:expr,
     |$sum:ident| $total:expr) => {
        #[derive(Clone, Copy)]
        pub(in crate::engine::cpu) struct $name(pub(super) $register);

        impl Vector for $name {
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
            #[allow(clippy::needless_range_loop, reason = "loops that count are unrolled")]
            unsafe fn rest(self, $from: *const $t, $count: usize) -> Self {
                let $else = self.0;
                // SAFETY: as the caller's.
                $name(unsafe { $rest })
            }
            #[inline(always)]
            unsafe fn minus(self, other: Self) -> Self {
                // SAFETY: as the caller's.
                $name(unsafe { $minus(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                // SAFETY: as the caller's.
                $name(unsafe { $plus(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn fused(self, factor: Self, term: Self) -> Self {
                // SAFETY: as the caller's.
                $name(unsafe { $fused(self.0, factor.0, term.0) })
            }
            #[inline(always)]
            unsafe fn larger(self, other: Self) -> Self {
                const $not: i32 = _CMP_NGE_UQ;
                let ($a, $b) = (self.0, other.0);
                // SAFETY: as the caller's.
                $name(unsafe { $better })
            }
            #[inline(always)]
            unsafe fn smaller(self, other: Self) -> Self {
                const $not: i32 = _CMP_NLE_UQ;
                let ($a, $b) = (self.0, other.0);
                // SAFETY: as the caller's.
                $name(unsafe { $better })
            }
            #[inline(always)]
            unsafe fn total(self) -> $t {
                let $sum = self.0;
                // SAFETY: as the caller's.
                unsafe { $total }
            }
        }
    };
}

vector!(
    Wide64,
    __m512d,
    f64,
    8,
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_sub_pd,
    _mm512_add_pd,
    _mm512_fmadd_pd,
    |other, from, count| _mm512_mask_loadu_pd(other, (1u8 << count).wrapping_sub(1), from),
    |a, b, NOT| {
        let is_number = _mm512_cmp_pd_mask::<_CMP_ORD_Q>(a, a);
        _mm512_mask_mov_pd(a, _mm512_mask_cmp_pd_mask::<NOT>(is_number, a, b), b)
    },
    |sum| total_f64(_mm256_add_pd(_mm512_castpd512_pd256(sum), _mm512_extractf64x4_pd::<1>(sum)))
);
vector!(
    Wide32,
    __m512,
    f32,
    16,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_sub_ps,
    _mm512_add_ps,
    _mm512_fmadd_ps,
    |other, from, count| _mm512_mask_loadu_ps(other, (1u16 << count).wrapping_sub(1), from),
    |a, b, NOT| {
        let is_number = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(a, a);
        _mm512_mask_mov_ps(a, _mm512_mask_cmp_ps_mask::<NOT>(is_number, a, b), b)
    },
    |sum| total_f32(_mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps::<1>(sum)))
);
vector!(
    Half64,
    __m256d,
    f64,
    4,
    _mm256_setzero_pd,
    _mm256_set1_pd,
    _mm256_sub_pd,
    _mm256_add_pd,
    _mm256_fmadd_pd,
    |other, from, count| {
        let mut rest = transmute::<__m256d, [f64; 4]>(other);
        for at in 0..4 {
            if at < count {
                rest[at] = load(from.wrapping_add(at));
            }
        }
        transmute::<[f64; 4], __m256d>(rest)
    },
    |a, b, NOT| {
        let is_number = _mm256_cmp_pd::<_CMP_ORD_Q>(a, a);
        _mm256_blendv_pd(a, b, _mm256_and_pd(is_number, _mm256_cmp_pd::<NOT>(a, b)))
    },
    |sum| total_f64(sum)
);
vector!(
    Half32,
    __m256,
    f32,
    8,
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_sub_ps,
    _mm256_add_ps,
    _mm256_fmadd_ps,
    |other, from, count| {
        let mut rest = transmute::<__m256, [f32; 8]>(other);
        for at in 0..8 {
            if at < count {
                rest[at] = load(from.wrapping_add(at));
            }
        }
        transmute::<[f32; 8], __m256>(rest)
    },
    |a, b, NOT| {
        let is_number = _mm256_cmp_ps::<_CMP_ORD_Q>(a, a);
        _mm256_blendv_ps(a, b, _mm256_and_ps(is_number, _mm256_cmp_ps::<NOT>(a, b)))
    },
    |sum| total_f32(sum)
);

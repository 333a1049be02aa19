//! Registers of booleans, and answers of other registers, which become booleans.

use crate::engine::cpu::elements::{load, store};
use crate::engine::cpu::vector::lanes::{Half32, Half64, Mask};
use crate::engine::cpu::vector::packed::{Answers, Packed};
use std::arch::x86_64::*;
use std::mem::transmute;

/// A register of 32 booleans, each a byte of 0 or 1.
#[derive(Clone, Copy)]
pub(in crate::engine::cpu) struct Booleans(__m256i);

macro_rules! answers {
    ($mask:ty, $count:literal, |$bytes:ident| $load:expr, |$answers:ident| $store:expr) => {
        impl Answers for $mask {
            #[inline(always)]
            unsafe fn load(from: *const bool) -> Self {
                // SAFETY: the caller promises booleans, which are bytes, and the instructions.
                unsafe {
                    let $bytes = load(from.cast::<[u8; $count]>());
                    $load
                }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut bool) {
                let $answers = self;
                // SAFETY: the caller promises room and the instructions; the bytes are 0 or 1.
                unsafe { store(to.cast::<[u8; $count]>(), $store) }
            }
        }
    };
}

/// A byte for each of four bits. The products of different bits do not overlap.
#[inline(always)]
fn four_bytes(bits: u32) -> u32 {
    bits.wrapping_mul(0x0020_4081) & 0x0101_0101
}

answers!(
    __mmask8,
    8,
    |bytes| {
        let bytes = _mm_cvtsi64_si128(i64::from_ne_bytes(bytes));
        _mm_test_epi8_mask(bytes, bytes) as __mmask8
    },
    |answers| _mm_cvtsi128_si64(_mm_maskz_set1_epi8(__mmask16::from(answers), 1)).to_ne_bytes()
);
answers!(
    __mmask16,
    16,
    |bytes| {
        let bytes = transmute::<[u8; 16], __m128i>(bytes);
        _mm_test_epi8_mask(bytes, bytes)
    },
    |answers| transmute::<__m128i, [u8; 16]>(_mm_maskz_set1_epi8(answers, 1))
);
answers!(
    Half64,
    4,
    |bytes| {
        let words = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(i32::from_ne_bytes(bytes)));
        Half64(_mm256_castsi256_pd(_mm256_slli_epi64::<63>(words)))
    },
    |answers| four_bytes(_mm256_movemask_pd(answers.0) as u32).to_ne_bytes()
);
answers!(
    Half32,
    8,
    |bytes| {
        let words = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(i64::from_ne_bytes(bytes)));
        Half32(_mm256_castsi256_ps(_mm256_slli_epi32::<31>(words)))
    },
    |answers| {
        let words = _mm256_castps_si256(answers.0);
        let halves = _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        // Only signs are known, which become those of bytes.
        let bytes = _mm_srli_epi16::<7>(_mm_packs_epi16(halves, halves));
        _mm_cvtsi128_si64(_mm_and_si128(bytes, _mm_set1_epi8(1))).to_ne_bytes()
    }
);
answers!(Booleans, 32, |bytes| Booleans(transmute::<[u8; 32], __m256i>(bytes)), |answers| {
    transmute::<__m256i, [u8; 32]>(answers.0)
});

impl Booleans {
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: as for all instructions of this type, here and below.
        Booleans(unsafe { _mm256_or_si256(self.0, other.0) })
    }
}

impl Mask for Booleans {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: as above.
        Booleans(unsafe { _mm256_and_si256(self.0, other.0) })
    }
    #[inline(always)]
    fn differs(self, other: Self) -> Self {
        // SAFETY: as above.
        Booleans(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
    #[inline(always)]
    fn not(self) -> Self {
        self.differs(Self::repeated(true))
    }
}

impl Packed for Booleans {
    type Element = bool;
    type Mask = Self;
    const WIDTH: usize = 32;
    #[inline(always)]
    fn repeated(element: bool) -> Self {
        // SAFETY: as above.
        Booleans(unsafe { _mm256_set1_epi8(i8::from(element)) })
    }
    #[inline(always)]
    unsafe fn load(from: *const bool) -> Self {
        // SAFETY: as the caller's.
        unsafe { <Self as Answers>::load(from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut bool) {
        // SAFETY: as the caller's.
        unsafe { Answers::store(self, to) }
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self {
        self.not().and(other)
    }
    #[inline(always)]
    fn less_or_equal(self, other: Self) -> Self {
        self.not().or(other)
    }
    #[inline(always)]
    fn equals(self, other: Self) -> Self {
        self.differs(other).not()
    }
    #[inline(always)]
    fn either(mask: Self, yes: Self, no: Self) -> Self {
        mask.and(yes).or(mask.not().and(no))
    }
    #[inline(always)]
    fn reversed(self) -> Self {
        // SAFETY: as above.
        Booleans(unsafe {
            let bytes = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            let halves = _mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(bytes));
            _mm256_permute4x64_epi64::<0b01_00_11_10>(halves)
        })
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.or(other)
    }
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        self.or(other)
    }
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        self.and(other)
    }
    #[inline(always)]
    fn multiply_add(self, factor: Self, term: Self) -> Self {
        self.and(factor).or(term)
    }
}

//! Registers of elements, with the instructions of AVX2, and those of 64 bytes with AVX-512.

use super::{Answers, Integers, Packed, Vectorised};
use super::{binary_of_floats, binary_of_integers, larger, smaller, unary_of_floats, unary_of_integers};
use crate::engine::cpu::elements::{load, store};
use crate::engine::cpu::vector::lanes::{Bits, BitsHalf32, BitsHalf64, BitsWide32, BitsWide64};
use crate::engine::cpu::vector::lanes::{Half32, Half64, Lanes, Mask, Wide32, Wide64};
use crate::engine::cpu::vector::level::Avx2;
use crate::operation::{Binary, Unary};
use crate::shape::DType;
use std::arch::x86_64::*;
use std::mem::transmute;

/// A register of 32 booleans, each a byte of 0 or 1.
#[derive(Clone, Copy)]
pub(in crate::engine::cpu) struct Booleans(__m256i);

/// Writes a register to a place of any alignment, which is counted in registers.
#[inline(always)]
unsafe fn put<R: Copy>(register: R, to: *mut u8, place: usize) {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Unaligned<R>(R);
    // SAFETY: the caller promises room; the type has no alignment.
    unsafe { store(to.cast::<Unaligned<R>>().wrapping_add(place), Unaligned(register)) };
}

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

/// A byte for each of four bits. The products of a bit do not meet those of another.
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
        let bits = _mm256_movemask_ps(answers.0) as u32;
        (u64::from(four_bytes(bits & 15)) | u64::from(four_bytes(bits >> 4)) << 32).to_ne_bytes()
    }
);
answers!(Booleans, 32, |bytes| Booleans(transmute::<[u8; 32], __m256i>(bytes)), |answers| {
    transmute::<__m256i, [u8; 32]>(answers.0)
});

/// The conversions that there are instructions for, of which each writes its result.
macro_rules! conversions {
    ($(|$x:ident, $to:ident| $($dtype:ident => $write:expr;)*)?) => {
        #[inline(always)]
        #[allow(unused_variables, reason = "there may be none")]
        fn converts(to: DType) -> bool {
            match to {
                $($(DType::$dtype => true,)*)?
                _ => false,
            }
        }
        #[inline(always)]
        #[allow(unused_variables, reason = "there may be none")]
        unsafe fn convert(self, to: DType, result: *mut u8) {
            $(let ($x, $to) = (self, result);)?
            match to {
                // SAFETY: the caller promises room and the instructions.
                $($(DType::$dtype => unsafe { $write },)*)?
                _ => {}
            }
        }
    };
}

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

/// Reads the first elements by a mask.
macro_rules! masked_rest {
    ($t:ident, $mask:ident, $load:ident) => {
        #[inline(always)]
        unsafe fn rest(mut self, from: *const $t, count: usize) -> Self {
            let first: $mask = 1;
            // SAFETY: the caller promises so many elements and the instructions.
            self.0 = unsafe { $load(self.0, first.wrapping_shl(count as u32).wrapping_sub(1), from) };
            self
        }
    };
}

macro_rules! floats {
    ($name:ident of $t:ident, mask $mask:ty: |$sum:ident| $total:expr; { $($rest:tt)* } $($conversions:tt)*) => {
        impl Packed for $name {
            type Element = $t;
            type Mask = $mask;
            const WIDTH: usize = <$name as Lanes>::WIDTH;
            #[inline(always)]
            fn repeated(element: Self::Element) -> Self {
                <$name as Lanes>::of(element)
            }
            #[inline(always)]
            unsafe fn load(from: *const Self::Element) -> Self {
                // SAFETY: as the caller's.
                unsafe { <$name as Lanes>::load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut Self::Element) {
                // SAFETY: as the caller's.
                unsafe { <$name as Lanes>::store(self, to) }
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
            $($rest)*
            #[inline(always)]
            fn reversed(self) -> Self {
                Self::from_bits(self.bits().reversed())
            }
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
            conversions! { $($conversions)* }
        }
    };
}

/// 0 for what is no number, and the nearest that `i32` can hold for what it can't.
#[inline(always)]
fn within_32<V: Lanes>(x: V) -> V {
    let number = V::either(x.equals(x), x, V::number(0.0));
    number.at_least(V::number(f64::from(i32::MIN))).at_most(V::number(f64::from(i32::MAX)))
}

/// Where singles are too large for `i32`. What is outside becomes the smallest integer with the instruction.
#[inline(always)]
fn above_32<V: Lanes>(x: V) -> V::Mask {
    V::number(-f64::from(i32::MIN)).less_or_equal(x)
}

/// Integers of doubles; what is outside becomes the smallest integer with the instruction.
#[inline(always)]
fn saturated_64(x: Wide64) -> __m512i {
    let above = Lanes::less_or_equal(<Wide64 as Lanes>::of(-(i64::MIN as f64)), x);
    // SAFETY: there is such a register, so that the machine has the instructions.
    unsafe {
        let whole = _mm512_maskz_cvttpd_epi64(Lanes::equals(x, x), x.0);
        _mm512_mask_mov_epi64(whole, above, _mm512_set1_epi64(i64::MAX))
    }
}

floats!(Wide64 of f64, mask __mmask8: |sum| total_f64(_mm256_add_pd(_mm512_castpd512_pd256(sum), _mm512_extractf64x4_pd::<1>(sum)));
    { masked_rest!(f64, u8, _mm512_mask_loadu_pd); } |x, to|
    F32 => put(_mm512_cvtpd_ps(x.0), to, 0);
    I32 => put(_mm512_cvttpd_epi32(within_32(x).0), to, 0);
    I64 => put(saturated_64(x), to, 0);
);
floats!(Wide32 of f32, mask __mmask16: |sum| total_f32(_mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps::<1>(sum)));
    { masked_rest!(f32, u16, _mm512_mask_loadu_ps); } |x, to|
    F64 => {
        put(_mm512_cvtps_pd(_mm512_castps512_ps256(x.0)), to, 0);
        put(_mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(x.0)), to, 1)
    };
    I32 => {
        let whole = _mm512_maskz_cvttps_epi32(Lanes::equals(x, x), x.0);
        put(_mm512_mask_mov_epi32(whole, above_32(x), _mm512_set1_epi32(i32::MAX)), to, 0)
    };
    I64 => {
        let (low, high) = (_mm512_castps512_ps256(x.0), _mm512_extractf32x8_ps::<1>(x.0));
        put(saturated_64(Wide64(_mm512_cvtps_pd(low))), to, 0);
        put(saturated_64(Wide64(_mm512_cvtps_pd(high))), to, 1)
    };
);
floats!(Half64 of f64, mask Half64: |sum| total_f64(sum); {} |x, to|
    F32 => put(_mm256_cvtpd_ps(x.0), to, 0);
    I32 => put(_mm256_cvttpd_epi32(within_32(x).0), to, 0);
);
floats!(Half32 of f32, mask Half32: |sum| total_f32(sum); {} |x, to|
    F64 => {
        put(_mm256_cvtps_pd(_mm256_castps256_ps128(x.0)), to, 0);
        put(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x.0)), to, 1)
    };
    I32 => {
        // All bits of the smallest integer the other way are the largest.
        let whole = _mm256_xor_si256(_mm256_cvttps_epi32(x.0), _mm256_castps_si256(above_32(x).0));
        put(_mm256_and_si256(whole, _mm256_castps_si256(Lanes::equals(x, x).0)), to, 0)
    };
);

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
    reversed_wide_64: __m512i = |x| _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), x);
    reversed_wide_32: __m512i =
        |x| _mm512_permutexvar_epi32(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), x);
    reversed_64: __m256i = |x| _mm256_permute4x64_epi64::<0b00_01_10_11>(x);
    reversed_32: __m256i = |x| _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    reversed_8: __m256i = |x| {
        let bytes = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        _mm256_permute4x64_epi64::<0b01_00_11_10>(_mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(bytes)))
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

/// Four integers moved down, with copies of the sign above: as numbers without sign, of which negative ones have all bits the
/// other way meanwhile.
#[inline(always)]
unsafe fn moved_down_64(a: __m256i, places: __m256i) -> __m256i {
    // SAFETY: as the caller's.
    unsafe {
        let sign = _mm256_cmpgt_epi64(_mm256_setzero_si256(), a);
        _mm256_xor_si256(_mm256_srlv_epi64(_mm256_xor_si256(a, sign), places), sign)
    }
}

macro_rules! integers {
    ($name:ident: $register:ident of $t:ident; $width:literal, mask $mask:ty;
     $splat:ident, $reversed:ident, $times:ident, $up:ident, $down:ident; |$a:ident, $b:ident| less: $less:expr, equals: $equals:expr;
     |$which:ident, $yes:ident, $no:ident| $either:expr; { $($rest:tt)* } $($conversions:tt)*) => {
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
            $($rest)*
            #[inline(always)]
            fn reversed(self) -> Self {
                // SAFETY: as above.
                $name(unsafe { $reversed(self.0) })
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                Bits::plus(self, other)
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
                Bits::plus(self.times(factor), term)
            }
            #[inline(always)]
            fn unary(row: Unary, x: Self) -> Option<Self> {
                unary_of_integers(row, x)
            }
            #[inline(always)]
            fn binary(row: Binary, a: Self, b: Self) -> Option<Self> {
                binary_of_integers(row, a, b)
            }
            conversions! { $($conversions)* }
        }

        impl Integers for $name {
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                // SAFETY: as above.
                $name(unsafe { $times(self.0, other.0) })
            }
            #[inline(always)]
            fn moved_up(self, places: Self) -> Self {
                // SAFETY: as above.
                $name(unsafe { $up(self.0, places.0) })
            }
            #[inline(always)]
            fn moved_down(self, places: Self) -> Self {
                // SAFETY: as above.
                $name(unsafe { $down(self.0, places.0) })
            }
        }
    };
}

integers!(
    BitsWide64: __m512i of i64; 8, mask __mmask8;
    _mm512_set1_epi64, reversed_wide_64, _mm512_mullo_epi64, _mm512_sllv_epi64, _mm512_srav_epi64;
    |a, b| less: _mm512_cmplt_epi64_mask(a, b), equals: _mm512_cmpeq_epi64_mask(a, b);
    |mask, yes, no| _mm512_mask_blend_epi64(mask, no.0, yes.0);
    { masked_rest!(i64, u8, _mm512_mask_loadu_epi64); } |x, to|
    F32 => put(_mm512_cvtepi64_ps(x.0), to, 0);
    F64 => put(_mm512_cvtepi64_pd(x.0), to, 0);
    I32 => put(_mm512_cvtepi64_epi32(x.0), to, 0);
);
integers!(
    BitsWide32: __m512i of i32; 16, mask __mmask16;
    _mm512_set1_epi32, reversed_wide_32, _mm512_mullo_epi32, _mm512_sllv_epi32, _mm512_srav_epi32;
    |a, b| less: _mm512_cmplt_epi32_mask(a, b), equals: _mm512_cmpeq_epi32_mask(a, b);
    |mask, yes, no| _mm512_mask_blend_epi32(mask, no.0, yes.0);
    { masked_rest!(i32, u16, _mm512_mask_loadu_epi32); } |x, to|
    F32 => put(_mm512_cvtepi32_ps(x.0), to, 0);
    F64 => {
        put(_mm512_cvtepi32_pd(_mm512_castsi512_si256(x.0)), to, 0);
        put(_mm512_cvtepi32_pd(_mm512_extracti32x8_epi32::<1>(x.0)), to, 1)
    };
    I64 => {
        put(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(x.0)), to, 0);
        put(_mm512_cvtepi32_epi64(_mm512_extracti32x8_epi32::<1>(x.0)), to, 1)
    };
);
integers!(
    BitsHalf64: __m256i of i64; 4, mask Half64;
    _mm256_set1_epi64x, reversed_64, times_64, _mm256_sllv_epi64, moved_down_64;
    |a, b| less: Half64(_mm256_castsi256_pd(_mm256_cmpgt_epi64(b, a))),
        equals: Half64(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b)));
    |mask, yes, no| {
        let (yes, no) = (_mm256_castsi256_pd(yes.0), _mm256_castsi256_pd(no.0));
        _mm256_castpd_si256(_mm256_blendv_pd(no, yes, mask.0))
    };
    {} |x, to|
    I32 => {
        let even = _mm256_permutevar8x32_epi32(x.0, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
        put(_mm256_castsi256_si128(even), to, 0)
    };
);
integers!(
    BitsHalf32: __m256i of i32; 8, mask Half32;
    _mm256_set1_epi32, reversed_32, _mm256_mullo_epi32, _mm256_sllv_epi32, _mm256_srav_epi32;
    |a, b| less: Half32(_mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a))),
        equals: Half32(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)));
    |mask, yes, no| {
        let (yes, no) = (_mm256_castsi256_ps(yes.0), _mm256_castsi256_ps(no.0));
        _mm256_castps_si256(_mm256_blendv_ps(no, yes, mask.0))
    };
    {} |x, to|
    F32 => put(_mm256_cvtepi32_ps(x.0), to, 0);
    F64 => {
        put(_mm256_cvtepi32_pd(_mm256_castsi256_si128(x.0)), to, 0);
        put(_mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(x.0)), to, 1)
    };
    I64 => {
        put(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(x.0)), to, 0);
        put(_mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(x.0)), to, 1)
    };
);

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
    #[inline(always)]
    fn any(self) -> bool {
        // SAFETY: as above.
        unsafe { _mm256_testz_si256(self.0, self.0) == 0 }
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
        Booleans(unsafe { reversed_8(self.0) })
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
    #[inline(always)]
    fn unary(row: Unary, x: Self) -> Option<Self> {
        match row {
            Unary::Not => Some(x.not()),
            _ => None,
        }
    }
    #[inline(always)]
    fn binary(row: Binary, a: Self, b: Self) -> Option<Self> {
        match row {
            Binary::And => Some(a.and(b)),
            Binary::Or => Some(a.or(b)),
            Binary::Xor => Some(a.differs(b)),
            _ => None,
        }
    }
    conversions! {}
}

macro_rules! vectorised {
    ($($t:ident: $wide:ident, $half:ident;)*) => {
        $(impl Vectorised for $t {
            type Wide = $wide;
            type Half = $half;
        })*
    };
}

vectorised! {
    f32: Wide32, Half32;
    f64: Wide64, Half64;
    i32: BitsWide32, BitsHalf32;
    i64: BitsWide64, BitsHalf64;
    bool: Booleans, Booleans;
}

//! Registers of elements that are each of another matrix.

use super::lanes::{Half32, Half64, Lanes, Register, Wide32, Wide64};
use super::level::Avx2;
use crate::array::matrix::Vector;
use std::arch::x86_64::*;

macro_rules! vectors {
    ($($name:ident of $t:ident: |$a:ident, $b:ident| $zipped:expr;)*) => {$(
        impl Vector<$t> for $name {
            const LANES: usize = <$name as Register>::WIDTH;

            #[inline(always)]
            fn all(x: $t) -> $name {
                <$name as Lanes>::of(x)
            }
            #[inline(always)]
            fn read(from: &[$t]) -> $name {
                let from = &from[..<$name as Register>::WIDTH];
                // SAFETY: there are so many elements.
                unsafe { <$name as Register>::load(from.as_ptr()) }
            }
            #[inline(always)]
            fn write(self, to: &mut [$t]) {
                let to = &mut to[..<$name as Register>::WIDTH];
                // SAFETY: there are so many elements.
                unsafe { <$name as Register>::store(self, to.as_mut_ptr()) };
            }
            #[inline(always)]
            fn minus_product(self, y: $name, z: $name) -> $name {
                // Both levels of instructions have it as one.
                <$name as Lanes>::times_plus::<Avx2>(-y, z, self)
            }
            #[inline(always)]
            fn root(self) -> $name {
                <$name as Lanes>::root(self)
            }
            #[inline(always)]
            fn magnitude(self) -> $name {
                <$name as Lanes>::size(self)
            }
            #[inline(always)]
            fn if_greater(self, other: $name, yes: $name, no: $name) -> $name {
                <$name as Lanes>::either(<$name as Lanes>::greater(self, other), yes, no)
            }
            #[inline(always)]
            fn if_equal(self, other: $name, yes: $name, no: $name) -> $name {
                <$name as Lanes>::either(<$name as Lanes>::equals(self, other), yes, no)
            }
            #[inline(always)]
            fn zip(self, other: $name) -> [$name; 2] {
                let ($a, $b) = (self.0, other.0);
                // SAFETY: values of this type are made only where the machine has its instructions.
                let [first, second] = unsafe { $zipped };
                // Maps of arrays are functions of their own, without the instructions.
                [$name(first), $name(second)]
            }
        }
    )*};
}

vectors! {
    Wide64 of f64: |a, b| [
        _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b),
        _mm512_permutex2var_pd(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b),
    ];
    Wide32 of f32: |a, b| [
        _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), b),
        _mm512_permutex2var_ps(a, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), b),
    ];
    Half64 of f64: |a, b| {
        let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        [_mm256_permute2f128_pd::<0x20>(even, odd), _mm256_permute2f128_pd::<0x31>(even, odd)]
    };
    Half32 of f32: |a, b| {
        let (even, odd) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        [_mm256_permute2f128_ps::<0x20>(even, odd), _mm256_permute2f128_ps::<0x31>(even, odd)]
    };
}

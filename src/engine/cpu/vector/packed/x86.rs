//! Registers of elements, with the instructions of AVX2, and those of 64 bytes with AVX-512.

use super::Vectorised;
use crate::engine::cpu::elements::store;
use crate::engine::cpu::vector::lanes::{BitsHalf32, BitsHalf64, Half32, Half64};
use booleans::Booleans;

/// The conversions with instructions; each writes its result.
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

// Their macros are those above.
mod booleans;
mod floats;
mod integers;

/// Writes a register to a place of any alignment, which is counted in registers.
#[inline(always)]
unsafe fn put<R: Copy>(register: R, to: *mut u8, place: usize) {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Unaligned<R>(R);
    // SAFETY: the caller promises room; the type has no alignment.
    unsafe { store(to.cast::<Unaligned<R>>().wrapping_add(place), Unaligned(register)) };
}

macro_rules! vectorised {
    ($($t:ident: $half:ident;)*) => {
        $(impl Vectorised for $t {
            type Half = $half;
        })*
    };
}

vectorised! {
    f32: Half32;
    f64: Half64;
    i32: BitsHalf32;
    i64: BitsHalf64;
    bool: Booleans;
}

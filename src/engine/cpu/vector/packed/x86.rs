//! Registers of elements, with the instructions of AVX2, and those of 64 bytes with AVX-512.

use super::Vectorised;
use crate::engine::cpu::vector::lanes::{BitsHalf32, BitsHalf64, Half32, Half64};
use booleans::Booleans;

mod booleans;
mod floats;
mod integers;

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

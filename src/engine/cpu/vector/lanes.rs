//! Registers of floats, which [formulas](crate::elementary) are computed in, and levels of instructions.
//!
//! Formulas have no closures: these are functions of their own, compiled without the instructions of the registers, unless a
//! compiler finds them small enough to inline.

#[cfg(target_arch = "x86_64")]
mod x86;

pub(in crate::engine::cpu) use crate::elementary::lanes::{LaneBits, Lanes, Mask, Real, Rounding};
#[cfg(target_arch = "x86_64")]
pub(in crate::engine::cpu) use x86::{BitsHalf32, BitsHalf64, Half32, Half64, Wide32, Wide64};

use super::Instructions;
use crate::array::ElementType;
use crate::engine::cpu::elements::{load, store};

/// Answers that can be looked at.
pub(in crate::engine::cpu) trait Known: Mask {
    /// Whether it is so for any element.
    fn any(self) -> bool;
}

impl Known for bool {
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
}

/// One float, or a register of floats, in memory and out of it.
///
/// Registers are used only where the machine has their instructions.
pub(in crate::engine::cpu) trait Register: Lanes<Mask: Known> {
    /// How many elements there are.
    const WIDTH: usize;

    /// The elements from a place on.
    ///
    /// # Safety
    ///
    /// There are so many valid elements.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Writes the elements from a place on.
    ///
    /// # Safety
    ///
    /// There is room for so many.
    unsafe fn store(self, to: *mut Self::Element);
}

/// A float type with its registers.
pub(in crate::engine::cpu) trait Registers: Real + Product + Register {
    /// Registers of 32 bytes.
    type Half: Register<Element = Self>;
}

macro_rules! float {
    ($t:ident, $half:ident) => {
        impl Register for $t {
            const WIDTH: usize = 1;
            #[inline(always)]
            unsafe fn load(from: *const $t) -> $t {
                // SAFETY: as the caller's.
                unsafe { load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: as the caller's.
                unsafe { store(to, self) }
            }
        }

        #[cfg(target_arch = "x86_64")]
        impl Registers for $t {
            type Half = $half;
        }

        #[cfg(not(target_arch = "x86_64"))]
        impl Registers for $t {
            type Half = $t;
        }
    };
}

float!(f32, Half32);
float!(f64, Half64);

/// Facts about the instructions that a loop is compiled to.
pub(in crate::engine::cpu) trait Level: Rounding {
    /// The set of instructions.
    const INSTRUCTIONS: Instructions;
    /// Elements of the largest block, all of which are computed before one is written: some registers of them. Compilers repeat the
    /// code for each register, so blocks are smaller where most processors have wider instructions anyway.
    const BLOCK: usize;
    /// The bytes of the widest registers that loops are written for, or 0 where there are none.
    const REGISTER: usize;
    /// The widest registers of floats, or a single element where the compiler finds the vectors.
    type Half<T: Registers>: Register<Element = T>;
}

/// Elements whose products can be summed.
pub(in crate::engine::cpu) trait Product: ElementType {
    /// Whether sums are the same in any order.
    const ANY_ORDER: bool = true;

    /// This element times the factor, plus the term, with one rounding; elements other than floats are not rounded.
    #[inline(always)]
    fn fused(self, factor: Self, term: Self) -> Self {
        self.times(factor).plus(term)
    }

    /// This element times the factor, plus the term: with one rounding where the level has fused multiply-add, which
    /// without the instruction is a call.
    #[inline(always)]
    fn times_plus<L: Rounding>(self, factor: Self, term: Self) -> Self {
        if L::FUSED { self.fused(factor, term) } else { self.times(factor).plus(term) }
    }
}

impl Product for f32 {
    const ANY_ORDER: bool = false;
    #[inline(always)]
    fn fused(self, factor: f32, term: f32) -> f32 {
        self.mul_add(factor, term)
    }
}

impl Product for f64 {
    const ANY_ORDER: bool = false;
    #[inline(always)]
    fn fused(self, factor: f64, term: f64) -> f64 {
        self.mul_add(factor, term)
    }
}

impl Product for i32 {}
impl Product for i64 {}
impl Product for bool {}

//! Sets of instructions, and functions compiled for each.
//!
//! A loop is written once, as a type with an always inlined function, and compiled into one function for every set of
//! instructions: what is inlined into a function with target features is compiled with these.

use super::functions::Real;
use super::lanes::Lanes;
use super::{GatherKernel, Instructions, Kernel, RampKernel, RowsKernel, StridedKernel};
use crate::array::Scalar;

/// What a loop may know of the instructions that it is compiled to.
pub(super) trait Level {
    /// Whether a product and a sum are one instruction, with one rounding.
    const FUSED: bool;
    /// The bytes of the widest registers that loops are written for, or 0 where there are none.
    const REGISTER: usize;
    /// The widest registers of floats, or a single element where compilers are to find the vectors.
    type Wide<T: Real>: Lanes<Element = T>;
    /// Registers for the elements that are left by those.
    type Half<T: Real>: Lanes<Element = T>;
    /// Registers for the elements that are left by both.
    type Quarter<T: Real>: Lanes<Element = T>;
}

/// What every machine has.
pub(super) struct Plain;

/// Instructions of AVX2, with fused multiply-add.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

/// Instructions of AVX-512, with fused multiply-add.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx512;

impl Level for Plain {
    const FUSED: bool = false;
    const REGISTER: usize = 0;
    type Wide<T: Real> = T;
    type Half<T: Real> = T;
    type Quarter<T: Real> = T;
}

#[cfg(target_arch = "x86_64")]
impl Level for Avx2 {
    const FUSED: bool = true;
    const REGISTER: usize = 32;
    type Wide<T: Real> = T::Half;
    type Half<T: Real> = T::Half;
    type Quarter<T: Real> = T::Quarter;
}

#[cfg(target_arch = "x86_64")]
impl Level for Avx512 {
    const FUSED: bool = true;
    const REGISTER: usize = 64;
    type Wide<T: Real> = T::Wide;
    type Half<T: Real> = T::Half;
    type Quarter<T: Real> = T::Quarter;
}

/// Elements of which products are summed.
pub(super) trait Product: Scalar {
    /// Whether sums are the same in any order.
    const ANY_ORDER: bool = true;

    /// This element times the factor, plus the term, with one rounding; that of other elements than floats is none.
    #[inline(always)]
    fn fused(self, factor: Self, term: Self) -> Self {
        self.times(factor).plus(term)
    }

    /// This element times the factor, plus the term: with one rounding where the level has fused multiply-add, which
    /// without the instruction is a call.
    #[inline(always)]
    fn times_plus<L: Level>(self, factor: Self, term: Self) -> Self {
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

/// The widest instructions of this machine; every set of features in [`compiled`] is looked for in whole.
#[cfg(target_arch = "x86_64")]
pub(super) fn detect() -> Instructions {
    use std::arch::is_x86_feature_detected as has;
    let avx2 = has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
    let avx512 = has!("avx512f") && has!("avx512dq") && has!("avx512vl") && has!("avx512bw") && has!("avx512cd");
    match (avx2, avx512) {
        (true, true) => Instructions::Avx512,
        (true, false) => Instructions::Avx2,
        (false, _) => Instructions::Portable,
    }
}

/// Other architectures have their portable instructions alone.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn detect() -> Instructions {
    Instructions::Portable
}

/// A trait of loops with one signature, and the function that compiles such a loop for a set of instructions.
macro_rules! compiled {
    ($loop:ident, $function:ident, $portable:ident, $kernel:ident, ($($name:ident: $t:ty),*)) => {
        /// A loop that is compiled for each set of instructions; its implementations are always inlined.
        pub(super) trait $loop {
            /// Runs the loop.
            ///
            /// # Safety
            ///
            /// As for the kernel, and the machine has the instructions of the level.
            unsafe fn run<L: Level>($($name: $t),*);
        }

        /// The loop, compiled for what every machine has.
        #[allow(dead_code, reason = "some loops have all levels")]
        pub(super) fn $portable<B: $loop>() -> $kernel {
            unsafe fn portable<B: $loop>($($name: $t),*) {
                // SAFETY: the caller keeps the promises of the kernel; every machine has these instructions.
                unsafe { B::run::<Plain>($($name),*) }
            }
            portable::<B>
        }

        /// The loop, compiled for these instructions.
        pub(super) fn $function<B: $loop>(isa: Instructions) -> $kernel {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn avx2<B: $loop>($($name: $t),*) {
                // SAFETY: the caller keeps the promises of the kernel, which include that the machine has these.
                unsafe { B::run::<Avx2>($($name),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn avx512<B: $loop>($($name: $t),*) {
                // SAFETY: the caller keeps the promises of the kernel, which include that the machine has these.
                unsafe { B::run::<Avx512>($($name),*) }
            }
            match isa {
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512 => avx512::<B>,
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2 => avx2::<B>,
                _ => $portable::<B>(),
            }
        }
    };
}

compiled!(Loop, kernel, portable_kernel, Kernel, (result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize));
compiled!(
    StridedLoop,
    strided_kernel, portable_strided_kernel,
    StridedKernel,
    (result: *mut u8, result_stride: isize, a: *const u8, a_stride: isize, count: usize)
);
compiled!(
    RowsLoop,
    rows_kernel, portable_rows_kernel,
    RowsKernel,
    (result: (*mut u8, isize), a: (*const u8, isize), b: (*const u8, isize), rows: usize, count: usize)
);
compiled!(RampLoop, ramp_kernel, portable_ramp_kernel, RampKernel, (result: *mut i64, start: i64, step: i64, count: usize));
compiled!(
    GatherLoop,
    gather_kernel, portable_gather_kernel,
    GatherKernel,
    (result: *mut u8, source: *const u8, stride: isize, index: *const i64, extent: i64, count: usize)
);

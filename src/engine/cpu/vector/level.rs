//! Sets of instructions, and functions compiled for each.
//!
//! A loop is written once, as a type with an always inlined function, and compiled into one function for every set of
//! instructions: code that is inlined into a function with target features is compiled with these.

use super::lanes::{Level, Registers, Rounding};
use super::masked::Masks;
use super::{
    CopyingKernel, GatherKernel, Instructions, MaskedKernel, RampKernel, RowsKernel, StridedKernel, USES_REGISTERS,
    VectorKernel,
};

/// Elements of a block at most.
pub(super) const LARGEST_BLOCK: usize = 32;

/// Instructions of every machine.
pub(super) struct Plain;

/// Instructions of AVX2, with fused multiply-add.
#[cfg(target_arch = "x86_64")]
pub(in crate::engine::cpu) struct Avx2;

impl Rounding for Plain {
    const FUSED: bool = false;
}

impl Level for Plain {
    const INSTRUCTIONS: Instructions = Instructions::Portable;
    const BLOCK: usize = 8;
    const REGISTER: usize = 0;
    type Half<T: Registers> = T;
}

#[cfg(target_arch = "x86_64")]
impl Rounding for Avx2 {
    const FUSED: bool = true;
}

#[cfg(target_arch = "x86_64")]
impl Level for Avx2 {
    const INSTRUCTIONS: Instructions = Instructions::Avx2;
    const BLOCK: usize = LARGEST_BLOCK;
    const REGISTER: usize = 32;
    type Half<T: Registers> = T::Half;
}

/// The widest instructions of this machine that the environment does not forbid.
///
/// # Panics
///
/// When the environment names instructions that are unknown.
pub(super) fn detect() -> Instructions {
    let limit = std::env::var_os("DELTARAY_INSTRUCTIONS").unwrap_or_default();
    let most = match limit.to_str() {
        Some("portable") => Instructions::Portable,
        Some("avx2") => Instructions::Avx2,
        Some("avx512" | "") => Instructions::Avx512,
        _ => panic!("DELTARAY_INSTRUCTIONS is {limit:?}, which is none of `portable`, `avx2` and `avx512`"),
    };
    of_machine().min(most)
}

/// The widest instructions of this machine; every set of features in [`compiled`] is looked for in whole.
#[cfg(target_arch = "x86_64")]
fn of_machine() -> Instructions {
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
fn of_machine() -> Instructions {
    Instructions::Portable
}

/// A trait of loops with one signature, and the function that compiles such a loop for a set of instructions.
macro_rules! compiled {
    ($(#[$attribute:meta])* $loop:ident, $function:ident, $kernel:ident, ($($name:ident: $t:ty),*)) => {
        /// A loop that is compiled for each set of instructions; its implementations are always inlined.
        pub(super) trait $loop {
            /// Whether it is compiled for more than what every machine has. Machine code runs instead of nearly all kernels, so
            /// that loops over integers, whose results are the same with all instructions, make do with one; their sums do not.
            const HAS_LEVELS: bool = true;

            /// Runs the loop.
            ///
            /// # Safety
            ///
            /// As for the kernel, and the machine has the instructions of the level.
            unsafe fn run<L: Level>($($name: $t),*);
        }

        /// The loops, compiled.
        mod $function {
            use super::*;

            #[inline(never)]
            pub(super) unsafe fn portable<B: $loop>($($name: $t),*) {
                // SAFETY: the caller keeps the promises of the kernel; every machine has these instructions.
                unsafe { B::run::<Plain>($($name),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            #[inline(never)]
            pub(super) unsafe fn avx2<B: $loop>($($name: $t),*) {
                // SAFETY: the caller keeps the promises of the kernel, which include that the machine has these.
                unsafe { B::run::<Avx2>($($name),*) }
            }
        }

        /// The loop, compiled for these instructions, or for what every machine has. Without optimisation no loop is made of
        /// vectors, so that one for all machines is enough.
        $(#[$attribute])*
        pub(super) fn $function<B: $loop>(isa: Instructions) -> $kernel {
            match isa {
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512 | Instructions::Avx2 if const { USES_REGISTERS && B::HAS_LEVELS } => $function::avx2::<B>,
                _ => $function::portable::<B>,
            }
        }
    };
    ($(#[$attribute:meta])* $loop:ident, $function:ident, $kernel:ident, ($($name:ident: $t:ty),*), called by $call:ident) => {
        compiled!($(#[$attribute])* $loop, $function, $kernel, ($($name: $t),*));

        /// Calls the loop, as it is compiled for the level. A call through the kernel's pointer would be inlined: the compiler marks
        /// calls, not functions, where functions have instructions of their own.
        ///
        /// # Safety
        ///
        /// As for the kernel, and the machine has the instructions of the level.
        #[inline(always)]
        pub(super) unsafe fn $call<B: $loop, L: Level>($($name: $t),*) {
            // SAFETY: as the caller's.
            unsafe {
                match L::INSTRUCTIONS {
                    #[cfg(target_arch = "x86_64")]
                    Instructions::Avx512 | Instructions::Avx2 if const { USES_REGISTERS && B::HAS_LEVELS } => {
                        $function::avx2::<B>($($name),*)
                    }
                    _ => $function::portable::<B>($($name),*),
                }
            }
        }
    };
}

compiled!(
    Loop,
    kernel,
    VectorKernel,
    (result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize)
);
compiled!(
    MaskedLoop,
    masked_kernel,
    MaskedKernel,
    (result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize, masks: Masks),
    called by call_masked
);
compiled!(
    #[allow(dead_code, reason = "it is called, never pointed at")]
    CopyingLoop,
    copying_kernel,
    CopyingKernel,
    (run: MaskedKernel, result: *mut u8, a: *const u8, b: *const u8, c: *const u8, count: usize),
    called by call_copying
);
compiled!(
    StridedLoop,
    strided_kernel,
    StridedKernel,
    (result: *mut u8, result_stride: isize, a: *const u8, a_stride: isize, count: usize)
);
compiled!(
    RowsLoop,
    rows_kernel,
    RowsKernel,
    (result: (*mut u8, isize), a: (*const u8, isize), b: (*const u8, isize), rows: usize, count: usize)
);
compiled!(RampLoop, ramp_kernel, RampKernel, (result: *mut i64, start: i64, step: i64, count: usize));
compiled!(
    GatherLoop,
    gather_kernel,
    GatherKernel,
    (result: *mut u8, source: *const u8, stride: isize, index: *const i64, extent: i64, count: usize)
);

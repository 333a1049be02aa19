//! Kernels that are compiled for several sets of instructions; a call takes the widest one that the machine has.

/// Operations of a kernel that depend on the instructions it is compiled to.
pub(crate) trait Machine {
    /// A product and a sum: with one rounding if that is one instruction; otherwise it would be a slow call.
    fn fused(a: f64, b: f64, c: f64) -> f64;
    /// The same in single precision.
    fn fused_single(a: f32, b: f32, c: f32) -> f32;
}

/// Instructions of every machine.
pub(crate) struct Plain;

/// Instructions with fused multiply-add.
pub(crate) struct Fused;

impl Machine for Plain {
    #[inline(always)]
    fn fused(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }

    #[inline(always)]
    fn fused_single(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

impl Machine for Fused {
    #[inline(always)]
    fn fused(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn fused_single(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// Makes a public function of a kernel, which is always inlined and so compiled once for each set of instructions.
macro_rules! compiled {
    (
        $(#[$documentation:meta])*
        pub fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty = $kernel:ident;
    ) => {
        $(#[$documentation])*
        pub fn $name($($argument: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma")]
                fn avx512($($argument: $type),*) -> $result {
                    $kernel::<$crate::machine::Fused>($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($argument: $type),*) -> $result {
                    $kernel::<$crate::machine::Fused>($($argument),*)
                }
                use std::arch::is_x86_feature_detected as has;
                if has!("avx2") && has!("fma") {
                    let wide = has!("avx512f") && has!("avx512dq") && has!("avx512vl");
                    if wide && has!("avx512bw") && has!("avx512cd") {
                        // SAFETY: the machine has all of these instructions, which was just asked.
                        return unsafe { avx512($($argument),*) };
                    }
                    // SAFETY: the machine has both of these sets of instructions, which was just asked.
                    return unsafe { avx2($($argument),*) };
                }
            }
            $kernel::<$crate::machine::Plain>($($argument),*)
        }
    };
}

pub(crate) use compiled;

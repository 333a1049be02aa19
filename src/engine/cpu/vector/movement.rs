//! Kernels that move elements and compute none. Elements of one size are moved by one kernel, whatever their type.

use super::elementwise::{ByPosition, fill as fill_blocks};
use super::level::{GatherLoop, Level, Loop, RampLoop, StridedLoop};
use super::level::{gather_kernel, kernel, ramp_kernel, strided_kernel};
use super::{GatherKernel, Instructions, Kernel, RampKernel, StridedKernel};
use crate::engine::cpu::elements::{load, store};
use crate::shape::DType;
use std::marker::PhantomData;

/// Evaluates to an expression in which the name stands for an integer type of the element type's size.
macro_rules! for_size {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype.bytes() {
            1 => {
                type $T = u8;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            _ => {
                type $T = u64;
                $body
            }
        }
    };
}

/// Copies a run of elements of one size.
unsafe fn copy_run<T: Copy>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
    // SAFETY: the caller promises elements and room; the ranges may be the same.
    unsafe { std::ptr::copy(a.cast::<T>(), result.cast::<T>(), count) };
}

/// The kernel of a copy.
pub(super) fn copy(dtype: DType) -> Kernel {
    for_size!(dtype, T => copy_run::<T>)
}

struct Fill<T>(PhantomData<T>);

impl<T: Copy> Loop for Fill<T> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: the caller promises one element of the operand, and room for `count`.
        unsafe {
            let element = load(a.cast::<T>());
            fill_blocks(
                result.cast(),
                count,
                ByPosition(
                    #[inline(always)]
                    |_| element,
                ),
            );
        }
    }
}

/// The kernel of a repeated element.
pub(super) fn fill(isa: Instructions, dtype: DType) -> Kernel {
    for_size!(dtype, T => kernel::<Fill<T>>(isa))
}

struct StridedCopy<T>(PhantomData<T>);

impl<T: Copy> StridedLoop for StridedCopy<T> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, result_stride: isize, a: *const u8, a_stride: isize, count: usize) {
        let size = size_of::<T>() as isize;
        // SAFETY: the caller promises elements and room at these distances. Loops whose distances the compiler knows are
        // made of vectors.
        unsafe {
            let (to, from) = (result.cast::<T>(), a.cast::<T>());
            if result_stride != size {
                let (mut to, mut from) = (result, a);
                for _ in 0..count {
                    store(to.cast::<T>(), load(from.cast::<T>()));
                    (to, from) = (to.wrapping_offset(result_stride), from.wrapping_offset(a_stride));
                }
            } else if a_stride == size {
                std::ptr::copy_nonoverlapping(from, to, count);
            } else if a_stride == -size {
                fill_blocks(
                    to,
                    count,
                    ByPosition(
                        #[inline(always)]
                        |at| load(from.wrapping_sub(at)),
                    ),
                );
            } else if a_stride == 0 && count > 0 {
                let element = load(from);
                fill_blocks(
                    to,
                    count,
                    ByPosition(
                        #[inline(always)]
                        |_| element,
                    ),
                );
            } else {
                let mut from = a;
                for at in 0..count {
                    store(to.wrapping_add(at), load(from.cast::<T>()));
                    from = from.wrapping_offset(a_stride);
                }
            }
        }
    }
}

/// The kernel of a copy at distances.
pub(super) fn strided_copy(isa: Instructions, dtype: DType) -> StridedKernel {
    for_size!(dtype, T => strided_kernel::<StridedCopy<T>>(isa))
}

struct Ramp;

impl RampLoop for Ramp {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut i64, start: i64, step: i64, count: usize) {
        // SAFETY: the caller promises room for `count` elements.
        unsafe {
            let number = ByPosition(
                #[inline(always)]
                |at| start.wrapping_add(step.wrapping_mul(at as i64)),
            );
            fill_blocks(result, count, number);
        }
    }
}

/// The kernel of numbers at regular distances.
pub(super) fn ramp(isa: Instructions) -> RampKernel {
    ramp_kernel::<Ramp>(isa)
}

struct Gather<T>(PhantomData<T>);

impl<T: Copy + Default> GatherLoop for Gather<T> {
    #[inline(always)]
    unsafe fn run<L: Level>(
        result: *mut u8,
        source: *const u8,
        stride: isize,
        index: *const i64,
        extent: i64,
        count: usize,
    ) {
        let result = result.cast::<T>();
        for at in 0..count {
            // SAFETY: the caller promises `count` positions, room for as many elements, and an element at each position
            // that is inside.
            unsafe {
                let position = load(index.wrapping_add(at));
                let inside = 0 <= position && position < extent;
                let place = source.wrapping_offset((position as isize).wrapping_mul(stride));
                let element = if inside { load(place.cast::<T>()) } else { T::default() };
                store(result.wrapping_add(at), element);
            }
        }
    }
}

/// The kernel of elements by their positions.
pub(super) fn gather(isa: Instructions, dtype: DType) -> GatherKernel {
    for_size!(dtype, T => gather_kernel::<Gather<T>>(isa))
}

//! Kernels that move elements and compute none. Elements of one size are moved by one kernel, whatever their type.

use super::blocks::{Elements, InRegisters, fill as fill_blocks};
use super::dispatch::for_size;
use super::lanes::Level;
use super::level::{GatherLoop, Loop, RampLoop, StridedLoop};
use super::level::{gather_kernel, kernel, ramp_kernel, strided_kernel};
use super::packed::{Packed, Vectorised};
use super::{GatherKernel, Instructions, RampKernel, StridedKernel, VectorKernel};
use crate::engine::cpu::elements::{counted, load, store};
use crate::shape::DType;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Copies a run of elements of one size.
unsafe fn copy_run<T: Copy>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
    // SAFETY: the caller promises elements and room; the ranges may be the same.
    unsafe { std::ptr::copy(a.cast::<T>(), result.cast::<T>(), count) };
}

/// The kernel of a copy.
pub(super) fn copy(dtype: DType) -> VectorKernel {
    for_size!(dtype, T => copy_run::<T>)
}

/// One element at every position.
struct Same<T>(T);

impl<T: Copy> Elements for Same<T> {
    type Value = T;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, _: usize) -> [MaybeUninit<T>; COUNT] {
        [MaybeUninit::new(self.0); COUNT]
    }
}

impl<T: Vectorised> InRegisters for Same<T> {
    type Element = T;
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, _: usize, to: *mut T) {
        // SAFETY: as the caller's.
        unsafe { V::repeated(self.0).store(to) };
    }
}

/// The elements before a place, the last of them first.
struct Reversed<T>(*const T);

impl<T: Copy> Elements for Reversed<T> {
    type Value = T;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<T>; COUNT] {
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            // SAFETY: as the caller's.
            values[at] = MaybeUninit::new(unsafe { load(self.0.wrapping_sub(start.wrapping_add(at).wrapping_add(1))) });
            at += 1;
        }
        values
    }
}

impl<T: Vectorised> InRegisters for Reversed<T> {
    type Element = T;
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, start: usize, to: *mut T) {
        // SAFETY: as the caller's.
        unsafe { V::load(self.0.wrapping_sub(start.wrapping_add(V::WIDTH))).reversed().store(to) };
    }
}

struct Fill<T>(PhantomData<T>);

impl<T: Vectorised> Loop for Fill<T> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: the caller promises one element of the operand, and room for `count`.
        unsafe {
            fill_blocks::<L, _>(result.cast(), count, Same(load(a.cast::<T>())));
        }
    }
}

/// The kernel of a repeated element.
pub(super) fn fill(isa: Instructions, dtype: DType) -> VectorKernel {
    for_size!(dtype, T => kernel::<Fill<T>>(isa))
}

struct StridedCopy<T>(PhantomData<T>);

impl<T: Vectorised> StridedLoop for StridedCopy<T> {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, result_stride: isize, a: *const u8, a_stride: isize, count: usize) {
        let size = size_of::<T>() as isize;
        // SAFETY: the caller promises elements and room at these distances. Loops whose distances the compiler knows are
        // made of vectors.
        unsafe {
            let (to, from) = (result.cast::<T>(), a.cast::<T>());
            if result_stride != size {
                let (mut to, mut from) = (result, a);
                counted!(_ in 0..count => {
                    store(to.cast::<T>(), load(from.cast::<T>()));
                    (to, from) = (to.wrapping_offset(result_stride), from.wrapping_offset(a_stride));
                });
            } else if a_stride == size {
                std::ptr::copy_nonoverlapping(from, to, count);
            } else if a_stride == -size {
                fill_blocks::<L, _>(to, count, Reversed(from.wrapping_add(1)));
            } else if a_stride == 0 && count > 0 {
                fill_blocks::<L, _>(to, count, Same(load(from)));
            } else {
                let mut from = a;
                counted!(at in 0..count => {
                    store(to.wrapping_add(at), load(from.cast::<T>()));
                    from = from.wrapping_offset(a_stride);
                });
            }
        }
    }
}

/// The kernel of a copy at distances.
pub(super) fn strided_copy(isa: Instructions, dtype: DType) -> StridedKernel {
    for_size!(dtype, T => strided_kernel::<StridedCopy<T>>(isa))
}

struct Ramp;

/// Numbers at regular distances: the first, the distance, and how far each of a register lies from the first of them.
struct Numbers(i64, i64, [i64; Numbers::WIDEST]);

impl Numbers {
    /// Elements of the widest register.
    const WIDEST: usize = 8;
}

impl Elements for Numbers {
    type Value = i64;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<i64>; COUNT] {
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            let place = start.wrapping_add(at) as i64;
            values[at] = MaybeUninit::new(self.0.wrapping_add(self.1.wrapping_mul(place)));
            at += 1;
        }
        values
    }
}

impl InRegisters for Numbers {
    type Element = i64;
    #[inline(always)]
    unsafe fn write<V: Packed<Element = i64>>(&self, start: usize, to: *mut i64) {
        const { assert!(V::WIDTH <= Numbers::WIDEST) };
        let first = self.0.wrapping_add(self.1.wrapping_mul(start as i64));
        // SAFETY: as the caller's; there are as many distances as elements.
        unsafe { V::repeated(first).plus(V::load(self.2.as_ptr())).store(to) };
    }
}

impl RampLoop for Ramp {
    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut i64, start: i64, step: i64, count: usize) {
        let mut distances = [0; Numbers::WIDEST];
        let mut at = 1;
        while at < Numbers::WIDEST {
            distances[at] = step.wrapping_mul(at as i64);
            at += 1;
        }
        // SAFETY: the caller promises room for `count` elements.
        unsafe { fill_blocks::<L, _>(result, count, Numbers(start, step, distances)) };
    }
}

/// The kernel of numbers at regular distances.
pub(super) fn ramp(isa: Instructions) -> RampKernel {
    ramp_kernel::<Ramp>(isa)
}

struct GatheredElements<T>(PhantomData<T>);

impl<T: Copy + Default> GatherLoop for GatheredElements<T> {
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
        counted!(at in 0..count => {
            // SAFETY: the caller promises `count` positions, room for as many elements, and an element at each position
            // that is inside.
            unsafe {
                let position = load(index.wrapping_add(at));
                let inside = 0 <= position && position < extent;
                let place = source.wrapping_offset((position as isize).wrapping_mul(stride));
                let element = if inside { load(place.cast::<T>()) } else { T::default() };
                store(result.wrapping_add(at), element);
            }
        });
    }
}

/// The kernel of elements by their positions.
pub(super) fn gather(isa: Instructions, dtype: DType) -> GatherKernel {
    for_size!(dtype, T => gather_kernel::<GatheredElements<T>>(isa))
}

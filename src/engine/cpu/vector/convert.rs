//! Kernels of conversions, and conversions of single elements in a form that the compiler vectorises.

use super::blocks::{ElementRun, Elements, InRegisters, One, Source, fill};
use super::elementwise::Chosen;
use super::lanes::{Level, Mask};
use super::level::{Loop, kernel};
use super::packed::{Answers, Packed, Vectorised};
use super::{Instructions, VectorKernel, movement};
use crate::array::ElementType;
use crate::shape::DType;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Elements that are converted to any type.
///
/// Conversions from floats to integers saturate and take NaN to 0. In the language's form they are no vector instructions, but
/// conversions of numbers in range are; results for other numbers are selected afterwards.
pub(super) trait Convert: ElementType {
    /// The element as one of another type.
    #[inline(always)]
    fn convert<U: ElementType>(self) -> U {
        self.cast()
    }
}

macro_rules! from_float {
    ($t:ident, $from:ident) => {
        impl Convert for $t {
            #[inline(always)]
            fn convert<U: ElementType>(self) -> U {
                match U::DTYPE {
                    DType::I32 => {
                        // The limits are between floats of either type, or are floats.
                        let (low, high) = (f64::from(i32::MIN), f64::from(i32::MAX));
                        let x = f64::from(self);
                        let x = if x > low { x } else { low };
                        let x = if x < high { x } else { high };
                        // SAFETY: it is neither NaN nor outside.
                        let inside: i32 = unsafe { x.to_int_unchecked() };
                        U::from_i32(if self.is_nan() { 0 } else { inside })
                    }
                    DType::I64 => {
                        // The smallest integer is a float, and the largest lies below one.
                        let (low, above) = (i64::MIN as $t, -(i64::MIN as $t));
                        let inside = self >= low && self < above;
                        // SAFETY: it is neither NaN nor outside.
                        let whole: i64 = unsafe { (if inside { self } else { 0.0 }).to_int_unchecked() };
                        let whole = if self >= above { i64::MAX } else { whole };
                        U::from_i64(if self < low { i64::MIN } else { whole })
                    }
                    _ => U::$from(self),
                }
            }
        }
    };
}

from_float!(f32, from_f32);
from_float!(f64, from_f64);

impl Convert for i32 {}
impl Convert for i64 {}

/// The loop of a conversion.
struct CastLoop<T, U>(PhantomData<(T, U)>);

impl<T: Vectorised + Convert, U: ElementType> Loop for CastLoop<T, U> {
    const HAS_LEVELS: bool = !T::ANY_ORDER;

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        // SAFETY: what the caller promises.
        unsafe { fill::<L, _>(result.cast(), count, Converted::<T, U>(ElementRun::new(a), PhantomData)) };
    }
}

/// The elements as those of another type.
struct Converted<T, U>(ElementRun<T>, PhantomData<U>);

impl<T: Convert, U: ElementType> Elements for Converted<T, U> {
    type Value = U;
    #[inline(always)]
    unsafe fn block<const COUNT: usize>(&self, start: usize) -> [MaybeUninit<U>; COUNT] {
        // SAFETY: as the caller's.
        let a = unsafe { self.0.block::<COUNT>(start) };
        let mut values = [const { MaybeUninit::uninit() }; COUNT];
        let mut at = 0;
        while at < COUNT {
            values[at] = MaybeUninit::new(a[at].convert());
            at += 1;
        }
        values
    }
}

impl<T: Vectorised + Convert, U: ElementType> InRegisters for Converted<T, U> {
    type Element = T;
    #[inline(always)]
    fn are_known<V: Packed<Element = T>>(&self) -> bool {
        matches!(U::DTYPE, DType::Bool) || V::converts(U::DTYPE)
    }
    #[inline(always)]
    unsafe fn write<V: Packed<Element = T>>(&self, start: usize, to: *mut U) {
        // SAFETY: as the caller's.
        unsafe {
            let x = self.0.packed::<V>(start);
            match U::DTYPE {
                DType::Bool => x.equals(V::repeated(T::ZERO)).not().store(to.cast()),
                dtype => x.convert(dtype, to.cast()),
            }
        }
    }
}

/// The loop of a conversion of booleans: a choice between one and zero.
struct CastBooleans<U>(PhantomData<U>);

impl<U: Vectorised> Loop for CastBooleans<U> {
    const HAS_LEVELS: bool = false;

    #[inline(always)]
    unsafe fn run<L: Level>(result: *mut u8, a: *const u8, _: *const u8, _: *const u8, count: usize) {
        let (one, zero) = (One(U::from_bool(true)), One(U::ZERO));
        // SAFETY: what the caller promises.
        unsafe { fill::<L, _>(result.cast(), count, Chosen(ElementRun::new(a), one, zero, PhantomData)) };
    }
}

/// The kernel of a conversion.
pub(super) fn cast(isa: Instructions, from: DType, to: DType) -> VectorKernel {
    macro_rules! to_each {
        ($($dtype:ident: $loop:ty,)*) => {
            match to {
                $(DType::$dtype => kernel::<$loop>(isa),)*
                _ => movement::copy(to),
            }
        };
    }
    match from {
        DType::F32 => {
            to_each!(F64: CastLoop<f32, f64>, I32: CastLoop<f32, i32>, I64: CastLoop<f32, i64>, Bool: CastLoop<f32, bool>,)
        }
        DType::F64 => {
            to_each!(F32: CastLoop<f64, f32>, I32: CastLoop<f64, i32>, I64: CastLoop<f64, i64>, Bool: CastLoop<f64, bool>,)
        }
        DType::I32 => {
            to_each!(F32: CastLoop<i32, f32>, F64: CastLoop<i32, f64>, I64: CastLoop<i32, i64>, Bool: CastLoop<i32, bool>,)
        }
        DType::I64 => {
            to_each!(F32: CastLoop<i64, f32>, F64: CastLoop<i64, f64>, I32: CastLoop<i64, i32>, Bool: CastLoop<i64, bool>,)
        }
        DType::Bool => {
            to_each!(F32: CastBooleans<f32>, F64: CastBooleans<f64>, I32: CastBooleans<i32>, I64: CastBooleans<i64>,)
        }
    }
}

//! Reads and writes at computed positions, element by element.

use super::code::AlongKernel;
use super::elements::{load, store};
use crate::algebra::Reduction;
use crate::concrete::{Arithmetic, larger, smaller};
use crate::shape::DType;

/// Runs a function for every element whose index is inside: with its place, and the other element's.
///
/// # Safety
///
/// The index has `count` elements at its distance, and the function may be called for each place and other element.
#[inline(always)]
unsafe fn each(
    place: *mut u8,
    (along, stride): (isize, isize),
    index: (*const u8, isize),
    extent: i64,
    other: (*const u8, isize),
    count: usize,
    mut f: impl FnMut(Option<*mut u8>, *const u8),
) {
    let (mut place, mut index, mut other) = (place, index, other);
    for _ in 0..count {
        // SAFETY: the index has that many elements.
        let position = unsafe { load(index.0.cast::<i64>()) };
        let inside = 0 <= position && position < extent;
        let at = place.wrapping_offset(stride.wrapping_mul(position as isize));
        f(if inside { Some(at) } else { None }, other.0);
        place = place.wrapping_offset(along);
        (index.0, other.0) = (index.0.wrapping_offset(index.1), other.0.wrapping_offset(other.1));
    }
}

/// The kernel that combines elements with those at computed positions, in their order.
pub(super) fn scatter(op: Reduction, dtype: DType) -> AlongKernel {
    macro_rules! of {
        ($combine:ident) => {
            match dtype {
                DType::F32 => $combine::<f32>,
                DType::F64 => $combine::<f64>,
                DType::I32 => $combine::<i32>,
                DType::I64 => $combine::<i64>,
                DType::Bool => $combine::<bool>,
            }
        };
    }
    match op {
        Reduction::Sum => of!(sum),
        Reduction::Max => of!(max),
        Reduction::Min => of!(min),
    }
}

macro_rules! combining {
    ($name:ident, |$a:ident, $b:ident| $result:expr) => {
        unsafe fn $name<T: Arithmetic>(
            place: *mut u8,
            along: isize,
            stride: isize,
            index: (*const u8, isize),
            extent: i64,
            value: (*const u8, isize),
            count: usize,
        ) {
            // SAFETY: as the caller's: the place holds an element for every index inside, and there is a value for each.
            unsafe {
                each(
                    place,
                    (along, stride),
                    index,
                    extent,
                    value,
                    count,
                    #[inline(always)]
                    |at, other| {
                        if let Some(at) = at {
                            let ($a, $b) = (load(at.cast::<T>()), load(other.cast::<T>()));
                            store(at.cast(), $result);
                        }
                    },
                );
            }
        }
    };
}

combining!(sum, |a, b| a.plus(b));
combining!(max, |a, b| larger(a, b));
combining!(min, |a, b| smaller(a, b));

/// The kernel that reads elements at computed positions, 0 outside.
pub(super) fn gather_along(dtype: DType) -> AlongKernel {
    match dtype {
        DType::F32 => read::<f32>,
        DType::F64 => read::<f64>,
        DType::I32 => read::<i32>,
        DType::I64 => read::<i64>,
        DType::Bool => read::<bool>,
    }
}

unsafe fn read<T: Arithmetic>(
    place: *mut u8,
    along: isize,
    stride: isize,
    index: (*const u8, isize),
    extent: i64,
    result: (*const u8, isize),
    count: usize,
) {
    // SAFETY: as the caller's: the place holds an element for every index inside, and there is room for each in the result.
    unsafe {
        each(
            place,
            (along, stride),
            index,
            extent,
            result,
            count,
            #[inline(always)]
            |at, result| {
                let element = if let Some(at) = at { load(at.cast::<T>()) } else { T::ZERO };
                store(result.cast_mut().cast(), element);
            },
        );
    }
}

//! Reads and writes at computed positions, element by element.

use super::code::AlongKernel;
use crate::algebra::Reduction;
use crate::concrete::{Arithmetic, larger, smaller};
use crate::shape::DType;

/// Runs a function for every element whose index is inside: with its place, and the other element's.
///
/// # Safety
///
/// The index has `count` elements at its distance, and the function may be called for each place and other element.
unsafe fn each(
    place: *mut u8,
    (along, stride): (isize, isize),
    index: (*const u8, isize),
    extent: i64,
    other: (*const u8, isize),
    count: usize,
    mut f: impl FnMut(Option<*mut u8>, *const u8),
) {
    for k in 0..count as isize {
        // SAFETY: the index has that many elements.
        let position = unsafe { *index.0.wrapping_offset(index.1 * k).cast::<i64>() };
        let inside = (0..extent).contains(&position);
        let at = inside.then(|| place.wrapping_offset(along * k + stride * position as isize));
        f(at, other.0.wrapping_offset(other.1 * k));
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
            let combine = |at: Option<*mut u8>, other: *const u8| {
                if let Some(at) = at {
                    // SAFETY: the caller's place holds an element for every index inside, and a value for each.
                    unsafe {
                        let at = at.cast::<T>();
                        let ($a, $b) = (*at, *other.cast::<T>());
                        *at = $result;
                    }
                }
            };
            // SAFETY: as the caller's.
            unsafe { each(place, (along, stride), index, extent, value, count, combine) };
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
    let copy = |at: Option<*mut u8>, result: *const u8| {
        // SAFETY: the caller's place holds an element for every index inside, and the result has room for each.
        unsafe { *result.cast_mut().cast::<T>() = at.map_or(T::ZERO, |at| *at.cast::<T>()) }
    };
    // SAFETY: as the caller's.
    unsafe { each(place, (along, stride), index, extent, result, count, copy) };
}

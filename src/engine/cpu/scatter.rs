//! Reads and writes at computed positions, element by element.

use super::elements::{counted, load, store};
use crate::array::{Arithmetic, larger, smaller};
use crate::kernel::StoreMode;
use crate::operation::Reduction;
use crate::shape::DType;

/// Goes over elements one by one: a place, how far it moves with each element and with each step of an index, the index
/// and its distance, its extent, other elements and their distance, and how many there are; distances in bytes.
pub(super) type AlongKernel = unsafe fn(*mut u8, isize, isize, (*const u8, isize), i64, (*const u8, isize), usize);

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
    counted!(_ in 0..count => {
        // SAFETY: the index has that many elements.
        let position = unsafe { load(index.0.cast::<i64>()) };
        let inside = 0 <= position && position < extent;
        let at = place.wrapping_offset(stride.wrapping_mul(position as isize));
        f(if inside { Some(at) } else { None }, other.0);
        place = place.wrapping_offset(along);
        (index.0, other.0) = (index.0.wrapping_offset(index.1), other.0.wrapping_offset(other.1));
    });
}

/// The kernel that writes elements at computed positions, or combines them with those there, in their order.
pub(super) fn scatter(mode: StoreMode, dtype: DType) -> AlongKernel {
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
    match mode {
        StoreMode::Write => of!(set),
        StoreMode::Reduce(Reduction::Sum) => of!(sum),
        StoreMode::Reduce(Reduction::Max) => of!(max),
        StoreMode::Reduce(Reduction::Min) => of!(min),
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

combining!(set, |_a, b| b);
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

/// Bytes of a row that are copied here; more are worth a call.
const SHORT: usize = 256;

/// Copies a row in pieces of one size; the last may overlap the one before.
///
/// # Safety
///
/// Both have `bytes` of room, no fewer than a piece, and do not overlap.
#[inline(always)]
unsafe fn copy_pieces<const PIECE: usize>(to: *mut u8, from: *const u8, bytes: usize) {
    let (last, mut at) = (bytes.wrapping_sub(PIECE), 0);
    // SAFETY: as the caller's.
    unsafe {
        while at < last {
            store(to.wrapping_add(at).cast(), load(from.wrapping_add(at).cast::<[u8; PIECE]>()));
            at = at.wrapping_add(PIECE);
        }
        store(to.wrapping_add(last).cast(), load(from.wrapping_add(last).cast::<[u8; PIECE]>()));
    }
}

/// Copies a row.
///
/// # Safety
///
/// Both have `bytes` of room, and do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_row(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: as the caller's.
    unsafe {
        match bytes {
            SHORT.. => std::ptr::copy_nonoverlapping(from, to, bytes),
            32.. => copy_pieces::<32>(to, from, bytes),
            8.. => copy_pieces::<8>(to, from, bytes),
            4.. => copy_pieces::<4>(to, from, bytes),
            1.. => copy_pieces::<1>(to, from, bytes),
            0 => {}
        }
    }
}

/// Copies the row at each position: the result and the source with the bytes that they move by for each, and of the source
/// those that a step of the index goes on by; the index and its distance, its extent, and the bytes of a row. Outside, all are
/// zeros.
///
/// # Safety
///
/// The index has `count` elements at its distance, the source has a row for each of them that is inside, the result has room
/// for all, and overlaps neither.
pub(super) unsafe fn copy_rows(
    (mut to, along): (*mut u8, isize),
    (mut from, step, stride): (*const u8, isize, isize),
    (mut index, distance): (*const i64, isize),
    extent: i64,
    bytes: usize,
    count: usize,
) {
    counted!(_ in 0..count => {
        // SAFETY: as the caller's.
        unsafe {
            let position = load(index);
            if 0 <= position && position < extent {
                let row = from.wrapping_offset(stride.wrapping_mul(position as isize));
                copy_row(to, row, bytes);
            } else {
                std::ptr::write_bytes(to, 0, bytes);
            }
        }
        (to, from) = (to.wrapping_offset(along), from.wrapping_offset(step));
        index = index.wrapping_byte_offset(distance);
    });
}

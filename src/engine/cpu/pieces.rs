//! Rows at computed positions for a vector axis that goes through them one after the other: a tile has pieces of them.

use super::elements::{counted, load, store};
use super::scatter::copy_row;
use super::slot::Slot;
use super::vector::{RowsKernel, VectorKernel};
use crate::engine::arrays::repeat;
use crate::shape::DType;

/// Reads pieces of rows at computed positions, zeros where these are outside, or combines elements with such pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPieces {
    /// The kernel that combines the elements, unless they are only read.
    pub(super) combine: Option<VectorKernel>,
    /// The adjacent elements of a tile.
    pub(super) elements: Slot,
    /// The row at position 0, and the distance between rows in bytes.
    pub(super) rows: (Slot, isize),
    /// The position of the first row, and the distance between positions in bytes.
    pub(super) index: (Slot, isize),
    pub(super) extent: i64,
    /// The elements of a row, and the bytes of one of them.
    pub(super) row: usize,
    pub(super) width: usize,
}

/// Copies rows that do not begin where the ones before them end to a tile that goes through them one after the other, or from
/// there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Broken {
    pub(super) run: BrokenKernel,
    pub(super) tile: Slot,
    /// The first row.
    pub(super) rows: Slot,
    /// The bytes from element to element, and from row to row.
    pub(super) strides: [isize; 2],
    /// The elements of a row.
    pub(super) row: usize,
}

/// Copies so many elements from one of these on: a tile, the first row, and the last three as in [`Broken`].
///
/// # Safety
///
/// There are elements, or room, for as many in the tile, and at their places in the rows; these overlap only where they are the
/// same.
pub(super) type BrokenKernel = unsafe fn(*mut u8, *mut u8, [isize; 2], usize, usize, usize);

/// Combines the elements of a tile that goes through consecutive rows: the elements of each row into one element, or all rows
/// into one.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReducedRows {
    pub(super) run: RowsKernel,
    pub(super) tile: Slot,
    /// The place of the first row's result, and the distance between results in bytes; 0 if it is the same row.
    pub(super) result: (Slot, isize),
    /// The elements of a row, and its bytes.
    pub(super) row: usize,
    pub(super) bytes: usize,
}

/// The kernel that reads rows, or writes them.
pub(super) fn broken(dtype: DType, writes: bool) -> BrokenKernel {
    match (dtype.bytes(), writes) {
        (1, false) => read::<u8>,
        (1, true) => write::<u8>,
        (4, false) => read::<u32>,
        (4, true) => write::<u32>,
        (_, false) => read::<u64>,
        (_, true) => write::<u64>,
    }
}

/// Goes through pieces of rows: where each is in the tile and in the rows, and its elements.
#[inline(always)]
fn each_piece<T>(
    (tile, rows): (*mut u8, *mut u8),
    [along, across]: [isize; 2],
    row: usize,
    (first, count): (usize, usize),
    mut f: impl FnMut(*mut T, *mut T, usize),
) {
    let (mut to, mut left, mut done) = (tile.cast::<T>(), count, first % row);
    let mut from = rows.wrapping_offset(across.wrapping_mul((first / row) as isize));
    while left > 0 {
        let length = row.wrapping_sub(done).min(left);
        f(to, from.wrapping_offset(along.wrapping_mul(done as isize)).cast(), length);
        (to, from) = (to.wrapping_add(length), from.wrapping_offset(across));
        (left, done) = (left.wrapping_sub(length), 0);
    }
}

unsafe fn read<T: Copy>(tile: *mut u8, rows: *mut u8, strides: [isize; 2], row: usize, first: usize, count: usize) {
    let size = size_of::<T>();
    let [along, across] = strides;
    // SAFETY: as the caller's.
    unsafe {
        if along == size as isize && across == 0 {
            // The same row again and again.
            each_piece::<T>((tile, rows), strides, row, (first, row.min(count)), |to, from, length| {
                copy_row(to.cast(), from.cast(), length.wrapping_mul(size));
            });
            repeat(tile.cast::<T>(), row, count);
        } else if along == size as isize {
            each_piece::<T>((tile, rows), strides, row, (first, count), |to, from, length| {
                copy_row(to.cast(), from.cast(), length.wrapping_mul(size));
            });
        } else if along == 0 {
            each_piece::<T>((tile, rows), strides, row, (first, count), |to, from, length| {
                let x = load(from);
                counted!(k in 0..length => {
                    store(to.wrapping_add(k), x);
                });
            });
        } else {
            each_piece::<T>((tile, rows), strides, row, (first, count), |to, from, length| {
                let mut from = from;
                counted!(k in 0..length => {
                    store(to.wrapping_add(k), load(from));
                    from = from.wrapping_byte_offset(along);
                });
            });
        }
    }
}

unsafe fn write<T: Copy>(tile: *mut u8, rows: *mut u8, strides: [isize; 2], row: usize, first: usize, count: usize) {
    let [along, _] = strides;
    // SAFETY: as the caller's.
    unsafe {
        if along == size_of::<T>() as isize {
            each_piece::<T>((tile, rows), strides, row, (first, count), |from, to, length| {
                copy_row(to.cast(), from.cast(), length.wrapping_mul(size_of::<T>()));
            });
        } else {
            each_piece::<T>((tile, rows), strides, row, (first, count), |from, to, length| {
                let mut to = to;
                counted!(k in 0..length => {
                    store(to, load(from.wrapping_add(k)));
                    to = to.wrapping_byte_offset(along);
                });
            });
        }
    }
}

impl RowPieces {
    /// Goes through `count` elements of the vector axis, from this one on.
    ///
    /// # Safety
    ///
    /// There is room for the elements, a position for the row of each, and a row for each position that is inside; rows and
    /// elements do not overlap.
    pub(super) unsafe fn run(
        &self,
        first: usize,
        count: usize,
        mut elements: *mut u8,
        rows: *mut u8,
        mut index: *const i64,
    ) {
        let (mut done, mut left) = (first % self.row, count);
        index = index.wrapping_byte_offset(self.index.1.wrapping_mul((first / self.row) as isize));
        while left > 0 {
            let length = self.row.wrapping_sub(done).min(left);
            let bytes = length.wrapping_mul(self.width);
            // SAFETY: as the caller's.
            unsafe {
                let position = load(index);
                if 0 <= position && position < self.extent {
                    let row = rows.wrapping_offset(self.rows.1.wrapping_mul(position as isize));
                    let piece = row.wrapping_add(done.wrapping_mul(self.width));
                    match self.combine {
                        Some(run) => run(piece, piece, elements, elements, length),
                        None => copy_row(elements, piece, bytes),
                    }
                } else if self.combine.is_none() {
                    std::ptr::write_bytes(elements, 0, bytes);
                }
            }
            elements = elements.wrapping_add(bytes);
            index = index.wrapping_byte_offset(self.index.1);
            (done, left) = (0, left.wrapping_sub(length));
        }
    }
}

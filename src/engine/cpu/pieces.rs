//! Rows at computed positions for a vector axis that goes through them one after the other: a tile has pieces of them.

use super::code::Slot;
use super::elements::load;
use super::scatter::copy_row;
use super::vector::Kernel;

/// Reads pieces of rows at computed positions, zeros where these are outside, or combines elements with such pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    /// The kernel that combines, of what is not read.
    pub(super) combine: Option<Kernel>,
    /// The elements of a tile, which are next to each other.
    pub(super) elements: Slot,
    /// The row at position 0, and the bytes from each to the next.
    pub(super) rows: (Slot, isize),
    /// The position of the first row, and the bytes from each to the next.
    pub(super) index: (Slot, isize),
    pub(super) extent: i64,
    /// The elements of a row, and the bytes of one of them.
    pub(super) row: usize,
    pub(super) width: usize,
}

impl Pieces {
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

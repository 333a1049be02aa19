//! Two operands, of which either may be one element for all positions.
//!
//! A loop for each kind of operand would be four times the code. Instead one loop reads each operand at its position under a
//! mask: all bits of a run's position, none of the other kind's, which are copies of the one element that fill a block.

/// The masks of a loop's two operands, as bits: whether the first is a run, and whether the second is.
#[derive(Clone, Copy)]
pub(super) struct Masks(usize);

impl Masks {
    /// Those of operands that are runs where this says so.
    #[inline(always)]
    pub(super) const fn of_runs(first: bool, second: bool) -> Masks {
        Masks(first as usize | (second as usize) << 1)
    }

    /// Those of the two operands, which begin at these places.
    #[inline(always)]
    pub(super) fn of<T>(self, first: *const u8, second: *const u8) -> (MaskedRun<T>, MaskedRun<T>) {
        let mask = |bit: usize| 0usize.wrapping_sub(self.0 >> bit & 1);
        (MaskedRun(first.cast(), mask(0)), MaskedRun(second.cast(), mask(1)))
    }
}

/// A run, or a block of copies of one element, which is read for every block.
pub(super) struct MaskedRun<T>(*const T, usize);

impl<T> MaskedRun<T> {
    /// Where the elements from a position on are.
    #[inline(always)]
    pub(super) fn at(&self, position: usize) -> *const T {
        self.0.wrapping_add(position & self.1)
    }
}

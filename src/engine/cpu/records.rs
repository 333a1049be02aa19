//! Memory that grows by records of one size, and stays for later runs.

use crate::array::OutOfMemory;
use crate::engine::arrays::CacheLine;
use crate::engine::memory::admit;
use crate::shape::{DType, Type};

/// Where the parts of a record are.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordLayout {
    pub(super) offsets: Vec<usize>,
    /// The sizes of the parts.
    pub(super) sizes: Vec<usize>,
    /// Bytes of the record.
    pub(super) bytes: usize,
}

impl RecordLayout {
    /// A layout of parts of so many bytes each: large ones begin at whole cache lines, small ones share them. `None` where the
    /// record's bytes can't be counted.
    pub(super) fn of(sizes: impl IntoIterator<Item = usize>) -> Option<RecordLayout> {
        let mut layout = RecordLayout::default();
        let mut whole = 8;
        for size in sizes {
            let own = if size < size_of::<CacheLine>() { 8 } else { size_of::<CacheLine>() };
            let offset = layout.bytes.checked_next_multiple_of(own)?;
            layout.bytes = offset.checked_add(size).filter(|&bytes| isize::try_from(bytes).is_ok())?;
            layout.offsets.push(offset);
            layout.sizes.push(size);
            whole = whole.max(own);
        }
        layout.bytes = layout.bytes.checked_next_multiple_of(whole)?;
        Some(layout)
    }
}

/// Records one after the other.
#[derive(Debug, Default)]
pub(super) struct Records {
    lines: Vec<CacheLine>,
}

/// Memory grows by this part of itself, but by at least [`LEAST`] bytes, or by its own size if that is less.
const PART: usize = 8;
const LEAST: usize = 64 << 20;

impl Records {
    /// Makes room for so many records of so many bytes. The contents stay, maybe elsewhere.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    #[inline]
    pub(super) fn reserve(&mut self, count: usize, bytes: usize) -> Result<(), OutOfMemory> {
        match self.has_room(count, bytes) {
            true => Ok(()),
            false => self.grow(count.saturating_mul(bytes)),
        }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let out_of_memory = || OutOfMemory { ty: Type::new(DType::Bool, &[bytes]) };
        let (have, least) = (self.lines.len(), LEAST / size_of::<CacheLine>());
        let needed = bytes.div_ceil(size_of::<CacheLine>());
        let more = (have / PART).max(have.min(least)).max(needed - have);
        // Systems that hand out more memory than they have would end the process when it is written.
        if more.saturating_add(have) > least {
            let bytes = (more as u128) * size_of::<CacheLine>() as u128;
            admit(bytes + LEAST as u128).map_err(|_| out_of_memory())?;
        }
        self.lines.try_reserve_exact(more).map_err(|_| out_of_memory())?;
        self.lines.resize(have + more, CacheLine::ZERO);
        Ok(())
    }

    /// Whether there is room for so many records of so many bytes.
    #[inline]
    pub(super) fn has_room(&self, count: usize, bytes: usize) -> bool {
        count.checked_mul(bytes).is_some_and(|all| all <= self.bytes())
    }

    /// The bytes that there is room for.
    pub(super) fn bytes(&self) -> usize {
        self.lines.len() * size_of::<CacheLine>()
    }

    /// Where the records begin.
    pub(super) fn start(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_share_lines_and_large_ones_begin_them() {
        let layout = RecordLayout::of([1, 8, 16]).expect("few bytes");
        assert_eq!((&layout.offsets[..], layout.bytes), (&[0, 8, 16][..], 32));
        let layout = RecordLayout::of([8, 100, 4]).expect("few bytes");
        assert_eq!((&layout.offsets[..], layout.bytes), (&[0, 64, 168][..], 192));
        assert_eq!(RecordLayout::of([]).map(|layout| layout.bytes), Some(0));
        assert!(RecordLayout::of([usize::MAX / 2, usize::MAX / 2]).is_none());
    }

    #[test]
    fn records_stay_as_memory_grows_and_too_many_are_an_error() {
        let mut records = Records::default();
        for count in 1..1000 {
            records.reserve(count, 24).expect("there is memory");
            // SAFETY: there is room for so many records.
            unsafe { *records.start().add((count - 1) * 24).cast::<usize>() = count };
        }
        for count in 1..1000 {
            // SAFETY: as above.
            assert_eq!(unsafe { *records.start().add((count - 1) * 24).cast::<usize>() }, count);
        }
        let start = records.start();
        records.reserve(10, 24).expect("there is room");
        assert_eq!(records.start(), start);
        assert!(records.reserve(usize::MAX / 64, 24).is_err());
        assert!(records.reserve(usize::MAX, usize::MAX).is_err());
        // The contents have not moved.
        records.reserve(999, 24).expect("there is room");
        assert_eq!(records.start(), start);
    }
}

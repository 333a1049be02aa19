//! The pointers of a nest that runs on one thread. They stay from run to run, except for pointers into arguments and results,
//! so that a small nest in a loop costs little more than its computation.

use super::code::{Base, NestCode, Scratch};
use super::memory::BufferLocation;
use crate::engine::arrays::fill;
use crate::kernel::BufferId;
use crate::shape::Value;
use std::ops::Range;

/// Which part of its machine's tables a nest has, and which of those pointers every run sets.
#[derive(Debug)]
pub(super) struct PointerTable {
    /// The pointers of the code's slots.
    slots: Range<usize>,
    /// The pointers of the buffers that are filled first.
    fills: Range<usize>,
    arguments: Vec<Moving>,
    results: Vec<Moving>,
}

/// A pointer into an argument or a result: its place in the table, by position, and how many bytes from the beginning.
#[derive(Debug)]
struct Moving {
    entry: usize,
    of: usize,
    offset: isize,
}

impl PointerTable {
    /// The table of a nest, after `first` pointers of others.
    pub(super) fn of(code: &NestCode, fills: &[BufferFill], places: &[BufferLocation], first: usize) -> PointerTable {
        let second = first + code.slots.len();
        let (slots, filled) = (first..second, second..second + fills.len());
        let mut table = PointerTable { slots, fills: filled, arguments: Vec::new(), results: Vec::new() };
        for (slot, base) in code.slots.iter().enumerate() {
            if let Base::Buffer(id, offset) = *base {
                table.note(first + slot, places[id as usize], offset);
            }
        }
        for (at, filled) in fills.iter().enumerate() {
            table.note(second + at, places[filled.buffer as usize], 0);
        }
        table
    }

    fn note(&mut self, entry: usize, place: BufferLocation, offset: isize) {
        match place {
            BufferLocation::Argument(of) => self.arguments.push(Moving { entry, of, offset }),
            BufferLocation::Result(of) => self.results.push(Moving { entry, of, offset }),
            BufferLocation::Local(_) | BufferLocation::Constant(_) | BufferLocation::Unused => {}
        }
    }

    /// Where the next table begins.
    pub(super) fn end(&self) -> usize {
        self.fills.end
    }

    /// Sets the pointers that stay as long as scratch and buffers are where they are.
    pub(super) fn begin(
        &self,
        code: &NestCode,
        fills: &[BufferFill],
        pointers: &mut [*mut u8],
        scratch: &mut Scratch,
        bases: &[*mut u8],
    ) {
        code.begin(&mut pointers[self.slots.clone()], scratch, |id| bases[id as usize]);
        for (pointer, filled) in pointers[self.fills.clone()].iter_mut().zip(fills) {
            *pointer = bases[filled.buffer as usize];
        }
    }

    /// Runs the nest.
    ///
    /// # Safety
    ///
    /// As [`NestCode::run`], of arguments and results that are there, and other buffers as they were when
    /// [`PointerTable::begin`] was called with this scratch.
    #[inline]
    pub(super) unsafe fn run(
        &self,
        code: &NestCode,
        fills: &[BufferFill],
        pointers: &mut [*mut u8],
        scratch: &mut Scratch,
        (arguments, results): (&[*mut u8], &[*mut u8]),
    ) {
        for moving in &self.arguments {
            pointers[moving.entry] = arguments[moving.of].wrapping_offset(moving.offset);
        }
        for moving in &self.results {
            pointers[moving.entry] = results[moving.of].wrapping_offset(moving.offset);
        }
        for (&to, filled) in pointers[self.fills.clone()].iter().zip(fills) {
            // SAFETY: the buffer has room for as many elements.
            unsafe { fill(to, filled.count, filled.value) };
        }
        // SAFETY: as the caller's.
        unsafe { code.again(&mut pointers[self.slots.clone()], scratch) };
    }
}

/// A buffer whose elements all get one value.
#[derive(Debug)]
pub(super) struct BufferFill {
    pub(super) buffer: BufferId,
    pub(super) count: usize,
    pub(super) value: Value,
}

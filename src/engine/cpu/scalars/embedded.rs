//! Nests among instructions: a row of an array that a step reads or writes is left to kernels.

use super::register::RegisterIndex;
use crate::engine::arrays::fill;
use crate::engine::cpu::code::{Base, NestCode, Scratch};
use crate::kernel::BufferId;
use crate::shape::Value;

/// Positions among the pointers that a nest is passed.
pub(in crate::engine::cpu) type PassedPointer = usize;

/// A nest that instructions run, in parts.
#[derive(Clone, Debug)]
pub(in crate::engine::cpu) struct EmbeddedNest {
    pub(in crate::engine::cpu) parts: Vec<EmbeddedCode>,
    /// The first register of the pointers that are passed.
    pub(in crate::engine::cpu) passed: RegisterIndex,
    /// Buffers that are filled before, with how many elements.
    pub(in crate::engine::cpu) fills: Vec<(PassedPointer, usize, Value)>,
}

/// A nest whose table of pointers is in registers.
#[derive(Clone, Debug)]
pub(in crate::engine::cpu) struct EmbeddedCode {
    pub(in crate::engine::cpu) code: NestCode,
    /// The first register of the table.
    pub(in crate::engine::cpu) table: RegisterIndex,
    /// The slots of pointers into buffers, with the pointer to the buffer, and the bytes from there.
    pub(in crate::engine::cpu) moving: Vec<(usize, PassedPointer, isize)>,
}

impl EmbeddedCode {
    /// A part of a nest whose buffers are passed in this order.
    pub(super) fn new(code: NestCode, buffers: &[BufferId], table: RegisterIndex) -> EmbeddedCode {
        let moving = code.slots.iter().enumerate().filter_map(|(slot, base)| match *base {
            Base::Buffer(id, offset) => {
                let position = buffers.iter().position(|&buffer| buffer == id).expect("all buffers are passed");
                Some((slot, position, offset))
            }
            Base::Register(_) | Base::Constant(_) | Base::Partial(..) => None,
        });
        EmbeddedCode { moving: moving.collect(), code, table }
    }

    unsafe fn table<'a>(&self, registers: *mut u64) -> &'a mut [*mut u8] {
        let first = registers.wrapping_add(usize::from(self.table)).cast::<*mut u8>();
        // SAFETY: nothing else uses the table's registers while it is borrowed.
        unsafe { std::slice::from_raw_parts_mut(first, self.code.slots.len()) }
    }
}

impl EmbeddedNest {
    /// Sets the parts of the tables that stay the same as long as the scratch does not move.
    ///
    /// # Safety
    ///
    /// There is room for the tables.
    pub(super) unsafe fn begin(&self, registers: *mut u64, scratch: &mut Scratch) {
        for part in &self.parts {
            // SAFETY: the caller promises room.
            let table = unsafe { part.table(registers) };
            part.code.begin(table, scratch, |_| std::ptr::null_mut());
        }
    }

    /// Runs the nest.
    ///
    /// # Safety
    ///
    /// The tables were begun with this scratch, which was reserved for the nest, and pointers to its buffers are passed.
    pub(in crate::engine::cpu) unsafe fn run(&self, registers: *mut u64, scratch: &mut Scratch) {
        // SAFETY: as the caller's.
        unsafe {
            let passed =
                |at: PassedPointer| registers.wrapping_add(usize::from(self.passed) + at).cast::<*mut u8>().read();
            for &(buffer, count, value) in &self.fills {
                fill(passed(buffer), count, value);
            }
            for part in &self.parts {
                let table = part.table(registers);
                for &(slot, buffer, offset) in &part.moving {
                    *table.get_unchecked_mut(slot) = passed(buffer).wrapping_offset(offset);
                }
                part.code.again(table, scratch);
            }
        }
    }
}

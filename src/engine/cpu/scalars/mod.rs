//! Loops and conditionals over a few numbers: straight-line code on registers, with jumps.
//!
//! A kernel takes some nanoseconds to select and call, whatever the number of its elements; so does each run of a procedure. If
//! a step of a loop is only a few operations on single numbers, or on arrays of a few, that is more than the computation
//! itself. Such steps are written out as [instructions](instruction) on single elements, which take about a nanosecond each:
//! whole loops, inner ones too, or the procedures of steps that others run one by one. [`flatten`] writes them. Nests along
//! rows stay kernels, which instructions [call](embedded).

mod assign;
mod builder;
mod embedded;
mod flatten;
mod instruction;
mod register;
#[cfg(test)]
mod tests;
mod tidy;

use super::code::Scratch;
use super::native::{MachineCode, compile_scalars};
use super::target::Target;
use super::vector::Instructions;
use crate::array::OutOfMemory;
use crate::engine::arrays::{CacheLine, lines};
use crate::kernel::{BufferId, Procedure, Step};
pub(super) use builder::Builder;
pub(super) use embedded::{EmbeddedCode, EmbeddedNest};
pub(super) use instruction::{Indexed, ScalarCode, ScalarInstruction, ScalarOp, ScalarOperation};
pub(super) use register::RegisterIndex;

/// Steps as instructions.
#[derive(Debug)]
pub(super) struct Scalars {
    isa: Instructions,
    code: ScalarCode,
    /// The same as machine code, which runs instead.
    machine_code: Option<MachineCode>,
    registers: usize,
    /// Registers that hold known bytes.
    constants: Vec<(RegisterIndex, u64)>,
    /// Registers that hold pointers to buffers of the procedure around.
    outside: Vec<(RegisterIndex, BufferId)>,
    /// Registers that hold pointers into memory of the instructions' own, with offsets, and the bytes of that.
    inside: Vec<(RegisterIndex, usize)>,
    memory: usize,
    /// The register that holds where the scratch was with which tables of nests were set.
    begun: Option<RegisterIndex>,
}

impl Scalars {
    /// Some steps of a procedure, which fill the buffers that are `stored`; `None` where kernels are faster.
    pub(super) fn of(
        target: Target<'_>,
        procedure: &Procedure,
        steps: &[Step],
        stored: &[BufferId],
    ) -> Option<Scalars> {
        flatten::flatten(target, procedure, steps, stored)
    }

    /// The instructions of a builder, with pointers in these registers that are set before each run.
    pub(super) fn written(target: Target<'_>, builder: Builder) -> Option<Scalars> {
        Scalars::new(target, builder, (Vec::new(), Vec::new(), 0), None)
    }

    fn new(
        target: Target<'_>,
        builder: Builder,
        (outside, inside, memory): (Vec<(RegisterIndex, BufferId)>, Vec<(RegisterIndex, usize)>, usize),
        begun: Option<RegisterIndex>,
    ) -> Option<Scalars> {
        let (code, registers, constants) = builder.finish()?;
        let machine_code = target.code.and_then(|arena| compile_scalars(arena, &code, registers));
        let isa = target.isa;
        Some(Scalars { isa, code, machine_code, registers, constants, outside, inside, memory, begun })
    }

    /// Runs the instructions with what is in registers.
    ///
    /// # Safety
    ///
    /// As [`ScalarCode::run`].
    unsafe fn execute(&self, registers: *mut u64, scratch: &mut Scratch) {
        // SAFETY: as the caller's.
        unsafe {
            match &self.machine_code {
                Some(code) => code.run_scalars(registers, scratch, &self.code.nests),
                None => self.code.run(self.isa, registers, scratch),
            }
        }
    }

    /// The buffers of the enclosing procedure that are read or filled.
    pub(super) fn touched(&self) -> impl Iterator<Item = BufferId> {
        self.outside.iter().map(|&(_, id)| id)
    }

    /// Bytes of registers and memory.
    pub(super) fn memory(&self) -> usize {
        self.registers * size_of::<u64>() + self.memory
    }

    /// Registers and memory, with the constant part set.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    pub(super) fn space(&self) -> Result<Vec<CacheLine>, OutOfMemory> {
        let mut space = lines(self.memory())?;
        // SAFETY: there is room for all registers.
        unsafe { self.set(space.as_mut_ptr().cast()) };
        Ok(space)
    }

    /// Sets the constant part.
    ///
    /// # Safety
    ///
    /// There is room, of [`Scalars::memory`] bytes.
    pub(super) unsafe fn set(&self, registers: *mut u64) {
        let own = registers.wrapping_add(self.registers).cast::<u8>();
        // SAFETY: registers are below their number.
        unsafe {
            for &(register, bits) in &self.constants {
                registers.add(usize::from(register)).write(bits);
            }
            for &(register, offset) in &self.inside {
                registers.add(usize::from(register)).cast::<*mut u8>().write(own.wrapping_add(offset));
            }
        }
    }

    /// Makes room for the nests among the instructions.
    pub(super) fn reserve(&self, scratch: &mut Scratch) {
        let parts = self.code.nests.iter().flat_map(|nest| &nest.parts);
        parts.for_each(|part| scratch.reserve(&part.code));
    }

    /// Runs the instructions.
    ///
    /// # Safety
    ///
    /// `bases` points at the procedure's buffers, each as large as its type says; the registers are this one's; the scratch was
    /// reserved for this.
    pub(super) unsafe fn run(&self, bases: &[*mut u8], registers: *mut u64, scratch: &mut Scratch) {
        // SAFETY: registers are below their number; what is read and written is inside of buffers, as the lowering promises.
        unsafe {
            if let Some(begun) = self.begun {
                let begun = registers.add(usize::from(begun)).cast::<*const CacheLine>();
                if begun.read() != scratch.registers() {
                    self.code.nests.iter().for_each(|nest| nest.begin(registers, scratch));
                    begun.write(scratch.registers());
                }
            }
            for &(register, id) in &self.outside {
                registers.add(usize::from(register)).cast::<*mut u8>().write(bases[id as usize]);
            }
            self.execute(registers, scratch);
        }
    }

    /// Runs the instructions with pointers in some registers, of code that a builder wrote with these.
    ///
    /// # Safety
    ///
    /// The pointers are to what the instructions read and write there; the registers are this one's.
    pub(super) unsafe fn run_with(
        &self,
        pointers: impl Iterator<Item = (RegisterIndex, *mut u8)>,
        registers: *mut u64,
    ) {
        // SAFETY: as the caller's.
        unsafe {
            for (register, pointer) in pointers {
                registers.add(usize::from(register)).cast::<*mut u8>().write(pointer);
            }
            self.execute(registers, &mut Scratch::default());
        }
    }

    /// The number of instructions.
    #[cfg(test)]
    pub(super) fn instructions(&self) -> usize {
        self.code.instructions.len()
    }
}

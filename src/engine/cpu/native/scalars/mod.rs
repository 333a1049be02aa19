//! Machine code for scalar instructions.
//!
//! A register of the instructions has one home: a vector register, a general register, or its eight bytes in memory, where the
//! interpreter has it too. Homes are for as long as some instruction still [reads the value](intervals), so carries stay in theirs
//! from step to step. Kernels and nests are functions that are called; they find their operands in memory.

mod allocation;
mod arithmetic;
mod forward;
mod intervals;
mod memory;

use super::encode::{Assembler, Condition, General, Label, Operand, Place, Vector, Width};
use super::encode::{RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
use super::opcodes as op;
use super::{CodeArena, MachineCode};
use crate::engine::cpu::code::Scratch;
use crate::engine::cpu::scalars::{
    EmbeddedCode, EmbeddedNest, RegisterIndex, ScalarCode, ScalarInstruction, ScalarOp, ScalarOperation,
};
use crate::engine::cpu::vector::VectorKernel;
use crate::shape::Value;
use allocation::{Home, allocate};
use forward::{ADDRESS, Forwarded, forwarded};
use intervals::{intervals, is_short, moved, targets};

/// Where the registers in memory are.
const REGISTERS: General = RBX;
/// Registers that the caller finds as they were.
const SAVED: [General; 6] = [RBP, REGISTERS, General(12), General(13), General(14), General(15)];
/// Vector registers for what an instruction needs.
const FIRST: u8 = 13;
const SECOND: u8 = 14;
const THIRD: u8 = 15;
/// Elements that are filled one by one at most.
const FILLED: usize = 16;
/// Bytes on the stack: the pointers to the scratch and to the nests.
const STACK: i32 = 24;
const SCRATCH: Place = Place { base: RSP, index: None, distance: 0 };
const NESTS: Place = Place { base: RSP, index: None, distance: 8 };

/// Code for instructions with so many registers; `None` where there is too much code.
pub(in crate::engine::cpu) fn compile_scalars(
    arena: &CodeArena,
    code: &ScalarCode,
    registers: usize,
) -> Option<MachineCode> {
    let instructions = &code.instructions;
    let targets = targets(instructions);
    let forwarded = forwarded(code, &targets);
    let (homes, given) = allocate(intervals(code, registers), registers, forwarded.is_some());
    let mut assembler = Assembler::default();
    let labels = instructions.iter().map(|_| assembler.label()).collect();
    let mut reads = vec![0; registers];
    instructions.iter().flat_map(ScalarInstruction::reads).for_each(|&read| reads[usize::from(read)] += 1);
    let constants = Vec::new();
    let mut emitter = Emitter { arena, code, homes, reads, targets, forwarded, labels, assembler, constants };
    emitter.run(&given);
    let Emitter { assembler, constants, .. } = emitter;
    arena.add(assembler.finish(&constants), || format!("{} scalar instructions", code.instructions.len()))
}

struct Emitter<'a> {
    arena: &'a CodeArena,
    code: &'a ScalarCode,
    homes: Vec<Home>,
    /// How often each register is read.
    reads: Vec<u32>,
    /// How many jumps go to each instruction.
    targets: Vec<u32>,
    forwarded: Option<Forwarded>,
    labels: Vec<Label>,
    assembler: Assembler,
    constants: Vec<u8>,
}

/// Runs a [`VectorKernel`] for one element.
unsafe extern "sysv64" fn run_kernel(result: *mut u8, a: *const u8, b: *const u8, c: *const u8, kernel: *const ()) {
    // SAFETY: the caller passes such a function, and what it may read and write.
    unsafe {
        let kernel: VectorKernel = std::mem::transmute(kernel);
        kernel(result, a, b, c, 1);
    }
}

/// Runs a nest.
unsafe extern "sysv64" fn run_nest(nest: *const EmbeddedNest, registers: *mut u64, scratch: *mut Scratch) {
    // SAFETY: the caller passes what the instructions have.
    unsafe { (*nest).run(registers, &mut *scratch) };
}

/// Copies bytes to where they do not overlap.
unsafe extern "sysv64" fn copy(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: as the caller's.
    unsafe { std::ptr::copy_nonoverlapping(from, to, count) };
}

/// Where a register is in memory.
fn memory(register: RegisterIndex) -> Place {
    Place::at(REGISTERS, 8 * i32::from(register))
}

impl Emitter<'_> {
    fn run(&mut self, given: &[RegisterIndex]) {
        SAVED.iter().for_each(|&register| self.assembler.push(register));
        self.assembler.add_number(RSP, -STACK);
        self.assembler.store(SCRATCH, RSI);
        self.assembler.store(NESTS, RDX);
        self.assembler.copy(REGISTERS, RDI);
        for &register in given {
            self.restore(register);
        }
        let code = self.code;
        let mut at = 0;
        while let Some(instruction) = code.instructions.get(at) {
            if self.forwarded.as_ref().is_some_and(|forwarded| forwarded.begins[at]) {
                self.assembler.set(ADDRESS, 0);
            }
            self.assembler.place(self.labels[at]);
            let next = code.instructions.get(at + 1);
            at += match next.filter(|next| self.is_pair(at, instruction, next)) {
                Some(next) if self.compare_and(instruction, next) => 2,
                _ => {
                    self.instruction(at, instruction);
                    1
                }
            };
        }
    }

    /// Whether nothing but the next instruction reads the answer of a comparison.
    fn is_pair(&self, at: usize, compare: &ScalarInstruction, next: &ScalarInstruction) -> bool {
        let is_compare = matches!(compare.op.operation(), Some(ScalarOperation::Compare(..)));
        let reads = matches!(next.op, ScalarOp::Unless | ScalarOp::Select) && next.operands[0] == compare.result;
        is_compare && reads && self.reads[usize::from(compare.result)] == 1 && self.targets[at + 1] == 0
    }

    /// Whether an instruction writes an element that the next step may read from a register, or reads one.
    fn is_forwarded(&self, at: usize) -> bool {
        self.forwarded.as_ref().is_some_and(|forwarded| forwarded.elements[at])
    }

    fn home(&self, register: RegisterIndex) -> Home {
        self.homes[usize::from(register)]
    }

    /// An instruction on one element of vectors.
    fn vector(&mut self, row: super::encode::Opcode, result: u8, first: u8, last: Operand) {
        self.assembler.vex(row, Width::B16, result, first, last);
    }

    /// The general register that holds a value, which is read into this one if none does.
    fn general(&mut self, register: RegisterIndex, otherwise: General) -> General {
        match self.home(register) {
            Home::General(own) => own,
            Home::Float(own) => {
                self.vector(op::VMOVQ_TO, own, 0, Vector(otherwise.0).into());
                otherwise
            }
            Home::Memory => {
                self.assembler.load(otherwise, memory(register));
                otherwise
            }
        }
    }

    /// The general register in which a result is computed.
    fn general_result(&self, register: RegisterIndex, otherwise: General) -> General {
        match self.home(register) {
            Home::General(own) => own,
            _ => otherwise,
        }
    }

    /// Moves a result from where it was computed to its home.
    fn put_general(&mut self, register: RegisterIndex, from: General) {
        match self.home(register) {
            Home::General(own) if own == from => {}
            Home::General(own) => self.assembler.copy(own, from),
            Home::Float(own) => self.vector(op::VMOVQ, own, 0, Vector(from.0).into()),
            Home::Memory => self.assembler.store(memory(register), from),
        }
    }

    /// The vector register that holds a value, which is read into this one if none does.
    fn float(&mut self, register: RegisterIndex, otherwise: u8) -> u8 {
        match self.home(register) {
            Home::Float(own) => own,
            _ => {
                let from = self.float_operand(register, 8);
                self.vector(op::VMOVSD, otherwise, 0, from);
                otherwise
            }
        }
    }

    /// A value as a last operand of so many bytes.
    fn float_operand(&mut self, register: RegisterIndex, bytes: u32) -> Operand {
        match self.home(register) {
            Home::Float(own) => Vector(own).into(),
            Home::General(_) => unreachable!("floats have no general registers"),
            Home::Memory => Operand::Memory(memory(register), bytes),
        }
    }

    fn float_result(&self, register: RegisterIndex, otherwise: u8) -> u8 {
        match self.home(register) {
            Home::Float(own) => own,
            _ => otherwise,
        }
    }

    fn put_float(&mut self, register: RegisterIndex, from: u8) {
        match self.home(register) {
            Home::Float(own) if own == from => {}
            Home::Float(own) => self.vector(op::VMOVAPD, own, 0, Vector(from).into()),
            Home::General(_) => unreachable!("floats have no general registers"),
            Home::Memory => self.vector(op::VMOVSD_TO, from, 0, Operand::Memory(memory(register), 8)),
        }
    }

    /// The place of a constant of 16 bytes, this one twice.
    fn constant(&mut self, bits: u64) -> Operand {
        let bytes = [bits.to_le_bytes(), bits.to_le_bytes()].concat();
        let at = self.constants.chunks(16).position(|constant| constant == bytes).unwrap_or_else(|| {
            self.constants.extend_from_slice(&bytes);
            self.constants.len() / 16 - 1
        });
        Operand::Constant(16 * at as u32)
    }

    fn call(&mut self, function: *const ()) {
        self.assembler.set(RAX, function as i64);
        self.assembler.call_register(RAX);
    }

    /// Has a value be in memory, where functions find it.
    fn save(&mut self, register: RegisterIndex) {
        match self.home(register) {
            Home::Float(own) => self.vector(op::VMOVSD_TO, own, 0, Operand::Memory(memory(register), 8)),
            Home::General(own) => self.assembler.store(memory(register), own),
            Home::Memory => {}
        }
    }

    /// Has a value that is in memory be in its home.
    fn restore(&mut self, register: RegisterIndex) {
        match self.home(register) {
            Home::Float(own) => self.vector(op::VMOVSD, own, 0, Operand::Memory(memory(register), 8)),
            Home::General(own) => self.assembler.load(own, memory(register)),
            Home::Memory => {}
        }
    }

    /// Adds a number of any size to a register, with the help of a free one.
    fn add_number(&mut self, to: General, number: isize) {
        match i32::try_from(number) {
            Ok(0) => {}
            Ok(number) => self.assembler.add_number(to, number),
            Err(_) => {
                self.assembler.set(RCX, number as i64);
                self.assembler.add(to, RCX);
            }
        }
    }

    fn instruction(&mut self, at: usize, instruction: &ScalarInstruction) {
        let ScalarInstruction { op, result, operands: [a, b, c], number } = *instruction;
        if let Some(operation) = op.operation() {
            return self.operation(operation, result, [a, b, c]);
        }
        match op {
            ScalarOp::TimesPlusF32 => self.times_plus(op::VFMADD231SS, 4, result, [a, b, c]),
            ScalarOp::TimesPlusF64 => self.times_plus(op::VFMADD231SD, 8, result, [a, b, c]),
            ScalarOp::Kernel => self.kernel(self.code.kernels[number as usize], result, [a, b, c]),
            ScalarOp::Move => self.copy_value(result, a),
            ScalarOp::Select => self.select(result, [a, b, c]),
            ScalarOp::Load1 | ScalarOp::Load4 | ScalarOp::Load8 => {
                let base = self.general(a, RAX);
                let width = [1, 4, 8][op as usize - ScalarOp::Load1 as usize];
                self.load(width, result, Place::at(base, number));
            }
            ScalarOp::Store1 | ScalarOp::Store4 | ScalarOp::Store8 => {
                let base = self.general(a, RAX);
                let width = [1, 4, 8][op as usize - ScalarOp::Store1 as usize];
                self.store(width, b, Place::at(base, number));
            }
            ScalarOp::LoadAt => self.load_at(result, (a, b), self.code.indexed[number as usize], self.is_forwarded(at)),
            ScalarOp::StoreAt => self.store_at(c, (a, b), self.code.indexed[number as usize], self.is_forwarded(at)),
            ScalarOp::Copy if is_short(instruction) => self.copy_bytes(a, b, number),
            ScalarOp::Copy => {
                // These registers may hold the operands.
                for (register, to) in [(a, RAX), (b, RCX), (c, RDX)] {
                    let from = self.general(register, to);
                    if from != to {
                        self.assembler.copy(to, from);
                    }
                }
                self.assembler.copy(RDI, RAX);
                self.assembler.copy(RSI, RCX);
                self.call(copy as *const ());
            }
            ScalarOp::Pass => {
                for (at, register) in (0..).zip([a, b, c]) {
                    let from = self.general(register, RAX);
                    self.assembler.store(Place::at(REGISTERS, 8 * (number + at)), from);
                }
            }
            ScalarOp::Nest => {
                if self.nest(&self.code.nests[number as usize]).is_none() {
                    self.call_nest(number as usize);
                }
            }
            ScalarOp::Point => {
                let (from, to) = (self.general(a, RAX), self.general_result(result, RAX));
                self.assembler.address(to, Place::at(from, number));
                self.put_general(result, to);
            }
            ScalarOp::Count => {
                let to = self.general_result(result, RAX);
                self.assembler.set(to, i64::from(number));
                self.put_general(result, to);
            }
            ScalarOp::Jump => self.assembler.jump(self.labels[number as usize]),
            ScalarOp::Unless => {
                let condition = self.general(a, RAX);
                self.assembler.test_bits(condition, 1);
                self.assembler.jump_if(Condition::Equal, self.labels[number as usize]);
            }
            ScalarOp::Next => self.next(instruction),
            ScalarOp::Label => {}
            ScalarOp::End => {
                self.assembler.add_number(RSP, STACK);
                SAVED.iter().rev().for_each(|&register| self.assembler.pop(register));
                self.assembler.back();
            }
            _ => unreachable!("it is an operation"),
        }
    }

    /// Runs a nest by a function for all of them.
    fn call_nest(&mut self, number: usize) {
        self.assembler.load(RDI, NESTS);
        self.assembler.set(RAX, (number * size_of::<EmbeddedNest>()) as i64);
        self.assembler.add(RDI, RAX);
        self.assembler.copy(RSI, REGISTERS);
        self.assembler.load(RDX, SCRATCH);
        self.call(run_nest as *const ());
    }

    /// Runs a nest by its own machine code, if it has some and fills no more than a few elements before.
    fn nest(&mut self, nest: &EmbeddedNest) -> Option<()> {
        let few = |&(_, count, _): &(usize, usize, Value)| count <= FILLED;
        let is_empty = |part: &EmbeddedCode| part.code.axes.iter().any(|axis| axis.extent == 0);
        if !nest.fills.iter().all(few) || nest.parts.iter().any(is_empty) {
            return None;
        }
        let start = |part: &EmbeddedCode| self.arena.start_of(part.code.machine_code.as_ref()?);
        let starts = nest.parts.iter().map(start).collect::<Option<Vec<usize>>>()?;
        let passed = |pointer: usize| memory(nest.passed + pointer as RegisterIndex);
        for &(buffer, count, value) in &nest.fills {
            let bytes = value.dtype().bytes();
            self.assembler.load(RCX, passed(buffer));
            self.assembler.set(RAX, value.bits() as i64);
            for element in 0..count {
                let to = Place::at(RCX, (bytes * element) as i32);
                match bytes {
                    8 => self.assembler.store(to, RAX),
                    4 => self.assembler.store_half(to, RAX),
                    _ => self.assembler.store_byte(to, RAX),
                }
            }
        }
        for (part, start) in nest.parts.iter().zip(starts) {
            for &(slot, buffer, offset) in &part.moving {
                self.assembler.load(RAX, passed(buffer));
                self.add_number(RAX, offset);
                self.assembler.store(memory(part.table + slot as RegisterIndex), RAX);
            }
            self.assembler.address(RDI, memory(part.table));
            self.assembler.set(RSI, part.code.outer_extent() as i64);
            self.assembler.set(RDX, 0);
            self.assembler.call_code(start);
        }
        Some(())
    }

    fn kernel(&mut self, kernel: VectorKernel, result: RegisterIndex, operands: [RegisterIndex; 3]) {
        operands.iter().for_each(|&operand| self.save(operand));
        for (to, register) in [(RDI, result), (RSI, operands[0]), (RDX, operands[1]), (RCX, operands[2])] {
            self.assembler.address(to, memory(register));
        }
        self.assembler.set(General(8), kernel as usize as i64);
        self.call(run_kernel as *const ());
        self.restore(result);
    }

    fn copy_value(&mut self, result: RegisterIndex, from: RegisterIndex) {
        match (self.home(result), self.home(from)) {
            (_, Home::Float(from)) => self.put_float(result, from),
            (Home::Float(own), _) => self.vector(op::VMOVSD, own, 0, Operand::Memory(memory(from), 8)),
            _ => {
                let from = self.general(from, RAX);
                self.put_general(result, from);
            }
        }
    }

    /// Moves pointers, and begins the next step of a loop if there is one.
    fn next(&mut self, next: &ScalarInstruction) {
        for &(pointer, bytes) in moved(self.code, next) {
            let own = self.general(pointer, RAX);
            self.add_number(own, bytes);
            self.put_general(pointer, own);
        }
        let count = self.general(next.result, RAX);
        self.assembler.add_number(count, -1);
        if count == RAX {
            // A store leaves the flags.
            self.assembler.store(memory(next.result), RAX);
        }
        self.assembler.jump_if(Condition::Different, self.labels[next.number as usize]);
    }
}

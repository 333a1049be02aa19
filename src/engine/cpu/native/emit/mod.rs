//! From vector code to instructions: registers are given to values as they are computed, and pointers to general registers.
//!
//! A value without a register is in memory of the frame, which is its home, or in the constants, from where instructions read it
//! too. Where registers are short, the value that is read last loses its own. Around a loop, variables and the values that it
//! reads most often keep their registers; others have homes before it begins.

mod apart;
mod compute;
mod corrections;
mod loops;
mod memory;
mod registers;

use super::encode::{Assembler, Condition, General, Label, Place, Vector, Width, WrittenCode};
use super::encode::{RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
use super::expand::Expanded;
use super::opcodes as op;
use super::program::{Form, Kind, Position, Step, Value};
use super::uses::Uses;
use crate::engine::cpu::vector::formulas::Correction;
use crate::term::hash::TermMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The vector loop's position, and the number of steps that the caller asks for.
const POSITION: General = RCX;
const ASKED: General = RSI;
/// Registers that the caller finds as they were.
const SAVED: [General; 5] = [RBX, General(12), General(13), General(14), General(15)];
/// Registers for counters, and for pointers.
const COUNTERS: [General; 4] = [General(15), General(14), General(13), General(12)];
const POINTERS: [General; 6] = [RBX, General(8), General(9), General(10), General(11), RDI];
/// Registers in use that functions change.
const CHANGED: [General; 7] = [RCX, RSI, RDI, General(8), General(9), General(10), General(11)];
/// Vector registers that values of a straight line find free around loops.
const FREE: usize = 12;
/// Where the frame is: in the memory that a thread has for a nest, since stacks may be short.
const FRAME: General = RBP;

/// Where a pointer or a counter is.
#[derive(Clone, Copy)]
enum Scalar {
    Register(General),
    Memory(Place),
}

/// Where the caller's pointer is.
fn in_table(pointer: usize) -> Place {
    Place::at(RDI, 8 * pointer as i32)
}

/// Where a value is.
#[derive(Clone, Copy, Default)]
struct Whereabouts {
    register: Option<u8>,
    home: Option<i32>,
    /// The step that reads it from memory, if it is not read yet.
    deferred: Option<u32>,
    constant: Option<(Kind, u64)>,
    /// How many loops it keeps its register for.
    kept: u32,
}

struct Emitter<'a> {
    of: &'a Expanded,
    wide: bool,
    assembler: Assembler,
    uses: Uses,
    places: Vec<Whereabouts>,
    vectors: Vec<Option<Value>>,
    masks: Vec<Option<Value>>,
    /// Registers that the present instruction needs.
    needed: Vec<(bool, u8)>,
    frame: i32,
    /// Homes of vectors and of masks, by the last step that reads what they hold.
    homes: [BinaryHeap<Reverse<(u32, i32)>>; 2],
    /// Where the position of the first step is kept, if something asks for it.
    first: Option<i32>,
    constants: Vec<u8>,
    pool: TermMap<Vec<u8>, u32>,
    pointers: Vec<Scalar>,
    /// Whether the vector loop's position moves each pointer.
    is_indexed: Vec<bool>,
    counters: Vec<Option<Scalar>>,
    open: Vec<OpenLoop>,
    corrections: Vec<Cold>,
    at: u32,
}

/// A call of a correction, which few lanes need.
struct Cold {
    label: Label,
    back: Label,
    /// The registers of the results, and of the operands.
    target: u8,
    operands: [u8; 2],
    correction: Correction,
}

struct OpenLoop {
    top: Label,
    end: Label,
    kept: Vec<Value>,
}

/// A function of the pointers, the last of which is the frame's, and of the number of steps.
pub(super) struct EmittedCode {
    pub(super) code: WrittenCode,
    /// Bytes of its frame.
    pub(super) frame: usize,
}

/// The code of a program; `None` where there is none for what it does.
pub(super) fn emit(of: &Expanded, wide: bool) -> Option<EmittedCode> {
    let count = if wide { 32 } else { 16 };
    let mut emitter = Emitter {
        of,
        wide,
        assembler: Assembler::default(),
        uses: Uses::of(&of.steps, of.kinds.len()),
        places: vec![Whereabouts::default(); of.kinds.len()],
        vectors: vec![None; count],
        masks: vec![None; 8],
        needed: Vec::new(),
        frame: 0,
        homes: Default::default(),
        first: None,
        constants: Vec::new(),
        pool: TermMap::default(),
        pointers: Vec::new(),
        is_indexed: vec![false; of.bases.len()],
        counters: Vec::new(),
        open: Vec::new(),
        corrections: Vec::new(),
        at: 0,
    };
    emitter.run()
}

impl Emitter<'_> {
    fn run(&mut self) -> Option<EmittedCode> {
        let of = self.of;
        for step in &of.steps {
            if let Step::Load { address, .. } | Step::Store { address, .. } = step {
                self.is_indexed[address.pointer as usize] |= address.indexed;
            }
        }
        for step in &of.steps {
            if let Step::Constant { result, kind, bits } = *step {
                self.places[result as usize].constant = Some((kind, bits));
            }
        }
        let asks = |at: &Position| at.terms.iter().any(|&(axis, _)| axis == 0) || (of.vector == 0 && at.along != 0);
        if !of.whole && of.steps.iter().any(|step| matches!(step, Step::Position { at, .. } if asks(at))) {
            self.first = Some(self.room(8));
        }
        self.assign_general();
        for (at, step) in of.steps.iter().enumerate() {
            self.at = at as u32;
            self.step(step)?;
        }
        self.finish();
        self.correct();
        // The pointers and the frame are known now.
        let body = std::mem::take(&mut self.assembler);
        self.begin();
        self.assembler.append(body);
        let code = std::mem::take(&mut self.assembler).finish(&self.constants);
        Some(EmittedCode { code, frame: self.frame as usize })
    }

    /// Room in the frame.
    fn room(&mut self, bytes: i32) -> i32 {
        let start = (self.frame + bytes - 1) / bytes * bytes;
        self.frame = start + bytes;
        start
    }

    /// A home in the frame for a value: one whose value nothing reads any more, or a new one.
    fn home(&mut self, value: Value) -> i32 {
        let of_masks = self.is_mask(value);
        let homes = &self.homes[usize::from(of_masks)];
        let home = match homes.peek() {
            Some(&Reverse((last, home))) if last < self.at => {
                self.homes[usize::from(of_masks)].pop();
                home
            }
            _ => self.room(if of_masks { 8 } else { self.of.bytes as i32 }),
        };
        self.homes[usize::from(of_masks)].push(Reverse((self.uses.last(value), home)));
        home
    }

    fn begin(&mut self) {
        let assembler = &mut self.assembler;
        assembler.push(RBP);
        SAVED.iter().for_each(|&register| assembler.push(register));
        // The stack is aligned to 16 bytes where functions are called.
        assembler.add_number(RSP, -8);
        assembler.load(FRAME, Place::at(RDI, 8 * self.pointers.len() as i32));
        if let Some(first) = self.first {
            assembler.store(Place::at(FRAME, first), RDX);
        }
        // The register of the table itself may hold a pointer, so it is read last.
        let mut table = None;
        for (at, &pointer) in self.pointers.iter().enumerate() {
            let from = in_table(at);
            match pointer {
                Scalar::Register(register) if register == RDI => table = Some(from),
                Scalar::Register(register) => assembler.load(register, from),
                Scalar::Memory(place) if place == from => {}
                Scalar::Memory(place) => {
                    assembler.load(RAX, from);
                    assembler.store(place, RAX);
                }
            }
        }
        if let Some(from) = table {
            assembler.load(RDI, from);
        }
    }

    fn finish(&mut self) {
        if !self.of.streamed().is_empty() {
            self.assembler.fence();
        }
        self.assembler.add_number(RSP, 8);
        SAVED.iter().rev().for_each(|&register| self.assembler.pop(register));
        self.assembler.pop(RBP);
        self.assembler.leave();
    }

    fn width(&self, kind: Kind) -> Width {
        match self.of.lanes * kind.bytes() {
            64 => Width::B64,
            32 => Width::B32,
            _ => Width::B16,
        }
    }

    fn step(&mut self, step: &Step) -> Option<()> {
        self.needed.clear();
        // An operand that is in a register stays there until the step has read it.
        step.each_operand(|value| {
            if let Some(register) = self.places[value as usize].register {
                self.needed.push((self.is_mask(value), register));
            }
        });
        match *step {
            Step::Constant { .. } => return Some(()),
            Step::Compute { result, op, kind, operands } => {
                self.compute(result, op, kind, &operands[..op.operands()])?;
                // A variable's home has its former value.
                self.places[result as usize].home = None;
                self.release(&operands[..op.operands()]);
            }
            Step::Load { result, kind, form, address, mask } => {
                let is_operand = form == Form::Run || (form == Form::One && self.wide);
                let is_operand = is_operand && kind != Kind::Mask && address.row.is_none();
                if mask.is_none() && is_operand && self.uses.is_near(result) {
                    self.places[result as usize].deferred = Some(self.at);
                    return Some(());
                }
                let mask_register = match mask {
                    Some(mask) => Some(self.register(mask)?),
                    None => None,
                };
                let register = self.target(result)?;
                let place = self.address(address, kind)?;
                match kind {
                    Kind::Mask => self.load_answers(register, form, place, mask_register)?,
                    _ => self.load(register, kind, form, place, mask_register)?,
                }
                step.each_operand(|value| self.release(&[value]));
            }
            Step::Store { value, kind, form, address, mask } => {
                let mask_register = match mask {
                    Some(mask) => Some(self.register(mask)?),
                    None => None,
                };
                let register = self.register(value)?;
                let place = self.address(address, kind)?;
                match kind {
                    Kind::Mask => self.store_answers(register, form, place, mask_register)?,
                    _ => self.store(register, kind, form, place, mask_register)?,
                }
                step.each_operand(|value| self.release(&[value]));
            }
            Step::Position { result, kind, ref at } => {
                let target = self.target(result)?;
                self.position(target, kind, at)?;
            }
            Step::Scatter { value, kind, address, distances, mask, adds } => {
                let registers = (self.register(value)?, self.register(distances)?, self.register(mask)?);
                self.scatter(registers, kind, address, adds)?;
                step.each_operand(|value| self.release(&[value]));
            }
            Step::Assign { variable, value } => {
                let target = self.target(variable)?;
                let Whereabouts { register, constant, .. } = self.places[value as usize];
                match constant.filter(|_| register.is_none()) {
                    Some((kind, bits)) => self.read_constant(target, kind, bits),
                    None => {
                        let from = self.register(value)?;
                        let width = self.value_width(self.of.kinds[value as usize]);
                        self.vector(op::VMOVAPD, width, target, 0, Vector(from).into());
                    }
                }
                self.places[variable as usize].home = None;
                self.release(&[value]);
            }
            Step::Correct { result, kind, value, operands, mask, correction } => {
                let mask_register = self.register(mask)?;
                let mut target = self.register(value)?;
                let operand_registers = [self.register(operands[0])?, self.register(operands[1])?];
                let value_dies = self.dies(value) && !operands.contains(&value);
                if value_dies {
                    self.drop(value);
                    self.hold(result, target);
                } else {
                    let copy = self.target(result)?;
                    self.vector(op::VMOVAPD, self.width(kind), copy, 0, Vector(target).into());
                    target = copy;
                }
                self.test_mask(mask_register, kind);
                let (label, back) = (self.assembler.label(), self.assembler.label());
                self.assembler.jump_if(Condition::Different, label);
                self.assembler.place(back);
                self.corrections.push(Cold { label, back, target, operands: operand_registers, correction });
                self.release(&[mask, value, operands[0], operands[1]]);
            }
            Step::Prefetch { address, lines, writes } => {
                let place = self.address(address, Kind::I32)?;
                for line in 0..lines {
                    let distance = place.distance.checked_add(64 * line as i32)?;
                    self.assembler.prefetch(Place { distance, ..place }, writes);
                }
            }
            Step::Rest { result, count } => self.rest(result, count)?,
            Step::Start => self.assembler.set(POSITION, 0),
            Step::Begin(of) => self.begin_loop(of)?,
            Step::End(of) => self.end_loop(of),
            Step::Advance { axis, count } => self.advance(axis, count)?,
        }
        if let Some(result) = step.result()
            && self.uses.last(result) <= self.at
            && self.places[result as usize].kept == 0
        {
            self.drop(result);
        }
        Some(())
    }
}

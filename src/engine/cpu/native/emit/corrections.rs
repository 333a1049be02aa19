//! Calls of functions for the few lanes that a formula is not for.

use super::{CHANGED, Cold, Emitter, FRAME, RAX, RCX, RDI, RDX, RSI};
use crate::engine::cpu::native::encode::{Operand, Place, Width};
use crate::engine::cpu::native::opcodes as op;

impl Emitter<'_> {
    /// The calls of corrections: all registers are saved, so that the results and operands are in memory, and restored then.
    pub(super) fn correct(&mut self) {
        if self.corrections.is_empty() {
            return;
        }
        let (bytes, width) = if self.wide { (64, Width::B64) } else { (32, Width::B32) };
        let vectors = self.room(bytes * self.vectors.len() as i32);
        let (masks, generals) = (self.room(64), self.room(64));
        let room = |register: u8| Place::at(FRAME, vectors + bytes * i32::from(register));
        let (save, restore) = (self.assembler.label(), self.assembler.label());
        for Cold { label, back, target, operands, correction } in std::mem::take(&mut self.corrections) {
            self.assembler.place(label);
            self.assembler.call(save);
            self.assembler.address(RDI, room(target));
            self.assembler.address(RSI, room(operands[0]));
            self.assembler.address(RDX, room(operands[1]));
            self.assembler.set(RCX, i64::from(self.of.lanes));
            self.assembler.set(RAX, correction as usize as i64);
            self.assembler.clear_upper();
            self.assembler.call_register(RAX);
            self.assembler.call(restore);
            self.assembler.jump(back);
        }
        for (label, saves) in [(save, true), (restore, false)] {
            self.assembler.place(label);
            for (at, &register) in CHANGED.iter().enumerate() {
                let place = Place::at(FRAME, generals + 8 * at as i32);
                match saves {
                    true => self.assembler.store(place, register),
                    false => self.assembler.load(register, place),
                }
            }
            for register in 0..self.vectors.len() as u8 {
                let place = Operand::Memory(room(register), width.bytes());
                self.vector(if saves { op::VMOVUPD_TO } else { op::VMOVUPD }, width, register, 0, place);
            }
            for register in (1..8).filter(|_| self.wide) {
                let place = Operand::Memory(Place::at(FRAME, masks + 8 * i32::from(register)), 1);
                let row = if saves { op::KMOVW_TO } else { op::KMOVW };
                self.assembler.vex(row, Width::B16, register, 0, place);
            }
            self.assembler.back();
        }
    }
}

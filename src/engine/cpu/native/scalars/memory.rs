//! Reads and writes of memory.

use super::forward::{ADDRESS, ELEMENT};
use super::{Emitter, FIRST, Home, RAX, RCX, RDX};
use crate::engine::cpu::native::encode::{Condition, Index, Label, Operand, Place, Vector};
use crate::engine::cpu::native::opcodes as op;
use crate::engine::cpu::scalars::{Indexed, RegisterIndex};

impl Emitter<'_> {
    /// Copies so many bytes by moves.
    pub(super) fn copy_bytes(&mut self, to: RegisterIndex, from: RegisterIndex, bytes: i32) {
        let (to, from) = (self.general(to, RAX), self.general(from, RCX));
        let mut at = 0;
        for width in [16, 8, 4, 1] {
            while bytes - at >= width {
                let (read, written) = (Place::at(from, at), Place::at(to, at));
                match width {
                    16 => {
                        self.vector(op::VMOVUPD, FIRST, 0, Operand::Memory(read, 16));
                        self.vector(op::VMOVUPD_TO, FIRST, 0, Operand::Memory(written, 16));
                    }
                    8 => {
                        self.assembler.load(RDX, read);
                        self.assembler.store(written, RDX);
                    }
                    4 => {
                        self.assembler.load_half(RDX, read);
                        self.assembler.store_half(written, RDX);
                    }
                    _ => {
                        self.assembler.load_byte(RDX, read);
                        self.assembler.store_byte(written, RDX);
                    }
                }
                at += width;
            }
        }
    }

    pub(super) fn load(&mut self, width: usize, result: RegisterIndex, from: Place) {
        if let Home::Float(own) = self.home(result) {
            let row = if width == 8 { op::VMOVSD } else { op::VMOVSS };
            return self.vector(row, own, 0, Operand::Memory(from, width as u32));
        }
        let to = self.general_result(result, RAX);
        match width {
            8 => self.assembler.load(to, from),
            4 => self.assembler.load_half(to, from),
            _ => self.assembler.load_byte(to, from),
        }
        self.put_general(result, to);
    }

    pub(super) fn store(&mut self, width: usize, value: RegisterIndex, to: Place) {
        if let Home::Float(own) = self.home(value) {
            let row = if width == 8 { op::VMOVSD_TO } else { op::VMOVSS_TO };
            return self.vector(row, own, 0, Operand::Memory(to, width as u32));
        }
        let from = self.general(value, RCX);
        match width {
            8 => self.assembler.store(to, from),
            4 => self.assembler.store_half(to, from),
            _ => self.assembler.store_byte(to, from),
        }
    }

    /// The place of an element at a computed position, if it is inside, or else goes on at the label.
    fn indexed(&mut self, pointer: RegisterIndex, index: RegisterIndex, of: Indexed, outside: Label) -> Place {
        let position = self.general(index, RDX);
        match i32::try_from(of.extent) {
            Ok(extent) => self.assembler.compare_number(position, extent),
            Err(_) => {
                self.assembler.set(RAX, of.extent);
                self.assembler.compare(position, RAX);
            }
        }
        // As numbers without signs, negative positions are beyond all extents.
        self.assembler.jump_if(Condition::AtLeast, outside);
        let (scale, index) = match u8::try_from(of.stride) {
            Ok(scale @ (1 | 2 | 4 | 8)) => (scale, position),
            _ => {
                match i32::try_from(of.stride) {
                    Ok(stride) => self.assembler.times(RDX, position, stride),
                    Err(_) => {
                        self.assembler.set(RAX, of.stride as i64);
                        self.assembler.multiply(RAX, position);
                        self.assembler.copy(RDX, RAX);
                    }
                }
                (1, RDX)
            }
        };
        let (mut base, mut distance) = (self.general(pointer, RAX), 0);
        match i32::try_from(of.offset) {
            Ok(offset) => distance = offset,
            Err(_) => {
                if base != RAX {
                    self.assembler.copy(RAX, base);
                }
                self.add_number(RAX, of.offset);
                base = RAX;
            }
        }
        Place { base, index: Some((Index::General(index), scale)), distance }
    }

    pub(super) fn load_at(
        &mut self,
        result: RegisterIndex,
        (pointer, index): (RegisterIndex, RegisterIndex),
        of: Indexed,
        is_forwarded: bool,
    ) {
        let (outside, end) = (self.assembler.label(), self.assembler.label());
        let mut place = self.indexed(pointer, index, of, outside);
        if let (true, Home::Float(own)) = (is_forwarded, self.home(result)) {
            let other = self.assembler.label();
            self.assembler.address(RAX, place);
            place = Place::at(RAX, 0);
            self.assembler.compare(RAX, ADDRESS);
            self.assembler.jump_if(Condition::Different, other);
            self.vector(op::VMOVAPD, own, 0, Vector(ELEMENT).into());
            self.assembler.jump(end);
            self.assembler.place(other);
        }
        self.load(of.width, result, place);
        self.assembler.jump(end);
        self.assembler.place(outside);
        match self.home(result) {
            Home::Float(own) => self.vector(op::VPXORQ, own, own, Vector(own).into()),
            _ => {
                self.assembler.set(RAX, 0);
                self.put_general(result, RAX);
            }
        }
        self.assembler.place(end);
    }

    pub(super) fn store_at(
        &mut self,
        value: RegisterIndex,
        (pointer, index): (RegisterIndex, RegisterIndex),
        of: Indexed,
        is_forwarded: bool,
    ) {
        let outside = self.assembler.label();
        let mut place = self.indexed(pointer, index, of, outside);
        if is_forwarded {
            self.assembler.address(ADDRESS, place);
            place = Place::at(ADDRESS, 0);
        }
        self.store(of.width, value, place);
        if is_forwarded {
            match self.home(value) {
                Home::Float(own) => self.vector(op::VMOVAPD, ELEMENT, 0, Vector(own).into()),
                _ => self.assembler.set(ADDRESS, 0),
            }
        }
        self.assembler.place(outside);
    }
}

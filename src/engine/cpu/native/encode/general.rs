//! Instructions on general registers, jumps, and moves between kinds of registers.

use super::{Assembler, Condition, General, Label, MaskRegister, Opcode, Operand, Place, Vector, Width};

impl Assembler {
    /// An instruction on general registers of 64 bits, the operand of whose ModRM is a register.
    fn general(&mut self, code: &[u8], register: u8, last: General) {
        self.byte(0x48 | (register >> 3) << 2 | last.0 >> 3);
        self.bytes.extend_from_slice(code);
        self.byte(0xC0 | (register & 7) << 3 | last.0 & 7);
    }

    /// The same, with an operand in memory.
    fn general_memory(&mut self, code: &[u8], register: u8, place: Place) {
        self.byte(0x48 | (register >> 3) << 2 | (place.index_number() >> 3 & 1) << 1 | place.base.0 >> 3);
        self.bytes.extend_from_slice(code);
        self.memory(register, place, 1);
    }

    pub(in crate::engine::cpu::native) fn copy(&mut self, result: General, from: General) {
        self.general(&[0x8B], result.0, from);
    }

    /// A known number.
    pub(in crate::engine::cpu::native) fn set(&mut self, result: General, number: i64) {
        match i32::try_from(number) {
            Ok(number) => {
                self.general(&[0xC7], 0, result);
                self.four(number);
            }
            Err(_) => {
                self.byte(0x48 | result.0 >> 3);
                self.byte(0xB8 | result.0 & 7);
                self.bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
    }

    pub(in crate::engine::cpu::native) fn load(&mut self, result: General, from: Place) {
        self.general_memory(&[0x8B], result.0, from);
    }

    pub(in crate::engine::cpu::native) fn store(&mut self, to: Place, from: General) {
        self.general_memory(&[0x89], from.0, to);
    }

    /// The address of a place.
    pub(in crate::engine::cpu::native) fn address(&mut self, result: General, of: Place) {
        self.general_memory(&[0x8D], result.0, of);
    }

    pub(in crate::engine::cpu::native) fn subtract(&mut self, result: General, other: General) {
        self.general(&[0x2B], result.0, other);
    }

    pub(in crate::engine::cpu::native) fn compare(&mut self, first: General, second: General) {
        self.general(&[0x3B], first.0, second);
    }

    /// Compares the low 32 bits.
    pub(in crate::engine::cpu::native) fn compare_halves(&mut self, first: General, second: General) {
        self.byte(0x40 | (first.0 >> 3) << 2 | second.0 >> 3);
        self.byte(0x3B);
        self.byte(0xC0 | (first.0 & 7) << 3 | second.0 & 7);
    }

    pub(in crate::engine::cpu::native) fn multiply(&mut self, result: General, other: General) {
        self.general(&[0x0F, 0xAF], result.0, other);
    }

    pub(in crate::engine::cpu::native) fn and(&mut self, result: General, other: General) {
        self.general(&[0x23], result.0, other);
    }

    pub(in crate::engine::cpu::native) fn or(&mut self, result: General, other: General) {
        self.general(&[0x0B], result.0, other);
    }

    pub(in crate::engine::cpu::native) fn xor_number(&mut self, result: General, number: i32) {
        self.with_number(6, result, number);
    }

    /// One of the eight instructions with a number of up to four bytes, by its place among them.
    fn with_number(&mut self, which: u8, result: General, number: i32) {
        match i8::try_from(number) {
            Ok(number) => {
                self.general(&[0x83], which, result);
                self.byte(number as u8);
            }
            Err(_) => {
                self.general(&[0x81], which, result);
                self.four(number);
            }
        }
    }

    pub(in crate::engine::cpu::native) fn add_number(&mut self, result: General, number: i32) {
        self.with_number(0, result, number);
    }

    pub(in crate::engine::cpu::native) fn and_number(&mut self, result: General, number: i32) {
        self.with_number(4, result, number);
    }

    pub(in crate::engine::cpu::native) fn compare_number(&mut self, first: General, number: i32) {
        self.with_number(7, first, number);
    }

    pub(in crate::engine::cpu::native) fn push(&mut self, register: General) {
        if register.0 > 7 {
            self.byte(0x41);
        }
        self.byte(0x50 | register.0 & 7);
    }

    pub(in crate::engine::cpu::native) fn pop(&mut self, register: General) {
        if register.0 > 7 {
            self.byte(0x41);
        }
        self.byte(0x58 | register.0 & 7);
    }

    pub(in crate::engine::cpu::native) fn jump(&mut self, to: Label) {
        self.byte(0xE9);
        self.jumps.push((self.bytes.len(), to));
        self.four(0);
    }

    pub(in crate::engine::cpu::native) fn jump_if(&mut self, condition: Condition, to: Label) {
        self.byte(0x0F);
        self.byte(0x80 | condition as u8);
        self.jumps.push((self.bytes.len(), to));
        self.four(0);
    }

    /// 1 in the low byte where the condition holds, else 0.
    pub(in crate::engine::cpu::native) fn set_if(&mut self, condition: Condition, result: General) {
        self.byte(0x40 | result.0 >> 3);
        self.byte(0x0F);
        self.byte(0x90 | condition as u8);
        self.byte(0xC0 | result.0 & 7);
    }

    /// A copy where the condition holds.
    pub(in crate::engine::cpu::native) fn copy_if(&mut self, condition: Condition, result: General, from: General) {
        self.general(&[0x0F, 0x40 | condition as u8], result.0, from);
    }

    /// The low byte without sign.
    pub(in crate::engine::cpu::native) fn low_byte(&mut self, result: General, of: General) {
        self.general(&[0x0F, 0xB6], result.0, of);
    }

    /// The low 32 bits with their sign.
    pub(in crate::engine::cpu::native) fn low_half(&mut self, result: General, of: General) {
        self.general(&[0x63], result.0, of);
    }

    /// Calls code at a label.
    pub(in crate::engine::cpu::native) fn call(&mut self, to: Label) {
        self.byte(0xE8);
        self.jumps.push((self.bytes.len(), to));
        self.four(0);
    }

    /// Calls another function of the same program, by where that begins.
    pub(in crate::engine::cpu::native) fn call_code(&mut self, function: usize) {
        self.byte(0xE8);
        self.calls.push((self.bytes.len(), function));
        self.four(0);
    }

    /// Calls a function.
    pub(in crate::engine::cpu::native) fn call_register(&mut self, function: General) {
        if function.0 > 7 {
            self.byte(0x41);
        }
        self.byte(0xFF);
        self.byte(0xD0 | function.0 & 7);
    }

    /// Goes on after the call.
    pub(in crate::engine::cpu::native) fn back(&mut self) {
        self.byte(0xC3);
    }

    /// The upper halves of registers become zero, without which the instructions of SSE would wait for them.
    pub(in crate::engine::cpu::native) fn clear_upper(&mut self) {
        self.bytes.extend_from_slice(&[0xC5, 0xF8, 0x77]);
    }

    /// Returns to the caller, whose code may be of SSE.
    pub(in crate::engine::cpu::native) fn leave(&mut self) {
        self.clear_upper();
        self.back();
    }

    /// The low bits of a mask, or the signs of a vector's elements.
    pub(in crate::engine::cpu::native) fn bits_of(&mut self, op: Opcode, width: Width, result: General, of: u8) {
        self.vex(op, width, result.0, 0, Operand::Register(Vector(of)));
    }

    /// Spreads the low bits of a register to the places that a constant's bits say.
    pub(in crate::engine::cpu::native) fn deposit_constant(&mut self, result: General, bits: General, places: u32) {
        let op = Opcode { map: 2, prefix: 3, vex_wide: true, wide: true, code: 0xF5 };
        self.vex(op, Width::B16, result.0, bits.0, Operand::Constant(places));
    }

    /// A mask of 16 elements from the low bits of a general register.
    pub(in crate::engine::cpu::native) fn mask_from(&mut self, result: MaskRegister, from: General) {
        let op = Opcode { map: 1, prefix: 0, vex_wide: false, wide: false, code: 0x92 };
        self.vex(op, Width::B16, result.0, 0, Operand::Register(Vector(from.0)));
    }

    /// The low bits of a register of 32 bits, as many as another one says.
    pub(in crate::engine::cpu::native) fn low_bits(&mut self, result: General, of: General, count: General) {
        let op = Opcode { map: 2, prefix: 0, vex_wide: false, wide: false, code: 0xF5 };
        self.vex(op, Width::B16, result.0, count.0, Operand::Register(Vector(of.0)));
    }

    pub(in crate::engine::cpu::native) fn add(&mut self, result: General, other: General) {
        self.general(&[0x03], result.0, other);
    }

    pub(in crate::engine::cpu::native) fn add_memory(&mut self, result: General, other: Place) {
        self.general_memory(&[0x03], result.0, other);
    }

    /// The product with a number.
    pub(in crate::engine::cpu::native) fn times(&mut self, result: General, other: General, number: i32) {
        self.general(&[0x69], result.0, other);
        self.four(number);
    }

    /// Asks whether some of these bits of the low 32 are set.
    pub(in crate::engine::cpu::native) fn test_bits(&mut self, of: General, bits: i32) {
        self.byte(0x40 | of.0 >> 3);
        self.byte(0xF7);
        self.byte(0xC0 | of.0 & 7);
        self.four(bits);
    }

    /// A byte without sign.
    pub(in crate::engine::cpu::native) fn load_byte(&mut self, result: General, from: Place) {
        self.general_memory(&[0x0F, 0xB6], result.0, from);
    }

    pub(in crate::engine::cpu::native) fn store_byte(&mut self, to: Place, from: General) {
        self.general_memory(&[0x88], from.0, to);
    }

    /// The number with the other sign.
    pub(in crate::engine::cpu::native) fn negate(&mut self, result: General) {
        self.general(&[0xF7], 3, result);
    }

    /// The address of a constant.
    pub(in crate::engine::cpu::native) fn address_of_constant(&mut self, result: General, constant: u32) {
        self.byte(0x48 | (result.0 >> 3) << 2);
        self.byte(0x8D);
        self.constant(result.0, constant);
    }

    /// Moves of 32 bits.
    pub(in crate::engine::cpu::native) fn load_half(&mut self, result: General, from: Place) {
        self.half(&[0x8B], result.0, from);
    }

    pub(in crate::engine::cpu::native) fn store_half(&mut self, to: Place, from: General) {
        self.half(&[0x89], from.0, to);
    }

    /// Brings a line into the second-level cache to read from, or to where it is written to.
    pub(in crate::engine::cpu::native) fn prefetch(&mut self, line: Place, writes: bool) {
        let (code, which) = if writes { ([0x0F, 0x0D], 1) } else { ([0x0F, 0x18], 2) };
        self.half(&code, which, line);
    }

    /// Makes what was written past the cache visible before what is written later.
    pub(in crate::engine::cpu::native) fn fence(&mut self) {
        self.bytes.extend_from_slice(&[0x0F, 0xAE, 0xF8]);
    }

    fn half(&mut self, code: &[u8], register: u8, place: Place) {
        let high = (register >> 3) << 2 | (place.index_number() >> 3 & 1) << 1 | place.base.0 >> 3;
        if high != 0 {
            self.byte(0x40 | high);
        }
        self.bytes.extend_from_slice(code);
        self.memory(register, place, 1);
    }
}

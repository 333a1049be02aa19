//! Instructions of x86-64 as bytes.
//!
//! Only those that the writer of loops uses are here, in the forms that it uses: operands of vectors are registers, and the last one
//! may be in memory. Instructions on vectors are rows of a table, by the fields that Intel's manual gives: the map of opcodes, the
//! prefix, the bit W, and the opcode. The two ways to write these, VEX for AVX2 and EVEX for AVX-512, share the rows.

mod general;

/// A general register, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct General(pub(super) u8);

pub(super) const RAX: General = General(0);
pub(super) const RCX: General = General(1);
pub(super) const RDX: General = General(2);
pub(super) const RBX: General = General(3);
pub(super) const RSP: General = General(4);
pub(super) const RBP: General = General(5);
pub(super) const RSI: General = General(6);
pub(super) const RDI: General = General(7);

/// A vector register, by its number: 16 with AVX2, 32 with AVX-512.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Vector(pub(super) u8);

/// A mask register of AVX-512, by its number; the first can't mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MaskRegister(pub(super) u8);

/// The bytes of vectors on which an instruction works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    B16 = 0,
    B32 = 1,
    B64 = 2,
}

impl Width {
    /// In bytes.
    pub(super) fn bytes(self) -> u32 {
        16 << self as u32
    }
}

/// A place in memory: a register, perhaps a multiple of another one by 1, 2, 4 or 8, and a distance in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) base: General,
    pub(super) index: Option<(Index, u8)>,
    pub(super) distance: i32,
}

/// The register that a place moves with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Index {
    General(General),
    /// Of gathers, which read at as many places as there are elements.
    Vector(Vector),
}

/// The last operand of an instruction on vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    Register(Vector),
    /// So many bytes in memory.
    Memory(Place, u32),
    /// One element in memory for all elements, with AVX-512.
    Everywhere(Place, u32),
    /// As [`Operand::Memory`], at a distance in the constants that follow the code.
    Constant(u32),
    /// As [`Operand::Everywhere`], in the constants.
    ConstantEverywhere(u32),
}

impl From<Vector> for Operand {
    fn from(register: Vector) -> Operand {
        Operand::Register(register)
    }
}

/// A row of the table: what tells an instruction apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Opcode {
    /// 1 for those that begin with 0F, 2 with 0F38, 3 with 0F3A.
    pub(super) map: u8,
    /// 0 for none, 1 for 66, 2 for F3, 3 for F2.
    pub(super) prefix: u8,
    /// The bit W with VEX, which most instructions ignore, and with EVEX.
    pub(super) vex_wide: bool,
    pub(super) wide: bool,
    pub(super) code: u8,
}

/// A mask on the elements that an instruction writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Masked {
    pub(super) by: Option<MaskRegister>,
    /// Whether the others become zero, or else stay.
    pub(super) zero: bool,
}

/// A place in the code that jumps go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(usize);

/// Code that is being written.
#[derive(Default)]
pub(super) struct Assembler {
    bytes: Vec<u8>,
    /// Where labels are, once they are placed.
    labels: Vec<Option<usize>>,
    /// Four bytes at these places are the distance to a label.
    jumps: Vec<(usize, Label)>,
    /// Four bytes at these places are the distance to a constant, from so many bytes after them.
    reads: Vec<(usize, u32, u8)>,
    /// Four bytes at these places are the distance to a function of the same program, which begins there.
    calls: Vec<(usize, usize)>,
    /// Bytes of the present instruction that follow its operands.
    trailing: u8,
}

/// A function.
pub(super) struct WrittenCode {
    pub(super) bytes: Vec<u8>,
    /// Four bytes at these places will be the distance to another function, which begins there.
    pub(super) calls: Vec<(usize, usize)>,
}

/// The condition of a jump, as its opcode says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Condition {
    Below = 2,
    AtLeast = 3,
    Equal = 4,
    Different = 5,
    NotAbove = 6,
    Above = 7,
    /// Of integers with a sign.
    Less = 12,
    NotLess = 13,
    NotGreater = 14,
    Greater = 15,
}

impl Assembler {
    /// The code, in which all jumps are known, and the constants after it.
    pub(super) fn finish(mut self, constants: &[u8]) -> WrittenCode {
        let first = self.bytes.len().next_multiple_of(64);
        for &(at, constant, trailing) in &self.reads {
            let target = first as i64 + i64::from(constant);
            let distance = target - (at as i64 + 4 + i64::from(trailing));
            let distance = i32::try_from(distance).expect("code is shorter than 2 GiB");
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        for (at, Label(label)) in self.jumps {
            let target = self.labels[label].expect("labels are placed");
            let distance = target as i64 - (at as i64 + 4);
            let distance = i32::try_from(distance).expect("code is shorter than 2 GiB");
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.bytes.resize(first, 0xCC);
        self.bytes.extend_from_slice(constants);
        WrittenCode { bytes: self.bytes, calls: self.calls }
    }

    /// Other code after this.
    pub(super) fn append(&mut self, other: Assembler) {
        let (start, labels) = (self.bytes.len(), self.labels.len());
        self.bytes.extend(other.bytes);
        self.labels.extend(other.labels.into_iter().map(|place| place.map(|place| place + start)));
        self.jumps.extend(other.jumps.into_iter().map(|(at, Label(label))| (at + start, Label(label + labels))));
        self.calls.extend(other.calls.into_iter().map(|(at, function)| (at + start, function)));
        self.reads.extend(other.reads.into_iter().map(|(at, constant, trailing)| (at + start, constant, trailing)));
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label here.
    pub(super) fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.bytes.len());
    }

    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn four(&mut self, number: i32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// The byte ModRM with a register, and what follows it for a place. `unit` divides distances of one byte.
    fn memory(&mut self, register: u8, place: Place, unit: u32) {
        let Place { base: General(base), index, distance } = place;
        let register = (register & 7) << 3;
        let unit = unit as i32;
        let short = (distance % unit == 0).then(|| i8::try_from(distance / unit).ok()).flatten();
        // The fifth and the thirteenth register have no form without a distance.
        let (mode, bytes) = match short {
            Some(0) if base & 7 != 5 => (0, 0),
            Some(_) => (0x40, 1),
            None => (0x80, 4),
        };
        if index.is_some() || base & 7 == 4 {
            // None is written as the fourth register.
            let (index, scale) = index.map_or((4, 1), |(index, scale)| (index.number(), scale));
            self.byte(mode | register | 4);
            self.byte((scale.trailing_zeros() as u8) << 6 | (index & 7) << 3 | base & 7);
        } else {
            self.byte(mode | register | base & 7);
        }
        match bytes {
            0 => {}
            1 => self.byte(short.expect("a short distance") as u8),
            _ => self.four(distance),
        }
    }

    /// ModRM of a constant, which is found relative to the next instruction.
    fn constant(&mut self, register: u8, constant: u32) {
        self.byte((register & 7) << 3 | 5);
        self.reads.push((self.bytes.len(), constant, self.trailing));
        self.four(0);
    }

    /// The last operand, after the opcode.
    fn last(&mut self, register: u8, last: Operand, with_units: bool) {
        match last {
            Operand::Register(Vector(last)) => self.byte(0xC0 | (register & 7) << 3 | last & 7),
            Operand::Memory(place, unit) | Operand::Everywhere(place, unit) => {
                self.memory(register, place, if with_units { unit } else { 1 });
            }
            Operand::Constant(constant) | Operand::ConstantEverywhere(constant) => self.constant(register, constant),
        }
    }

    /// An instruction on vectors with VEX: a result, an operand that is a register, and the last one.
    pub(super) fn vex(&mut self, op: Opcode, width: Width, result: u8, first: u8, last: Operand) {
        let (b, x) = match last {
            Operand::Register(Vector(last)) => (last >> 3, 0),
            Operand::Memory(place, _) => (place.base.0 >> 3, place.index_number() >> 3),
            Operand::Constant(_) => (0, 0),
            Operand::Everywhere(..) | Operand::ConstantEverywhere(_) => unreachable!("VEX has no broadcasts"),
        };
        let second = (!first & 15) << 3 | (width as u8) << 2 | op.prefix;
        if op.map == 1 && !op.vex_wide && b == 0 && x == 0 {
            self.byte(0xC5);
            self.byte((!result >> 3 & 1) << 7 | second);
        } else {
            self.byte(0xC4);
            self.byte((!result >> 3 & 1) << 7 | (!x & 1) << 6 | (!b & 1) << 5 | op.map);
            self.byte(u8::from(op.vex_wide) << 7 | second);
        }
        self.byte(op.code);
        self.last(result, last, false);
    }

    /// The same with EVEX, for some elements.
    pub(super) fn evex(&mut self, op: Opcode, width: Width, mask: Masked, result: u8, first: u8, last: Operand) {
        // Bits of the last operand beyond three: of a register in memory, or of its own number.
        let (b, x, high) = match last {
            Operand::Register(Vector(last)) => (last >> 3 & 1, last >> 4 & 1, first >> 4 & 1),
            Operand::Memory(place, _) | Operand::Everywhere(place, _) => {
                let index = place.index_number();
                let of_vector = matches!(place.index, Some((Index::Vector(_), _)));
                (place.base.0 >> 3 & 1, index >> 3 & 1, if of_vector { index >> 4 & 1 } else { first >> 4 & 1 })
            }
            Operand::Constant(_) | Operand::ConstantEverywhere(_) => (0, 0, first >> 4 & 1),
        };
        let everywhere = u8::from(matches!(last, Operand::Everywhere(..) | Operand::ConstantEverywhere(_)));
        let (by, zero) = (mask.by.map_or(0, |MaskRegister(by)| by), u8::from(mask.zero));
        self.byte(0x62);
        self.byte((!result >> 3 & 1) << 7 | (!x & 1) << 6 | (!b & 1) << 5 | (!result >> 4 & 1) << 4 | op.map);
        self.byte(u8::from(op.wide) << 7 | (!first & 15) << 3 | 4 | op.prefix);
        self.byte(zero << 7 | (width as u8) << 5 | everywhere << 4 | (!high & 1) << 3 | by);
        self.byte(op.code);
        self.last(result, last, true);
    }

    /// The next instruction has so many bytes after its operands.
    pub(super) fn trailing(&mut self, bytes: u8) {
        self.trailing = bytes;
    }

    /// A byte at the end of an instruction that is a number.
    pub(super) fn number(&mut self, number: u8) {
        self.trailing = 0;
        self.byte(number);
    }
}

impl Index {
    fn number(self) -> u8 {
        match self {
            Index::General(General(number)) => {
                debug_assert!(number != 4, "the stack pointer is no index");
                number
            }
            Index::Vector(Vector(number)) => number,
        }
    }
}

impl Place {
    /// A distance from a register.
    pub(super) fn at(base: General, distance: i32) -> Place {
        Place { base, index: None, distance }
    }

    fn index_number(&self) -> u8 {
        self.index.map_or(0, |(index, _)| index.number())
    }
}

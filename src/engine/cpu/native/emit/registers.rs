//! Registers of values, and where values are that have none.

use super::{Emitter, FRAME, Whereabouts};
use crate::engine::cpu::native::encode::{Operand, Place, Vector, Width};
use crate::engine::cpu::native::opcodes as op;
use crate::engine::cpu::native::program::{Form, Kind, Step, Value};

impl Emitter<'_> {
    pub(super) fn registers(&mut self, of_masks: bool) -> &mut Vec<Option<Value>> {
        if of_masks { &mut self.masks } else { &mut self.vectors }
    }

    /// A register that nothing needs, or that what is needed last loses.
    pub(super) fn take(&mut self, of_masks: bool) -> Option<u8> {
        let first = u8::from(of_masks);
        let count = self.registers(of_masks).len() as u8;
        for register in first..count {
            if self.registers(of_masks)[register as usize].is_none() && !self.needed.contains(&(of_masks, register)) {
                self.needed.push((of_masks, register));
                return Some(register);
            }
        }
        let mut last: Option<(u32, u8)> = None;
        for register in first..count {
            let Some(value) = self.registers(of_masks)[register as usize] else { continue };
            if self.places[value as usize].kept > 0 || self.needed.contains(&(of_masks, register)) {
                continue;
            }
            let next = self.uses.next(value, self.at).unwrap_or(u32::MAX);
            if last.is_none_or(|(latest, _)| next > latest) {
                last = Some((next, register));
            }
        }
        let (_, register) = last?;
        let value = self.registers(of_masks)[register as usize].expect("a value");
        self.save(value);
        self.drop(value);
        self.needed.push((of_masks, register));
        Some(register)
    }

    /// Gives a value a home if something still reads it.
    pub(super) fn save(&mut self, value: Value) {
        let Whereabouts { register, home, constant, .. } = self.places[value as usize];
        let Some(register) = register else { return };
        if home.is_some() || constant.is_some() || self.uses.last(value) <= self.at {
            return;
        }
        let home = self.home(value);
        if self.is_mask(value) {
            self.assembler.vex(op::KMOVW_TO, Width::B16, register, 0, Operand::Memory(Place::at(FRAME, home), 1));
            self.places[value as usize].home = Some(home);
            return;
        }
        let kind = self.of.kinds[value as usize];
        let width = self.value_width(kind);
        self.vector(op::VMOVUPD_TO, width, register, 0, Operand::Memory(Place::at(FRAME, home), width.bytes()));
        self.places[value as usize].home = Some(home);
    }

    /// The width of a register that holds a value; masks of AVX2 are as wide as the widest elements.
    pub(super) fn value_width(&self, kind: Kind) -> Width {
        match kind {
            Kind::Mask => Width::B32,
            _ => self.width(kind),
        }
    }

    pub(super) fn drop(&mut self, value: Value) {
        let of_masks = self.is_mask(value);
        if let Some(register) = self.places[value as usize].register.take() {
            self.registers(of_masks)[register as usize] = None;
        }
    }

    pub(super) fn hold(&mut self, value: Value, register: u8) {
        let of_masks = self.is_mask(value);
        self.registers(of_masks)[register as usize] = Some(value);
        self.places[value as usize].register = Some(register);
    }

    /// The register of a value, which is read into one if it has none.
    pub(super) fn register(&mut self, value: Value) -> Option<u8> {
        let of_masks = self.is_mask(value);
        if let Some(register) = self.places[value as usize].register {
            self.needed.push((of_masks, register));
            return Some(register);
        }
        let register = self.take(of_masks)?;
        self.read(value, register)?;
        self.hold(value, register);
        Some(register)
    }

    /// Reads a value that has no register.
    pub(super) fn read(&mut self, value: Value, register: u8) -> Option<()> {
        let Whereabouts { home, deferred, constant, .. } = self.places[value as usize];
        let kind = self.of.kinds[value as usize];
        if let Some((kind, bits)) = constant {
            self.read_constant(register, kind, bits);
        } else if let Some(step) = deferred {
            let Step::Load { kind, form, address, .. } = self.of.steps[step as usize] else {
                unreachable!("reads are deferred")
            };
            self.places[value as usize].deferred = None;
            let place = self.address(address, kind)?;
            self.load(register, kind, form, place, None)?;
        } else {
            let from = Place::at(FRAME, home.expect("a value is somewhere"));
            if self.is_mask(value) {
                self.assembler.vex(op::KMOVW, Width::B16, register, 0, Operand::Memory(from, 1));
            } else {
                let width = self.value_width(kind);
                self.vector(op::VMOVUPD, width, register, 0, Operand::Memory(from, width.bytes()));
            }
        }
        Some(())
    }

    pub(super) fn read_constant(&mut self, register: u8, kind: Kind, bits: u64) {
        if kind == Kind::Mask {
            return self.read_answer(register, bits != 0);
        }
        let width = self.width(kind);
        if bits == 0 {
            let width = if width == Width::B64 { Width::B32 } else { width };
            self.vector(op::VPXORD, width, register, register, Vector(register).into());
            return;
        }
        match kind.bytes() {
            8 => {
                let constant = self.pooled(bits.to_le_bytes().to_vec(), 8);
                self.vector(op::VBROADCASTSD, width, register, 0, Operand::Constant(constant));
            }
            _ => {
                let constant = self.pooled((bits as u32).to_le_bytes().to_vec(), 4);
                self.vector(op::VBROADCASTSS, width, register, 0, Operand::Constant(constant));
            }
        }
    }

    /// The same answer for all lanes.
    pub(super) fn read_answer(&mut self, register: u8, answer: bool) {
        if self.wide {
            let row = if answer { op::KXNORW } else { op::KXORW };
            self.assembler.vex(row, Width::B32, register, register, Vector(register).into());
        } else {
            let constant = self.pooled(vec![if answer { 0xFF } else { 0 }; 32], 32);
            self.vector(op::VMOVUPD, Width::B32, register, 0, Operand::Constant(constant));
        }
    }

    /// Where these bytes are among the constants.
    pub(super) fn pooled(&mut self, bytes: Vec<u8>, align: usize) -> u32 {
        if let Some(&at) = self.pool.get(&bytes) {
            return at;
        }
        let at = self.constants.len().next_multiple_of(align);
        self.constants.resize(at, 0);
        self.constants.extend_from_slice(&bytes);
        self.pool.insert(bytes, at as u32);
        at as u32
    }

    /// A value as a last operand, in a register or in memory.
    pub(super) fn operand(&mut self, value: Value, kind: Kind) -> Option<Operand> {
        let Whereabouts { register, home, deferred, constant, .. } = self.places[value as usize];
        if register.is_some() || self.is_mask(value) {
            return Some(Operand::Register(Vector(self.register(value)?)));
        }
        if let Some((of, bits)) = constant
            && of != Kind::Mask
        {
            let bytes = match kind.bytes() {
                8 => bits.to_le_bytes().to_vec(),
                _ => (bits as u32).to_le_bytes().to_vec(),
            };
            if self.wide {
                let align = bytes.len();
                return Some(Operand::ConstantEverywhere(self.pooled(bytes, align)));
            }
            let all = bytes.repeat(self.of.lanes as usize);
            return Some(Operand::Constant(self.pooled(all, 32)));
        }
        if let Some(step) = deferred {
            let Step::Load { kind: of, form, address, .. } = self.of.steps[step as usize] else {
                unreachable!("reads are deferred")
            };
            if of.bytes() == kind.bytes() && (form == Form::Run || (form == Form::One && self.wide)) {
                self.places[value as usize].deferred = None;
                let place = self.address(address, of)?;
                return Some(match form {
                    Form::Run => Operand::Memory(place, self.width(kind).bytes()),
                    _ => Operand::Everywhere(place, kind.bytes()),
                });
            }
            return Some(Operand::Register(Vector(self.register(value)?)));
        }
        if constant.is_some() {
            return Some(Operand::Register(Vector(self.register(value)?)));
        }
        let home = home.expect("a value is somewhere");
        Some(Operand::Memory(Place::at(FRAME, home), self.width(kind).bytes()))
    }

    /// Whether nothing reads a value after the present step.
    pub(super) fn dies(&self, value: Value) -> bool {
        self.places[value as usize].kept == 0 && self.uses.last(value) <= self.at
    }

    /// Registers of values that nothing reads any more are free.
    pub(super) fn release(&mut self, operands: &[Value]) {
        for &operand in operands {
            if self.dies(operand) {
                self.drop(operand);
            }
        }
    }

    /// The register of a result: a variable's own, or any.
    pub(super) fn target(&mut self, result: Value) -> Option<u8> {
        match self.places[result as usize].register {
            Some(register) => Some(register),
            None => {
                let of_masks = self.is_mask(result);
                let register = self.take(of_masks)?;
                self.hold(result, register);
                Some(register)
            }
        }
    }

    /// The result has this register, which a dead operand had.
    pub(super) fn take_over(&mut self, result: Value, register: u8) {
        if let Some(own) = self.places[result as usize].register {
            // A variable has a register of its own for good: others take what was the operand's.
            debug_assert_ne!(own, register);
        }
        debug_assert!(self.vectors[register as usize].is_none());
        self.hold(result, register);
    }

    pub(super) fn is_mask(&self, value: Value) -> bool {
        self.wide && self.of.kinds[value as usize] == Kind::Mask
    }
}

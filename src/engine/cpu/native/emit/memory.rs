//! Reads and writes of memory.

use super::{ASKED, Emitter, FRAME, POSITION, RAX, RDX, Scalar};
use crate::engine::cpu::native::encode::{
    Condition, General, Index, Label, MaskRegister, Masked, Operand, Place, Vector, Width,
};
use crate::engine::cpu::native::opcodes as op;
use crate::engine::cpu::native::program::{Address, Form, Kind, Position, Value};

impl Emitter<'_> {
    pub(super) fn address(&mut self, address: Address, kind: Kind) -> Option<Place> {
        let pointer = self.pointers[address.pointer as usize];
        let base = match (address.row, pointer) {
            (Some((row, stride)), _) => {
                let row = self.register(row)?;
                self.vector(op::VMOVQ_TO, Width::B16, row, 0, Vector(RAX.0).into());
                self.assembler.times(RAX, RAX, stride);
                match pointer {
                    Scalar::Register(register) => self.assembler.add(RAX, register),
                    Scalar::Memory(place) => self.assembler.add_memory(RAX, place),
                }
                RAX
            }
            (None, Scalar::Register(register)) => register,
            (None, Scalar::Memory(place)) => {
                self.assembler.load(RAX, place);
                RAX
            }
        };
        let index = address.indexed.then_some((Index::General(POSITION), kind.bytes() as u8));
        Some(Place { base, index, distance: address.offset })
    }

    /// Sets the flag of equality where a mask holds for no lane, and with AVX-512 the carry where it holds for all.
    pub(super) fn test_mask(&mut self, mask: u8, kind: Kind) {
        if self.wide {
            // A mask's upper bits, those of no lane, may be set.
            let test = if self.of.lanes == 8 { op::KORTESTB } else { op::KORTESTW };
            self.assembler.vex(test, Width::B16, mask, 0, Vector(mask).into());
        } else {
            let test = if kind.bytes() == 4 { op::VTESTPS } else { op::VTESTPD };
            self.vector(test, Width::B32, mask, 0, Vector(mask).into());
        }
    }

    /// Jumps where a mask holds for no lane.
    fn jump_if_none(&mut self, mask: u8, kind: Kind, to: Label) {
        self.test_mask(mask, kind);
        self.assembler.jump_if(Condition::Equal, to);
    }

    pub(super) fn load(&mut self, register: u8, kind: Kind, form: Form, place: Place, mask: Option<u8>) -> Option<()> {
        let (width, is_double) = (self.width(kind), kind.bytes() == 8);
        match (form, mask) {
            (Form::One, mask) => {
                let broadcast = if is_double { op::VBROADCASTSD } else { op::VBROADCASTSS };
                let from = Operand::Memory(place, kind.bytes());
                match mask {
                    None => self.vector(broadcast, width, register, 0, from),
                    Some(mask) if self.wide => {
                        let masked = Masked { by: Some(MaskRegister(mask)), zero: true };
                        self.assembler.evex(broadcast, width, masked, register, 0, from);
                    }
                    Some(mask) => {
                        // The place may be outside where no lane is wanted.
                        let (end, zero) = (self.assembler.label(), self.take(false)?);
                        for cleared in [zero, register] {
                            self.vector(op::VPXORD, Width::B32, cleared, cleared, Vector(cleared).into());
                        }
                        self.jump_if_none(mask, kind, end);
                        self.vector(broadcast, width, register, 0, from);
                        let blend = if is_double { op::VBLENDVPD } else { op::VBLENDVPS };
                        self.vector_number(blend, width, register, zero, Vector(register).into(), mask << 4);
                        self.assembler.place(end);
                    }
                }
            }
            (Form::Run, None) => {
                let load = if is_double { op::VMOVUPD } else { op::VMOVUPS };
                self.vector(load, width, register, 0, Operand::Memory(place, width.bytes()));
            }
            (Form::Run, Some(mask)) if self.wide => {
                let load = if is_double { op::VMOVUPD } else { op::VMOVUPS };
                let masked = Masked { by: Some(MaskRegister(mask)), zero: true };
                self.assembler.evex(load, width, masked, register, 0, Operand::Memory(place, width.bytes()));
            }
            (Form::Run, Some(mask)) => {
                let load = if is_double { op::VMASKMOVPD } else { op::VMASKMOVPS };
                self.assembler.vex(load, width, register, mask, Operand::Memory(place, 1));
            }
            (Form::Apart(stride), mask) => self.load_apart((register, kind), stride, place, mask)?,
            (Form::At(distances), mask) => {
                let index = self.register(distances)?;
                self.load_at(register, kind, index, place, mask)?;
            }
            (Form::Streamed, _) => return None,
        }
        Some(())
    }

    pub(super) fn store(&mut self, register: u8, kind: Kind, form: Form, place: Place, mask: Option<u8>) -> Option<()> {
        let (width, is_double) = (self.width(kind), kind.bytes() == 8);
        match (form, mask) {
            (Form::One, mask) => {
                let store = if is_double { op::VMOVSD_TO } else { op::VMOVSS_TO };
                let end = self.assembler.label();
                if let Some(mask) = mask {
                    self.jump_if_none(mask, kind, end);
                }
                self.vector(store, Width::B16, register, 0, Operand::Memory(place, kind.bytes()));
                self.assembler.place(end);
            }
            (Form::Run, None) => {
                let store = if is_double { op::VMOVUPD_TO } else { op::VMOVUPS_TO };
                self.vector(store, width, register, 0, Operand::Memory(place, width.bytes()));
            }
            (Form::Run, Some(mask)) if self.wide => {
                let store = if is_double { op::VMOVUPD_TO } else { op::VMOVUPS_TO };
                let masked = Masked { by: Some(MaskRegister(mask)), zero: false };
                self.assembler.evex(store, width, masked, register, 0, Operand::Memory(place, width.bytes()));
            }
            (Form::Run, Some(mask)) => {
                let store = if is_double { op::VMASKMOVPD_TO } else { op::VMASKMOVPS_TO };
                self.assembler.vex(store, width, register, mask, Operand::Memory(place, 1));
            }
            (Form::Apart(stride), mask) => self.store_apart((register, kind), stride, place, mask)?,
            (Form::Streamed, None) => {
                let store = if is_double { op::VMOVNTPD_TO } else { op::VMOVNTPS_TO };
                self.vector(store, width, register, 0, Operand::Memory(place, width.bytes()));
            }
            (Form::At(_), _) | (Form::Streamed, Some(_)) => return None,
        }
        Some(())
    }

    pub(super) fn rest(&mut self, result: Value, count: Option<u32>) -> Option<()> {
        let target = self.target(result)?;
        let element = 32 / self.of.lanes;
        match (self.wide, count) {
            (true, Some(count)) => {
                self.assembler.set(RAX, (1 << count) - 1);
                self.assembler.mask_from(MaskRegister(target), RAX);
            }
            (true, None) => {
                self.assembler.copy(RAX, ASKED);
                self.assembler.subtract(RAX, POSITION);
                self.assembler.set(RDX, -1);
                self.assembler.low_bits(RDX, RDX, RAX);
                self.assembler.mask_from(MaskRegister(target), RDX);
            }
            (false, Some(count)) => {
                let mut lanes = vec![0xFF; (count * element) as usize];
                lanes.resize(32, 0);
                let constant = self.pooled(lanes, 32);
                self.vector(op::VMOVUPD, Width::B32, target, 0, Operand::Constant(constant));
            }
            (false, None) => {
                let mut lanes = vec![0xFF; 32];
                lanes.resize(64, 0);
                let constant = self.pooled(lanes, 32);
                self.assembler.copy(RAX, ASKED);
                self.assembler.subtract(RAX, POSITION);
                self.assembler.negate(RAX);
                self.assembler.address_of_constant(RDX, constant + 32);
                let place = Place { base: RDX, index: Some((Index::General(RAX), element as u8)), distance: 0 };
                self.vector(op::VMOVUPD, Width::B32, target, 0, Operand::Memory(place, 1));
            }
        }
        Some(())
    }

    /// Reads booleans as answers.
    pub(super) fn load_answers(&mut self, result: u8, form: Form, place: Place, mask: Option<u8>) -> Option<()> {
        let lanes = self.of.lanes;
        let is_double = self.of.bytes / lanes == 8;
        match (form, mask) {
            (Form::One, mask) => {
                let end = self.assembler.label();
                self.assembler.copy(RDX, place.base);
                self.assembler.set(RAX, 0);
                if let Some(mask) = mask {
                    self.jump_if_none(mask, if is_double { Kind::F64 } else { Kind::F32 }, end);
                }
                self.assembler.load_byte(RAX, Place { base: RDX, ..place });
                self.assembler.place(end);
                self.assembler.negate(RAX);
                match self.wide {
                    true => self.assembler.mask_from(MaskRegister(result), RAX),
                    false => {
                        self.vector(op::VMOVQ, Width::B16, result, 0, Vector(RAX.0).into());
                        self.vector(op::VPBROADCASTQ, Width::B32, result, 0, Vector(result).into());
                    }
                }
                // All lanes have the boolean, also those that the mask leaves out.
                if let Some(mask) = mask {
                    match self.wide {
                        true => self.assembler.vex(op::KANDW, Width::B32, result, result, Vector(mask).into()),
                        false => self.vector(op::VPANDQ, Width::B32, result, result, Vector(mask).into()),
                    }
                }
            }
            (Form::Run, mask) if self.wide => {
                let (extend, test) = match is_double {
                    true => (op::VPMOVZXBQ, op::VPTESTMQ),
                    false => (op::VPMOVZXBD, op::VPTESTMD),
                };
                let bytes = self.take(false)?;
                let masked = Masked { by: mask.map(MaskRegister), zero: mask.is_some() };
                self.assembler.evex(extend, Width::B64, masked, bytes, 0, Operand::Memory(place, lanes));
                self.vector(test, Width::B64, result, bytes, Vector(bytes).into());
            }
            (Form::Run, None) => {
                let (extend, shift, by) = match is_double {
                    true => (op::VPMOVZXBQ, op::SHIFTQ, 63),
                    false => (op::VPMOVZXBD, op::SHIFTD, 31),
                };
                self.vector(extend, Width::B32, result, 0, Operand::Memory(place, lanes));
                self.vector_number(shift, Width::B32, 6, result, Vector(result).into(), by);
            }
            _ => return None,
        }
        Some(())
    }

    /// Writes answers as booleans.
    pub(super) fn store_answers(&mut self, answers: u8, form: Form, place: Place, mask: Option<u8>) -> Option<()> {
        let lanes = self.of.lanes;
        let bits = |this: &mut Self, to: General| match (this.wide, lanes) {
            (true, _) => this.assembler.bits_of(op::KMOVW_BITS, Width::B16, to, answers),
            (false, 4) => this.assembler.bits_of(op::VMOVMSKPD, Width::B32, to, answers),
            (false, _) => this.assembler.bits_of(op::VMOVMSKPS, Width::B32, to, answers),
        };
        match (form, mask) {
            (Form::One, None) => {
                bits(self, RDX);
                self.assembler.and_number(RDX, 1);
                self.assembler.store_byte(place, RDX);
            }
            (Form::Run, mask) if self.wide => {
                let bytes = self.take(false)?;
                let ones = self.pooled(vec![1; 16], 16);
                let chosen = Masked { by: Some(MaskRegister(answers)), zero: true };
                self.assembler.evex(op::VMOVDQU8, Width::B16, chosen, bytes, 0, Operand::Constant(ones));
                let masked = Masked { by: mask.map(MaskRegister), zero: false };
                match (mask, lanes) {
                    (None, 8) => self.vector(op::VMOVSD_TO, Width::B16, bytes, 0, Operand::Memory(place, 8)),
                    _ => {
                        self.assembler.evex(op::VMOVDQU8_TO, Width::B16, masked, bytes, 0, Operand::Memory(place, 16));
                    }
                }
            }
            (Form::Run, None) => {
                self.assembler.address(RDX, place);
                bits(self, RAX);
                let places = self.pooled(vec![1; 8], 8);
                self.assembler.deposit_constant(RAX, RAX, places);
                match lanes {
                    4 => self.assembler.store_half(Place::at(RDX, 0), RAX),
                    _ => self.assembler.store(Place::at(RDX, 0), RAX),
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// An affine function of the loops' positions.
    pub(super) fn position(&mut self, result: u8, kind: Kind, at: &Position) -> Option<()> {
        let is_double = kind.bytes() == 8;
        self.assembler.set(RAX, at.offset);
        let along = (at.along != 0).then_some((self.of.vector, at.along));
        for (axis, coefficient) in at.terms.iter().copied().chain(along) {
            match self.counters.get(axis as usize).copied().flatten() {
                _ if axis == self.of.vector => self.assembler.copy(RDX, POSITION),
                Some(Scalar::Register(register)) => self.assembler.copy(RDX, register),
                Some(Scalar::Memory(place)) => self.assembler.load(RDX, place),
                None => return None,
            }
            if axis == 0 && !self.of.whole {
                let first = self.first?;
                self.assembler.add_memory(RDX, Place::at(FRAME, first));
            }
            self.assembler.times(RDX, RDX, i32::try_from(coefficient).ok()?);
            self.assembler.add(RAX, RDX);
        }
        let width = self.width(kind);
        if self.wide {
            let row = if is_double { op::VPBROADCASTQ_FROM } else { op::VPBROADCASTD_FROM };
            self.vector(row, width, result, 0, Vector(RAX.0).into());
        } else {
            let row = if is_double { op::VPBROADCASTQ } else { op::VPBROADCASTD };
            self.vector(op::VMOVQ, Width::B16, result, 0, Vector(RAX.0).into());
            self.vector(row, width, result, 0, Vector(result).into());
        }
        if at.along != 0 {
            let steps = (0..i64::from(self.of.lanes)).map(|lane| lane.wrapping_mul(at.along));
            let bytes: Vec<u8> = match is_double {
                true => steps.flat_map(i64::to_le_bytes).collect(),
                false => steps.flat_map(|step| (step as i32).to_le_bytes()).collect(),
            };
            let steps = self.pooled(bytes, 64);
            let add = if is_double { op::VPADDQ } else { op::VPADDD };
            self.vector(add, width, result, result, Operand::Constant(steps));
        }
        Some(())
    }

    /// Adds lanes to elements, or writes them, one after the other.
    pub(super) fn scatter(
        &mut self,
        (value, distances, mask): (u8, u8, u8),
        kind: Kind,
        address: Address,
        adds: bool,
    ) -> Option<()> {
        let is_double = kind.bytes() == 8;
        let (values, places) = (self.room(64), self.room(64));
        let (width, wide) = (self.width(kind), self.width(Kind::I64));
        self.vector(op::VMOVUPD_TO, width, value, 0, Operand::Memory(Place::at(FRAME, values), width.bytes()));
        self.vector(op::VMOVUPD_TO, wide, distances, 0, Operand::Memory(Place::at(FRAME, places), wide.bytes()));
        match (self.wide, self.of.lanes) {
            (true, _) => self.assembler.bits_of(op::KMOVW_BITS, Width::B16, RDX, mask),
            (false, 4) => self.assembler.bits_of(op::VMOVMSKPD, Width::B32, RDX, mask),
            (false, _) => self.assembler.bits_of(op::VMOVMSKPS, Width::B32, RDX, mask),
        }
        let sum = self.take(false)?;
        let (load, add, store) = match is_double {
            true => (op::VMOVSD, op::VADDSD, op::VMOVSD_TO),
            false => (op::VMOVSS, op::VADDSS, op::VMOVSS_TO),
        };
        for lane in 0..self.of.lanes as i32 {
            let end = self.assembler.label();
            self.assembler.test_bits(RDX, 1 << lane);
            self.assembler.jump_if(Condition::Equal, end);
            self.assembler.load(RAX, Place::at(FRAME, places + 8 * lane));
            match self.pointers[address.pointer as usize] {
                Scalar::Register(register) => self.assembler.add(RAX, register),
                Scalar::Memory(place) => self.assembler.add_memory(RAX, place),
            }
            let element = Operand::Memory(Place::at(RAX, address.offset), kind.bytes());
            let from = Place::at(FRAME, values + lane * kind.bytes() as i32);
            self.vector(load, Width::B16, sum, 0, Operand::Memory(from, kind.bytes()));
            if adds {
                self.vector(add, Width::B16, sum, sum, element);
            }
            self.vector(store, Width::B16, sum, 0, element);
            self.assembler.place(end);
        }
        Some(())
    }
}

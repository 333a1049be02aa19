//! Reads and writes of memory.

use super::{ASKED, Emitter, POSITION, RAX, RDX, RSP, Scalar};
use crate::engine::cpu::native::encode::{Index, MaskRegister, Masked, Operand, Place, Vector, Width};
use crate::engine::cpu::native::opcodes as op;
use crate::engine::cpu::native::program::{Address, Form, Kind, Value};

impl Emitter<'_> {
    pub(super) fn address(&mut self, address: Address, kind: Kind) -> Place {
        let base = match self.pointers[address.pointer as usize] {
            Scalar::Register(register) => register,
            Scalar::Frame(offset) => {
                self.assembler.load(RAX, Place::at(RSP, offset));
                RAX
            }
        };
        let index = address.indexed.then_some((Index::General(POSITION), kind.bytes() as u8));
        Place { base, index, distance: address.offset }
    }

    pub(super) fn load(&mut self, register: u8, kind: Kind, form: Form, place: Place, mask: Option<u8>) -> Option<()> {
        let (width, is_double) = (self.width(kind), kind.bytes() == 8);
        match (form, mask) {
            (Form::One, _) => {
                let broadcast = if is_double { op::VBROADCASTSD } else { op::VBROADCASTSS };
                self.vector(broadcast, width, register, 0, Operand::Memory(place, kind.bytes()));
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
            (Form::Apart(stride), mask) => self.gather(register, kind, stride, place, mask)?,
        }
        Some(())
    }

    /// Reads elements that lie apart.
    pub(super) fn gather(
        &mut self,
        register: u8,
        kind: Kind,
        stride: i32,
        place: Place,
        mask: Option<u8>,
    ) -> Option<()> {
        let (width, is_double) = (self.width(kind), kind.bytes() == 8);
        let gather = if is_double { op::VGATHERDPD } else { op::VGATHERDPS };
        let index = self.offsets(stride)?;
        let from = Place { index: Some((Index::Vector(Vector(index)), 1)), ..place };
        self.vector(op::VPXORD, Width::B32, register, register, Vector(register).into());
        if self.wide {
            let lanes = self.take(true)?;
            match mask {
                Some(mask) => self.assembler.vex(op::KMOVW, Width::B16, lanes, 0, Vector(mask).into()),
                None => self.assembler.vex(op::KXNORW, Width::B32, lanes, lanes, Vector(lanes).into()),
            }
            let by = Masked { by: Some(MaskRegister(lanes)), zero: false };
            self.assembler.evex(gather, width, by, register, 0, Operand::Memory(from, kind.bytes()));
            return Some(());
        }
        let lanes = self.take(false)?;
        match mask {
            Some(mask) => self.vector(op::VMOVUPD, width, lanes, 0, Vector(mask).into()),
            None => {
                let all = self.pooled(vec![0xFF; 32], 32);
                self.vector(op::VMOVUPD, width, lanes, 0, Operand::Constant(all));
            }
        }
        self.assembler.vex(gather, width, register, lanes, Operand::Memory(from, 1));
        Some(())
    }

    /// A register with the distances of lanes, in bytes.
    pub(super) fn offsets(&mut self, stride: i32) -> Option<u8> {
        let lanes = self.of.lanes;
        let bytes = (0..lanes as i32).map(|lane| lane.checked_mul(stride)).collect::<Option<Vec<i32>>>()?;
        let bytes: Vec<u8> = bytes.into_iter().flat_map(i32::to_le_bytes).collect();
        let constant = self.pooled(bytes, 64);
        let index = self.take(false)?;
        let width = self.width(Kind::I32);
        self.vector(op::VMOVUPS, width, index, 0, Operand::Constant(constant));
        Some(index)
    }

    pub(super) fn store(&mut self, register: u8, kind: Kind, form: Form, place: Place, mask: Option<u8>) -> Option<()> {
        let (width, is_double) = (self.width(kind), kind.bytes() == 8);
        match (form, mask) {
            (Form::One, _) => {
                let store = if is_double { op::VMOVSD_TO } else { op::VMOVSS_TO };
                self.vector(store, Width::B16, register, 0, Operand::Memory(place, kind.bytes()));
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
            (Form::Apart(stride), mask) if self.wide => {
                let scatter = if is_double { op::VSCATTERDPD } else { op::VSCATTERDPS };
                let index = self.offsets(stride)?;
                let to = Place { index: Some((Index::Vector(Vector(index)), 1)), ..place };
                let lanes = self.take(true)?;
                match mask {
                    Some(mask) => self.assembler.vex(op::KMOVW, Width::B16, lanes, 0, Vector(mask).into()),
                    None => self.assembler.vex(op::KXNORW, Width::B32, lanes, lanes, Vector(lanes).into()),
                }
                let by = Masked { by: Some(MaskRegister(lanes)), zero: false };
                self.assembler.evex(scatter, width, by, register, 0, Operand::Memory(to, kind.bytes()));
            }
            (Form::Apart(stride), None) => {
                let room = self.room(32);
                self.vector(op::VMOVUPD_TO, width, register, 0, Operand::Memory(Place::at(RSP, room), 1));
                for lane in 0..self.of.lanes as i32 {
                    let from = Place::at(RSP, room + lane * kind.bytes() as i32);
                    let to = Place { distance: place.distance.checked_add(lane.checked_mul(stride)?)?, ..place };
                    match is_double {
                        true => {
                            self.assembler.load(RDX, from);
                            self.assembler.store(to, RDX);
                        }
                        false => {
                            self.assembler.load_half(RDX, from);
                            self.assembler.store_half(to, RDX);
                        }
                    }
                }
            }
            (Form::Apart(_), Some(_)) => return None,
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
}

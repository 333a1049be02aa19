//! Elements that lie apart.
//!
//! Reads and writes of single elements take half the time of the instructions for all lanes. Where a mask leaves out some of
//! them, which the code finds out as it runs, those instructions do the work.

use super::{Emitter, RDX};
use crate::engine::cpu::native::encode::{
    Condition, Index, Label, MaskRegister, Masked, Opcode, Operand, Place, Vector, Width,
};
use crate::engine::cpu::native::opcodes as op;
use crate::engine::cpu::native::program::Kind;

/// Bytes of the parts that vectors are put together of.
const PART: u32 = 16;

impl Emitter<'_> {
    /// Reads elements that are so many bytes apart.
    pub(super) fn load_apart(
        &mut self,
        (register, kind): (u8, Kind),
        stride: i32,
        place: Place,
        mask: Option<u8>,
    ) -> Option<()> {
        let spare = [self.take(false)?, self.take(false)?];
        let Some(mask) = mask else { return self.load_each((register, kind), stride, place, spare) };
        let lanes = self.take(self.wide)?;
        let (some, end) = (self.assembler.label(), self.assembler.label());
        self.jump_unless_all(mask, kind, some);
        self.load_each((register, kind), stride, place, spare)?;
        self.assembler.jump(end);
        self.assembler.place(some);
        self.offsets(spare[0], stride)?;
        let gather = if kind.bytes() == 8 { op::VGATHERDPD } else { op::VGATHERDPS };
        self.gather(gather, (register, kind), spare[0], place, (mask, lanes));
        self.assembler.place(end);
        Some(())
    }

    /// Writes elements to places that are so many bytes apart.
    pub(super) fn store_apart(
        &mut self,
        (register, kind): (u8, Kind),
        stride: i32,
        place: Place,
        mask: Option<u8>,
    ) -> Option<()> {
        let spare = self.take(false)?;
        let Some(mask) = mask else { return self.store_each((register, kind), stride, place, spare) };
        if !self.wide {
            return None;
        }
        let lanes = self.take(true)?;
        let (some, end) = (self.assembler.label(), self.assembler.label());
        self.jump_unless_all(mask, kind, some);
        self.store_each((register, kind), stride, place, spare)?;
        self.assembler.jump(end);
        self.assembler.place(some);
        self.offsets(spare, stride)?;
        // A place has one index.
        let place = self.without_index(place);
        let to = Place { index: Some((Index::Vector(Vector(spare)), 1)), ..place };
        self.assembler.vex(op::KMOVW, Width::B16, lanes, 0, Vector(mask).into());
        let by = Masked { by: Some(MaskRegister(lanes)), zero: false };
        let scatter = if kind.bytes() == 8 { op::VSCATTERDPD } else { op::VSCATTERDPS };
        self.assembler.evex(scatter, self.width(kind), by, register, 0, Operand::Memory(to, kind.bytes()));
        self.assembler.place(end);
        Some(())
    }

    /// Reads elements at the distances in a register.
    pub(super) fn load_at(
        &mut self,
        register: u8,
        kind: Kind,
        index: u8,
        place: Place,
        mask: Option<u8>,
    ) -> Option<()> {
        let lanes = self.take(self.wide)?;
        let mask = match mask {
            Some(mask) => mask,
            None => {
                self.read_answer(lanes, true);
                lanes
            }
        };
        let gather = if kind.bytes() == 8 { op::VGATHERQPD } else { op::VGATHERQPS };
        self.gather(gather, (register, kind), index, place, (mask, lanes));
        Some(())
    }

    /// The instruction that reads all elements where a mask holds; it clears its own copy of the mask.
    fn gather(
        &mut self,
        gather: Opcode,
        (register, kind): (u8, Kind),
        index: u8,
        place: Place,
        (mask, lanes): (u8, u8),
    ) {
        let place = self.without_index(place);
        let from = Place { index: Some((Index::Vector(Vector(index)), 1)), ..place };
        self.vector(op::VPXORD, Width::B32, register, register, Vector(register).into());
        if self.wide {
            if mask != lanes {
                self.assembler.vex(op::KMOVW, Width::B16, lanes, 0, Vector(mask).into());
            }
            // Gathers of narrow elements by wide distances are as wide as these.
            let width = self.width(if gather == op::VGATHERQPS { Kind::I64 } else { kind });
            let by = Masked { by: Some(MaskRegister(lanes)), zero: false };
            self.assembler.evex(gather, width, by, register, 0, Operand::Memory(from, kind.bytes()));
        } else {
            if mask != lanes {
                self.vector(op::VMOVUPD, self.width(kind), lanes, 0, Vector(mask).into());
            }
            self.assembler.vex(gather, self.width(kind), register, lanes, Operand::Memory(from, 1));
        }
    }

    /// Jumps unless a mask holds for all lanes.
    fn jump_unless_all(&mut self, mask: u8, kind: Kind, to: Label) {
        if self.wide {
            self.test_mask(mask, kind);
            return self.assembler.jump_if(Condition::AtLeast, to);
        }
        let bits = if kind.bytes() == 8 { op::VMOVMSKPD } else { op::VMOVMSKPS };
        self.assembler.bits_of(bits, Width::B32, RDX, mask);
        self.assembler.compare_number(RDX, (1 << self.of.lanes) - 1);
        self.assembler.jump_if(Condition::Different, to);
    }

    /// The same place without the vector loop's position.
    fn without_index(&mut self, place: Place) -> Place {
        if place.index.is_none() {
            return place;
        }
        self.assembler.address(super::RAX, place);
        Place::at(super::RAX, 0)
    }

    /// Fills a register with the distances of lanes, in bytes.
    fn offsets(&mut self, register: u8, stride: i32) -> Option<()> {
        let lanes = self.of.lanes;
        let bytes = (0..lanes as i32).map(|lane| lane.checked_mul(stride)).collect::<Option<Vec<i32>>>()?;
        let bytes: Vec<u8> = bytes.into_iter().flat_map(i32::to_le_bytes).collect();
        let constant = self.pooled(bytes, 64);
        self.vector(op::VMOVUPS, self.width(Kind::I32), register, 0, Operand::Constant(constant));
        Some(())
    }

    /// Reads single elements, and puts together parts of 16 bytes.
    fn load_each(&mut self, (register, kind): (u8, Kind), stride: i32, place: Place, spare: [u8; 2]) -> Option<()> {
        let lanes = PART / kind.bytes();
        let part = |this: &mut Self, to: u8, part: u32| this.load_part((to, kind), stride, place, part * lanes);
        let upper_half = |this: &mut Self, to: u8, of: u8| {
            this.vector_number(op::VINSERTF128, Width::B32, to, to, Vector(of).into(), 1);
        };
        part(self, register, 0)?;
        if self.of.lanes / lanes > 1 {
            part(self, spare[0], 1)?;
            upper_half(self, register, spare[0]);
        }
        if self.of.lanes / lanes > 2 {
            part(self, spare[0], 2)?;
            part(self, spare[1], 3)?;
            upper_half(self, spare[0], spare[1]);
            self.vector_number(op::VINSERTF64X4, Width::B64, register, register, Vector(spare[0]).into(), 1);
        }
        Some(())
    }

    /// Reads the elements of some lanes, from the first of them on.
    fn load_part(&mut self, (to, kind): (u8, Kind), stride: i32, place: Place, first: u32) -> Option<()> {
        let element = |lane: u32| element(place, kind, stride, first + lane);
        if kind.bytes() == 8 {
            self.vector(op::VMOVSD, Width::B16, to, 0, element(0)?);
            self.vector(op::VMOVHPD, Width::B16, to, to, element(1)?);
            return Some(());
        }
        self.vector(op::VMOVSS, Width::B16, to, 0, element(0)?);
        for lane in 1..PART / kind.bytes() {
            self.vector_number(op::VINSERTPS, Width::B16, to, to, element(lane)?, (lane << 4) as u8);
        }
        Some(())
    }

    /// Writes single elements, from parts of 16 bytes.
    fn store_each(&mut self, (register, kind): (u8, Kind), stride: i32, place: Place, spare: u8) -> Option<()> {
        let (width, lanes) = (self.width(kind), PART / kind.bytes());
        for part in 0..self.of.lanes / lanes {
            let element = |lane: u32| element(place, kind, stride, part * lanes + lane);
            let from = if part == 0 { register } else { spare };
            if part > 0 {
                self.vector_number(op::VEXTRACTF128, width, register, 0, Vector(spare).into(), part as u8);
            }
            if kind.bytes() == 8 {
                self.vector(op::VMOVSD_TO, Width::B16, from, 0, element(0)?);
                self.vector(op::VMOVHPD_TO, Width::B16, from, 0, element(1)?);
                continue;
            }
            self.vector(op::VMOVSS_TO, Width::B16, from, 0, element(0)?);
            for lane in 1..lanes {
                self.vector_number(op::VEXTRACTPS, Width::B16, from, 0, element(lane)?, lane as u8);
            }
        }
        Some(())
    }
}

/// The element of a lane.
fn element(place: Place, kind: Kind, stride: i32, lane: u32) -> Option<Operand> {
    let distance = place.distance.checked_add(stride.checked_mul(lane as i32)?)?;
    Some(Operand::Memory(Place { distance, ..place }, kind.bytes()))
}

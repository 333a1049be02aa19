//! Instructions of operations.

use super::Emitter;
use crate::engine::cpu::native::encode::{MaskRegister, Masked, Opcode, Operand, Vector, Width};
use crate::engine::cpu::native::opcodes as op;
use crate::engine::cpu::native::program::{Kind, Op, Predicate, Value};

/// The table of a function of three bits: the first, or the second where the third is set.
const SIGN_OF_SECOND: u8 = 0xD8;

impl Emitter<'_> {
    pub(super) fn compute(&mut self, result: Value, operation: Op, kind: Kind, operands: &[Value]) -> Option<()> {
        let width = self.width(kind);
        let is_double = kind.bytes() == 8;
        let choose = |double, single| if is_double { double } else { single };
        match operation {
            Op::MultiplyAdd => self.multiply_add(result, kind, operands),
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Min | Op::Max | Op::And | Op::Or | Op::Xor
                if kind == Kind::Mask && self.wide =>
            {
                let row = match operation {
                    Op::And => op::KANDW,
                    Op::Or => op::KORW,
                    _ => op::KXORW,
                };
                let (a, b) = (self.register(operands[0])?, self.register(operands[1])?);
                self.release(operands);
                let target = self.target(result)?;
                self.assembler.vex(row, Width::B32, target, a, Vector(b).into());
                Some(())
            }
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Min | Op::Max | Op::Scale | Op::And | Op::Or | Op::Xor => {
                let row = match (operation, kind.is_float()) {
                    (Op::Add, true) => choose(op::VADDPD, op::VADDPS),
                    (Op::Add, false) => choose(op::VPADDQ, op::VPADDD),
                    (Op::Sub, true) => choose(op::VSUBPD, op::VSUBPS),
                    (Op::Sub, false) => choose(op::VPSUBQ, op::VPSUBD),
                    (Op::Mul, false) if self.wide => choose(op::VPMULLQ, op::VPMULLD),
                    // Positions that are inside need no more than 32 bits.
                    (Op::Mul, false) => choose(op::VPMULUDQ, op::VPMULLD),
                    (Op::Min, false) if self.wide || !is_double => choose(op::VPMINSQ, op::VPMINSD),
                    (Op::Max, false) if self.wide || !is_double => choose(op::VPMAXSQ, op::VPMAXSD),
                    (Op::Mul, true) => choose(op::VMULPD, op::VMULPS),
                    (Op::Div, true) => choose(op::VDIVPD, op::VDIVPS),
                    (Op::Min, true) => choose(op::VMINPD, op::VMINPS),
                    (Op::Max, true) => choose(op::VMAXPD, op::VMAXPS),
                    (Op::Scale, true) => choose(op::VSCALEFPD, op::VSCALEFPS),
                    (Op::And, _) => choose(op::VPANDQ, op::VPANDD),
                    (Op::Or, _) => choose(op::VPORQ, op::VPORD),
                    (Op::Xor, _) => choose(op::VPXORQ, op::VPXORD),
                    _ => return None,
                };
                let width = if kind == Kind::Mask { Width::B32 } else { width };
                let [mut a, mut b] = [operands[0], operands[1]];
                let commutes = matches!(operation, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor);
                if commutes && self.places[a as usize].register.is_none() && self.places[b as usize].register.is_some()
                {
                    (a, b) = (b, a);
                }
                let first = self.register(a)?;
                let last = self.operand(b, if kind == Kind::Mask { Kind::F64 } else { kind })?;
                self.release(operands);
                let target = self.target(result)?;
                self.vector(row, width, target, first, last);
                Some(())
            }
            Op::Not if self.wide => {
                let a = self.register(operands[0])?;
                self.release(operands);
                let target = self.target(result)?;
                self.assembler.vex(op::KNOTW, Width::B16, target, 0, Vector(a).into());
                Some(())
            }
            Op::Not => {
                let a = self.register(operands[0])?;
                let signs = self.pooled(vec![0x80; 32], 32);
                self.release(operands);
                let target = self.target(result)?;
                self.vector(op::VPXORQ, Width::B32, target, a, Operand::Constant(signs));
                Some(())
            }
            Op::ShiftLeft(by) | Op::ShiftRight(by) => {
                let which = if matches!(operation, Op::ShiftLeft(_)) { 6 } else { 2 };
                let a = self.register(operands[0])?;
                self.release(operands);
                let target = self.target(result)?;
                self.vector_number(choose(op::SHIFTQ, op::SHIFTD), width, which, target, Vector(a).into(), by);
                Some(())
            }
            Op::Sqrt => {
                let last = self.operand(operands[0], kind)?;
                self.release(operands);
                let target = self.target(result)?;
                self.vector(choose(op::VSQRTPD, op::VSQRTPS), width, target, 0, last);
                Some(())
            }
            Op::Floor => {
                let last = self.operand(operands[0], kind)?;
                self.release(operands);
                let target = self.target(result)?;
                self.vector_number(choose(op::VROUNDPD, op::VROUNDPS), width, target, 0, last, 9);
                Some(())
            }
            Op::Compare(predicate) => self.compare(result, predicate, kind, operands),
            Op::HasBit(bit) if self.wide => {
                let a = self.register(operands[0])?;
                let constant = match is_double {
                    true => self.pooled((1u64 << bit).to_le_bytes().to_vec(), 8),
                    false => self.pooled((1u32 << bit).to_le_bytes().to_vec(), 4),
                };
                self.release(operands);
                let target = self.target(result)?;
                let row = choose(op::VPTESTMQ, op::VPTESTMD);
                self.vector(row, width, target, a, Operand::ConstantEverywhere(constant));
                Some(())
            }
            Op::HasBit(bit) => {
                let a = self.register(operands[0])?;
                self.release(operands);
                let target = self.target(result)?;
                let by = kind.bytes() as u8 * 8 - 1 - bit;
                self.vector_number(choose(op::SHIFTQ, op::SHIFTD), width, 6, target, Vector(a).into(), by);
                Some(())
            }
            Op::Select => {
                let [mask, yes, no] = [operands[0], operands[1], operands[2]];
                let mask_register = self.register(mask)?;
                let first = self.register(no)?;
                let last = self.operand(yes, kind)?;
                self.release(operands);
                let target = self.target(result)?;
                if self.wide {
                    let by = Masked { by: Some(MaskRegister(mask_register)), zero: false };
                    let row = choose(op::VBLENDMPD, op::VBLENDMPS);
                    self.assembler.evex(row, width, by, target, first, last);
                } else {
                    let row = choose(op::VBLENDVPD, op::VBLENDVPS);
                    self.vector_number(row, width, target, first, last, mask_register << 4);
                }
                Some(())
            }
            Op::CopySign => {
                let signs = match is_double {
                    true => self.pooled((1u64 << 63).to_le_bytes().to_vec(), 8),
                    false => self.pooled((1u32 << 31).to_le_bytes().to_vec(), 4),
                };
                let (first, second) = (self.register(operands[0])?, self.register(operands[1])?);
                // The instruction changes a copy, which must not be where the sign comes from.
                let copy = self.take(false)?;
                self.vector(op::VMOVAPD, width, copy, 0, Vector(first).into());
                let row = choose(op::VPTERNLOGQ, op::VPTERNLOGD);
                self.vector_number(row, width, copy, second, Operand::ConstantEverywhere(signs), SIGN_OF_SECOND);
                self.release(operands);
                match self.places[result as usize].register {
                    Some(variable) => self.vector(op::VMOVAPD, width, variable, 0, Vector(copy).into()),
                    None => self.hold(result, copy),
                }
                Some(())
            }
            Op::Convert(from) => {
                let a = self.register(operands[0])?;
                self.release(operands);
                let target = self.target(result)?;
                let row = match (from, kind) {
                    (Kind::F32, Kind::F64) => op::VCVTPS2PD,
                    (Kind::F64, Kind::F32) => op::VCVTPD2PS,
                    (Kind::I64, Kind::F64) if self.wide => op::VCVTQQ2PD,
                    (Kind::I32, Kind::F64) => op::VCVTDQ2PD,
                    (Kind::I32, Kind::F32) => op::VCVTDQ2PS,
                    (Kind::I32, Kind::I64) => op::VPMOVSXDQ,
                    _ => return None,
                };
                let wider = if from.bytes() > kind.bytes() { from } else { kind };
                self.vector(row, self.width(wider), target, 0, Vector(a).into());
                Some(())
            }
            Op::Upper(bytes) => {
                let a = self.register(operands[0])?;
                self.release(operands);
                let target = self.target(result)?;
                let last = Vector(a).into();
                match bytes {
                    32 => self.vector_number(op::VSHUFF64X2, width, target, a, last, 0xEE),
                    16 if self.wide => self.vector_number(op::VSHUFF64X2, width, target, a, last, 1),
                    16 => self.vector_number(op::VPERM2F128, width, target, a, last, 1),
                    8 => self.vector_number(op::VPSHUFD, width, target, 0, last, 0x4E),
                    _ => self.vector_number(op::VPSHUFD, width, target, 0, last, 0xB1),
                }
                Some(())
            }
        }
    }

    pub(super) fn compare(
        &mut self,
        result: Value,
        predicate: Predicate,
        kind: Kind,
        operands: &[Value],
    ) -> Option<()> {
        let (width, is_double) = (self.width(kind), kind.bytes() == 8);
        let choose = |double, single| if is_double { double } else { single };
        let row = match (kind.is_float(), predicate) {
            (true, _) => choose(op::VCMPPD, op::VCMPPS),
            (false, Predicate::Below) => choose(op::VPCMPUQ, op::VPCMPUD),
            (false, _) => choose(op::VPCMPQ, op::VPCMPD),
        };
        if !kind.is_float() && !self.wide {
            return self.compare_integers(result, predicate, kind, operands);
        }
        let which = match (kind.is_float(), predicate) {
            (_, Predicate::Equal) => 0,
            (true, Predicate::Less) => 0x11,
            (true, Predicate::LessEqual) => 0x12,
            (true, Predicate::NotLessEqual) => 0x16,
            (false, Predicate::Less | Predicate::Below) => 1,
            (true, Predicate::Below) => return None,
            (false, Predicate::LessEqual) => 2,
            (false, Predicate::NotLessEqual) => 6,
        };
        let first = self.register(operands[0])?;
        let last = self.operand(operands[1], kind)?;
        self.release(operands);
        let target = self.target(result)?;
        self.vector_number(row, width, target, first, last, which);
        Some(())
    }

    /// Comparisons of integers with AVX2, which has two of them.
    fn compare_integers(&mut self, result: Value, predicate: Predicate, kind: Kind, operands: &[Value]) -> Option<()> {
        let (width, is_double) = (self.width(kind), kind.bytes() == 8);
        let choose = |double, single| if is_double { double } else { single };
        let (greater, equal) = (choose(op::VPCMPGTQ, op::VPCMPGTD), choose(op::VPCMPEQQ, op::VPCMPEQD));
        let (a, b) = (self.register(operands[0])?, self.register(operands[1])?);
        let target = self.target(result)?;
        match predicate {
            Predicate::Equal => self.vector(equal, width, target, a, Vector(b).into()),
            Predicate::Less => self.vector(greater, width, target, b, Vector(a).into()),
            Predicate::LessEqual => {
                self.vector(greater, width, target, a, Vector(b).into());
                let signs = self.pooled(vec![0x80; 32], 32);
                self.vector(op::VPXORQ, Width::B32, target, target, Operand::Constant(signs));
            }
            // Below a number that is not negative: less, and not negative either.
            Predicate::Below => {
                self.vector(greater, width, target, b, Vector(a).into());
                self.vector(op::VPANDNQ, width, target, a, Vector(target).into());
            }
            Predicate::NotLessEqual => self.vector(greater, width, target, a, Vector(b).into()),
        }
        self.release(operands);
        Some(())
    }

    pub(super) fn multiply_add(&mut self, result: Value, kind: Kind, operands: &[Value]) -> Option<()> {
        let (width, is_double) = (self.width(kind), kind.bytes() == 8);
        let add = if is_double { op::VFMADD231PD } else { op::VFMADD231PS };
        let multiply = if is_double { op::VFMADD213PD } else { op::VFMADD213PS };
        let [mut a, mut b, c] = [operands[0], operands[1], operands[2]];
        let in_register = |this: &Self, value: Value| this.places[value as usize].register.is_some();
        if !in_register(self, a) && in_register(self, b) {
            (a, b) = (b, a);
        }
        if c != result && in_register(self, result) {
            return self.multiply_add_into(result, kind, [a, b, c]);
        }
        // The term's register becomes the result's.
        if c == result || (in_register(self, c) && self.dies(c)) {
            let target = self.register(c)?;
            let first = self.register(a)?;
            let last = self.operand(b, kind)?;
            self.release(operands);
            if c != result {
                self.take_over(result, target);
            }
            self.vector(add, width, target, first, last);
            return Some(());
        }
        // A factor's does, or that of a copy.
        let first = self.register(a)?;
        let second = self.register(b)?;
        let last = self.operand(c, kind)?;
        let is_free = |this: &Self, value: Value| this.dies(value);
        if is_free(self, a) || is_free(self, b) {
            let (target, other) = if is_free(self, a) { (first, second) } else { (second, first) };
            self.release(operands);
            self.take_over(result, target);
            self.vector(multiply, width, target, other, last);
            return Some(());
        }
        self.release(operands);
        let target = self.target(result)?;
        self.vector(op::VMOVAPD, width, target, 0, Vector(first).into());
        self.vector(multiply, width, target, second, last);
        Some(())
    }

    /// A variable's new value by a term that is not the variable.
    pub(super) fn multiply_add_into(&mut self, result: Value, kind: Kind, [a, b, c]: [Value; 3]) -> Option<()> {
        let (width, is_double) = (self.width(kind), kind.bytes() == 8);
        let (first, second, term) = (self.register(a)?, self.register(b)?, self.register(c)?);
        let copy = self.take(false)?;
        let add = if is_double { op::VFMADD231PD } else { op::VFMADD231PS };
        self.vector(op::VMOVAPD, width, copy, 0, Vector(term).into());
        self.vector(add, width, copy, first, Vector(second).into());
        let target = self.target(result)?;
        self.vector(op::VMOVAPD, width, target, 0, Vector(copy).into());
        self.release(&[a, b, c]);
        Some(())
    }

    pub(super) fn vector(&mut self, op: Opcode, width: Width, result: u8, first: u8, last: Operand) {
        match self.wide {
            true => self.assembler.evex(op, width, Masked::default(), result, first, last),
            false => self.assembler.vex(op, width, result, first, last),
        }
    }

    pub(super) fn vector_number(&mut self, op: Opcode, width: Width, result: u8, first: u8, last: Operand, number: u8) {
        self.assembler.trailing(1);
        self.vector(op, width, result, first, last);
        self.assembler.number(number);
    }
}

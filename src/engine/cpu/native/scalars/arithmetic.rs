//! Operations of the table, comparisons and choices, as the interpreter has them.

use super::{Emitter, FIRST, Home, RAX, RCX, SECOND, THIRD, memory};
use crate::engine::cpu::native::encode::{Condition, Opcode, Operand, Vector};
use crate::engine::cpu::native::opcodes as op;
use crate::engine::cpu::scalars::{RegisterIndex, ScalarInstruction, ScalarOp, ScalarOperation};
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::DType;

/// Predicates of comparisons of vectors, which are false of NaN, but for the last two.
const EQUAL: u8 = 0;
const LESS: u8 = 0x11;
const LESS_EQUAL: u8 = 0x12;
const GREATER: u8 = 0x1E;
const GREATER_EQUAL: u8 = 0x1D;
const UNORDERED: u8 = 3;
const NOT_EQUAL: u8 = 4;

impl Emitter<'_> {
    pub(super) fn operation(
        &mut self,
        operation: ScalarOperation,
        result: RegisterIndex,
        [a, b, c]: [RegisterIndex; 3],
    ) {
        use ScalarOperation as Of;
        match operation {
            Of::Unary(Unary::Not, _) => {
                let from = self.general(a, RAX);
                self.assembler.copy(RAX, from);
                self.assembler.xor_number(RAX, 1);
                self.put_general(result, RAX);
            }
            Of::Unary(op, dtype) if dtype.is_float() => self.unary(op, dtype, result, a),
            Of::Unary(..) => {
                let from = self.general(a, RAX);
                self.assembler.copy(RAX, from);
                self.assembler.negate(RAX);
                self.put_general(result, RAX);
            }
            Of::Binary(op, dtype) if dtype.is_float() => {
                let first = self.float(a, FIRST);
                let last = self.float_operand(b, dtype.bytes() as u32);
                let to = self.float_result(result, FIRST);
                self.binary(op, dtype, to, first, last);
                self.put_float(result, to);
            }
            Of::Binary(op, _) => self.binary_of_integers(op, result, [a, b]),
            Of::Left(first, second, dtype) => {
                let left = self.float(a, FIRST);
                let last = self.float_operand(b, dtype.bytes() as u32);
                self.binary(first, dtype, FIRST, left, last);
                let last = self.float_operand(c, dtype.bytes() as u32);
                let to = self.float_result(result, FIRST);
                self.binary(second, dtype, to, FIRST, last);
                self.put_float(result, to);
            }
            Of::Right(first, second, dtype) => {
                let left = self.float(a, FIRST);
                let last = self.float_operand(b, dtype.bytes() as u32);
                self.binary(first, dtype, FIRST, left, last);
                let left = self.float(c, SECOND);
                let to = self.float_result(result, FIRST);
                self.binary(second, dtype, to, left, Vector(FIRST).into());
                self.put_float(result, to);
            }
            Of::Compare(op, dtype) if dtype.is_float() => self.compare_floats(op, dtype, result, [a, b]),
            Of::Compare(op, dtype) => {
                self.compare_integers(dtype, [a, b]);
                self.assembler.set_if(condition(op), RAX);
                self.put_general(result, RAX);
            }
            Of::Cast(from, to) => self.cast(from, to, result, a),
        }
    }

    /// An instruction of vectors with a number.
    fn vector_number(&mut self, row: Opcode, result: u8, first: u8, last: Operand, number: u8) {
        self.assembler.trailing(1);
        self.vector(row, result, first, last);
        self.assembler.number(number);
    }

    fn unary(&mut self, op: Unary, dtype: DType, result: RegisterIndex, a: RegisterIndex) {
        let is_double = dtype == DType::F64;
        let choose = |double, single| if is_double { double } else { single };
        let to = self.float_result(result, FIRST);
        match op {
            Unary::Neg | Unary::Abs => {
                let sign = if is_double { 1 << 63 } else { 1u64 << 31 };
                let from = self.float(a, FIRST);
                let (row, mask) = if op == Unary::Neg { (op::VPXORQ, sign) } else { (op::VPANDQ, !sign) };
                let mask = self.constant(mask);
                self.vector(row, to, from, mask);
            }
            Unary::Recip => {
                let one = self.constant(if is_double { 1f64.to_bits() } else { u64::from(1f32.to_bits()) });
                let from = self.float_operand(a, dtype.bytes() as u32);
                self.without_sign_of_zero(dtype, from);
                self.vector(choose(op::VMOVSD, op::VMOVSS), SECOND, 0, one);
                self.vector(choose(op::VDIVSD, op::VDIVSS), to, SECOND, Vector(THIRD).into());
            }
            Unary::Sqrt => {
                let from = self.float(a, FIRST);
                self.vector(choose(op::VSQRTSD, op::VSQRTSS), to, from, Vector(from).into());
            }
            Unary::Relu => {
                let from = self.float(a, FIRST);
                let zero = self.constant(0);
                self.vector_number(choose(op::VCMPSD, op::VCMPSS), SECOND, from, zero, LESS_EQUAL);
                self.vector(op::VPANDNQ, to, SECOND, Vector(from).into());
            }
            _ => unreachable!("{op:?} has no instruction"),
        }
        self.put_float(result, to);
    }

    /// Has the third free register hold a divisor: quotients by zero do not depend on its sign.
    fn without_sign_of_zero(&mut self, dtype: DType, divisor: Operand) {
        self.vector(op::VPXORQ, THIRD, THIRD, Vector(THIRD).into());
        let add = if dtype == DType::F64 { op::VADDSD } else { op::VADDSS };
        self.vector(add, THIRD, THIRD, divisor);
    }

    /// An operation on floats, whose result may be where an operand is.
    fn binary(&mut self, op: Binary, dtype: DType, to: u8, first: u8, last: Operand) {
        let is_double = dtype == DType::F64;
        let choose = |double, single| if is_double { double } else { single };
        let simple = match op {
            Binary::Add => Some(choose(op::VADDSD, op::VADDSS)),
            Binary::Sub => Some(choose(op::VSUBSD, op::VSUBSS)),
            Binary::Mul => Some(choose(op::VMULSD, op::VMULSS)),
            _ => None,
        };
        if let Some(row) = simple {
            return self.vector(row, to, first, last);
        }
        let compare = choose(op::VCMPSD, op::VCMPSS);
        if op == Binary::Div {
            self.without_sign_of_zero(dtype, last);
            return self.vector(choose(op::VDIVSD, op::VDIVSS), to, first, Vector(THIRD).into());
        }
        if op == Binary::KeepZero {
            // The product may overwrite the first operand, which is compared before.
            let zero = self.constant(0);
            self.vector_number(compare, THIRD, first, zero, EQUAL);
            self.vector(choose(op::VMULSD, op::VMULSS), to, first, last);
            return self.vector(op::VPANDNQ, to, THIRD, Vector(to).into());
        }
        // Of two operands, an instruction gives the first only where it is beyond the other, so not where one of them is NaN. The
        // other one may be the wrong one only if the first is NaN.
        let (least, is_right) = match op {
            Binary::Min => (true, false),
            Binary::MinRight => (true, true),
            Binary::Max => (false, false),
            Binary::MaxRight => (false, true),
            _ => unreachable!("{op:?} has no instruction"),
        };
        let row = if least { choose(op::VMINSD, op::VMINSS) } else { choose(op::VMAXSD, op::VMAXSS) };
        let last = match last {
            Operand::Register(Vector(last)) => last,
            from => {
                self.vector(choose(op::VMOVSD, op::VMOVSS), SECOND, 0, from);
                SECOND
            }
        };
        let (favored, other) = if is_right { (first, last) } else { (last, first) };
        self.vector(row, THIRD, favored, Vector(other).into());
        // The other operand is not needed any more.
        let answer = match other {
            FIRST | SECOND => other,
            _ if favored == FIRST => SECOND,
            _ => FIRST,
        };
        self.vector_number(compare, answer, favored, Vector(favored).into(), UNORDERED);
        let blend = choose(op::VBLENDVPD, op::VBLENDVPS);
        self.vector_number(blend, to, THIRD, Vector(favored).into(), answer << 4);
    }

    fn binary_of_integers(&mut self, op: Binary, result: RegisterIndex, [a, b]: [RegisterIndex; 2]) {
        let (first, last) = (self.general(a, RAX), self.general(b, RCX));
        let to = match self.home(result) {
            // The result may not overwrite the second operand before that is read.
            Home::General(own) if own != last || first == last => own,
            _ => RAX,
        };
        if to != first {
            self.assembler.copy(to, first);
        }
        match op {
            Binary::Add => self.assembler.add(to, last),
            Binary::Sub => self.assembler.subtract(to, last),
            Binary::Mul => self.assembler.multiply(to, last),
            Binary::And => self.assembler.and(to, last),
            Binary::Or => self.assembler.or(to, last),
            _ => unreachable!("{op:?} has no instruction"),
        }
        self.put_general(result, to);
    }

    /// A product plus a term, with one rounding.
    pub(super) fn times_plus(&mut self, row: Opcode, bytes: u32, result: RegisterIndex, [a, b, c]: [RegisterIndex; 3]) {
        let term = self.float(c, SECOND);
        let first = self.float(a, FIRST);
        let last = self.float_operand(b, bytes);
        let to = match self.home(result) {
            Home::Float(own) if own == term => own,
            Home::Float(own) if own != first && last != Operand::Register(Vector(own)) => own,
            _ => SECOND,
        };
        if to != term {
            self.vector(op::VMOVAPD, to, 0, Vector(term).into());
        }
        self.vector(row, to, first, last);
        self.put_float(result, to);
    }

    fn compare_floats(&mut self, op: Comparison, dtype: DType, result: RegisterIndex, operands: [RegisterIndex; 2]) {
        match op {
            Comparison::Equal | Comparison::NotEqual => {
                self.mask(op, dtype, operands);
                self.vector(op::VMOVQ_TO, THIRD, 0, Vector(RAX.0).into());
                self.assembler.and_number(RAX, 1);
            }
            _ => {
                let condition = self.flags(op, dtype, operands);
                self.assembler.set_if(condition, RAX);
            }
        }
        self.put_general(result, RAX);
    }

    /// The answer of a comparison as all bits of the third free register.
    fn mask(&mut self, op: Comparison, dtype: DType, [a, b]: [RegisterIndex; 2]) {
        let first = self.float(a, FIRST);
        let last = self.float_operand(b, dtype.bytes() as u32);
        let row = if dtype == DType::F64 { op::VCMPSD } else { op::VCMPSS };
        self.vector_number(row, THIRD, first, last, predicate(op));
    }

    /// Sets the flags by two floats that are less or greater, and says how they are read. NaN is neither.
    fn flags(&mut self, op: Comparison, dtype: DType, [a, b]: [RegisterIndex; 2]) -> Condition {
        let (larger, smaller, condition) = match op {
            Comparison::Less => (b, a, Condition::Above),
            Comparison::LessEqual => (b, a, Condition::AtLeast),
            Comparison::Greater => (a, b, Condition::Above),
            Comparison::GreaterEqual => (a, b, Condition::AtLeast),
            Comparison::Equal | Comparison::NotEqual => unreachable!("flags do not tell NaN from equal ones"),
        };
        let first = self.float(larger, FIRST);
        let last = self.float_operand(smaller, dtype.bytes() as u32);
        self.vector(if dtype == DType::F64 { op::VUCOMISD } else { op::VUCOMISS }, first, 0, last);
        condition
    }

    fn compare_integers(&mut self, dtype: DType, [a, b]: [RegisterIndex; 2]) {
        let (first, last) = (self.general(a, RAX), self.general(b, RCX));
        match dtype {
            DType::I64 => self.assembler.compare(first, last),
            _ => self.assembler.compare_halves(first, last),
        }
    }

    /// A comparison and what it decides, a jump or a choice; whether they go together.
    pub(super) fn compare_and(&mut self, compare: &ScalarInstruction, next: &ScalarInstruction) -> bool {
        let Some(ScalarOperation::Compare(comparison, dtype)) = compare.op.operation() else { return false };
        let [a, b, _] = compare.operands;
        let is_equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        if next.op == ScalarOp::Select {
            let [_, yes, no] = next.operands;
            let is_float = matches!(self.home(yes), Home::Float(_)) || matches!(self.home(no), Home::Float(_));
            if !is_float || !dtype.is_float() {
                return false;
            }
            self.mask(comparison, dtype, [a, b]);
            // Choices of floats move eight bytes, so the answer for four of them has to be that for all.
            if dtype == DType::F32 {
                self.vector_number(op::VPSHUFD, THIRD, 0, Vector(THIRD).into(), 0);
            }
            self.blend(next.result, yes, no);
            return true;
        }
        let otherwise = self.labels[next.number as usize];
        if !dtype.is_float() {
            self.compare_integers(dtype, [a, b]);
            self.assembler.jump_if(opposite(condition(comparison)), otherwise);
        } else if is_equality {
            return false;
        } else {
            let condition = self.flags(comparison, dtype, [a, b]);
            self.assembler.jump_if(opposite(condition), otherwise);
        }
        true
    }

    /// One of two values, by the third free register.
    fn blend(&mut self, result: RegisterIndex, yes: RegisterIndex, no: RegisterIndex) {
        let no = self.float(no, FIRST);
        let yes = match self.home(yes) {
            Home::Float(own) => Vector(own).into(),
            _ => {
                self.vector(op::VMOVSD, SECOND, 0, Operand::Memory(memory(yes), 8));
                Vector(SECOND).into()
            }
        };
        let to = self.float_result(result, FIRST);
        self.vector_number(op::VBLENDVPD, to, no, yes, THIRD << 4);
        self.put_float(result, to);
    }

    pub(super) fn select(&mut self, result: RegisterIndex, [holds, yes, no]: [RegisterIndex; 3]) {
        let holds = self.general(holds, RAX);
        if [result, yes, no].iter().any(|&register| matches!(self.home(register), Home::Float(_))) {
            self.assembler.low_byte(RAX, holds);
            self.assembler.negate(RAX);
            self.vector(op::VMOVQ, THIRD, 0, Vector(RAX.0).into());
            return self.blend(result, yes, no);
        }
        self.assembler.test_bits(holds, 1);
        let yes = self.general(yes, RCX);
        let no = self.general(no, RAX);
        // The first operand may be where the result is.
        if no != RAX {
            self.assembler.copy(RAX, no);
        }
        self.assembler.copy_if(Condition::Different, RAX, yes);
        self.put_general(result, RAX);
    }

    fn cast(&mut self, from: DType, to: DType, result: RegisterIndex, a: RegisterIndex) {
        match (from, to) {
            (DType::F32 | DType::F64, _) => {
                let operand = self.float(a, FIRST);
                let row = if from == DType::F32 { op::VCVTSS2SD } else { op::VCVTSD2SS };
                let own = self.float_result(result, FIRST);
                self.vector(row, own, operand, Vector(operand).into());
                self.put_float(result, own);
            }
            (_, DType::F32 | DType::F64) => {
                let mut operand = self.general(a, RAX);
                if from == DType::Bool {
                    self.assembler.low_byte(RAX, operand);
                    operand = RAX;
                }
                let row = match (from, to) {
                    (DType::I64, DType::F64) => op::VCVTSI2SD_Q,
                    (DType::I64, _) => op::VCVTSI2SS_Q,
                    (_, DType::F64) => op::VCVTSI2SD_D,
                    _ => op::VCVTSI2SS_D,
                };
                let own = self.float_result(result, FIRST);
                // The result would wait for what the register held.
                self.vector(op::VPXORQ, own, own, Vector(own).into());
                self.vector(row, own, own, Vector(operand.0).into());
                self.put_float(result, own);
            }
            _ => {
                let operand = self.general(a, RAX);
                match (from, to) {
                    (DType::Bool, _) => self.assembler.low_byte(RAX, operand),
                    (DType::I32, _) => self.assembler.low_half(RAX, operand),
                    _ => self.assembler.copy(RAX, operand),
                }
                self.put_general(result, RAX);
            }
        }
    }
}

/// The condition of flags for integers.
fn condition(op: Comparison) -> Condition {
    match op {
        Comparison::Less => Condition::Less,
        Comparison::LessEqual => Condition::NotGreater,
        Comparison::Greater => Condition::Greater,
        Comparison::GreaterEqual => Condition::NotLess,
        Comparison::Equal => Condition::Equal,
        Comparison::NotEqual => Condition::Different,
    }
}

fn opposite(condition: Condition) -> Condition {
    match condition {
        Condition::Below => Condition::AtLeast,
        Condition::AtLeast => Condition::Below,
        Condition::Equal => Condition::Different,
        Condition::Different => Condition::Equal,
        Condition::NotAbove => Condition::Above,
        Condition::Above => Condition::NotAbove,
        Condition::Less => Condition::NotLess,
        Condition::NotLess => Condition::Less,
        Condition::NotGreater => Condition::Greater,
        Condition::Greater => Condition::NotGreater,
    }
}

fn predicate(op: Comparison) -> u8 {
    match op {
        Comparison::Less => LESS,
        Comparison::LessEqual => LESS_EQUAL,
        Comparison::Greater => GREATER,
        Comparison::GreaterEqual => GREATER_EQUAL,
        Comparison::Equal => EQUAL,
        Comparison::NotEqual => NOT_EQUAL,
    }
}

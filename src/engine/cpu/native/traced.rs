//! Formulas as vector code: operations that are noted in the program under construction.

use super::program::{Builder, Op, Predicate, Value};
use crate::elementary::traced::{self, Kind, Operation, Recorder};
use std::cell::RefCell;

thread_local! {
    /// The program that formulas on this thread are noted in.
    static BUILDER: RefCell<Builder> = RefCell::default();
}

/// Notes a formula in a program. A formula must not panic, or the program is lost.
pub(super) fn noted<R>(builder: &mut Builder, formula: impl FnOnce() -> R) -> R {
    let swap = |builder: &mut Builder| BUILDER.with_borrow_mut(|own| std::mem::swap(own, builder));
    swap(builder);
    let result = formula();
    swap(builder);
    result
}

/// The program under construction.
#[derive(Clone, Copy)]
pub(super) struct InProgram;

/// Lanes of floats, by the number of their value.
pub(super) type Traced<T> = traced::Traced<T, InProgram>;

impl Recorder for InProgram {
    fn has_scale() -> bool {
        BUILDER.with_borrow(Builder::is_wide)
    }

    fn constant(kind: Kind, bits: u64) -> Value {
        BUILDER.with_borrow_mut(|builder| builder.constant(kind, bits))
    }

    fn compute(operation: Operation, kind: Kind, operands: &[Value]) -> Value {
        BUILDER.with_borrow_mut(|builder| computed(builder, operation, kind, operands))
    }
}

fn computed(builder: &mut Builder, operation: Operation, kind: Kind, operands: &[Value]) -> Value {
    let sign = 1 << (8 * kind.bytes() - 1);
    let op = match operation {
        Operation::Neg => {
            let sign = builder.constant(kind.bits(), sign);
            return builder.compute(Op::Xor, kind.bits(), &[operands[0], sign]);
        }
        Operation::Abs => {
            let others = builder.constant(kind.bits(), !sign);
            return builder.compute(Op::And, kind.bits(), &[operands[0], others]);
        }
        Operation::CopySign if !builder.is_wide() => {
            let size = computed(builder, Operation::Abs, kind, &operands[..1]);
            let sign = builder.constant(kind.bits(), sign);
            let sign = builder.compute(Op::And, kind.bits(), &[operands[1], sign]);
            return builder.compute(Op::Or, kind.bits(), &[size, sign]);
        }
        Operation::Add => Op::Add,
        Operation::Sub => Op::Sub,
        Operation::Mul => Op::Mul,
        Operation::Div => Op::Div,
        Operation::Min => Op::Min,
        Operation::Max => Op::Max,
        Operation::MultiplyAdd => Op::MultiplyAdd,
        Operation::Scale => Op::Scale,
        Operation::CopySign => Op::CopySign,
        Operation::And => Op::And,
        Operation::Or => Op::Or,
        Operation::Xor => Op::Xor,
        Operation::Not => Op::Not,
        Operation::ShiftLeft(places) => Op::ShiftLeft(places),
        Operation::ShiftRight(places) => Op::ShiftRight(places),
        Operation::Sqrt => Op::Sqrt,
        Operation::Floor => Op::Floor,
        Operation::Less => Op::Compare(Predicate::Less),
        Operation::LessEqual => Op::Compare(Predicate::LessEqual),
        Operation::Equal => Op::Compare(Predicate::Equal),
        Operation::NotLessEqual => Op::Compare(Predicate::NotLessEqual),
        Operation::HasBit(bit) => Op::HasBit(bit),
        Operation::Select => Op::Select,
        Operation::Convert(from) => Op::Convert(from),
    };
    builder.compute(op, kind, operands)
}

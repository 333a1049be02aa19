//! The values of a nest.

use super::{Expander, one_of};
use crate::engine::cpu::native::program::{Form, Kind, Op, Predicate, Value};
use crate::engine::cpu::native::traced::{Traced, noted};
use crate::engine::cpu::vector::formulas::{self, Formula};
use crate::engine::cpu::vector::lanes::Real;
use crate::kernel::{NestValue, ValueId};
use crate::operation::{Binary, Comparison, Unary};

impl Expander<'_> {
    /// Computes a value for one register.
    pub(super) fn value(&mut self, id: ValueId, copy: usize) -> Option<()> {
        let nest = self.nest;
        let (value, dtype) = &nest.values[id as usize];
        if self.multiplied[id as usize] {
            return Some(());
        }
        let kind = Kind::of(*dtype);
        let result = match value {
            NestValue::Constant(value) => self.builder.constant(kind, value.bits()),
            NestValue::Position(at) => self.affine(kind, at, copy),
            NestValue::Load { buffer, at, guards, .. } => {
                let (form, address) = self.access(*buffer, at, *dtype, copy)?;
                // Lanes behind the end may be where a guard holds, and the place outside.
                let is_for_all = form == Form::One && !self.guards_run(guards);
                let mask = if is_for_all { None } else { self.mask(copy) };
                let mask = self.guarded(guards, copy, mask)?;
                self.builder.load(kind, form, address, mask)
            }
            NestValue::Gather { buffer, at, stride, index, extent } => {
                let position = self.place(*index, copy);
                let mask = self.inside(position, *extent, self.mask(copy));
                let access = (*buffer, at, *dtype);
                let (form, address) = match self.runs[*index as usize] {
                    true => {
                        let (distances, address) = self.scattered(access, (position, *stride), copy)?;
                        (Form::At(distances), address)
                    }
                    false => self.row(access, (position, *stride), copy)?,
                };
                self.builder.load(kind, form, address, mask)
            }
            NestValue::Guarded(a, guards) => {
                let a = self.place(*a, copy);
                let mask = self.guarded(guards, copy, None)?.expect("there are guards");
                match kind {
                    Kind::Mask => self.builder.compute(Op::And, kind, &[mask, a]),
                    _ => {
                        let zero = self.builder.constant(kind, 0);
                        self.builder.compute(Op::Select, kind, &[mask, a, zero])
                    }
                }
            }
            NestValue::Unary(op, a) => {
                let a = self.place(*a, copy);
                self.unary(*op, kind, a, copy)?
            }
            NestValue::Binary(op, a, b) => {
                let (a, b) = (self.place(*a, copy), self.place(*b, copy));
                self.binary(*op, kind, a, b, copy)?
            }
            NestValue::Compare(comparison, a, b) => {
                let of = Kind::of(nest.values[*a as usize].1);
                let (a, b) = (self.place(*a, copy), self.place(*b, copy));
                self.compare(*comparison, of, a, b)?
            }
            NestValue::Select(mask, yes, no) => {
                let operands = [*mask, *yes, *no].map(|id| self.place(id, copy));
                self.select(kind, operands)
            }
            NestValue::Cast(_, a) => {
                let (from, a) = (Kind::of(nest.values[*a as usize].1), self.place(*a, copy));
                self.cast(from, kind, a)?
            }
        };
        let copy = if self.runs[id as usize] { copy as u32 } else { 0 };
        self.values.insert((id, copy), result);
        Some(())
    }

    pub(super) fn select(&mut self, kind: Kind, [mask, yes, no]: [Value; 3]) -> Value {
        if kind != Kind::Mask {
            return self.builder.compute(Op::Select, kind, &[mask, yes, no]);
        }
        let not = self.builder.compute(Op::Not, kind, &[mask]);
        let [yes, no] = [(mask, yes), (not, no)].map(|(mask, of)| self.builder.compute(Op::And, kind, &[mask, of]));
        self.builder.compute(Op::Or, kind, &[yes, no])
    }

    pub(super) fn cast(&mut self, from: Kind, kind: Kind, a: Value) -> Option<Value> {
        Some(match (from, kind) {
            _ if from == kind => a,
            (Kind::F32, Kind::F64)
            | (Kind::F64, Kind::F32)
            | (Kind::I64, Kind::F64)
            | (Kind::I32, Kind::F64 | Kind::F32 | Kind::I64) => self.builder.compute(Op::Convert(from), kind, &[a]),
            (Kind::Mask, _) => {
                let one = self.builder.constant(kind, one_of(kind));
                let zero = self.builder.constant(kind, 0);
                self.builder.compute(Op::Select, kind, &[a, one, zero])
            }
            _ => return None,
        })
    }

    pub(super) fn unary(&mut self, op: Unary, kind: Kind, a: Value, copy: usize) -> Option<Value> {
        match kind {
            Kind::F64 => self.formula(kind, [a, a], copy, || formulas::unary(op, Traced::<f64>::new(a))),
            Kind::F32 => self.formula(kind, [a, a], copy, || formulas::unary(op, Traced::<f32>::new(a))),
            Kind::Mask if op == Unary::Not => Some(self.builder.compute(Op::Not, kind, &[a])),
            Kind::I32 | Kind::I64 if op == Unary::Neg => {
                let zero = self.builder.constant(kind, 0);
                Some(self.builder.compute(Op::Sub, kind, &[zero, a]))
            }
            _ => None,
        }
    }

    pub(super) fn binary(&mut self, op: Binary, kind: Kind, a: Value, b: Value, copy: usize) -> Option<Value> {
        let (double, single) = (Traced::<f64>::new, Traced::<f32>::new);
        match (kind, op) {
            (Kind::F64, _) => self.formula(kind, [a, b], copy, || formulas::binary(op, double(a), double(b))),
            (Kind::F32, _) => self.formula(kind, [a, b], copy, || formulas::binary(op, single(a), single(b))),
            (Kind::I32 | Kind::I64, Binary::Add) => Some(self.builder.compute(Op::Add, kind, &[a, b])),
            (Kind::I32 | Kind::I64, Binary::Sub) => Some(self.builder.compute(Op::Sub, kind, &[a, b])),
            // With AVX2 products of 64 bits are not written yet.
            (Kind::I32 | Kind::I64, Binary::Mul) if self.bytes == 64 || kind == Kind::I32 => {
                Some(self.builder.compute(Op::Mul, kind, &[a, b]))
            }
            (Kind::I32 | Kind::I64, Binary::Min | Binary::MinRight) if self.bytes == 64 || kind == Kind::I32 => {
                Some(self.builder.compute(Op::Min, kind, &[a, b]))
            }
            (Kind::I32 | Kind::I64, Binary::Max | Binary::MaxRight) if self.bytes == 64 || kind == Kind::I32 => {
                Some(self.builder.compute(Op::Max, kind, &[a, b]))
            }
            (Kind::I32 | Kind::I64, Binary::BitAnd) => Some(self.builder.compute(Op::And, kind, &[a, b])),
            (Kind::I32 | Kind::I64, Binary::BitOr) => Some(self.builder.compute(Op::Or, kind, &[a, b])),
            (Kind::I32 | Kind::I64, Binary::BitXor) => Some(self.builder.compute(Op::Xor, kind, &[a, b])),
            (Kind::Mask, Binary::And) => Some(self.builder.compute(Op::And, kind, &[a, b])),
            (Kind::Mask, Binary::Or) => Some(self.builder.compute(Op::Or, kind, &[a, b])),
            (Kind::Mask, Binary::Xor) => Some(self.builder.compute(Op::Xor, kind, &[a, b])),
            _ => None,
        }
    }

    /// A formula's result, with the operation table's where operands are out of its range.
    pub(super) fn formula<T: Real>(
        &mut self,
        kind: Kind,
        operands: [Value; 2],
        copy: usize,
        formula: impl FnOnce() -> Option<Formula<Traced<T>>>,
    ) -> Option<Value> {
        let Formula { value, outside, correction } = noted(&mut self.builder, formula)?;
        let (Some(outside), Some(correction)) = (outside.value(), correction) else { return Some(value.0) };
        let mask = self.builder.both(Some(outside), self.mask(copy)).expect("there is one");
        Some(self.builder.correct(kind, value.0, operands, mask, correction))
    }

    pub(super) fn compare(&mut self, comparison: Comparison, kind: Kind, a: Value, b: Value) -> Option<Value> {
        let compare = |this: &mut Self, predicate: Predicate, a: Value, b: Value| {
            this.builder.compute(Op::Compare(predicate), kind, &[a, b])
        };
        if kind == Kind::Mask {
            return None;
        }
        Some(match comparison {
            Comparison::Less => compare(self, Predicate::Less, a, b),
            Comparison::LessEqual => compare(self, Predicate::LessEqual, a, b),
            Comparison::Greater => compare(self, Predicate::Less, b, a),
            Comparison::GreaterEqual => compare(self, Predicate::LessEqual, b, a),
            Comparison::Equal => compare(self, Predicate::Equal, a, b),
            Comparison::NotEqual => {
                let equal = compare(self, Predicate::Equal, a, b);
                self.builder.compute(Op::Not, Kind::Mask, &[equal])
            }
        })
    }
}

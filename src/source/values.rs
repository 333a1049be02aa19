//! The values of a nest as expressions.

use super::expression::{SourceExpression, elementwise};
use super::writer::NestWriter;
use crate::kernel::{Affine, Guards, NestValue, ValueId};
use crate::operation::OperationSpelling;
use crate::shape::{self, DType};
use crate::term::recurrence::Elementwise;
use smallvec::SmallVec;

impl NestWriter<'_> {
    /// The text of an affine function that is not below 0, in unsigned numbers: subtracted terms come last.
    pub(crate) fn counted(&self, at: &Affine) -> SourceExpression {
        self.affine(at, &|variable| variable)
    }

    /// The text of an affine function as an `i64`.
    pub(crate) fn signed(&self, at: &Affine) -> SourceExpression {
        self.affine(at, &|variable| self.language.signed(&variable))
    }

    pub(crate) fn affine(&self, at: &Affine, variable: &dyn Fn(String) -> String) -> SourceExpression {
        let (mut added, mut subtracted): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for &axis in &self.order {
            let coefficient = at.coefficients[axis];
            if coefficient == 0 {
                continue;
            }
            let name = variable(self.variable(axis));
            let term = match coefficient.unsigned_abs() {
                1 => name,
                size => format!("{size} * {name}"),
            };
            if coefficient > 0 { added.push(term) } else { subtracted.push(term) }
        }
        match at.offset {
            0 if !added.is_empty() => {}
            offset if offset >= 0 => added.push(offset.to_string()),
            offset => subtracted.push(offset.unsigned_abs().to_string()),
        }
        let is_atom = added.len() + subtracted.len() == 1 && !added.first().is_some_and(|term| term.contains(' '));
        // Only an `i64` may begin without a positive term.
        let text = if added.is_empty() { "0".to_string() } else { added.join(" + ") };
        let text = subtracted.iter().fold(text, |text, term| format!("{text} - {term}"));
        SourceExpression { text, is_atom }
    }

    /// The condition that all guards hold.
    pub(crate) fn guards(&self, guards: &Guards) -> String {
        let mut conditions: Vec<String> = Vec::new();
        for guard in guards {
            let (low, high) = guard.position.range(&self.nest.extents);
            let position = self.signed(&guard.position).text;
            if low < 0 {
                conditions.push(format!("{position} >= 0"));
            }
            if high >= guard.extent as i128 {
                conditions.push(format!("{position} < {}", guard.extent));
            }
        }
        if conditions.is_empty() {
            return self.language.literal(shape::Value::Bool(true));
        }
        conditions.join(" && ")
    }

    pub(crate) fn zero(&self, dtype: DType) -> String {
        self.language.literal(shape::Value::from_i64(dtype, 0))
    }

    pub(crate) fn operand(&self, id: ValueId) -> String {
        self.expression(id).at_atom()
    }

    pub(crate) fn expression(&self, id: ValueId) -> &SourceExpression {
        self.expressions[id as usize].as_ref().expect("operands come before their users")
    }

    pub(crate) fn spelled(&mut self, spelling: OperationSpelling, dtype: DType, operands: &[&str]) -> SourceExpression {
        let (text, is_atom) = self.language.spelled(spelling, dtype, operands, self.helpers);
        SourceExpression { text, is_atom }
    }

    fn elementwise(&mut self, op: Elementwise, dtype: DType, operands: &[ValueId]) -> SourceExpression {
        let from = self.nest.values[operands[0] as usize].1;
        let texts: SmallVec<[String; 3]> = operands.iter().map(|&id| self.operand(id)).collect();
        let texts: SmallVec<[&str; 3]> = texts.iter().map(|text| &text[..]).collect();
        if let Some(formula) = self.in_range(op, dtype, &texts) {
            return formula;
        }
        elementwise(self.language, op, (from, dtype), &texts, self.helpers)
    }

    /// The place in a buffer at a computed position, and the condition that it is inside.
    pub(crate) fn computed(&self, at: &Affine, stride: i64, index: ValueId, extent: i64) -> (String, String) {
        let index = self.operand(index);
        let step = self.language.counter(&index);
        let scaled = match stride {
            1 => format!("({step})"),
            stride => format!("{stride} * ({step})"),
        };
        let place = match (self.counted(at).text, at.offset) {
            (text, _) if text == "0" => scaled,
            (text, _) => format!("{scaled} + {text}"),
        };
        let inside = match extent {
            ..=0 => self.language.literal(shape::Value::Bool(false)),
            _ => format!("{index} >= 0 && {index} < {extent}"),
        };
        (place, inside)
    }

    pub(crate) fn value(&mut self, id: ValueId) -> SourceExpression {
        let (value, dtype) = &self.nest.values[id as usize];
        let (language, dtype) = (self.language, *dtype);
        match value {
            NestValue::Constant(value) => SourceExpression::atom(language.literal(*value)),
            NestValue::Position(at) => self.signed(at),
            NestValue::Load { buffer, .. } if let Some((_, name)) = self.given.filter(|(given, _)| given == buffer) => {
                SourceExpression::atom(name.to_string())
            }
            NestValue::Load { buffer, at, guards } => {
                let row = if self.levels[id as usize] == self.depth() { self.row_element(*buffer, at) } else { None };
                let whole = || format!("{}[{}]", (self.name)(*buffer), self.counted(at).text);
                let element = row.unwrap_or_else(whole);
                if guards.is_empty() {
                    return SourceExpression::atom(element);
                }
                let text = language.choice(&self.guards(guards), &element, &self.zero(dtype));
                SourceExpression { text, is_atom: false }
            }
            NestValue::Gather { buffer, at, stride, index, extent } => {
                let (place, inside) = self.computed(at, *stride, *index, *extent);
                let element = format!("{}[{place}]", (self.name)(*buffer));
                SourceExpression { text: language.choice(&inside, &element, &self.zero(dtype)), is_atom: false }
            }
            NestValue::Unary(op, a) => self.elementwise(Elementwise::Unary(*op), dtype, &[*a]),
            NestValue::Binary(op, a, b) => self.elementwise(Elementwise::Binary(*op), dtype, &[*a, *b]),
            NestValue::Compare(op, a, b) => self.elementwise(Elementwise::Compare(*op), dtype, &[*a, *b]),
            NestValue::Select(mask, yes, no) => self.elementwise(Elementwise::Select, dtype, &[*mask, *yes, *no]),
            NestValue::Cast(to, a) => self.elementwise(Elementwise::Cast(*to), dtype, &[*a]),
            NestValue::Guarded(a, guards) => {
                let operand = self.operand(*a);
                let text = language.choice(&self.guards(guards), &operand, &self.zero(dtype));
                SourceExpression { text, is_atom: false }
            }
        }
    }
}

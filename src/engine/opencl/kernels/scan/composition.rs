//! The effects of steps on a carry, as functions that are composed: several steps in a row, without knowing the carry into
//! them.
//!
//! Sums and products are rounded in another order than one by one. Products of factors may overflow or underflow in part where
//! the carries do not: a factor that overflowed takes a carry of zero to zero, and one that underflowed takes an infinite carry
//! to infinity, so they do no harm there. A factor that is itself infinite takes a carry of zero to NaN; this shows in its own
//! step, but not in all later ones.

use crate::operation::{Binary, Unary};
use crate::shape::{DType, Value};
use crate::term::recurrence::{Elementwise, Recurrence, StepInstruction, StepOperand};
use smallvec::{SmallVec, smallvec};

/// The effect of a step on a carry, by values that depend on no carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Composition {
    /// It is combined with a value, by an operation that is associative and commutative apart from rounding.
    Combined { op: Binary, by: StepOperand },
    /// It is multiplied by one value, and another is added.
    Affine { factor: StepOperand, summand: StepOperand },
    /// A value takes its place.
    Replaced { by: StepOperand },
    /// It does not change.
    Kept,
}

impl Composition {
    /// The values of a step.
    pub(super) fn values(&self) -> SmallVec<[StepOperand; 2]> {
        match *self {
            Composition::Combined { by, .. } | Composition::Replaced { by } => smallvec![by],
            Composition::Affine { factor, summand } => smallvec![factor, summand],
            Composition::Kept => SmallVec::new(),
        }
    }
}

/// A value as `factor · carry + summand`. A missing factor is 1, if the carry occurs; a missing summand is 0.
#[derive(Clone, Copy, PartialEq, Debug)]
struct AffineForm {
    /// Whether the value depends on the carry.
    has_carry: bool,
    factor: Option<StepOperand>,
    summand: Option<StepOperand>,
}

/// The effects of a loop's steps on each of its carries, if all can be composed; instructions that compute the values are added
/// to the recurrence.
pub(super) fn compositions(recurrence: &mut Recurrence, dtypes: &[DType]) -> Option<Vec<Composition>> {
    let depends = recurrence.depends_on_carries();
    let mut found = Vec::new();
    for (carry, &dtype) in dtypes.iter().enumerate() {
        let result = recurrence.results[carry];
        let combined = combined(recurrence, &depends, carry);
        found.push(match combined {
            _ if result == StepOperand::Carry(carry) => Composition::Kept,
            _ if is_free(&depends, result) => Composition::Replaced { by: result },
            Some(composition) => composition,
            None => affine(recurrence, &depends, carry, dtype)?,
        });
    }
    Some(found)
}

fn is_free(depends: &[bool], operand: StepOperand) -> bool {
    match operand {
        StepOperand::Carry(_) => false,
        // The added instructions depend on no carry.
        StepOperand::Step(step) => !depends.get(step).copied().unwrap_or(false),
        StepOperand::Input(_) | StepOperand::Capture(_) | StepOperand::Constant(_) => true,
    }
}

/// Whether the result is one operation on the carry and a value.
fn combined(recurrence: &Recurrence, depends: &[bool], carry: usize) -> Option<Composition> {
    let StepOperand::Step(step) = recurrence.results[carry] else { return None };
    let instruction = &recurrence.steps[step];
    let Elementwise::Binary(op) = instruction.op else { return None };
    let is_associative = matches!(
        op,
        Binary::Add
            | Binary::Mul
            | Binary::Min
            | Binary::MinRight
            | Binary::Max
            | Binary::MaxRight
            | Binary::LogAddExp
            | Binary::And
            | Binary::Or
            | Binary::Xor
            | Binary::BitAnd
            | Binary::BitOr
            | Binary::BitXor
    );
    let own = StepOperand::Carry(carry);
    let by = match instruction.operands[..] {
        [a, b] if a == own && is_free(depends, b) => b,
        [a, b] if b == own && is_free(depends, a) => a,
        _ => return None,
    };
    is_associative.then_some(Composition::Combined { op, by })
}

/// A carry that is an affine function of itself.
fn affine(recurrence: &mut Recurrence, depends: &[bool], carry: usize, dtype: DType) -> Option<Composition> {
    if dtype == DType::Bool {
        return None;
    }
    // Only instructions that lead to the carry are looked at: the others only make outputs.
    let form_of = |forms: &[Option<AffineForm>], operand: StepOperand| match operand {
        StepOperand::Carry(other) if other == carry => {
            Some(AffineForm { has_carry: true, factor: None, summand: None })
        }
        StepOperand::Carry(_) => None,
        StepOperand::Step(step) if depends[step] => forms[step],
        free => Some(AffineForm { has_carry: false, factor: None, summand: Some(free) }),
    };
    let mut added = AddedInstructions { steps: Vec::new(), first: recurrence.steps.len(), dtype };
    let mut forms: Vec<Option<AffineForm>> = Vec::with_capacity(recurrence.steps.len());
    for (at, instruction) in recurrence.steps.iter().enumerate() {
        // Instructions that were added for other carries are free.
        let is_walked = depends.get(at).copied().unwrap_or(false) && instruction.dtype == dtype;
        let form = match is_walked {
            true => added.form(instruction, |operand| form_of(&forms, operand), |operand| is_free(depends, operand)),
            false => None,
        };
        forms.push(form);
    }
    let form = form_of(&forms, recurrence.results[carry])?;
    let number = |number: i64| StepOperand::Constant(Value::from_i64(dtype, number));
    let composition = match (form.has_carry, form.factor, form.summand) {
        (true, None, Some(by)) => Composition::Combined { op: Binary::Add, by },
        (true, Some(by), None) => Composition::Combined { op: Binary::Mul, by },
        (_, factor, summand) => {
            Composition::Affine { factor: factor.unwrap_or(number(1)), summand: summand.unwrap_or(number(0)) }
        }
    };
    recurrence.steps.extend(added.steps);
    Some(composition)
}

/// Instructions that compute factors and summands.
struct AddedInstructions {
    steps: Vec<StepInstruction>,
    /// The position of the first.
    first: usize,
    dtype: DType,
}

impl AddedInstructions {
    fn add(&mut self, op: Elementwise, operands: &[StepOperand]) -> StepOperand {
        self.steps.push(StepInstruction { op, operands: operands.iter().copied().collect(), dtype: self.dtype });
        StepOperand::Step(self.first + self.steps.len() - 1)
    }

    fn sum(&mut self, a: Option<StepOperand>, b: Option<StepOperand>) -> Option<StepOperand> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.add(Elementwise::Binary(Binary::Add), &[a, b])),
            (a, b) => a.or(b),
        }
    }

    fn negated(&mut self, form: AffineForm) -> AffineForm {
        let minus_one = StepOperand::Constant(Value::from_i64(self.dtype, -1));
        let mut negative = |operand| self.add(Elementwise::Unary(Unary::Neg), &[operand]);
        AffineForm {
            has_carry: form.has_carry,
            factor: if form.has_carry { Some(form.factor.map_or(minus_one, &mut negative)) } else { None },
            summand: form.summand.map(&mut negative),
        }
    }

    /// A value as a function of the carry.
    fn form(
        &mut self,
        instruction: &StepInstruction,
        form_of: impl Fn(StepOperand) -> Option<AffineForm>,
        is_free: impl Fn(StepOperand) -> bool,
    ) -> Option<AffineForm> {
        let number =
            |added: &AddedInstructions, number: i64| StepOperand::Constant(Value::from_i64(added.dtype, number));
        match (instruction.op, &instruction.operands[..]) {
            (Elementwise::Unary(Unary::StopGradient), &[a]) => form_of(a),
            (Elementwise::Unary(Unary::Neg), &[a]) => Some(self.negated(form_of(a)?)),
            (Elementwise::Binary(op @ (Binary::Add | Binary::Sub)), &[a, b]) => {
                let a = form_of(a)?;
                let b = match op {
                    Binary::Add => form_of(b)?,
                    _ => self.negated(form_of(b)?),
                };
                let factor = match (a.has_carry, b.has_carry) {
                    (true, true) => {
                        let one = number(self, 1);
                        self.sum(Some(a.factor.unwrap_or(one)), Some(b.factor.unwrap_or(one)))
                    }
                    _ => a.factor.or(b.factor),
                };
                let summand = self.sum(a.summand, b.summand);
                Some(AffineForm { has_carry: a.has_carry || b.has_carry, factor, summand })
            }
            (Elementwise::Binary(Binary::Mul), &[a, b]) => {
                let (form, by) = if is_free(b) { (form_of(a)?, b) } else { (form_of(b)?, a) };
                if !is_free(by) {
                    return None;
                }
                self.scaled(form, Binary::Mul, by)
            }
            (Elementwise::Binary(Binary::Div), &[a, b]) if self.dtype.is_float() && is_free(b) => {
                let form = form_of(a)?;
                self.scaled(form, Binary::Div, b)
            }
            _ => None,
        }
    }

    fn scaled(&mut self, form: AffineForm, op: Binary, by: StepOperand) -> Option<AffineForm> {
        let one = StepOperand::Constant(Value::from_i64(self.dtype, 1));
        let factor = match (form.has_carry, form.factor) {
            (false, _) => None,
            (true, None) if op == Binary::Mul => Some(by),
            (true, factor) => Some(self.add(Elementwise::Binary(op), &[factor.unwrap_or(one), by])),
        };
        let summand = form.summand.map(|summand| self.add(Elementwise::Binary(op), &[summand, by]));
        Some(AffineForm { has_carry: form.has_carry, factor, summand })
    }
}

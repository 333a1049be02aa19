//! `alias` and `mark`: the operand, under another identity.

use super::shapes::exactly;
use super::{Attributes, Interval, Structural};
use crate::shape::Type;
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct Identity(pub(super) &'static str);

impl Structural for Identity {
    fn name(&self) -> Cow<'static, str> {
        self.0.into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [array] = exactly(operands)?;
        Ok(array.clone())
    }
    fn cost(&self, _: &[&Type], _: &Type) -> Cost {
        Cost::default()
    }
    fn interval(&self, operands: &[(&Type, Interval)]) -> Option<Interval> {
        Some(operands[0].1)
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        (self.0 == "mark").then_some(Op::Mark)
    }
}

pub(super) fn read<X, A: Attributes>(word: &str, _: &mut A) -> Option<Result<Op<X>, A::Problem>> {
    match word {
        "alias" => Some(Ok(Op::Alias)),
        "mark" => Some(Ok(Op::Mark)),
        _ => None,
    }
}

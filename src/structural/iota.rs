//! `iota n`: positions.

use super::shapes::exactly;
use super::{Interval, Structural};
use crate::shape::{DType, Type};
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct Iota(pub(super) usize);

impl Structural for Iota {
    fn name(&self) -> Cow<'static, str> {
        "iota".into()
    }
    fn attributes(&self) -> String {
        format!(" {}", self.0)
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        exactly::<0>(operands)?;
        Ok(Type::new(DType::I64, &[self.0]))
    }
    fn cost(&self, _: &[&Type], result: &Type) -> Cost {
        Cost::stored(result).with_depth(0)
    }
    fn interval(&self, _: &[(&Type, Interval)]) -> Option<Interval> {
        Some((0, super::last(self.0)))
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        Some(Op::Iota(self.0))
    }
}

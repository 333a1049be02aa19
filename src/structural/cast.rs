//! `cast f32`: another element type.

use super::shapes::exactly;
use super::{Attributes, Structural};
use crate::shape::{DType, Type};
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct Cast(pub(super) DType);

impl Structural for Cast {
    fn name(&self) -> Cow<'static, str> {
        "cast".into()
    }
    fn attributes(&self) -> String {
        format!(" {}", self.0)
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [array] = exactly(operands)?;
        Ok(Type { dtype: self.0, shape: array.shape.clone() })
    }
    fn cost(&self, _: &[&Type], result: &Type) -> Cost {
        Cost::stored(result).with_depth(0)
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        Some(Op::Cast(self.0))
    }
}

pub(super) fn read<X, A: Attributes>(word: &str, attributes: &mut A) -> Option<Result<Op<X>, A::Problem>> {
    (word == "cast").then(|| attributes.dtype().map(Op::Cast))
}

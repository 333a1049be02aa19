//! `reshape [2, 3]`: the same elements in another shape.

use super::shapes::exactly;
use super::{Attributes, Interval, Structural};
use crate::shape::{Shape, Type, size};
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct Reshape<'a>(pub(super) &'a Shape);

impl Structural for Reshape<'_> {
    fn name(&self) -> Cow<'static, str> {
        "reshape".into()
    }
    fn attributes(&self) -> String {
        format!(" {:?}", &self.0[..])
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [array] = exactly(operands)?;
        let shape = self.0;
        // Sizes saturate; saturated sizes prove nothing about shapes that differ.
        let known = size(shape) < usize::MAX || *shape == array.shape;
        if size(shape) != array.size() || !known {
            return Err(format!("sizes of shapes {:?} and {:?} differ", &array.shape[..], &shape[..]));
        }
        Ok(Type { dtype: array.dtype, shape: shape.clone() })
    }
    fn cost(&self, _: &[&Type], _: &Type) -> Cost {
        Cost::default()
    }
    fn interval(&self, operands: &[(&Type, Interval)]) -> Option<Interval> {
        Some(operands[0].1)
    }
    fn batched(&self, batch: &[usize]) -> Option<Op> {
        Some(Op::Reshape(batch.iter().chain(self.0).copied().collect()))
    }
}

pub(super) fn read<X, A: Attributes>(word: &str, attributes: &mut A) -> Option<Result<Op<X>, A::Problem>> {
    (word == "reshape").then(|| attributes.shape().map(Op::Reshape))
}

//! `argmax[0]` and `argmin[0]`: positions of extremes along an axis.

use super::shapes::{axis_of, exactly};
use super::{Attributes, Interval, Structural, last};
use crate::operation::Extreme;
use crate::shape::{DType, Type};
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct ArgReduce(pub(super) Extreme, pub(super) usize);

impl Structural for ArgReduce {
    fn name(&self) -> Cow<'static, str> {
        match self.0 {
            Extreme::Max => "argmax".into(),
            Extreme::Min => "argmin".into(),
        }
    }
    fn attributes(&self) -> String {
        format!("[{}]", self.1)
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [array] = exactly(operands)?;
        axis_of(array, self.1)?;
        let mut shape = array.shape.clone();
        shape.remove(self.1);
        Ok(Type { dtype: DType::I64, shape })
    }
    fn cost(&self, operands: &[&Type], result: &Type) -> Cost {
        Cost::stored(result).with_operations_of(operands[0]).with_sum_of(operands[0].shape[self.1])
    }
    fn interval(&self, operands: &[(&Type, Interval)]) -> Option<Interval> {
        Some((0, last(operands[0].0.shape[self.1])))
    }
    fn batched(&self, batch: &[usize]) -> Option<Op> {
        Some(Op::ArgReduce(self.0, self.1 + batch.len()))
    }
}

pub(super) fn read<X, A: Attributes>(word: &str, attributes: &mut A) -> Option<Result<Op<X>, A::Problem>> {
    let extreme = [Extreme::Max, Extreme::Min].into_iter().find(|&extreme| ArgReduce(extreme, 0).name() == word)?;
    Some(attributes.axis().map(|axis| Op::ArgReduce(extreme, axis)))
}

//! `argsort[0]`: the positions along an axis in the order of their elements.

use super::shapes::{axis_of, exactly};
use super::{Attributes, Interval, Structural, last};
use crate::operation::Order;
use crate::shape::{DType, Type};
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct ArgSort(pub(super) Order, pub(super) usize);

impl Structural for ArgSort {
    fn name(&self) -> Cow<'static, str> {
        match self.0 {
            Order::Ascending => "argsort".into(),
            Order::Descending => "argsort_descending".into(),
        }
    }
    fn attributes(&self) -> String {
        format!("[{}]", self.1)
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [array] = exactly(operands)?;
        axis_of(array, self.1)?;
        Ok(Type { dtype: DType::I64, shape: array.shape.clone() })
    }
    fn cost(&self, operands: &[&Type], result: &Type) -> Cost {
        Cost::stored(result).with_operations_of(operands[0]).with_sum_of(operands[0].shape[self.1])
    }
    fn interval(&self, operands: &[(&Type, Interval)]) -> Option<Interval> {
        Some((0, last(operands[0].0.shape[self.1])))
    }
    fn batched(&self, batch: &[usize]) -> Option<Op> {
        Some(Op::ArgSort(self.0, self.1 + batch.len()))
    }
    fn admits_reads(&self) -> bool {
        false
    }
}

pub(super) fn read<X, A: Attributes>(word: &str, attributes: &mut A) -> Option<Result<Op<X>, A::Problem>> {
    let order = [Order::Ascending, Order::Descending].into_iter().find(|&order| ArgSort(order, 0).name() == word)?;
    Some(attributes.axis().map(|axis| Op::ArgSort(order, axis)))
}

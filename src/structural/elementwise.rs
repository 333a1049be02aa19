//! Elementwise operations: their rows stand in [`crate::operation`].

use super::Structural;
use super::shapes::{exactly, same_type};
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Type};
use crate::term::{Cost, Op};
use std::borrow::Cow;

impl Structural for Unary {
    fn name(&self) -> Cow<'static, str> {
        Unary::name(*self).into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [array] = exactly(operands)?;
        if !self.domain().accepts(array.dtype) {
            return Err(format!("takes {}, not {}", self.domain().name(), array.dtype));
        }
        Ok(array.clone())
    }
    fn cost(&self, _: &[&Type], result: &Type) -> Cost {
        Cost::stored(result).with_operations_of(result)
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        Some(Op::Unary(*self))
    }
}

impl Structural for Binary {
    fn name(&self) -> Cow<'static, str> {
        Binary::name(*self).into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [left, right] = exactly(operands)?;
        same_type(left, right)?;
        if !self.domain().accepts(left.dtype) {
            return Err(format!("takes {}, not {}", self.domain().name(), left.dtype));
        }
        Ok(left.clone())
    }
    fn cost(&self, _: &[&Type], result: &Type) -> Cost {
        Cost::stored(result).with_operations_of(result)
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        Some(Op::Binary(*self))
    }
}

impl Structural for Comparison {
    fn name(&self) -> Cow<'static, str> {
        Comparison::name(*self).into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [left, right] = exactly(operands)?;
        same_type(left, right)?;
        Ok(Type { dtype: DType::Bool, shape: left.shape.clone() })
    }
    fn cost(&self, operands: &[&Type], result: &Type) -> Cost {
        Cost::stored(result).with_operations_of(operands[0])
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        Some(Op::Compare(*self))
    }
}

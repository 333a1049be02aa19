//! `select`: an elementwise choice.

use super::shapes::{exactly, same_shape, same_type};
use super::{Interval, Structural};
use crate::shape::{DType, Type};
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct Select;

impl Structural for Select {
    fn name(&self) -> Cow<'static, str> {
        "select".into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [mask, yes, no] = exactly(operands)?;
        if mask.dtype != DType::Bool {
            return Err(format!("the mask is bool, not {}", mask.dtype));
        }
        same_shape(mask, yes)?;
        same_type(yes, no)?;
        Ok(yes.clone())
    }
    fn cost(&self, _: &[&Type], result: &Type) -> Cost {
        Cost::stored(result)
    }
    fn interval(&self, operands: &[(&Type, Interval)]) -> Option<Interval> {
        Some(super::hull(operands[1].1, operands[2].1))
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        Some(Op::Select)
    }
}

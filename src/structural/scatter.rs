//! `scatter [28] a [i]`: adds at computed positions, the adjoint of a gather.

use super::Structural;
use super::shapes::index_arrays;
use crate::shape::{Shape, Type};
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct Scatter<'a>(pub(super) &'a Shape);

impl Structural for Scatter<'_> {
    fn name(&self) -> Cow<'static, str> {
        "scatter".into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let Some((updates, indices)) = operands.split_first() else { return Err("takes updates".into()) };
        if indices.len() != self.0.len() {
            return Err(format!("{} indices into axes {:?}", indices.len(), &self.0[..]));
        }
        let positions = index_arrays(indices)?;
        if !updates.shape.starts_with(&positions) {
            let (updates, positions) = (&updates.shape[..], &positions[..]);
            return Err(format!("updates of shape {updates:?} at positions of shape {positions:?}"));
        }
        let mut shape = self.0.clone();
        shape.extend_from_slice(&updates.shape[positions.len()..]);
        Ok(Type { dtype: updates.dtype, shape })
    }
    fn cost(&self, operands: &[&Type], result: &Type) -> Cost {
        Cost::stored(result).with_operations_of(operands[0]).with_sum_of(operands[1].size())
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        None
    }
    fn admits_reads(&self) -> bool {
        false
    }
}

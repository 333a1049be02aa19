//! `sparse_solve` and its kind: operations on sparse matrices, whose entries are the last axis.

use super::Structural;
use crate::operation::SparseOperation;
use crate::shape::{Type, size};
use crate::term::{Cost, Op};
use smallvec::SmallVec;
use std::borrow::Cow;

impl Structural for SparseOperation {
    fn name(&self) -> Cow<'static, str> {
        SparseOperation::name(self).into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        if operands.len() != self.operands() {
            return Err(format!("takes {} operands, not {}", self.operands(), operands.len()));
        }
        let first = operands[0];
        let mut extents: SmallVec<[&[usize]; 4]> = SmallVec::new();
        for (position, ty) in operands.iter().enumerate() {
            if !ty.dtype.is_float() {
                return Err(format!("takes floats, not {}", ty.dtype));
            }
            if ty.dtype != first.dtype {
                return Err(format!("element types {} and {} differ", first.dtype, ty.dtype));
            }
            let Some(axes) = ty.rank().checked_sub(self.axes(position)) else {
                return Err(format!("takes at least {} axes, not shape {:?}", self.axes(position), &ty.shape[..]));
            };
            let (batch, own) = ty.shape.split_at(axes);
            if batch != &first.shape[..first.rank() - 1] {
                let shapes = [first, ty].map(|ty| &ty.shape[..]);
                return Err(format!("the axes before matrices differ in shapes {:?} and {:?}", shapes[0], shapes[1]));
            }
            extents.push(own);
        }
        let mut shape = first.shape.clone();
        shape.pop();
        shape.extend(self.result(&extents)?);
        Ok(Type { dtype: first.dtype, shape })
    }
    fn cost(&self, operands: &[&Type], result: &Type) -> Cost {
        let count = size(&operands[0].shape[..operands[0].rank() - 1]) as u128;
        let columns = if self.axes(operands.len() - 1) == 2 { result.shape[result.rank() - 1] } else { 1 };
        let cost = Cost::stored(result).with_depth(self.elimination.extent() as u128 + 1);
        Cost { float_operations: self.work(columns).saturating_mul(count), ..cost }
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        Some(Op::Sparse(self.clone()))
    }
    fn admits_reads(&self) -> bool {
        false
    }
}

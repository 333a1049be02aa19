//! `contract "ij,jk->ik"`: sums of products.

use super::Structural;
use super::shapes::exactly;
use crate::operation::Contraction;
use crate::shape::{DType, Type};
use crate::term::{Cost, Op, print};
use std::borrow::Cow;

impl Structural for Contraction {
    fn name(&self) -> Cow<'static, str> {
        "contract".into()
    }
    fn attributes(&self) -> String {
        format!(" \"{}\"", print::contraction_labels(self))
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [left, right] = exactly(operands)?;
        if left.dtype != right.dtype {
            return Err(format!("element types {} and {} differ", left.dtype, right.dtype));
        }
        if left.dtype == DType::Bool {
            return Err("takes numbers, not bool".into());
        }
        let fits_other = |(axis, label): (usize, &u8)| {
            let other = self.right.iter().position(|l| l == label);
            other.is_none_or(|other| right.shape[other] == left.shape[axis])
        };
        let fits = left.rank() == self.left.len()
            && right.rank() == self.right.len()
            && self.is_valid()
            && self.left.iter().enumerate().all(fits_other);
        if !fits {
            return Err(format!("shapes {:?} and {:?} don't fit", &left.shape[..], &right.shape[..]));
        }
        Ok(Type { dtype: left.dtype, shape: self.shape(&left.shape, &right.shape) })
    }
    /// Two operations for each term.
    fn cost(&self, operands: &[&Type], result: &Type) -> Cost {
        let mut summed = 1usize;
        for &label in self.left.iter().filter(|label| !self.result.contains(label)) {
            summed = summed.saturating_mul(self.extent(label, &operands[0].shape, &operands[1].shape));
        }
        let cost = Cost::stored(result).with_operations_of(result).with_sum_of(summed);
        Cost { float_operations: cost.float_operations.saturating_mul(summed as u128).saturating_mul(2), ..cost }
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        None
    }
}

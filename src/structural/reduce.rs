//! `sum[0, 1]`, `max` and `min` over axes.

use super::shapes::{axis_of, exactly};
use super::{Attributes, Structural};
use crate::operation::Reduction;
use crate::shape::{Axes, Type};
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct Reduce<'a>(pub(super) Reduction, pub(super) &'a Axes);

impl Structural for Reduce<'_> {
    fn name(&self) -> Cow<'static, str> {
        self.0.name().into()
    }
    fn attributes(&self) -> String {
        format!("{:?}", &self.1[..])
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [array] = exactly(operands)?;
        let axes = self.1;
        for (at, &axis) in axes.iter().enumerate() {
            axis_of(array, axis)?;
            if at > 0 && axes[at - 1] >= axis {
                return Err(format!("axes {:?} are not ascending", &axes[..]));
            }
        }
        let kept = (0..array.rank()).filter(|axis| !axes.contains(axis));
        Ok(Type { dtype: array.dtype, shape: kept.map(|axis| array.shape[axis]).collect() })
    }
    fn cost(&self, operands: &[&Type], result: &Type) -> Cost {
        let extents = self.1.iter().map(|&axis| operands[0].shape[axis]);
        Cost::stored(result).with_operations_of(operands[0]).with_sum_of(extents.fold(1, usize::saturating_mul))
    }
    fn batched(&self, batch: &[usize]) -> Option<Op> {
        Some(Op::Reduce(self.0, self.1.iter().map(|axis| axis + batch.len()).collect()))
    }
}

pub(super) fn read<X, A: Attributes>(word: &str, attributes: &mut A) -> Option<Result<Op<X>, A::Problem>> {
    let all = [Reduction::Sum, Reduction::Max, Reduction::Min];
    let reduction = all.into_iter().find(|reduction| reduction.name() == word)?;
    Some(attributes.axes().map(|axes| Op::Reduce(reduction, axes)))
}

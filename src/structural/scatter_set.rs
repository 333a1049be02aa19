//! `scatter_set a b [i]`: writes at computed positions.

use super::shapes::index_arrays;
use super::{Interval, Structural, hull};
use crate::shape::Type;
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct ScatterSet;

impl Structural for ScatterSet {
    fn name(&self) -> Cow<'static, str> {
        "scatter_set".into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [target, updates, indices @ ..] = operands else { return Err("takes a target and updates".into()) };
        if updates.dtype != target.dtype {
            return Err(format!("updates of {} into {}", updates.dtype, target.dtype));
        }
        if indices.len() > target.rank() {
            return Err(format!("{} indices into shape {:?}", indices.len(), &target.shape[..]));
        }
        let mut written = index_arrays(indices)?;
        written.extend_from_slice(&target.shape[indices.len()..]);
        if updates.shape != written {
            let (updates, target, written) = (&updates.shape[..], &target.shape[..], &written[..]);
            return Err(format!(
                "updates of shape {updates:?} into shape {target:?}, of which the positions read shape {written:?}"
            ));
        }
        Ok((*target).clone())
    }
    fn cost(&self, _: &[&Type], result: &Type) -> Cost {
        Cost::stored(result)
    }
    fn interval(&self, operands: &[(&Type, Interval)]) -> Option<Interval> {
        Some(hull(operands[0].1, operands[1].1))
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        None
    }
    fn admits_reads(&self) -> bool {
        false
    }
}

//! `concatenate[0]`: arrays joined along an axis.

use super::shapes::axis_of;
use super::{Interval, Structural, hull};
use crate::shape::Type;
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct Concatenate(pub(super) usize);

impl Structural for Concatenate {
    fn name(&self) -> Cow<'static, str> {
        "concatenate".into()
    }
    fn attributes(&self) -> String {
        format!("[{}]", self.0)
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let axis = self.0;
        let Some(first) = operands.first() else { return Err("takes at least one part".into()) };
        axis_of(first, axis)?;
        let mut shape = first.shape.clone();
        for part in &operands[1..] {
            if part.dtype != first.dtype {
                return Err(format!("element types {} and {} differ", first.dtype, part.dtype));
            }
            let fits = part.rank() == first.rank()
                && (0..shape.len()).all(|at| at == axis || part.shape[at] == first.shape[at]);
            if !fits {
                let (first, part) = (&first.shape[..], &part.shape[..]);
                return Err(format!("shapes {first:?} and {part:?} differ in more than axis {axis}"));
            }
            let Some(extent) = shape[axis].checked_add(part.shape[axis]) else {
                return Err(format!("parts of shapes {:?} and {:?} are too long", &shape[..], &part.shape[..]));
            };
            shape[axis] = extent;
        }
        Ok(Type { dtype: first.dtype, shape })
    }
    fn cost(&self, _: &[&Type], result: &Type) -> Cost {
        Cost::stored(result)
    }
    fn interval(&self, operands: &[(&Type, Interval)]) -> Option<Interval> {
        operands.iter().map(|(_, interval)| *interval).reduce(hull)
    }
    fn batched(&self, batch: &[usize]) -> Option<Op> {
        Some(Op::Concatenate(self.0 + batch.len()))
    }
}

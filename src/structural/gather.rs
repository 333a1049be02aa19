//! `gather a [i, j]`: reads at computed positions.

use super::shapes::index_arrays;
use super::{Interval, Structural, hull};
use crate::shape::Type;
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct Gather;

impl Structural for Gather {
    fn name(&self) -> Cow<'static, str> {
        "gather".into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let Some((array, indices)) = operands.split_first() else { return Err("takes an array".into()) };
        if indices.len() > array.rank() {
            return Err(format!("{} indices into shape {:?}", indices.len(), &array.shape[..]));
        }
        let mut shape = index_arrays(indices)?;
        shape.extend_from_slice(&array.shape[indices.len()..]);
        Ok(Type { dtype: array.dtype, shape })
    }
    fn cost(&self, _: &[&Type], result: &Type) -> Cost {
        Cost::stored(result)
    }
    fn interval(&self, operands: &[(&Type, Interval)]) -> Option<Interval> {
        let (array, elements) = *operands.first()?;
        let is_inside =
            |((_, index), &extent): (&(&Type, Interval), &usize)| index.0 >= 0 && i128::from(index.1) < extent as i128;
        let are_inside = operands[1..].iter().zip(&array.shape).all(is_inside);
        // Reads outside give 0.
        Some(if are_inside { elements } else { hull(elements, (0, 0)) })
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        None
    }
}

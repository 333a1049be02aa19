//! Affine reads, as which slices, transposes and broadcasts are.

use super::Structural;
use super::shapes::exactly;
use crate::affine::AffineMap;
use crate::shape::Type;
use crate::term::{Cost, Op, print};
use std::borrow::Cow;

pub(super) struct View<'a>(pub(super) &'a AffineMap);

impl Structural for View<'_> {
    fn name(&self) -> Cow<'static, str> {
        print::view_name(self.0).into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [array] = exactly(operands)?;
        if array.shape[..] != *self.0.source() {
            return Err(format!("the view reads shape {:?}, not {:?}", self.0.source(), &array.shape[..]));
        }
        Ok(Type::new(array.dtype, self.0.result()))
    }
    /// A view that repeats its source is stored only by engines that do not fuse it; others are not counted at all.
    fn cost(&self, _: &[&Type], _: &Type) -> Cost {
        Cost::default()
    }
    fn batched(&self, batch: &[usize]) -> Option<Op> {
        Some(Op::View(self.0.behind(batch)))
    }
}

//! Affine adds, the adjoints of views.

use super::Structural;
use super::shapes::exactly;
use crate::affine::AffineMap;
use crate::shape::Type;
use crate::term::{Cost, Op};
use std::borrow::Cow;

pub(super) struct Accumulate<'a>(pub(super) &'a AffineMap);

impl Structural for Accumulate<'_> {
    fn name(&self) -> Cow<'static, str> {
        "accumulate".into()
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        let [array] = exactly(operands)?;
        if array.shape[..] != *self.0.result() {
            return Err(format!("the map takes shape {:?}, not {:?}", self.0.result(), &array.shape[..]));
        }
        Ok(Type::new(array.dtype, self.0.source()))
    }
    fn cost(&self, operands: &[&Type], result: &Type) -> Cost {
        Cost::stored(result).with_operations_of(operands[0]).with_sum_of(most_at_one_position(self.0))
    }
    fn batched(&self, batch: &[usize]) -> Option<Op> {
        Some(Op::Accumulate(self.0.behind(batch)))
    }
    fn admits_reads(&self) -> bool {
        false
    }
}

/// How many elements an accumulation may add at one position.
fn most_at_one_position(map: &AffineMap) -> usize {
    let ignored = map.ignored();
    let columns: Vec<usize> = (0..map.result().len()).filter(|column| !ignored.contains(column)).collect();
    // Where every row moves with one column alone, different positions are written to different ones.
    let moving = |row: usize| columns.iter().filter(|&&column| map.coefficient(row, column) != 0).count();
    let alone = (0..map.source().len()).all(|row| moving(row) <= 1);
    let written = if alone { &ignored[..] } else { &[] };
    let extents = map.result().iter().enumerate().filter(|(column, _)| !alone || written.contains(column));
    extents.fold(1usize, |product, (_, &extent)| product.saturating_mul(extent))
}

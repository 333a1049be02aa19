//! Checks that several shape rules make.

use crate::shape::{DType, Shape, Type};

pub(super) fn same_shape(a: &Type, b: &Type) -> Result<(), String> {
    if a.shape == b.shape { Ok(()) } else { Err(format!("shapes {:?} and {:?} differ", &a.shape[..], &b.shape[..])) }
}

pub(super) fn same_type(a: &Type, b: &Type) -> Result<(), String> {
    same_shape(a, b)?;
    if a.dtype == b.dtype { Ok(()) } else { Err(format!("element types {} and {} differ", a.dtype, b.dtype)) }
}

/// The operands, if there are so many.
pub(super) fn exactly<'a, const N: usize>(operands: &[&'a Type]) -> Result<[&'a Type; N], String> {
    operands.try_into().map_err(|_| format!("takes {N} operands, not {}", operands.len()))
}

pub(super) fn axis_of(ty: &Type, axis: usize) -> Result<(), String> {
    if axis < ty.rank() { Ok(()) } else { Err(format!("there is no axis {axis} in shape {:?}", &ty.shape[..])) }
}

/// The shape of index arrays, which all have the same.
pub(super) fn index_arrays(indices: &[&Type]) -> Result<Shape, String> {
    let Some(first) = indices.first() else { return Ok(Shape::new()) };
    for index in indices {
        if index.dtype != DType::I64 {
            return Err(format!("index arrays are i64, not {}", index.dtype));
        }
        same_shape(first, index)?;
    }
    Ok(first.shape.clone())
}

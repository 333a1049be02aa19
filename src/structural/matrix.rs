//! `cholesky`, `lu`, `qr`, `solve_lower` and their kind: operations of linear algebra on the last two axes.

use super::Structural;
use crate::operation::MatrixOperation;
use crate::shape::{DType, Type, size};
use crate::term::{Cost, Op};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Rows and columns of the matrices of each operand.
fn matrices(operands: &[&Type]) -> SmallVec<[[usize; 2]; 2]> {
    operands.iter().map(|ty| [ty.shape[ty.rank() - 2], ty.shape[ty.rank() - 1]]).collect()
}

impl Structural for MatrixOperation {
    fn name(&self) -> Cow<'static, str> {
        MatrixOperation::name(*self)
    }
    fn output(&self, operands: &[&Type]) -> Result<Type, String> {
        if operands.len() != self.operands() {
            return Err(format!("takes {} operands, not {}", self.operands(), operands.len()));
        }
        let first = operands[0];
        for ty in operands {
            if !ty.dtype.is_float() {
                return Err(format!("takes floats, not {}", ty.dtype));
            }
            if ty.dtype != first.dtype {
                return Err(format!("element types {} and {} differ", first.dtype, ty.dtype));
            }
            if ty.rank() < 2 {
                return Err(format!("takes matrices, not shape {:?}", &ty.shape[..]));
            }
        }
        let batch = |ty: &Type| ty.shape[..ty.rank() - 2].to_vec();
        if let Some(other) = operands.iter().find(|ty| batch(ty) != batch(first)) {
            return Err(format!(
                "the axes before matrices differ in shapes {:?} and {:?}",
                &first.shape[..],
                &other.shape[..]
            ));
        }
        let matrices = matrices(operands);
        if *self == MatrixOperation::Lu && first.dtype == DType::F32 && matrices[0][0] > 1 << f32::MANTISSA_DIGITS {
            return Err(format!(
                "takes f32 matrices of at most 2²⁴ rows, whose numbers are f32 too, not {}",
                matrices[0][0]
            ));
        }
        let result = self.result(&matrices)?;
        let mut shape = first.shape.clone();
        shape.truncate(first.rank() - 2);
        shape.extend(result);
        Ok(Type { dtype: first.dtype, shape })
    }
    fn cost(&self, operands: &[&Type], result: &Type) -> Cost {
        let count = size(&result.shape[..result.rank() - 2]) as u128;
        let matrices = matrices(operands);
        let steps = match self {
            MatrixOperation::SolveBanded | MatrixOperation::SolveBandedTransposed => matrices[0][1],
            _ => matrices[0][0].min(matrices[0][1]),
        };
        let cost = Cost::stored(result).with_depth(steps as u128 + 1);
        Cost { float_operations: self.work(&matrices).saturating_mul(count), ..cost }
    }
    fn batched(&self, _: &[usize]) -> Option<Op> {
        Some(Op::Matrix(*self))
    }
    fn admits_reads(&self) -> bool {
        false
    }
}

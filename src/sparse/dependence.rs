//! The elements that the result of an operation depends on.

use super::array::{Sets, Sparsity, SparsityArray, union};
use super::columns::ColumnSet;
use super::{chosen, positions, rules};
use crate::operation::Partial;
use crate::shape::Type;
use crate::term::{Op, infer};
use smallvec::SmallVec;
use std::rc::Rc;

/// The columns of those elements whose factor is not known to be 0.
fn where_not_zero(columns: &Rc<Vec<ColumnSet>>, factor: SparsityArray) -> Sets {
    match factor.known {
        Some(factor) => rules::where_not_zero(columns, &factor),
        None => Some(columns.clone()),
    }
}

/// The columns that remain after an operation with this derivative.
fn through(columns: &Sets, partial: impl FnOnce() -> Partial<Sparsity>) -> Sets {
    let columns = columns.as_ref()?;
    match partial() {
        Partial::Zero => None,
        Partial::One => Some(columns.clone()),
        Partial::Factor(factor) | Partial::Mask(factor) => where_not_zero(columns, factor),
        Partial::Factors(one, other) => {
            where_not_zero(columns, one).and_then(|columns| where_not_zero(&columns, other))
        }
    }
}

/// The columns that the result of an operation depends on, where not all operands are known.
pub(super) fn dependent(op: &Op, operands: &[SparsityArray]) -> SparsityArray {
    let a = &operands[0];
    let with = |ty: Type, columns: Sets| SparsityArray::dependent(ty, columns);
    match op {
        Op::Unary(op) => {
            let partial = || op.partial::<Sparsity>(&a.bare(), &SparsityArray::unknown(a.ty.clone()));
            let columns = through(&a.columns, partial);
            chosen::elementwise(with(a.ty.clone(), columns.clone()), &[(a, columns)])
        }
        Op::Binary(op) => {
            let b = &operands[1];
            let (x, y, result) = (a.bare(), b.bare(), SparsityArray::unknown(a.ty.clone()));
            let left = through(&a.columns, || op.left_partial::<Sparsity>(&x, &y, &result));
            let right = through(&b.columns, || op.right_partial::<Sparsity>(&x, &y, &result));
            let result = with(a.ty.clone(), union(left.clone(), right.clone()));
            chosen::elementwise(result, &[(a, left), (b, right)])
        }
        Op::Select => rules::select(a, &operands[1], &operands[2]),
        // Integers and booleans have no columns, so a conversion from them has none.
        Op::Cast(dtype) => {
            let result = with(Type::new(*dtype, &a.ty.shape), a.columns.clone());
            chosen::elementwise(result, &[(a, a.columns.clone())])
        }
        Op::View(map) => with(Type::new(a.ty.dtype, map.result()), positions::view(&a.columns, map)),
        Op::Accumulate(map) => with(Type::new(a.ty.dtype, map.source()), rules::accumulate(&a.columns, map)),
        Op::Reshape(shape) => with(Type::new(a.ty.dtype, shape), a.columns.clone()),
        Op::Concatenate(axis) => rules::concatenate(*axis, operands),
        Op::Gather => rules::gather(a, &operands[1..]),
        Op::Scatter(extents) => rules::scatter(a, &operands[1..], extents),
        Op::ScatterSet => rules::scatter_set(a, &operands[1], &operands[2..]),
        Op::Reduce(_, axes) => {
            let (columns, shape) = rules::unions_over(&a.columns, &a.ty.shape, axes);
            with(Type { dtype: a.ty.dtype, shape }, columns)
        }
        Op::Contract(spec) => rules::contract(spec, a, &operands[1]),
        Op::Matrix(op) => rules::matrix(*op, operands),
        Op::Sparse(op) => rules::sparse(op, operands),
        Op::Mark => a.clone(),
        // Truth values and positions have no derivative.
        op => {
            let types: SmallVec<[&Type; 3]> = operands.iter().map(SparsityArray::ty).collect();
            let result = infer::output(op, &types).expect("operands that fit");
            let moves = operands.iter().any(|operand| operand.columns.is_some());
            assert!(!(moves && result.dtype.is_float()), "there is no rule for the elements that {op:?} depends on");
            SparsityArray::unknown(result)
        }
    }
}

//! Derivatives of the LU factors and of these derivatives, which are systems of equations: X₋ U + L X₊ = P S, where X₋ is what is
//! below the diagonal of X, and X₊ the rest of it.

use super::Stack;
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::dual::derivative::{Derivative, Scaling, WithDerivative, sum};
use crate::operation::{Comparison, MatrixOperation};
use crate::shape::{DType, Shape};
use crate::term::Op;
use smallvec::smallvec;

/// P A = L U, given A and a derivative of it. The order of rows does not move.
#[track_caller]
pub(super) fn factors<A: Algebra, D: Derivative<A>>(a: A::Array, da: D) -> (A::Array, D) {
    let stack = Stack::of::<A>(&a);
    let packed = A::matrix(MatrixOperation::Lu, smallvec![a]);
    let moved = da.linear(Op::Matrix(MatrixOperation::LuForward), smallvec![packed.clone()]);
    let types = [stack.ty(), stack.with_columns(1).ty()];
    (packed, D::concatenate(stack.axes() + 1, vec![Some(moved), None], &types))
}

/// Where factors move, S does by −Pᵀ (X₋ U̇ + L̇ X₊). In the transposed system Z moves by −(P X U̇ᵀ)₋ − (L̇ᵀ P X)₊.
#[track_caller]
pub(super) fn derivative<A: Algebra, D: Derivative<A>>(
    op: MatrixOperation,
    (packed, moved): WithDerivative<A, D>,
    (side, dside): WithDerivative<A, D>,
) -> WithDerivative<A, D> {
    let x = A::matrix(op, smallvec![packed.clone(), side]);
    let stack = Stack::of::<A>(&x);
    let moved = moved.map(|moved| {
        let (m, n) = (stack.rows, stack.columns);
        let moved = moved.view(&stack.with_columns(n + 1).columns(0, n)).shared();
        let [left, right] =
            [[m, m.min(n)], [m.min(n), n]].map(|[rows, columns]| Stack { rows, columns, ..stack.clone() });
        let (columns, rows) = (stack.columns(0, left.columns), stack.rows(0, right.rows));
        let (below, rest) = (left.compared::<A>(Comparison::Greater), right.compared::<A>(Comparison::LessEqual));
        let (dl, du) = (moved.clone().view(&columns).mask(below.clone()), moved.view(&rows).mask(rest.clone()));
        let (places, order) = stack.order::<A>(packed.clone());
        let change = if op == MatrixOperation::LuForward {
            let lower = A::select(below, A::view(x.clone(), &columns), A::zeros(&left.ty()));
            let upper = A::select(rest, A::view(x.clone(), &rows), A::zeros(&right.ty()));
            let product = stack.product([false, false]);
            du.contract_right(&product, lower).add(dl.contract_left(&product, upper)).scatter(order, &places)
        } else {
            let ordered = A::gather(x.clone(), order);
            let lower = du.contract_right(&stack.product([false, true]), ordered.clone());
            let upper = dl.contract_left(&stack.product([true, false]), ordered);
            lower.mask(below).accumulate(&columns).add(upper.mask(rest).accumulate(&rows))
        };
        change.scale(A::constant(stack.full(-1.0)), Scaling::Product)
    });
    (x, sum::<A, D>(dside, moved).map(|side| side.linear(Op::Matrix(op), smallvec![packed]).shared()))
}

impl Stack {
    /// The extents of an array of rows, and indices that bring these into the order beside factors of matrices of this size.
    fn order<A: Algebra>(&self, packed: A::Array) -> (Shape, Vec<A::Array>) {
        let places: Shape = self.batch.iter().copied().chain([self.rows]).collect();
        let last = self.with_columns(self.columns + 1).columns(self.columns, 1);
        let numbers = A::cast(A::reshape(A::view(packed, &last), &places), DType::I64);
        let along = |axis: usize| {
            let extent = places[axis];
            A::view(A::iota(extent), &AffineMap::broadcast(&[extent], &places, &[axis]))
        };
        let indices = (0..self.axes()).map(along).chain([numbers]).collect();
        (places, indices)
    }
}

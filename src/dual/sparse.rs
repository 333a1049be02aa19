//! Derivatives of linear algebra on sparse matrices: products along the pattern, and the operations themselves, which are symmetric.

use super::derivative::{Derivative, Scaling, WithDerivative, sum};
use crate::affine::AffineMap;
use crate::algebra::{Algebra, Operands};
use crate::array::{Array, Data};
use crate::operation::{Binary, Contraction, Label, Labels, SparseKind, SparseOperation};
use crate::shape::{Axes, DType, Shape, Type, Value};
use crate::term::Op;

/// One operation on sparse matrices, by its rule.
#[track_caller]
pub(super) fn sparse<A: Algebra, D: Derivative<A>>(
    op: &SparseOperation,
    operands: Vec<WithDerivative<A, D>>,
) -> WithDerivative<A, D> {
    let (arrays, mut derivatives): (Operands<A>, Vec<Option<D>>) = operands.into_iter().unzip();
    let result = A::sparse(op.clone(), arrays.clone());
    // Nothing comes of a factor, which is that of the matrix.
    if let Some(of_factor) = derivatives.get_mut(1) {
        *of_factor = None;
    }
    if derivatives.iter().all(Option::is_none) {
        return (result, None);
    }
    let entries = Entries::of::<A>(op, &arrays[0]);
    let derivative = match op.kind {
        SparseKind::Factor => derivatives.remove(0).map(|derivative| entries.of_factor(derivative, &A::shape(&result))),
        SparseKind::Solve => {
            let moved = derivatives[0].take().map(|derivative| entries.product::<A, D>(derivative, &result));
            let side = sum(derivatives[2].take(), moved);
            side.map(|side| side.linear(Op::Sparse(op.clone()), arrays[..2].into()))
        }
        SparseKind::LogDeterminant => derivatives[0].take().map(|derivative| {
            let inverse = A::sparse(op.of_kind(SparseKind::InverseEntries(0)), arrays);
            derivative.contract_left(&entries.inner_product(), inverse)
        }),
        SparseKind::InverseEntries(directions) => {
            let mut all = derivatives[0].take().map(|derivative| {
                derivative.linear(Op::Sparse(op.of_kind(SparseKind::InverseEntries(directions + 1))), arrays.clone())
            });
            for (position, derivative) in derivatives.into_iter().enumerate().skip(2) {
                let along = derivative.map(|derivative| {
                    let mut others = arrays.clone();
                    others.remove(position);
                    derivative.linear(Op::Sparse(op.clone()), others)
                });
                all = sum(all, along);
            }
            all
        }
    };
    (result, derivative.map(D::shared))
}

/// The entries of matrices of one pattern, along axes of these extents.
struct Entries<'o> {
    op: &'o SparseOperation,
    dtype: DType,
    batch: Shape,
}

impl<'o> Entries<'o> {
    fn of<A: Algebra>(op: &'o SparseOperation, values: &A::Array) -> Entries<'o> {
        let mut batch = A::shape(values);
        batch.pop();
        Entries { op, dtype: A::dtype(values), batch }
    }

    fn axes(&self) -> usize {
        self.batch.len()
    }

    fn ty(&self, extents: &[usize]) -> Type {
        Type { dtype: self.dtype, shape: self.batch.iter().chain(extents).copied().collect() }
    }

    /// The view that brings the axis after the batch to the front.
    fn with_entries_first(&self, shape: &[usize]) -> AffineMap {
        let axes = self.axes();
        let permutation: Axes = std::iter::once(axes).chain(0..axes).chain(axes + 1..shape.len()).collect();
        AffineMap::transpose(shape, &permutation)
    }

    /// The view that takes the first axis behind the batch.
    fn with_batch_first(&self, shape: &[usize]) -> AffineMap {
        let axes = self.axes();
        let permutation: Axes = (1..=axes).chain([0]).chain(axes + 1..shape.len()).collect();
        AffineMap::transpose(shape, &permutation)
    }

    /// The inner product of entries.
    fn inner_product(&self) -> Contraction {
        let labels: Labels = (0..=self.axes()).map(|label| label as Label).collect();
        Contraction { left: labels.clone(), right: labels.clone(), result: labels[..self.axes()].into() }
    }

    /// The derivative of a factor by itself, which has no rule and is NaN. Solutions and determinants don't ask for it.
    fn of_factor<A: Algebra, D: Derivative<A>>(&self, derivative: D, shape: &[usize]) -> D {
        let (axes, entries) = (self.axes(), self.ty(&[self.op.elimination.entries()]));
        let batch: Axes = (0..axes).collect();
        let spread = derivative.sum(&[axes], &entries.shape).view(&AffineMap::broadcast(&self.batch, shape, &batch));
        spread.scale(A::constant(Array::full(shape, Value::from_f64(self.dtype, f64::NAN))), Scaling::Product)
    }

    /// −S x for the symmetric part S of the derivative of a matrix, and columns x.
    fn product<A: Algebra, D: Derivative<A>>(&self, derivative: D, x: &A::Array) -> D {
        let elimination = &*self.op.elimination;
        let (n, entries, columns) =
            (elimination.extent(), elimination.entries(), A::shape(x).last().copied().unwrap_or(0));
        let own = self.ty(&[entries]).shape;
        let first = self.with_entries_first(&own);
        let rows = first.result().to_vec();
        // Entries along the first axis, as indices need it.
        let derivative = derivative.view(&first).shared();
        let transposed = derivative.clone().gather(vec![index::<A>(&elimination.transposed)], &[entries]);
        let sum = derivative.add(transposed);
        let spread: Shape = rows.iter().copied().chain([columns]).collect();
        let axes: Axes = (0..rows.len()).collect();
        let spread_map = AffineMap::broadcast(&rows, &spread, &axes);
        let x = A::view(x.clone(), &self.with_entries_first(&A::shape(x)));
        let factors = A::gather(x, vec![index::<A>(&elimination.columns)]);
        let half = A::constant(Array::full(&spread, Value::from_f64(self.dtype, -0.5)));
        let factors = A::binary(Binary::Mul, factors, half);
        let terms = sum.view(&spread_map).scale(factors, Scaling::Product);
        let rows: Vec<u32> = elimination.entry_rows().collect();
        let product = terms.scatter(vec![index::<A>(&rows)], &[n]);
        let shape: Shape = std::iter::once(n).chain(spread[1..].iter().copied()).collect();
        product.view(&self.with_batch_first(&shape))
    }
}

/// Known positions.
fn index<A: Algebra>(positions: &[u32]) -> A::Array {
    let positions: Vec<i64> = positions.iter().map(|&position| i64::from(position)).collect();
    A::constant(Array::I64(Data::from_vec(&[positions.len()], positions)))
}

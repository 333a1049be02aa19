//! Parts of matrices: rows, columns, triangles and diagonals.

use super::matrices;
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::shape::Shape;
use crate::tensor::{Float, Number, RDyn, Tensor, zeros};

/// The rows or columns of matrices.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Rows,
    Columns,
}

/// Some rows or columns of matrices.
pub(super) fn part<A: Algebra, E: Float>(
    a: &Tensor<A, E, RDyn>,
    side: Side,
    range: std::ops::Range<usize>,
) -> Tensor<A, E, RDyn> {
    let axis = a.rank() - if matches!(side, Side::Rows) { 2 } else { 1 };
    if range == (0..a.shape()[axis]) { a.clone() } else { a.slice(axis, range) }
}

/// Matrices with rows and columns exchanged.
pub(super) fn turned<A: Algebra, E: Float>(a: &Tensor<A, E, RDyn>) -> Tensor<A, E, RDyn> {
    let rank = a.rank();
    let permutation: Shape = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    a.tr(&permutation)
}

/// The elements whose row and column satisfy a condition; the others are 0.
pub(super) fn kept<A: Algebra, E: Number>(
    a: &Tensor<A, E, RDyn>,
    condition: impl FnOnce(&Tensor<A, i64, RDyn>, &Tensor<A, i64, RDyn>) -> Tensor<A, bool, RDyn>,
) -> Tensor<A, E, RDyn> {
    let (shape, rank) = (a.shape(), a.rank());
    let along = |axis: usize| {
        Tensor::wrap(A::view(A::iota(shape[axis]), &AffineMap::broadcast(&[shape[axis]], &shape, &[axis])))
    };
    condition(&along(rank - 2), &along(rank - 1)).select(a, &zeros(&shape[..]))
}

/// The elements on the diagonal of each matrix.
pub(super) fn diagonal<A: Algebra, E: Float>(a: &Tensor<A, E, RDyn>) -> Result<Tensor<A, E, RDyn>, String> {
    let shape = a.shape();
    let (batch, [m, n]) = matrices(&shape)?;
    let (axes, count) = (batch.len(), m.min(n));
    let result: Shape = batch.iter().copied().chain([count]).collect();
    let square = part(&part(a, Side::Rows, 0..count), Side::Columns, 0..count);
    let places: Shape = (0..axes).chain([axes, axes]).collect();
    let map = AffineMap::broadcast(&square.shape(), &result, &places);
    Ok(Tensor::wrap(A::view(square.into_array(), &map)))
}

//! Arrays from nothing: constants and positions.

use crate::algebra::Algebra;
use crate::concrete::{self, Concrete};
use crate::tensor::{Element, Family, IntoShape, Number, R0, R1, Tensor, Tree};

/// The array `[0, 1, .., n-1]`.
pub fn iota<A: Algebra>(n: usize) -> Tensor<A, i64, R1> {
    Tensor::wrap(A::iota(n))
}

/// The array of a shape whose elements all have one value; it takes no memory for them.
pub fn full<A: Algebra, E: Element, S: IntoShape>(shape: S, value: E) -> Tensor<A, E, S::Rank> {
    Tensor::wrap(A::constant(concrete::Array::full(&shape.into_shape(), value.into_value())))
}

/// The array of a shape whose elements are 0.
pub fn zeros<A: Algebra, E: Element, S: IntoShape>(shape: S) -> Tensor<A, E, S::Rank> {
    full(shape, E::ZERO)
}

/// The array of a shape whose elements are 1.
pub fn ones<A: Algebra, E: Number, S: IntoShape>(shape: S) -> Tensor<A, E, S::Rank> {
    full(shape, E::ONE)
}

/// The array without axes of one value.
pub fn scalar<A: Algebra, E: Element>(value: E) -> Tensor<A, E, R0> {
    full((), value)
}

/// Known arrays, singly or in a tree, in any algebra; they have no derivative.
pub fn constant<A: Algebra, T: Tree<Concrete>>(value: &T) -> <T::Family as Family>::At<A> {
    let mut leaves = value.leaves().into_iter().map(A::constant);
    T::Family::rebuild::<Concrete, A>(value, &mut leaves)
}

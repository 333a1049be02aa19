//! The linear functions of derivatives that rules are made of.
//!
//! The two modes represent a derivative differently: in reverse mode the rules describe it as a [`Delta`](super::Delta), to be
//! transposed later, in forward mode they compute it.

use crate::affine::AffineMap;
use crate::algebra::{Algebra, Operands};
use crate::operation::Contraction;
use crate::shape::{DType, Type};
use crate::term::Op;

/// How a factor meets a derivative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scaling {
    /// As a product.
    Product,
    /// As a product that is 0 wherever the derivative is 0, whatever the factor.
    KeepDerivative,
    /// As a product that is 0 wherever the factor is 0, whatever the derivative.
    KeepFactor,
}

/// The linear functions of derivatives that rules are made of; `None` is a zero derivative.
pub(crate) trait Derivative<A: Algebra>: Clone {
    /// The sum of two derivatives.
    fn add(self, other: Self) -> Self;
    /// Elementwise scaling.
    fn scale(self, factor: A::Array, scaling: Scaling) -> Self;
    /// The sum of two derivatives, each scaled.
    fn add_scaled(self, factor: A::Array, other: Self, other_factor: A::Array) -> Self {
        self.scale(factor, Scaling::Product).add(other.scale(other_factor, Scaling::Product))
    }
    /// The derivative where the mask is true, 0 elsewhere.
    fn mask(self, mask: A::Array) -> Self;
    /// The first where the mask is true, the second elsewhere; not both zero. Marks the cotangents of both.
    fn select(mask: A::Array, yes: Option<Self>, no: Option<Self>) -> Self;
    /// The same, with a marked cotangent.
    fn mark(self) -> Self;
    /// Another float type.
    fn cast(self, from: DType, to: DType) -> Self;
    /// An affine read.
    fn view(self, map: &AffineMap) -> Self;
    /// An affine add.
    fn accumulate(self, map: &AffineMap) -> Self;
    /// Another shape.
    fn reshape(self, from: &[usize], to: &[usize]) -> Self;
    /// Concatenated parts of the given types; not all zero.
    fn concatenate(axis: usize, parts: Vec<Option<Self>>, types: &[Type]) -> Self;
    /// Reads at computed positions of an array whose indexed axes have these extents.
    fn gather(self, indices: Vec<A::Array>, extents: &[usize]) -> Self;
    /// Adds at computed positions of zeros whose indexed axes have these extents.
    fn scatter(self, indices: Vec<A::Array>, extents: &[usize]) -> Self;
    /// This, added at computed positions of another derivative; in place where it can be.
    fn scatter_onto(self, target: Self, indices: Vec<A::Array>, extents: &[usize]) -> Self {
        target.add(self.scatter(indices, extents))
    }
    /// This, added to another derivative by an affine add; in place where it can be.
    fn accumulate_onto(self, target: Self, map: &AffineMap) -> Self {
        target.add(self.accumulate(map))
    }
    /// Writes at computed positions of a derivative of this type; not both zero. Where not all updates are there afterwards,
    /// the mask says which.
    fn scatter_set(
        target: Option<Self>,
        updates: Option<Self>,
        indices: Vec<A::Array>,
        latest: impl FnOnce() -> Option<A::Array>,
        types: [Type; 2],
    ) -> Self;
    /// Sum over axes of an array of this shape.
    fn sum(self, axes: &[usize], shape: &[usize]) -> Self;
    /// A contraction with a fixed right operand.
    fn contract_left(self, spec: &Contraction, right: A::Array) -> Self;
    /// A contraction with a fixed left operand.
    fn contract_right(self, spec: &Contraction, left: A::Array) -> Self;
    /// An operation of linear algebra that is linear in its last operand, this, such as a system of equations with a fixed matrix.
    fn linear(self, op: Op, fixed: Operands<A>) -> Self;
    /// The derivative of the result of an operation, which may be used many times.
    fn shared(self) -> Self;
}

/// An array and its derivative.
pub(crate) type WithDerivative<A, D> = (<A as Algebra>::Array, Option<D>);

/// The sum of derivatives, either of which may be zero.
pub(super) fn sum<A: Algebra, D: Derivative<A>>(first: Option<D>, second: Option<D>) -> Option<D> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.add(second)),
        (first, second) => first.or(second),
    }
}

//! Arrays with tangents, and no tape.

use super::derivative::{Derivative, Scaling, WithDerivative};
use crate::affine::AffineMap;
use crate::algebra::{Algebra, Operands};
use crate::operation::{Binary, Contraction, Reduction};
use crate::shape::{DType, Type};
use crate::term::Op;
use std::marker::PhantomData;

/// Forward mode over any algebra: an array paired with its tangent.
///
/// Where tangents are `MARKED`, zeros in them stay zeros whatever factor they meet, as in marked cotangents: for linear
/// functions of a cotangent, which are run forwards.
#[derive(Clone, Debug)]
pub struct Tangent<A, const MARKED: bool = false>(PhantomData<A>);

/// An array and its tangent; `None` is zero, always so for integers, booleans and constants.
pub struct TangentArray<A: Algebra> {
    /// The value.
    pub primal: A::Array,
    /// The tangent, of the value's type.
    pub tangent: Option<A::Array>,
}

impl<A: Algebra> Clone for TangentArray<A> {
    fn clone(&self) -> Self {
        TangentArray { primal: self.primal.clone(), tangent: self.tangent.clone() }
    }
}

/// A tangent in the form that the derivative rules compute with, and whether it is marked.
pub(crate) struct Direction<A: Algebra>(A::Array, bool);

impl<A: Algebra> Clone for Direction<A> {
    fn clone(&self) -> Self {
        Direction(self.0.clone(), self.1)
    }
}

impl<A: Algebra> TangentArray<A> {
    /// The value and its tangent.
    pub(super) fn apart<const MARKED: bool>(self) -> WithDerivative<A, Direction<A>> {
        (self.primal, self.tangent.map(|tangent| Direction(tangent, MARKED)))
    }
}

impl<A: Algebra> From<WithDerivative<A, Direction<A>>> for TangentArray<A> {
    fn from((primal, direction): WithDerivative<A, Direction<A>>) -> Self {
        TangentArray { primal, tangent: direction.map(|direction| direction.0) }
    }
}

impl<A: Algebra> Derivative<A> for Direction<A> {
    fn add(self, other: Self) -> Self {
        Direction(A::binary(Binary::Add, self.0, other.0), self.1)
    }

    fn scale(self, factor: A::Array, scaling: Scaling) -> Self {
        let marked = self.1;
        let scaled = match scaling {
            Scaling::Product if !marked => A::binary(Binary::Mul, self.0, factor),
            Scaling::Product | Scaling::KeepDerivative => A::binary(Binary::KeepZero, self.0, factor),
            Scaling::KeepFactor => A::binary(Binary::KeepZero, factor, self.0),
        };
        Direction(scaled, marked)
    }

    fn mask(self, mask: A::Array) -> Self {
        let zero = A::zeros(&A::type_of(&self.0));
        Direction(A::select(mask, self.0, zero), self.1)
    }

    fn select(mask: A::Array, yes: Option<Self>, no: Option<Self>) -> Self {
        let Direction(tangent, marked) = yes.as_ref().or(no.as_ref()).expect("one side has a tangent");
        let (ty, marked) = (A::type_of(tangent), *marked);
        let or_zero = |side: Option<Self>| side.map_or_else(|| A::zeros(&ty), |direction| direction.0);
        Direction(A::select(mask, or_zero(yes), or_zero(no)), marked)
    }

    fn mark(self) -> Self {
        Direction(A::mark(self.0), self.1)
    }

    fn cast(self, _from: DType, to: DType) -> Self {
        Direction(A::cast(self.0, to), self.1)
    }

    fn view(self, map: &AffineMap) -> Self {
        Direction(A::view(self.0, map), self.1)
    }

    fn accumulate(self, map: &AffineMap) -> Self {
        Direction(A::accumulate(self.0, map), self.1)
    }

    fn reshape(self, _from: &[usize], to: &[usize]) -> Self {
        Direction(A::reshape(self.0, to), self.1)
    }

    fn concatenate(axis: usize, parts: Vec<Option<Self>>, types: &[Type]) -> Self {
        let marked = parts.iter().flatten().any(|part| part.1);
        let parts = parts.into_iter().zip(types);
        let whole = parts.map(|(part, ty)| part.map_or_else(|| A::zeros(ty), |direction| direction.0));
        Direction(A::concatenate(axis, whole.collect()), marked)
    }

    fn gather(self, indices: Vec<A::Array>, _extents: &[usize]) -> Self {
        Direction(A::gather(self.0, indices), self.1)
    }

    fn scatter(self, indices: Vec<A::Array>, extents: &[usize]) -> Self {
        Direction(A::scatter(self.0, indices, extents), self.1)
    }

    fn scatter_onto(self, target: Self, indices: Vec<A::Array>, _extents: &[usize]) -> Self {
        Direction(A::scatter_onto(target.0, self.0, indices), self.1)
    }

    fn accumulate_onto(self, target: Self, map: &AffineMap) -> Self {
        Direction(A::accumulate_onto(target.0, self.0, map), self.1)
    }

    fn scatter_set(
        target: Option<Self>,
        updates: Option<Self>,
        indices: Vec<A::Array>,
        _latest: impl FnOnce() -> Option<A::Array>,
        types: [Type; 2],
    ) -> Self {
        let marked = [&target, &updates].into_iter().flatten().any(|part| part.1);
        let [target, updates] = [(target, &types[0]), (updates, &types[1])]
            .map(|(part, ty)| part.map_or_else(|| A::zeros(ty), |direction| direction.0));
        Direction(A::scatter_set(target, updates, indices), marked)
    }

    fn sum(self, axes: &[usize], _shape: &[usize]) -> Self {
        Direction(A::reduce(Reduction::Sum, self.0, axes), self.1)
    }

    fn contract_left(self, spec: &Contraction, right: A::Array) -> Self {
        Direction(A::contract(spec, self.0, right), self.1)
    }

    fn contract_right(self, spec: &Contraction, left: A::Array) -> Self {
        Direction(A::contract(spec, left, self.0), self.1)
    }

    fn linear(self, op: Op, mut fixed: Operands<A>) -> Self {
        fixed.push(self.0);
        Direction(A::bind(&op, fixed), self.1)
    }

    fn shared(self) -> Self {
        self
    }
}

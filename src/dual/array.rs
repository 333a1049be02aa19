//! Arrays with their Deltas.

use super::delta::Delta;
use super::derivative::WithDerivative;
use crate::algebra::Algebra;
use std::marker::PhantomData;

/// Reverse mode over any algebra: an array paired with its Delta.
#[derive(Clone, Debug)]
pub struct Dual<A>(PhantomData<A>);

/// An array and how it moves with the inputs; `None` is not at all, always so for integers, booleans and constants.
pub struct DualArray<A: Algebra> {
    /// The value.
    pub primal: A::Array,
    /// The derivative.
    pub delta: Option<Delta<A>>,
}

impl<A: Algebra> Clone for DualArray<A> {
    fn clone(&self) -> Self {
        DualArray { primal: self.primal.clone(), delta: self.delta.clone() }
    }
}

impl<A: Algebra> From<DualArray<A>> for WithDerivative<A, Delta<A>> {
    fn from(array: DualArray<A>) -> Self {
        (array.primal, array.delta)
    }
}

impl<A: Algebra> From<WithDerivative<A, Delta<A>>> for DualArray<A> {
    fn from((primal, delta): WithDerivative<A, Delta<A>>) -> Self {
        DualArray { primal, delta }
    }
}

//! Variables as operands: of arrays another use is left, of plain values it is as in Rust.

use crate::algebra::Algebra;
use crate::tensor::{Element, Rank, Tensor};

/// A variable, or a part of one, that is an operand.
pub struct Used<'a, T>(pub &'a T);

/// Arrays are referred to.
pub trait UsedArray {
    /// The operand.
    type Operand;
    /// A reference to the array.
    fn operand(&self) -> Self::Operand;
}

impl<'a, A: Algebra, E: Element, R: Rank> UsedArray for &&Used<'a, Tensor<A, E, R>> {
    type Operand = &'a Tensor<A, E, R>;
    fn operand(&self) -> Self::Operand {
        self.0
    }
}

impl<'a, A: Algebra, E: Element, R: Rank> UsedArray for &&Used<'_, &'a Tensor<A, E, R>> {
    type Operand = &'a Tensor<A, E, R>;
    fn operand(&self) -> Self::Operand {
        self.0
    }
}

impl<'a, A: Algebra, E: Element, R: Rank> UsedArray for &&Used<'a, &mut Tensor<A, E, R>> {
    type Operand = &'a Tensor<A, E, R>;
    fn operand(&self) -> Self::Operand {
        self.0
    }
}

impl<'a, A: Algebra, E: Element, R: Rank> UsedArray for &&Used<'_, &'_ &'a Tensor<A, E, R>> {
    type Operand = &'a Tensor<A, E, R>;
    fn operand(&self) -> Self::Operand {
        self.0
    }
}

/// Numbers, and references to them, are copied.
pub trait UsedCopy {
    /// The operand.
    type Operand;
    /// The same value.
    fn operand(&self) -> Self::Operand;
}

impl<T: Copy> UsedCopy for &Used<'_, T> {
    type Operand = T;
    fn operand(&self) -> T {
        *self.0
    }
}

/// Everything else is referred to.
pub trait UsedReference<'a> {
    /// The type behind the reference.
    type Of;
    /// A reference to it.
    fn operand(&self) -> &'a Self::Of;
}

impl<'a, T> UsedReference<'a> for Used<'a, T> {
    type Of = T;
    fn operand(&self) -> &'a T {
        self.0
    }
}

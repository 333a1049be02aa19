//! Float literals in functions that are generic over the element type.

use crate::algebra::Algebra;
use crate::tensor::attribute::FromLiteral;
use crate::tensor::operators::full_like;
use crate::tensor::{Float, Operand, R0, Rank, Tensor, full};
use std::cmp::Ordering;
use std::ops;

/// A literal that takes the element type of the other operand.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Literal(pub f64);

impl<A: Algebra, E: Float, R: Rank> Operand<A, E, R> for Literal {
    type Rank = R;
    const LITERAL: bool = true;
    fn into_operand(self, other: &A::Array) -> A::Array {
        self.like::<A, E>(other)
    }
}

impl<A: Algebra, E: Float, R: Rank> Operand<A, E, R> for &Literal {
    type Rank = R;
    const LITERAL: bool = true;
    fn into_operand(self, other: &A::Array) -> A::Array {
        self.like::<A, E>(other)
    }
}

impl Literal {
    /// An array of the shape of another.
    fn like<A: Algebra, E: Float>(self, other: &A::Array) -> A::Array {
        full_like::<A>(other, E::from_number(self.0).into_value())
    }
}

impl<A: Algebra, E: Float> FromLiteral<Literal> for Tensor<A, E, R0> {
    fn from_literal(literal: Literal) -> Self {
        full((), E::from_number(literal.0))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {
        $(
            impl<A: Algebra, E: Float, R: Rank> ops::$trait<Tensor<A, E, R>> for Literal {
                type Output = Tensor<A, E, R>;
                #[track_caller]
                fn $method(self, other: Tensor<A, E, R>) -> Tensor<A, E, R> {
                    ops::$trait::$method(other.filled(self.0), other)
                }
            }

            impl<A: Algebra, E: Float, R: Rank> ops::$trait<&Tensor<A, E, R>> for Literal {
                type Output = Tensor<A, E, R>;
                #[track_caller]
                fn $method(self, other: &Tensor<A, E, R>) -> Tensor<A, E, R> {
                    ops::$trait::$method(other.filled(self.0), other)
                }
            }

            operators!(@plain $trait $method: f32, f64);
        )*
    };
    (@plain $trait:ident $method:ident: $($number:ident),*) => {
        $(
            impl ops::$trait<$number> for Literal {
                type Output = $number;
                fn $method(self, other: $number) -> $number {
                    ops::$trait::$method($number::from_number(self.0), other)
                }
            }

            impl ops::$trait<Literal> for $number {
                type Output = $number;
                fn $method(self, other: Literal) -> $number {
                    ops::$trait::$method(self, $number::from_number(other.0))
                }
            }
        )*
    };
}

operators!(Add add, Sub sub, Mul mul, Div div);

/// The receiver of `max` or `min` with a float literal, in a function that is generic over the element type.
pub struct LiteralExtreme<'a, T>(pub &'a T);

macro_rules! extremes {
    ($($array:ty),*) => {
        $(impl<A: Algebra, E: Float, R: Rank> LiteralExtreme<'_, $array> {
            extremes!(@methods A E R: min max);
        })*
    };
    (@methods $A:ident $E:ident $R:ident: $($method:ident)*) => {
        $(
            /// Of the array's elements.
            #[track_caller]
            pub fn $method(self, literal: Literal) -> Tensor<$A, $E, $R> {
                self.0.$method(literal)
            }
        )*
    };
}

extremes!(Tensor<A, E, R>, &Tensor<A, E, R>);

/// Of numbers.
pub trait ExtremeOfNumber<T> {
    /// The smaller one.
    fn min(self, literal: Literal) -> T;
    /// The larger one.
    fn max(self, literal: Literal) -> T;
}

macro_rules! comparisons {
    ($($number:ident),*) => {
        $(
            impl PartialEq<Literal> for $number {
                fn eq(&self, other: &Literal) -> bool {
                    *self == $number::from_number(other.0)
                }
            }

            impl ExtremeOfNumber<$number> for LiteralExtreme<'_, $number> {
                fn min(self, literal: Literal) -> $number {
                    $number::min(*self.0, $number::from_number(literal.0))
                }
                fn max(self, literal: Literal) -> $number {
                    $number::max(*self.0, $number::from_number(literal.0))
                }
            }

            impl ExtremeOfNumber<$number> for LiteralExtreme<'_, &$number> {
                fn min(self, literal: Literal) -> $number {
                    LiteralExtreme(*self.0).min(literal)
                }
                fn max(self, literal: Literal) -> $number {
                    LiteralExtreme(*self.0).max(literal)
                }
            }

            impl PartialOrd<Literal> for $number {
                fn partial_cmp(&self, other: &Literal) -> Option<Ordering> {
                    self.partial_cmp(&$number::from_number(other.0))
                }
            }

            impl FromLiteral<Literal> for $number {
                fn from_literal(literal: Literal) -> $number {
                    $number::from_number(literal.0)
                }
            }
        )*
    };
}

comparisons!(f32, f64);

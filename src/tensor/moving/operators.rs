//! The operators of slices whose ends are known when a program runs.

use super::MovingSlice;
use crate::algebra::Algebra;
use crate::operation::Binary;
use crate::shape::DType;
use crate::tensor::{Number, R0, Rank, Tensor};
use std::ops;

/// The operation of an operator on elements of a type.
fn division(dtype: DType) -> Binary {
    if dtype.is_float() { Binary::Div } else { Binary::Quot }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:expr;)*) => {
        $(
            operators!(@slices $trait $method $op, MovingSlice<A, E, R>, MovingSlice<A, E, R>);
            operators!(@slices $trait $method $op, MovingSlice<A, E, R>, &MovingSlice<A, E, R>);
            operators!(@slices $trait $method $op, &MovingSlice<A, E, R>, MovingSlice<A, E, R>);
            operators!(@slices $trait $method $op, &MovingSlice<A, E, R>, &MovingSlice<A, E, R>);
            operators!(@scalar $trait $method $op, MovingSlice<A, E, R>, Tensor<A, E, R0>);
            operators!(@scalar $trait $method $op, MovingSlice<A, E, R>, &Tensor<A, E, R0>);
            operators!(@scalar $trait $method $op, &MovingSlice<A, E, R>, Tensor<A, E, R0>);
            operators!(@scalar $trait $method $op, &MovingSlice<A, E, R>, &Tensor<A, E, R0>);
            operators!(@literals $trait $method f32 f64 i32 i64);
        )*
    };
    (@slices $trait:ident $method:ident $op:expr, $left:ty, $right:ty) => {
        impl<A: Algebra, E: Number, R: Rank> ops::$trait<$right> for $left {
            type Output = MovingSlice<A, E, R>;
            #[track_caller]
            fn $method(self, other: $right) -> Self::Output {
                self.combined($op(E::DTYPE), &other)
            }
        }
    };
    (@scalar $trait:ident $method:ident $op:expr, $slice:ty, $scalar:ty) => {
        impl<A: Algebra, E: Number, R: Rank> ops::$trait<$scalar> for $slice {
            type Output = MovingSlice<A, E, R>;
            #[track_caller]
            fn $method(self, scalar: $scalar) -> Self::Output {
                self.with_scalar($op(E::DTYPE), &scalar)
            }
        }
    };
    (@literals $trait:ident $method:ident $($literal:ident)*) => {
        $(
            operators!(@literal $trait $method $literal, MovingSlice<A, $literal, R>);
            operators!(@literal $trait $method $literal, &MovingSlice<A, $literal, R>);
        )*
    };
    (@literal $trait:ident $method:ident $literal:ident, $slice:ty) => {
        impl<A: Algebra, R: Rank> ops::$trait<$literal> for $slice {
            type Output = MovingSlice<A, $literal, R>;
            #[track_caller]
            fn $method(self, literal: $literal) -> Self::Output {
                self.with_elements(ops::$trait::$method(&self.elements, literal))
            }
        }

        impl<A: Algebra, R: Rank> ops::$trait<$slice> for $literal {
            type Output = MovingSlice<A, $literal, R>;
            #[track_caller]
            fn $method(self, slice: $slice) -> Self::Output {
                slice.with_elements(ops::$trait::$method(self, &slice.elements))
            }
        }
    };
}

operators! {
    Add add |_| Binary::Add;
    Sub sub |_| Binary::Sub;
    Mul mul |_| Binary::Mul;
    Div div division;
}

impl<A: Algebra, E: Number, R: Rank> ops::Neg for MovingSlice<A, E, R> {
    type Output = MovingSlice<A, E, R>;
    #[track_caller]
    fn neg(self) -> Self::Output {
        self.with_elements(-&self.elements)
    }
}

impl<A: Algebra, E: Number, R: Rank> ops::Neg for &MovingSlice<A, E, R> {
    type Output = MovingSlice<A, E, R>;
    #[track_caller]
    fn neg(self) -> Self::Output {
        -self.clone()
    }
}

//! Algebras as the rooms below see them: what formulas compute with.

use super::Algebra;
use crate::concrete;
use crate::operation::{Binary, Comparison, Pointwise, Unary};
use crate::shape::Value;

impl<A: Algebra> Pointwise for A {
    type Array = A::Array;

    fn filled(like: &A::Array, x: f64) -> A::Array {
        let value = Value::from_f64(A::dtype(like), x);
        A::constant(concrete::Array::full(&A::shape(like), value))
    }

    #[track_caller]
    fn unary(op: Unary, a: A::Array) -> A::Array {
        <A as Algebra>::unary(op, a)
    }

    #[track_caller]
    fn binary(op: Binary, a: A::Array, b: A::Array) -> A::Array {
        <A as Algebra>::binary(op, a, b)
    }

    #[track_caller]
    fn compare(op: Comparison, a: A::Array, b: A::Array) -> A::Array {
        <A as Algebra>::compare(op, a, b)
    }

    #[track_caller]
    fn select(mask: A::Array, yes: A::Array, no: A::Array) -> A::Array {
        <A as Algebra>::select(mask, yes, no)
    }
}

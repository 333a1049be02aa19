//! Algebras as the rooms below see them: what formulas compute with, and what programs are run in.

use super::Algebra;
use crate::array;
use crate::operation::{Binary, Comparison, Pointwise, Unary};
use crate::shape::{Shape, Type, Value};
use crate::term::{Arrays, Body, Build, Custom, Interpreter, Op, Scan, Sweeps};
use std::sync::Arc;

impl<A: Algebra> Pointwise for A {
    type Array = A::Array;

    #[inline]
    fn filled(like: &A::Array, x: f64) -> A::Array {
        let value = Value::from_f64(A::dtype(like), x);
        A::constant(array::Array::full(&A::shape(like), value))
    }

    #[inline]
    #[track_caller]
    fn unary(op: Unary, a: A::Array) -> A::Array {
        <A as Algebra>::unary(op, a)
    }

    #[inline]
    #[track_caller]
    fn binary(op: Binary, a: A::Array, b: A::Array) -> A::Array {
        <A as Algebra>::binary(op, a, b)
    }

    #[inline]
    #[track_caller]
    fn compare(op: Comparison, a: A::Array, b: A::Array) -> A::Array {
        <A as Algebra>::compare(op, a, b)
    }

    #[inline]
    #[track_caller]
    fn select(mask: A::Array, yes: A::Array, no: A::Array) -> A::Array {
        <A as Algebra>::select(mask, yes, no)
    }
}

impl<A: Algebra> Interpreter for A {
    type Array = A::Array;

    #[inline]
    fn shape(a: &A::Array) -> Shape {
        <A as Algebra>::shape(a)
    }

    #[inline]
    fn type_of(a: &A::Array) -> Type {
        <A as Algebra>::type_of(a)
    }

    #[inline]
    fn holds(condition: &A::Array) -> Option<bool> {
        <A as Algebra>::holds(condition)
    }

    #[inline]
    fn constant(value: array::Array) -> A::Array {
        <A as Algebra>::constant(value)
    }

    #[inline]
    #[track_caller]
    fn bind(op: &Op, operands: Arrays<A::Array>) -> A::Array {
        <A as Algebra>::bind(op, operands)
    }

    #[inline]
    fn scan(scan: &Arc<Scan>, carries: Vec<A::Array>, inputs: Vec<A::Array>, captures: Vec<A::Array>) -> Vec<A::Array> {
        <A as Algebra>::scan(scan, carries, inputs, captures)
    }

    #[inline]
    fn branch(condition: A::Array, then: &Arc<Body>, otherwise: &Arc<Body>, captures: Vec<A::Array>) -> Vec<A::Array> {
        <A as Algebra>::branch(condition, then, otherwise, captures)
    }

    #[inline]
    fn custom(custom: &Arc<Custom>, inputs: Vec<A::Array>) -> Vec<A::Array> {
        <A as Algebra>::custom(custom, inputs)
    }

    #[inline]
    fn custom_source(custom: &Arc<Custom<Build>>, inputs: Vec<A::Array>) -> Vec<A::Array> {
        <A as Algebra>::custom(custom, inputs)
    }

    #[inline]
    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<A::Array>) -> Vec<A::Array> {
        <A as Algebra>::sweeps(sweeps, operands)
    }
}

//! The interpreter of programs: an algebra, as interpretation sees it.

use super::op::{Body, Build, Custom, Op, Scan, Sweeps};
use crate::array;
use crate::shape::{Shape, Type};
use smallvec::SmallVec;
use std::sync::Arc;

/// The operands of one operation.
pub type Arrays<T> = SmallVec<[T; 3]>;

/// Gives the operations of programs a meaning: every [algebra](crate::algebra::Algebra), whose methods of the same names
/// these are.
pub trait Interpreter {
    /// An array of any shape and element type.
    type Array: Clone;

    /// The shape of an array.
    fn shape(a: &Self::Array) -> Shape;
    /// The element type and shape of an array.
    fn type_of(a: &Self::Array) -> Type;
    /// Whether a boolean without axes is true, where that is known already.
    fn holds(condition: &Self::Array) -> Option<bool>;

    /// A known array.
    fn constant(value: array::Array) -> Self::Array;
    /// An operation that has one result and no sub-program, and is no constant.
    #[track_caller]
    fn bind(op: &Op, operands: Arrays<Self::Array>) -> Self::Array;
    /// A rolled loop.
    fn scan(
        scan: &Arc<Scan>,
        carries: Vec<Self::Array>,
        inputs: Vec<Self::Array>,
        captures: Vec<Self::Array>,
    ) -> Vec<Self::Array>;
    /// A conditional.
    fn branch(
        condition: Self::Array,
        then: &Arc<Body>,
        otherwise: &Arc<Body>,
        captures: Vec<Self::Array>,
    ) -> Vec<Self::Array>;
    /// A function with derivative rules of its own.
    fn custom(custom: &Arc<Custom>, inputs: Vec<Self::Array>) -> Vec<Self::Array>;
    /// A function with derivative rules of its own, whose bodies may contain builds.
    fn custom_source(custom: &Arc<Custom<Build>>, inputs: Vec<Self::Array>) -> Vec<Self::Array>;
    /// A loop with several sweeps.
    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<Self::Array>) -> Vec<Self::Array>;
}

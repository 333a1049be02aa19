//! The one way from a typed method to the algebra: check the operands with the shape rules, then run the operation.

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::error::Error;
use crate::shape::{DType, Shape, Type};
use crate::tensor::{Element, Rank, Tensor};
use crate::term::{Op, infer, interpret};
use smallvec::SmallVec;
use std::panic::Location;

/// Runs an operation of one output on operands that may not fit.
#[track_caller]
pub(super) fn apply<A: Algebra, E: Element, R: Rank>(
    name: &str,
    op: Op,
    operands: impl IntoIterator<Item = A::Array>,
) -> Tensor<A, E, R> {
    let operands: SmallVec<[A::Array; 3]> = operands.into_iter().collect();
    match run::<A>(&op, operands) {
        Ok(array) => match Tensor::from_array(array) {
            Some(tensor) => tensor,
            None => unreachable!("{name} is typed for another result than the shape rules give"),
        },
        Err((problem, like)) => fail(name, problem, &like),
    }
}

/// The untyped, thin half of [`apply`]: compiled once for an algebra. Errors come with the left operand's shape.
#[track_caller]
fn run<A: Algebra>(op: &Op, operands: SmallVec<[A::Array; 3]>) -> Result<A::Array, (String, Shape)> {
    let types: SmallVec<[Type; 3]> = operands.iter().map(A::type_of).collect();
    let references: SmallVec<[&Type; 3]> = types.iter().collect();
    match infer::output(op, &references).and_then(|ty| ty.check_size()) {
        Ok(()) => Ok(interpret::apply::<A>(op, operands)),
        Err(problem) => Err((problem, types.first().map_or_else(Shape::new, |ty| ty.shape.clone()))),
    }
}

/// Reports a problem; where that returns, the result is a placeholder of the result's element type and rank, with the
/// extents of `like` as far as they go.
#[track_caller]
pub(crate) fn fail<A: Algebra, E: Element, R: Rank>(
    name: &str,
    problem: impl Into<String>,
    like: &[usize],
) -> Tensor<A, E, R> {
    let shape = placeholder::<R>(like);
    Tensor::wrap(fail_array::<A>(name, problem.into(), Type { dtype: E::DTYPE, shape }))
}

/// As [`fail`], untyped.
#[track_caller]
pub(super) fn fail_array<A: Algebra>(name: &str, problem: String, placeholder: Type) -> A::Array {
    A::fail(Error::operands(name, problem, Location::caller()), placeholder)
}

/// Reports a problem at a line; where that returns, the result is placeholders of these types.
#[track_caller]
pub(crate) fn refuse<A: Algebra>(name: &str, problem: String, types: &[Type], place: &Location<'_>) -> Vec<A::Array> {
    let error = || Error::operands(name, problem.clone(), place);
    if types.is_empty() {
        A::fail(error(), Type::scalar(DType::Bool));
    }
    // A closure that calls `fail` would be the line that a panic names.
    let mut placeholders = Vec::with_capacity(types.len());
    for ty in types {
        placeholders.push(A::fail(error(), ty.clone()));
    }
    placeholders
}

/// The shape of a placeholder of a static rank: outer extents are left out, or ones added.
fn placeholder<R: Rank>(like: &[usize]) -> Shape {
    match R::NDIM {
        None => Shape::from_slice(like),
        Some(ndim) => {
            let kept = &like[like.len().saturating_sub(ndim)..];
            let mut shape = Shape::from_elem(1, ndim - kept.len());
            shape.extend_from_slice(kept);
            shape
        }
    }
}

/// The shape of the co-broadcast of two arrays, as in numpy and ndarray: trailing axes are aligned, and an axis of extent
/// 1 stretches.
pub(crate) fn broadcast_shape(a: &[usize], b: &[usize]) -> Option<Shape> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut shape = Shape::from_slice(long);
    for (extent, &other) in shape[long.len() - short.len()..].iter_mut().zip(short) {
        if *extent == 1 {
            *extent = other;
        } else if other != 1 && other != *extent {
            return None;
        }
    }
    Some(shape)
}

/// The view of an array as one of a shape that it broadcasts to.
#[track_caller]
pub(super) fn stretch<A: Algebra>(a: A::Array, shape: &[usize]) -> A::Array {
    let source = A::shape(&a);
    if source[..] == *shape {
        return a;
    }
    let axes: SmallVec<[usize; 4]> = (shape.len() - source.len()..shape.len()).collect();
    A::view(a, &AffineMap::broadcast(&source, shape, &axes))
}

/// Two operands as arrays of one shape.
///
/// # Errors
///
/// The problem, and the shape of a placeholder for the result: the left operand's, or the right one's if that has more
/// axes.
#[track_caller]
pub(super) fn align<A: Algebra>(a: A::Array, b: A::Array) -> Result<(A::Array, A::Array), (String, Shape)> {
    if A::same_shape(&a, &b) {
        return Ok((a, b));
    }
    let (left, right) = (A::shape(&a), A::shape(&b));
    let placeholder = if right.len() > left.len() { right.clone() } else { left.clone() };
    match broadcast_shape(&left, &right) {
        Some(shape) => match Type::new(A::dtype(&a), &shape).check_size() {
            Ok(()) => Ok((stretch::<A>(a, &shape), stretch::<A>(b, &shape))),
            Err(problem) => Err((problem, placeholder)),
        },
        None => {
            let problem = format!("shapes {:?} and {:?} do not broadcast together", &left[..], &right[..]);
            Err((problem, placeholder))
        }
    }
}

/// An axis that exists, or the problem.
pub(crate) fn check_axis(axis: usize, shape: &[usize]) -> Result<(), String> {
    if axis < shape.len() { Ok(()) } else { Err(format!("there is no axis {axis} in shape {shape:?}")) }
}

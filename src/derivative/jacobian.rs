//! Whole matrices of derivatives.
//!
//! Each column or row is a derivative along one direction, written as a `build` over the directions: staged, the bulk
//! transform makes one batched derivative of it.

use super::{grad, jvp, vjp};
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::shape::{Axes, Shape};
use crate::tensor::{Float, R1, RDyn, Rank, Scalar, Tensor, build, iota};

/// The array of this shape that is 1 at a row-major position, and 0 elsewhere.
#[track_caller]
fn direction<A: Algebra, E: Float, R: Rank>(position: &Scalar<A, i64>, shape: &[usize]) -> Tensor<A, E, R> {
    let positions: Tensor<A, i64, R1> = iota(crate::shape::size(shape));
    Tensor::wrap(A::reshape(positions.equal(position).cast::<E>().into_array(), shape))
}

/// The shape of a value's derivatives by an argument: the value's axes, then the argument's.
fn joined(value: &[usize], argument: &[usize]) -> Shape {
    value.iter().chain(argument).copied().collect()
}

/// The Jacobian of a function at a point, column by column in forward mode: position `[o.., i..]` is how the value's element
/// `o..` moves with the argument's element `i..`. Best where the argument has fewer elements than the value.
#[track_caller]
pub fn jacfwd<A: Algebra, E: Float, R: Rank, S: Rank>(
    f: impl Fn(&Tensor<A::Forward, E, R>) -> Tensor<A::Forward, E, S>,
    x: &Tensor<A, E, R>,
) -> Tensor<A, E, S::Plus<R>> {
    let shape = x.shape();
    let column = |i: Scalar<A, i64>| {
        let along = direction::<A, E, R>(&i, &shape);
        jvp(|y: &Tensor<A::Forward, E, R>| f(y), x, &along).1.into_dyn()
    };
    let columns: Tensor<A, E, RDyn> = build(x.size(), column).into_dyn();
    let found = columns.shape();
    // The directions are the last axis, and the argument's shape.
    let mut order: Axes = (1..found.len()).collect();
    order.push(0);
    let turned = A::view(columns.into_array(), &AffineMap::transpose(&found, &order));
    Tensor::wrap(A::reshape(turned, &joined(&found[1..], &shape)))
}

/// The Jacobian of a function at a point, row by row in reverse mode: as [`jacfwd`]. Best where the value has fewer elements
/// than the argument.
#[track_caller]
pub fn jacrev<A: Algebra, E: Float, R: Rank, S: Rank>(
    f: impl Fn(&Tensor<A::Nested, E, R>) -> Tensor<A::Nested, E, S>,
    x: &Tensor<A, E, R>,
) -> Tensor<A, E, S::Plus<R>> {
    let (value, pullback) = vjp(|y: &Tensor<A::Nested, E, R>| f(y), x);
    let shape = value.shape();
    let rows = build(value.size(), |j| pullback(&direction::<A, E, S>(&j, &shape)));
    Tensor::wrap(A::reshape(rows.into_array(), &joined(&shape, &x.shape())))
}

/// The second derivative of a scalar function at a point, times a direction: the Hessian is not made. One gradient, moved
/// along the direction.
#[track_caller]
pub fn hvp<A: Algebra, E: Float, R: Rank>(
    f: impl Fn(&Tensor<<A::Forward as Algebra>::Nested, E, R>) -> Scalar<<A::Forward as Algebra>::Nested, E>,
    x: &Tensor<A, E, R>,
    along: &Tensor<A, E, R>,
) -> Tensor<A, E, R> {
    jvp(|y: &Tensor<A::Forward, E, R>| grad(|z: &Tensor<<A::Forward as Algebra>::Nested, E, R>| f(z), y), x, along).1
}

/// The matrix of second derivatives of a scalar function at a point: position `[i.., j..]` is that by the elements `i..` and
/// `j..`. One product with the Hessian for each element, see [`hvp`].
#[track_caller]
pub fn hessian<A: Algebra, E: Float, R: Rank>(
    f: impl Fn(&Tensor<<A::Forward as Algebra>::Nested, E, R>) -> Scalar<<A::Forward as Algebra>::Nested, E>,
    x: &Tensor<A, E, R>,
) -> Tensor<A, E, R::Plus<R>> {
    jacfwd(|y: &Tensor<A::Forward, E, R>| grad(|z: &Tensor<<A::Forward as Algebra>::Nested, E, R>| f(z), y), x)
}

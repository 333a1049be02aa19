//! Whole matrices of derivatives.
//!
//! Each column or row is a derivative along one direction, written as a `build` over the directions: staged, the bulk
//! transform makes one batched derivative of it.
//!
//! All are by one tensor: by a single argument `&x`, or by the first of several, `(&x, &data)`. The parameters in a tree
//! become one vector by [`ravel`](crate::tensor::ravel).

use super::eager::{Over, ParameterOf, forward, value_and_grad_at};
use super::vjp;
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::shape::{Axes, Shape, Type};
use crate::tensor::apply::fail;
use crate::tensor::{Args, Float, R1, RDyn, Rank, Scalar, Tensor, Tree, build, iota};
use std::panic::Location;

/// Arguments by whose elements there is a matrix of derivatives: tensors.
#[diagnostic::on_unimplemented(
    message = "a matrix of derivatives is by the elements of one array, and `{Self}` is none",
    label = "not by one array",
    note = "the elements of all arrays of a tree are those of a vector: `let (x, structure) = ravel(&tree);`, then \
            `hessian(|x| f(&structure.tree(x)), &x)`",
    note = "the product of the second derivative with a direction is `hvp(f, &tree, &direction)`, by any tree"
)]
pub trait OneArray<A: Algebra, E: Float, R: Rank>: Tree<A> {
    /// The array.
    fn as_array(&self) -> &Tensor<A, E, R>;
    /// Of the array.
    fn of_array(array: Tensor<A, E, R>) -> Self;
    /// The array, by value.
    fn into_array(self) -> Tensor<A, E, R>;
}

impl<A: Algebra, E: Float, R: Rank> OneArray<A, E, R> for Tensor<A, E, R> {
    fn as_array(&self) -> &Tensor<A, E, R> {
        self
    }
    fn of_array(array: Tensor<A, E, R>) -> Self {
        array
    }
    fn into_array(self) -> Tensor<A, E, R> {
        self
    }
}

/// The algebra in which second derivatives are taken: a reverse derivative inside of a forward one.
type ReverseInForward<A> = <<A as Algebra>::Forward as Algebra>::Nested;

/// For a position, row-major, the array of this shape that is 1 there, and 0 elsewhere.
#[track_caller]
fn directions<A: Algebra, E: Float, R: Rank>(shape: &[usize]) -> impl Fn(Scalar<A, i64>) -> Tensor<A, E, R> {
    let positions: Tensor<A, i64, R1> = iota(crate::shape::size(shape));
    move |position| Tensor::wrap(A::reshape(positions.equal(position).cast::<E>().into_array(), shape))
}

/// The shape of a value's derivatives by an argument: the value's axes, then the argument's.
fn joined(value: &[usize], argument: &[usize]) -> Shape {
    value.iter().chain(argument).copied().collect()
}

/// The columns of a Jacobian that this function gives along a direction, as the Jacobian.
#[track_caller]
fn by_columns<A: Algebra, E: Float, R: Rank, S: Rank>(
    x: &Tensor<A, E, R>,
    name: &str,
    along: impl Fn(&Tensor<A, E, R>) -> Tensor<A, E, S>,
) -> Tensor<A, E, S::Plus<R>> {
    let shape = x.shape();
    let size = x.size();
    if let Err(problem) = Type::new(E::DTYPE, &[size, size]).check_size() {
        return fail(name, format!("directions: {problem}"), &shape);
    }
    let direction = directions::<A, E, R>(&shape);
    let columns: Tensor<A, E, RDyn> = build(size, |i| along(&direction(i)).into_dyn()).into_dyn();
    let found = columns.shape();
    // The directions are the last axis, and the argument's shape.
    let mut order: Axes = (1..found.len()).collect();
    order.push(0);
    let turned = A::view(columns.into_array(), &AffineMap::transpose(&found, &order));
    Tensor::wrap(A::reshape(turned, &joined(&found[1..], &shape)))
}

/// The Jacobian of a function at a point, column by column in forward mode: position `[o.., i..]` is how the value's element
/// `o..` moves with the argument's element `i..`. Its shape is the value's, then the argument's. Best where the argument has
/// fewer elements than the value.
///
/// The argument is a tensor of floats, or the first of several, `(&x, &data)`; the value is a tensor of the same element type.
///
/// ```
/// use deltaray::prelude::*;
///
/// let x = Vector::from(vec![1.0, 2.0]);
/// let jacobian = jacfwd(|x| x * x.sum(), &x);
/// assert_eq!(jacobian, Matrix::from([[4.0, 1.0], [2.0, 5.0]]));
/// ```
///
/// # Panics
///
/// When the directions or the result have more bytes than any memory; in a staged function that is the error of
/// [`stage`](super::stage) instead.
#[track_caller]
pub fn jacfwd<A, X, E, R, S>(
    f: impl Fn(&ParameterOf<A, A::Forward, X>) -> Tensor<A::Forward, E, S>,
    args: X,
) -> Tensor<A, E, S::Plus<R>>
where
    A: Algebra,
    X: Args<A, First: OneArray<A, E, R>>,
    E: Float,
    R: Rank,
    S: Rank,
{
    let place = Location::caller();
    by_columns(args.first().as_array(), "jacfwd", |along| {
        forward::<A, X, Tensor<A::Forward, E, S>, ()>(
            ("jacfwd", place),
            &|x| (f(x), ()),
            &args,
            &OneArray::of_array(along.clone()),
        )
        .1
    })
}

/// The Jacobian of a function at a point, row by row in reverse mode: as [`jacfwd`]. Best where the value has fewer elements
/// than the argument.
///
/// ```
/// use deltaray::prelude::*;
///
/// let (x, y) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![3.0, 4.0]));
/// let jacobian = jacrev(|(x, y)| x * (x * y).sum(), (&x, &y));
/// assert_eq!(jacobian, Matrix::from([[14.0, 4.0], [6.0, 19.0]]));
/// ```
///
/// # Panics
///
/// As [`jacfwd`].
#[track_caller]
pub fn jacrev<A, X, E, R, S>(
    f: impl Fn(&ParameterOf<A, A::Nested, X>) -> Tensor<A::Nested, E, S>,
    args: X,
) -> Tensor<A, E, S::Plus<R>>
where
    A: Algebra,
    X: Args<A, First: OneArray<A, E, R>>,
    E: Float,
    R: Rank,
    S: Rank,
{
    let argument = args.first().as_array().shape();
    let (value, pullback) = vjp::<A, X, Tensor<A::Nested, E, S>>(f, args);
    let shape = value.shape();
    let whole = joined(&shape, &argument);
    if let Err(problem) = Type::new(E::DTYPE, &whole).check_size() {
        return fail("jacrev", problem, &argument);
    }
    let direction = directions::<A, E, S>(&shape);
    let rows = build(value.size(), |j| OneArray::into_array(pullback(&direction(j))));
    Tensor::wrap(A::reshape(rows.into_array(), &whole))
}

/// The derivative of the gradient along a direction. A mismatch is reported under this name and place.
#[track_caller]
fn gradient_along<A, X, E>(
    (name, place): (&'static str, &'static Location<'static>),
    f: &dyn Fn(&ParameterOf<A, ReverseInForward<A>, X>) -> Scalar<ReverseInForward<A>, E>,
    args: &X,
    along: &X::First,
) -> X::First
where
    A: Algebra,
    X: Args<A>,
    E: Float,
{
    let inner = |x: &ParameterOf<A, A::Forward, X>| {
        let (_, gradient) = value_and_grad_at::<A, A::Forward, X, E, ()>(&|y| (f(y), ()), args, x.leaves());
        (gradient, ())
    };
    forward::<A, X, Over<A::Forward, A, X::First>, ()>((name, place), &inner, args, along).1
}

/// The second derivative of a scalar function at a point, times a direction: the Hessian is not made. One gradient, moved along
/// the direction.
///
/// The derivative is by the whole of a single argument `&x`, any tree, or by the first of a tuple `(&x, &data)`; the direction
/// is a tree like it, and so is the result. Integer and boolean arrays are ignored in directions, and are zero in results.
///
/// ```
/// use deltaray::prelude::*;
///
/// let (x, along) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![1.0, 10.0]));
/// assert_eq!(hvp(|x| x.powi(3).sum(), &x, &along).to_vec(), [6.0, 120.0]);
/// ```
///
/// # Panics
///
/// When the direction has other shapes than the argument; in a staged function that is the error of [`stage`](super::stage)
/// instead.
#[track_caller]
pub fn hvp<A, X, E>(
    f: impl Fn(&ParameterOf<A, ReverseInForward<A>, X>) -> Scalar<ReverseInForward<A>, E>,
    args: X,
    along: &X::First,
) -> X::First
where
    A: Algebra,
    X: Args<A>,
    E: Float,
{
    gradient_along::<A, X, E>(("hvp", Location::caller()), &f, &args, along)
}

/// The matrix of second derivatives of a scalar function at a point: position `[i.., j..]` is that by the elements `i..` and
/// `j..`. Its shape is the argument's, twice. One product with the Hessian for each element, see [`hvp`].
///
/// The argument is a tensor of floats, or the first of several, `(&x, &data)`; the Hessian by a tree of parameters is that by
/// their vector, see [`ravel`](crate::tensor::ravel).
///
/// ```
/// use deltaray::prelude::*;
///
/// let matrix = hessian(|x| x.sum().powi(2) + x.powi(3).sum(), &Vector::from(vec![1.0, 2.0]));
/// assert_eq!(matrix, Matrix::from([[8.0, 2.0], [2.0, 14.0]]));
/// ```
///
/// # Panics
///
/// As [`jacfwd`].
#[track_caller]
pub fn hessian<A, X, E, R>(
    f: impl Fn(&ParameterOf<A, ReverseInForward<A>, X>) -> Scalar<ReverseInForward<A>, E>,
    args: X,
) -> Tensor<A, E, R::Plus<R>>
where
    A: Algebra,
    X: Args<A, First: OneArray<A, E, R>>,
    E: Float,
    R: Rank,
{
    let place = Location::caller();
    by_columns(args.first().as_array(), "hessian", |along| {
        gradient_along::<A, X, E>(("hessian", place), &f, &args, &OneArray::of_array(along.clone())).into_array()
    })
}

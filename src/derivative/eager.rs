//! Derivatives of closures and generic functions, taken where they are called.
//!
//! All are thin: flatten the trees, call [`Algebra::vjp`] or [`Algebra::jvp`] on arrays, and put the trees together.

use crate::algebra::{Algebra, Pullback, floats, or_zeros};
use crate::array;
use crate::shape::Type;
use crate::tensor::{Args, Family, Float, Scalar, Tree, check_same_parts, outline_of, refuse};
use std::cell::RefCell;
use std::panic::Location;

/// Takes the cotangent of a function's value, a tree like the value, and returns the cotangent of the argument; callable many
/// times. Integer and boolean arrays have no derivative: their entries in cotangents are ignored, and are zero in results.
pub type TreePullback<In, Out> = Box<dyn Fn(&Out) -> In>;

/// A tree of algebra `B` as the tree of the same structure over `A`.
pub(super) type Over<A, B, T> = <<T as Tree<B>>::Family as Family>::At<A>;

/// The parameter, over `B`, of a function with arguments `X` over `A`.
pub(super) type ParameterOf<A, B, X> = <<X as Args<A>>::Family as Family>::At<B>;

/// The value of a function over an inner algebra `B` at these arrays of all arguments, its auxiliary output, and the untyped
/// pullback for the value's arrays only.
#[track_caller]
fn reverse<A, B, X, O, U>(
    f: &dyn Fn(&ParameterOf<A, B::Nested, X>) -> (O, U),
    args: &X,
    mut at: Vec<B::Array>,
) -> (Over<B, B::Nested, O>, Over<B, B::Nested, U>, Pullback<B>)
where
    A: Algebra,
    B: Algebra,
    X: Args<A>,
    O: Tree<B::Nested>,
    U: Tree<B::Nested>,
{
    let passive: Vec<_> = at.split_off(args.active()).into_iter().map(B::lift).collect();
    let result: RefCell<Option<(O, U)>> = RefCell::new(None);
    let _place = array::ReportedAt::place(Location::caller());
    let (mut values, pullback) = B::vjp(
        &|active| {
            let parameter = args.rebuild::<B::Nested>(&mut active.into_iter().chain(passive.iter().cloned()));
            let (output, auxiliary) = {
                let _own = array::ReportedAt::own_lines();
                f(&parameter)
            };
            let mut leaves = output.leaves();
            leaves.extend(auxiliary.leaves());
            *result.borrow_mut() = Some((output, auxiliary));
            leaves
        },
        at,
    );
    let (output, auxiliary) = result.into_inner().expect("the algebra runs the function");
    let rest = values.split_off(output.types().len());
    let auxiliary = U::Family::rebuild::<B::Nested, B>(&auxiliary, &mut rest.into_iter());
    let output = O::Family::rebuild::<B::Nested, B>(&output, &mut values.into_iter());
    (output, auxiliary, pullback)
}

/// The pullback over trees; a cotangent that does not fit is reported at the line that took the derivative.
#[track_caller]
fn typed_pullback<A: Algebra, In: Tree<A>, Out: Tree<A>>(
    name: &'static str,
    like: &In,
    output: &Out,
    auxiliaries: usize,
    pullback: Pullback<A>,
) -> TreePullback<In, Out> {
    let place = Location::caller();
    let like = crate::tensor::duplicate(like);
    let (expected, outline) = (output.types(), outline_of(output));
    Box::new(move |cotangent: &Out| {
        let leaves = match check_same_parts((&expected, &outline), cotangent) {
            Ok(()) => cotangent.leaves(),
            Err(problem) => refuse::<A>(name, format!("value and cotangent differ: {problem}"), &expected, place),
        };
        let cotangents = active_cotangents::<A>(leaves, &expected, auxiliaries);
        let _place = array::ReportedAt::place(place);
        rebuild_gradient::<A, A, In>(&like, pullback(cotangents))
    })
}

/// The cotangents of a value's arrays, and none for auxiliary outputs; integers have none.
fn active_cotangents<A: Algebra>(
    leaves: Vec<A::Array>,
    expected: &[Type],
    auxiliaries: usize,
) -> Vec<Option<A::Array>> {
    let mut cotangents = floats::<A>(leaves);
    cotangents.resize(expected.len() + auxiliaries, None);
    cotangents
}

fn rebuild_gradient<A: Algebra, B: Algebra, In: Tree<A>>(like: &In, cotangents: Vec<B::Array>) -> Over<B, A, In> {
    debug_assert_eq!(like.types(), cotangents.iter().map(B::type_of).collect::<Vec<_>>());
    In::Family::rebuild::<A, B>(like, &mut cotangents.into_iter())
}

/// The value of a function at a point, and its pullback there: a closure from a cotangent of the value to the cotangent of the
/// argument.
///
/// The function takes a reference to a tree, for arguments `&x`, or to a tuple of trees, for arguments `(&x, &y)`; in the
/// second case the pullback gives the cotangent of the first tree. The value is any tree. Cotangents have the structure,
/// element types and shapes of the value, and of the argument.
///
/// ```
/// use deltaray::prelude::*;
///
/// let x = Vector::from(vec![1.0, 2.0]);
/// let (y, pullback) = vjp(|x| x.powi(2), &x);
/// assert_eq!(y.to_vec(), [1.0, 4.0]);
/// assert_eq!(pullback(&Vector::from(vec![1.0, 10.0])).to_vec(), [2.0, 40.0]);
/// ```
///
/// # Panics
///
/// The pullback, when its cotangent has other shapes than the value; in a staged function that is the error of
/// [`stage`](super::stage) instead.
#[track_caller]
pub fn vjp<A, X, O>(
    f: impl Fn(&ParameterOf<A, A::Nested, X>) -> O, // `f {}.closure()`; of two arguments `|(x, y)| ..`
    args: X,
) -> (Over<A, A::Nested, O>, TreePullback<X::First, Over<A, A::Nested, O>>)
where
    A: Algebra,
    X: Args<A>,
    O: Tree<A::Nested>,
{
    vjp_as::<A, X, O>("vjp", &f, args)
}

/// As [`vjp`], which problems are reported as by another name.
#[track_caller]
pub(super) fn vjp_as<A, X, O>(
    name: &'static str,
    f: &dyn Fn(&ParameterOf<A, A::Nested, X>) -> O,
    args: X,
) -> (Over<A, A::Nested, O>, TreePullback<X::First, Over<A, A::Nested, O>>)
where
    A: Algebra,
    X: Args<A>,
    O: Tree<A::Nested>,
{
    let (output, (), pullback) = reverse::<A, A, X, O, ()>(&|x| (f(x), ()), &args, args.leaves());
    let pullback = typed_pullback(name, args.first(), &output, 0, pullback);
    (output, pullback)
}

/// As [`vjp`], for a function that returns its value and an auxiliary output, which is not differentiated. Gives the value, the
/// auxiliary output, and the pullback from cotangents of the value alone.
///
/// ```
/// use deltaray::prelude::*;
///
/// let x = Vector::from(vec![1.0, 2.0]);
/// let (y, sum, pullback) = vjp_aux(|x| (x.powi(2), x.sum()), &x);
/// assert_eq!((y.to_vec(), sum.item()), (vec![1.0, 4.0], 3.0));
/// assert_eq!(pullback(&ones(2)).to_vec(), [2.0, 4.0]);
/// ```
///
/// # Panics
///
/// As [`vjp`].
#[track_caller]
pub fn vjp_aux<A, X, O, U>(
    f: impl Fn(&ParameterOf<A, A::Nested, X>) -> (O, U),
    args: X,
) -> (Over<A, A::Nested, O>, Over<A, A::Nested, U>, TreePullback<X::First, Over<A, A::Nested, O>>)
where
    A: Algebra,
    X: Args<A>,
    O: Tree<A::Nested>,
    U: Tree<A::Nested>,
{
    let (output, auxiliary, pullback) = reverse::<A, A, X, O, U>(&f, &args, args.leaves());
    let pullback = typed_pullback("vjp_aux", args.first(), &output, auxiliary.types().len(), pullback);
    (output, auxiliary, pullback)
}

/// The value of a scalar function at a point, and its gradient: with respect to the whole of a single argument `&x`, or the
/// first of a tuple `(&x, &y)`. The value is a float without axes; the gradient is a tree like the argument, with its element
/// types and shapes.
///
/// ```
/// use deltaray::prelude::*;
///
/// let (x, y) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![3.0, 4.0]));
/// let (value, slope) = value_and_grad(|(x, y)| (x * y).sum(), (&x, &y));
/// assert_eq!((value.item(), slope.to_vec()), (11.0, vec![3.0, 4.0]));
/// ```
#[track_caller]
pub fn value_and_grad<A, X, E>(
    f: impl Fn(&ParameterOf<A, A::Nested, X>) -> Scalar<A::Nested, E>, // vectors: `jacrev`; `f {}.closure()`; `|(x, y)| ..`
    args: X,
) -> (Scalar<A, E>, X::First)
where
    A: Algebra,
    X: Args<A>,
    E: Float,
{
    let ((value, ()), gradient) = value_and_grad_at::<A, A, X, E, ()>(&|x| (f(x), ()), &args, args.leaves());
    (value, gradient)
}

/// As [`value_and_grad`], for a function that returns its value and an auxiliary output, any tree, which is not differentiated.
/// Gives the value and the auxiliary output, then the gradient.
///
/// ```
/// use deltaray::prelude::*;
///
/// let x = Vector::from(vec![1.0, 2.0]);
/// let ((value, largest), slope) = value_and_grad_aux(|x| (x.powi(2).sum(), x.max_all()), &x);
/// assert_eq!((value.item(), largest.item()), (5.0, 2.0));
/// assert_eq!(slope.to_vec(), [2.0, 4.0]);
/// ```
#[track_caller]
pub fn value_and_grad_aux<A, X, E, U>(
    f: impl Fn(&ParameterOf<A, A::Nested, X>) -> (Scalar<A::Nested, E>, U),
    args: X,
) -> ((Scalar<A, E>, Over<A, A::Nested, U>), X::First)
where
    A: Algebra,
    X: Args<A>,
    E: Float,
    U: Tree<A::Nested>,
{
    value_and_grad_at::<A, A, X, E, U>(&f, &args, args.leaves())
}

/// The value, the auxiliary output and the gradient with respect to the first argument, of a scalar function over an inner
/// algebra `B`, at these arrays of all arguments.
#[track_caller]
#[allow(clippy::type_complexity)]
pub(super) fn value_and_grad_at<A, B, X, E, U>(
    f: &dyn Fn(&ParameterOf<A, B::Nested, X>) -> (Scalar<B::Nested, E>, U),
    args: &X,
    at: Vec<B::Array>,
) -> ((Scalar<B, E>, Over<B, B::Nested, U>), Over<B, A, X::First>)
where
    A: Algebra,
    B: Algebra,
    X: Args<A>,
    E: Float,
    U: Tree<B::Nested>,
{
    let (value, auxiliary, pullback) = reverse::<A, B, X, Scalar<B::Nested, E>, U>(f, args, at);
    let one = B::constant(array::Array::full(&[], E::ONE.into_value()));
    let mut cotangents = vec![Some(one)];
    cotangents.resize(1 + auxiliary.types().len(), None);
    let _place = array::ReportedAt::place(Location::caller());
    let gradient = rebuild_gradient::<A, B, X::First>(args.first(), pullback(cotangents));
    ((value, auxiliary), gradient)
}

/// The gradient of a scalar function at a point: with respect to the whole of a single argument `&x`, or the first of a tuple
/// `(&x, &y)`. The function results in a float without axes; the gradient is a tree like the argument, with its element types
/// and shapes. Integer and boolean arrays in it are zeros. A function that results in a vector has a Jacobian instead,
/// [`jacrev`](super::jacrev).
///
/// ```
/// use deltaray::prelude::*;
///
/// let x = Vector::from(vec![1.0, 2.0]);
/// assert_eq!(grad(|x| x.powi(2).sum(), &x).to_vec(), [2.0, 4.0]);
///
/// // By the first of several arguments; the derivative of a derivative.
/// let y = Vector::from(vec![3.0, 4.0]);
/// assert_eq!(grad(|(x, y)| (x * y).sum(), (&x, &y)).to_vec(), [3.0, 4.0]);
/// assert_eq!(grad(|x| grad(|x| x.powi(3), x), &scalar(2.0)).item(), 12.0);
/// ```
#[track_caller]
pub fn grad<A, X, E>(
    f: impl Fn(&ParameterOf<A, A::Nested, X>) -> Scalar<A::Nested, E>, // vectors: `jacrev`; `f {}.closure()`; `|(x, y)| ..`
    args: X,
) -> X::First
where
    A: Algebra,
    X: Args<A>,
    E: Float,
{
    value_and_grad::<A, X, E>(f, args).1
}

/// The gradient as [`grad`], then the auxiliary output, of a function that returns its value and an auxiliary output, which is
/// not differentiated.
///
/// ```
/// use deltaray::prelude::*;
///
/// let x = Vector::from(vec![1.0, 2.0]);
/// let (slope, largest) = grad_aux(|x| (x.powi(2).sum(), x.max_all()), &x);
/// assert_eq!((slope.to_vec(), largest.item()), (vec![2.0, 4.0], 2.0));
/// ```
#[track_caller]
pub fn grad_aux<A, X, E, U>(
    f: impl Fn(&ParameterOf<A, A::Nested, X>) -> (Scalar<A::Nested, E>, U),
    args: X,
) -> (X::First, Over<A, A::Nested, U>)
where
    A: Algebra,
    X: Args<A>,
    E: Float,
    U: Tree<A::Nested>,
{
    let ((_, auxiliary), gradient) = value_and_grad_aux::<A, X, E, U>(f, args);
    (gradient, auxiliary)
}

/// The value of a function at a point, and its tangent along a tangent of the argument, or of the first of several. The tangent
/// given is a tree like that argument, the one returned a tree like the value. Integer and boolean arrays have no derivative:
/// in tangents they are ignored, and are zero in results.
///
/// ```
/// use deltaray::prelude::*;
///
/// let (x, along) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![1.0, 10.0]));
/// let (y, moved) = jvp(|x| x.powi(2), &x, &along);
/// assert_eq!((y.to_vec(), moved.to_vec()), (vec![1.0, 4.0], vec![2.0, 40.0]));
/// ```
///
/// # Panics
///
/// When the tangent has other shapes than the argument; in a staged function that is the error of [`stage`](super::stage)
/// instead.
#[track_caller]
pub fn jvp<A, X, O>(
    f: impl Fn(&ParameterOf<A, A::Forward, X>) -> O, // `f {}.closure()`; of two arguments `|(x, y)| ..`
    args: X,
    tangent: &X::First,
) -> (Over<A, A::Forward, O>, Over<A, A::Forward, O>)
where
    A: Algebra,
    X: Args<A>,
    O: Tree<A::Forward>,
{
    let (value, tangent, ()) = forward::<A, X, O, ()>(("jvp", Location::caller()), &|x| (f(x), ()), &args, tangent);
    (value, tangent)
}

/// As [`jvp`], for a function that returns its value and an auxiliary output, which is not differentiated. Gives the value, its
/// tangent, and the auxiliary output.
///
/// ```
/// use deltaray::prelude::*;
///
/// let x = Vector::from(vec![1.0, 2.0]);
/// let (y, moved, sum) = jvp_aux(|x| (x.powi(2), x.sum()), &x, &ones(2));
/// assert_eq!((y.to_vec(), moved.to_vec(), sum.item()), (vec![1.0, 4.0], vec![2.0, 4.0], 3.0));
/// ```
///
/// # Panics
///
/// As [`jvp`].
#[track_caller]
pub fn jvp_aux<A, X, O, U>(
    f: impl Fn(&ParameterOf<A, A::Forward, X>) -> (O, U),
    args: X,
    tangent: &X::First,
) -> (Over<A, A::Forward, O>, Over<A, A::Forward, O>, Over<A, A::Forward, U>)
where
    A: Algebra,
    X: Args<A>,
    O: Tree<A::Forward>,
    U: Tree<A::Forward>,
{
    forward::<A, X, O, U>(("jvp_aux", Location::caller()), &f, &args, tangent)
}

/// The value, its tangent, and the auxiliary output. A mismatch is reported under this name and place.
#[track_caller]
pub(super) fn forward<A, X, O, U>(
    (name, place): (&str, &'static Location<'static>),
    f: &dyn Fn(&ParameterOf<A, A::Forward, X>) -> (O, U),
    args: &X,
    tangent: &X::First,
) -> (Over<A, A::Forward, O>, Over<A, A::Forward, O>, Over<A, A::Forward, U>)
where
    A: Algebra,
    X: Args<A>,
    O: Tree<A::Forward>,
    U: Tree<A::Forward>,
{
    let mut at = args.leaves();
    let passive: Vec<_> = at.split_off(args.active()).into_iter().map(A::lift_forward).collect();
    let types: Vec<Type> = at.iter().map(A::type_of).collect();
    let mut directions = tangent.leaves();
    if let Err(problem) = crate::tensor::check_same_trees(args.first(), tangent) {
        directions = refuse::<A>(name, format!("argument and tangent differ: {problem}"), &types, place);
    }
    let directions = floats::<A>(directions);
    let result: RefCell<Option<(O, U)>> = RefCell::new(None);
    let _place = array::ReportedAt::place(place);
    let (mut values, mut tangents) = A::jvp(
        &|active| {
            let parameter = args.rebuild::<A::Forward>(&mut active.into_iter().chain(passive.iter().cloned()));
            let (output, auxiliary) = {
                let _own = array::ReportedAt::own_lines();
                f(&parameter)
            };
            let mut leaves = output.leaves();
            leaves.extend(auxiliary.leaves());
            *result.borrow_mut() = Some((output, auxiliary));
            leaves
        },
        at,
        directions,
    );
    let (output, auxiliary) = result.into_inner().expect("the algebra runs the function");
    let count = output.types().len();
    let rest = values.split_off(count);
    tangents.truncate(count);
    let auxiliary = U::Family::rebuild::<A::Forward, A>(&auxiliary, &mut rest.into_iter());
    let tangents = or_zeros::<A>(tangents, &values);
    let tangent = O::Family::rebuild::<A::Forward, A>(&output, &mut tangents.into_iter());
    let value = O::Family::rebuild::<A::Forward, A>(&output, &mut values.iter().cloned());
    (value, tangent, auxiliary)
}

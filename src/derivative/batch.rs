//! Functions mapped over an axis, and derivatives along many directions at once.
//!
//! All are loops that carry nothing, which the bulk transform makes batched operations of when they are staged.

use super::eager::{Over, ParameterOf, forward, vjp_as};
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::error::Error;
use crate::shape::{DType, Type};
use crate::tensor::{Args, AxisList, Family, Sliced, Stacked, Tree, move_axis, scan_as};
use std::panic::Location;

/// A function applied to each slice of a tree of arrays along their outermost axis; the values are stacked along a new
/// outermost axis.
///
/// Staged, it runs on all slices at once; it stays a loop if its intermediates would be much larger than its inputs and
/// outputs.
///
/// Trees are tensors, and tuples, `Vec`s, `Option`s and Rust arrays of such. A [`Batch`](crate::tensor::Batch) has structs for
/// slices, and structs are stacked to a batch. The closure captures the values that are the same for all slices.
///
/// ```
/// use deltaray::prelude::*;
///
/// let rows = Matrix::from([[1.0, 2.0], [3.0, 4.0]]);
/// let norms = vmap(|row: Vector<_, f64>| row.powi(2).sum(), &rows);
/// assert_eq!(norms.to_vec(), [5.0, 25.0]);
/// ```
///
/// # Panics
///
/// When arrays have different numbers of slices; in a staged function that is the error of [`stage`](super::stage) instead.
#[track_caller]
pub fn vmap<A: Algebra, X: Sliced<A>, Y: Stacked<A>>(f: impl Fn(X::Slice) -> Y, xs: &X) -> Y::Stack {
    mapped(("vmap", Location::caller()), f, xs)
}

/// As [`vmap`]; mistakes are reported for the called function.
#[track_caller]
fn mapped<A: Algebra, X: Sliced<A>, Y: Stacked<A>>(
    called: (&'static str, &'static Location<'static>),
    f: impl Fn(X::Slice) -> Y,
    xs: &X,
) -> Y::Stack {
    let n = slices(called.0, xs, called.1);
    scan_as(called, false, (), xs, n, &|(), slice| ((), f(slice))).1
}

/// As [`vmap`], over any axes: `in_axes` of the arrays of `xs`, `out_axes` of the arrays of the value, in the order of fields
/// and positions. A list of one axis is for all arrays, any other has an axis for each.
///
/// ```
/// use deltaray::prelude::*;
///
/// let matrix = Matrix::from([[1.0, 2.0], [3.0, 4.0]]);
/// let sums = vmap_axes(|column: Vector<_, f64>| column.sum(), &matrix, [1], [0]);
/// assert_eq!(sums.to_vec(), [4.0, 6.0]);
/// ```
///
/// # Panics
///
/// As [`vmap`], when an array lacks its axis, and when a list has another length than one or the number of arrays.
#[track_caller]
pub fn vmap_axes<A: Algebra, X: Sliced<A>, Y: Stacked<A>>(
    f: impl Fn(X::Slice) -> Y,
    xs: &X,
    in_axes: impl AxisList,
    out_axes: impl AxisList,
) -> Y::Stack {
    let place = Location::caller();
    let inner = |arrays: Vec<A::Array>| moved::<A>(arrays, in_axes.axes(), AxisMove::Inwards, place);
    let turned = X::Family::rebuild::<A, A>(xs, &mut inner(xs.leaves()).into_iter());
    let stack = mapped(("vmap_axes", place), f, &turned);
    let outer = moved::<A>(stack.leaves(), out_axes.axes(), AxisMove::Outwards, place);
    <Y::Stack as Tree<A>>::Family::rebuild::<A, A>(&stack, &mut outer.into_iter())
}

/// The number of slices of all arrays; others than those of the first are reported.
fn slices<A: Algebra, X: Tree<A>>(name: &str, xs: &X, place: &Location<'_>) -> usize {
    let mut extents = Vec::new();
    xs.visit(&mut |array| extents.push(A::shape(array).first().copied().unwrap_or(0)));
    let first = extents.first().copied().unwrap_or(0);
    if let Some(other) = extents.iter().find(|&&other| other != first) {
        let problem = format!("arrays of {first} and {other} slices");
        A::fail(Error::operands(name, problem, place), Type::scalar(DType::Bool));
    }
    first
}

#[derive(Clone, Copy)]
enum AxisMove {
    /// The axis becomes the outermost one.
    Inwards,
    /// The outermost axis goes to this place.
    Outwards,
}

/// The arrays with axes moved. Arrays that don't fit are reported, and left as they are.
fn moved<A: Algebra>(
    arrays: Vec<A::Array>,
    axes: &[usize],
    direction: AxisMove,
    place: &'static Location<'static>,
) -> Vec<A::Array> {
    let _place = ReportedAt::place(place);
    let report = |problem: String, ty: Type| A::fail(Error::operands("vmap_axes", problem, place), ty);
    if axes.len() != 1 && axes.len() != arrays.len() {
        let problem = format!("{} axes for {} arrays", axes.len(), arrays.len());
        return arrays.iter().map(|array| report(problem.clone(), A::type_of(array))).collect();
    }
    let one = |(position, array): (usize, A::Array)| {
        let (shape, axis) = (A::shape(&array), axes[if axes.len() == 1 { 0 } else { position }]);
        if axis >= shape.len() {
            return report(format!("there is no axis {axis} in shape {:?}", &shape[..]), A::type_of(&array));
        }
        match direction {
            AxisMove::Inwards => move_axis::<A>(array, axis, 0),
            AxisMove::Outwards => move_axis::<A>(array, 0, axis),
        }
    };
    arrays.into_iter().enumerate().map(one).collect()
}

/// The tree of as many slices like a tree as there may be, along a new outermost axis.
type Stack<A, T> = <T as Stacked<A>>::Stack;

/// Takes a stack of cotangents of a function's value, and returns the stack of those of the argument.
pub type BatchPullback<In, Out> = Box<dyn Fn(&Out) -> In>;

/// The value of a function at a point, and its tangents along a stack of tangents of the argument, or of the first of several:
/// a tree like it whose arrays have one more axis, the outermost. The tangents of the value have that axis too. The function is
/// linearised for all of them at once when it is staged; eagerly it runs for each, see [`linearize`](super::linearize) for
/// many.
///
/// ```
/// use deltaray::prelude::*;
///
/// let (x, directions) = (Vector::from(vec![1.0, 2.0]), Matrix::from([[1.0, 0.0], [0.0, 10.0]]));
/// let (y, moved) = jvp_batch(|x| x.powi(2), &x, &directions);
/// assert_eq!(y.to_vec(), [1.0, 4.0]);
/// assert_eq!(moved, Matrix::from([[2.0, 0.0], [0.0, 40.0]]));
/// ```
///
/// # Panics
///
/// When tangents have other shapes; in a staged function that is the error of [`stage`](super::stage) instead.
#[track_caller]
pub fn jvp_batch<A, X, O>(
    f: impl Fn(&ParameterOf<A, A::Forward, X>) -> O,
    args: X,
    tangents: &Stack<A, X::First>,
) -> (Over<A, A::Forward, O>, Stack<A, Over<A, A::Forward, O>>)
where
    A: Algebra,
    X: Args<A>,
    O: Tree<A::Forward>,
    X::First: Stacked<A, Stack: Sliced<A, Slice = X::First>>,
    Over<A, A::Forward, O>: Stacked<A>,
{
    let place = Location::caller();
    // The value alone: along no direction.
    let mut zeros = args.first().types().iter().map(A::zeros).collect::<Vec<_>>().into_iter();
    let still = <X::First as Tree<A>>::Family::rebuild::<A, A>(args.first(), &mut zeros);
    let (value, _, ()) = forward::<A, X, O, ()>(("jvp_batch", place), &|x| (f(x), ()), &args, &still);
    let along = |tangent: X::First| forward::<A, X, O, ()>(("jvp_batch", place), &|x| (f(x), ()), &args, &tangent).1;
    (value, mapped(("jvp_batch", place), along, tangents))
}

/// The value of a function at a point, and its pullback there for a whole stack of cotangents: trees like the value whose
/// arrays have one more axis, the outermost. The cotangents of the argument have that axis too. The function runs once, eagerly
/// too.
///
/// As [`vjp`](super::vjp); the pullback's cotangents are as many in every array.
///
/// ```
/// use deltaray::prelude::*;
///
/// let (y, pullback) = vjp_batch(|x| x.powi(2), &Vector::from(vec![1.0, 2.0]));
/// assert_eq!(y.to_vec(), [1.0, 4.0]);
/// let cotangents = Matrix::from([[1.0, 0.0], [0.0, 10.0]]);
/// assert_eq!(pullback(&cotangents), Matrix::from([[2.0, 0.0], [0.0, 40.0]]));
/// ```
///
/// # Panics
///
/// The pullback, when cotangents have other shapes; in a staged function that is the error of [`stage`](super::stage) instead.
#[track_caller]
#[allow(clippy::type_complexity)]
pub fn vjp_batch<A, X, O>(
    f: impl Fn(&ParameterOf<A, A::Nested, X>) -> O,
    args: X,
) -> (Over<A, A::Nested, O>, BatchPullback<Stack<A, X::First>, Stack<A, Over<A, A::Nested, O>>>)
where
    A: Algebra,
    X: Args<A>,
    X::First: Stacked<A>,
    O: Tree<A::Nested>,
    Over<A, A::Nested, O>: Stacked<A, Stack: Sliced<A, Slice = Over<A, A::Nested, O>>>,
{
    let place = Location::caller();
    let (value, pullback) = vjp_as::<A, X, O>("vjp_batch", &f, args);
    let batched = move |cotangents: &Stack<A, Over<A, A::Nested, O>>| {
        let _place = ReportedAt::place(place);
        mapped(("vjp_batch", place), |cotangent| pullback(&cotangent), cotangents)
    };
    (value, Box::new(batched))
}

//! Linearisation: the value of a function at a point, and the linear map of tangents there, to be applied many times.
//!
//! The map is the transpose of the pullback, which is linear in its cotangent: whatever the function computes at the point
//! is held by the pullback already. So nothing new is recorded, loops keep their residuals, and every instance that can take
//! a pullback twice can linearise.

use super::eager::{Over, Parameter, refuse};
use crate::algebra::{Algebra, Pullback};
use crate::concrete;
use crate::shape::{Type, Value};
use crate::tensor::{Args, Family, Tree, check_same_trees, duplicate};
use std::cell::RefCell;
use std::panic::Location;

/// Takes a tangent of a function's argument, a tree like it, and returns that of the value; callable many times, without
/// running the function. Integer and boolean arrays have no derivative: what stands for them in tangents is ignored, and is
/// zero in results.
pub type LinearMap<In, Out> = Box<dyn Fn(&In) -> Out>;

/// The algebra in which a function is linearised: two reverse derivatives inside.
type Twice<A> = <<A as Algebra>::Nested as Algebra>::Nested;

fn zeros<A: Algebra>(ty: &Type) -> A::Array {
    A::constant(concrete::Array::full(&ty.shape, Value::from_i64(ty.dtype, 0)))
}

/// The value of a function at a point, and the linear map from tangents of the argument, or of the first of several, to
/// those of the value: what [`jvp`](super::jvp) gives for each, but the function runs once.
///
/// Inside of a staged function too; what the map needs of the point is computed once there. A function that was staged has
/// [`Function::linearize`](super::Function::linearize).
///
/// # Panics
///
/// The map, when its tangent has other shapes than the argument; staged, that is recorded instead.
#[track_caller]
#[allow(clippy::type_complexity)]
pub fn linearize<A, X, O>(
    f: impl Fn(&Parameter<A, Twice<A>, X>) -> O,
    args: X,
) -> (Over<A, Twice<A>, O>, LinearMap<X::First, Over<A, Twice<A>, O>>)
where
    A: Algebra,
    X: Args<A>,
    O: Tree<Twice<A>>,
{
    let place = Location::caller();
    let mut at: Vec<_> = args.leaves().into_iter().map(A::lift).collect();
    let passive: Vec<_> = at.split_off(args.active()).into_iter().map(A::Nested::lift).collect();
    let result: RefCell<Option<O>> = RefCell::new(None);
    let inner: RefCell<Option<Pullback<A::Nested>>> = RefCell::new(None);
    // A derivative by nothing: its function has the pullback of `f` at the point, in the algebra under a derivative.
    let (values, _) = A::vjp(
        &|_| {
            let on_duals = |active: Vec<_>| {
                let parameter = args.rebuild::<Twice<A>>(&mut active.into_iter().chain(passive.iter().cloned()));
                let output = f(&parameter);
                let leaves = output.leaves();
                *result.borrow_mut() = Some(output);
                leaves
            };
            let (values, pullback) = A::Nested::vjp(&on_duals, at.clone());
            *inner.borrow_mut() = Some(pullback);
            values
        },
        Vec::new(),
    );
    let inner = inner.into_inner().expect("the algebra runs the function");
    let output = result.into_inner().expect("the algebra runs the function");
    let output: Over<A, Twice<A>, O> = O::Family::rebuild::<Twice<A>, A>(&output, &mut values.into_iter());
    let expected = output.types();
    // At cotangents of zero, which a linear map does not depend on.
    let seeds: Vec<A::Array> = expected.iter().map(zeros::<A>).collect();
    let floats = |arrays: Vec<_>| {
        arrays.into_iter().zip(&expected).map(|(array, ty)| ty.dtype.is_float().then_some(array)).collect()
    };
    let (_, transposed) = A::vjp(&|cotangents| inner(floats(cotangents)), seeds);
    let (like, value) = (duplicate(args.first()), duplicate(&output));
    let map = move |tangent: &X::First| {
        let types = like.types();
        let leaves = match check_same_trees(&like, tangent) {
            Ok(()) => tangent.leaves(),
            Err(problem) => {
                let problem = format!("argument and tangent differ: {problem}");
                refuse::<A>("linearize", problem, &types, place)
            }
        };
        let tangents = leaves.into_iter().zip(&types).map(|(leaf, ty)| ty.dtype.is_float().then_some(leaf)).collect();
        let _place = concrete::ReportedAt::place(place);
        <Over<A, Twice<A>, O> as Tree<A>>::Family::rebuild::<A, A>(&value, &mut transposed(tangents).into_iter())
    };
    (output, Box::new(map))
}

//! An equation `g(x, θ) = 0` on lists of arrays, and its derivatives.

use crate::algebra::{Algebra, ForwardArray, NestedArray, floats, or_zeros};
use crate::concrete::Concrete;
use crate::derivative::{ArrayFn, At};
use crate::operation::Binary;
use crate::shape::Type;
use crate::tensor::{Family, Tree, Vector, check_same_trees, flatten, refuse, unflatten};
use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;

/// A function of unknowns and parameters, `g(x, θ) = 0` or `x = f(x, θ)`, at one call.
pub(super) struct Equation<F: ArrayFn> {
    name: &'static str,
    place: &'static Location<'static>,
    function: F,
    /// Whether the equation says that the unknowns are the function's value, and not that the value is zero.
    fixed_point: bool,
    /// A tree of the structure of the argument, and one of the unknowns', with zeros.
    argument: At<F::In, Concrete>,
    like: At<F::Out, Concrete>,
    /// The types of the unknowns.
    pub(super) unknowns: Vec<Type>,
}

thread_local! {
    static CALLING: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// While it lives, an equation's function or solver is called for a call of the user.
struct Calling {
    outer: Option<&'static Location<'static>>,
}

impl Calling {
    fn at(place: &'static Location<'static>) -> Calling {
        Calling { outer: CALLING.replace(Some(place)) }
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        CALLING.set(self.outer);
    }
}

/// The user's line of a call. If a solver is called from this file, the line where the user called the function that it solves.
fn called_at(caller: &'static Location<'static>) -> &'static Location<'static> {
    CALLING.get().filter(|_| caller.file() == file!()).unwrap_or(caller)
}

/// Zeros of an array's type.
pub(super) fn zeros_like<A: Algebra>(array: &A::Array) -> A::Array {
    A::zeros(&A::type_of(array))
}

impl<F: ArrayFn> Equation<F> {
    #[track_caller]
    pub(super) fn new<A, X, P>(
        name: &'static str,
        f: &F,
        fixed_point: bool,
        start: &At<X, A>,
        parameters: &At<P, A>,
    ) -> Arc<Equation<F>>
    where
        A: Algebra,
        F: ArrayFn<In = (X, P), Out = X> + Clone,
        X: Family,
        P: Family,
    {
        let unknowns = start.types();
        let like = || X::rebuild::<A, Concrete>(start, &mut unknowns.iter().map(crate::array::Array::zeros));
        let parameters =
            P::rebuild::<A, Concrete>(parameters, &mut parameters.types().iter().map(crate::array::Array::zeros));
        Arc::new(Equation {
            name,
            place: called_at(Location::caller()),
            function: f.clone(),
            fixed_point,
            argument: (like(), parameters),
            like: like(),
            unknowns,
        })
    }

    /// Checks that the unknowns are floats.
    ///
    /// # Errors
    ///
    /// A sentence that names the first that are not.
    pub(super) fn check(&self) -> Result<(), String> {
        match self.unknowns.iter().find(|ty| !ty.dtype.is_float()) {
            None => Ok(()),
            Some(ty) => Err(format!("the unknowns are floats, and not {ty}")),
        }
    }

    /// Reports a problem; where that returns, the result is a tree with a placeholder.
    pub(super) fn refused<A: Algebra>(&self, problem: String, start: &At<F::Out, A>) -> At<F::Out, A> {
        let mut leaves = start.leaves();
        let first: Vec<Type> = leaves.first().map(A::type_of).into_iter().collect();
        let refused = refuse::<A>(self.name, problem, &first, self.place);
        leaves.splice(..first.len(), refused).for_each(drop);
        F::Out::rebuild::<A, A>(start, &mut leaves.into_iter())
    }

    /// The result of a function of the same signature, which must be like the unknowns; a mismatch is reported.
    pub(super) fn run<A: Algebra, S: ArrayFn<In = F::In, Out = F::Out>>(
        &self,
        what: &str,
        function: &S,
        unknowns: Vec<A::Array>,
        parameters: Vec<A::Array>,
    ) -> Vec<A::Array> {
        let argument = F::In::rebuild::<Concrete, A>(&self.argument, &mut unknowns.into_iter().chain(parameters));
        let value = {
            let _calling = Calling::at(self.place);
            function.call::<A>(&argument)
        };
        match check_same_trees(&self.like, &value) {
            Ok(()) => value.leaves(),
            Err(problem) => {
                let problem = format!("the unknowns and what {what} gives differ: {problem}");
                refuse::<A>(self.name, problem, &self.unknowns, self.place)
            }
        }
    }

    /// The function's value.
    pub(super) fn value<A: Algebra>(&self, unknowns: Vec<A::Array>, parameters: Vec<A::Array>) -> Vec<A::Array> {
        self.run::<A, F>("the function", &self.function, unknowns, parameters)
    }

    /// The function that is zero at a solution.
    pub(super) fn residual<A: Algebra>(&self, unknowns: Vec<A::Array>, parameters: Vec<A::Array>) -> Vec<A::Array> {
        if !self.fixed_point {
            return self.value::<A>(unknowns, parameters);
        }
        let values = self.value::<A>(unknowns.clone(), parameters);
        differences::<A>(unknowns, values)
    }

    /// The residual's derivative by the unknowns, times a vector.
    pub(super) fn push<A: Algebra>(
        &self,
        unknowns: &[A::Array],
        parameters: &[A::Array],
        along: &Vector<A, f64>,
    ) -> Vector<A, f64> {
        let fixed = lifted_forward::<A>(parameters);
        let run = |x: Vec<ForwardArray<A>>| self.residual::<A::Forward>(x, fixed.clone());
        let along = unflatten::<A, f64>(along, &self.unknowns).into_iter().map(Some).collect();
        let (values, tangents) = A::jvp(&run, unknowns.to_vec(), along);
        flatten::<A, f64>(&or_zeros::<A>(tangents, &values))
    }

    /// A vector, times the residual's derivative by the unknowns: a function that can be called many times.
    pub(super) fn pullback<A: Algebra>(
        &self,
        unknowns: &[A::Array],
        parameters: &[A::Array],
    ) -> impl Fn(&Vector<A, f64>) -> Vector<A, f64> {
        let fixed = lifted::<A>(parameters);
        let run = |x: Vec<NestedArray<A>>| self.residual::<A::Nested>(x, fixed.clone());
        let (_, pullback) = A::vjp(&run, unknowns.to_vec());
        move |seed| {
            flatten::<A, f64>(&pullback(unflatten::<A, f64>(seed, &self.unknowns).into_iter().map(Some).collect()))
        }
    }

    /// The residual's derivative by the parameters, times tangents.
    pub(super) fn push_parameters<A: Algebra>(
        &self,
        unknowns: &[A::Array],
        parameters: Vec<A::Array>,
        along: Vec<A::Array>,
    ) -> Vec<A::Array> {
        let fixed = lifted_forward::<A>(unknowns);
        let run = |parameters: Vec<ForwardArray<A>>| self.residual::<A::Forward>(fixed.clone(), parameters);
        let (values, tangents) = A::jvp(&run, parameters, floats::<A>(along));
        or_zeros::<A>(tangents, &values)
    }

    /// Cotangents, times the residual's derivative by the parameters.
    pub(super) fn pull_parameters<A: Algebra>(
        &self,
        unknowns: &[A::Array],
        parameters: Vec<A::Array>,
        seed: Vec<A::Array>,
    ) -> Vec<A::Array> {
        let fixed = lifted::<A>(unknowns);
        let run = |parameters: Vec<NestedArray<A>>| self.residual::<A::Nested>(fixed.clone(), parameters);
        let (_, pullback) = A::vjp(&run, parameters);
        pullback(seed.into_iter().map(Some).collect())
    }
}

fn lifted<A: Algebra>(arrays: &[A::Array]) -> Vec<NestedArray<A>> {
    arrays.iter().cloned().map(A::lift).collect()
}

fn lifted_forward<A: Algebra>(arrays: &[A::Array]) -> Vec<ForwardArray<A>> {
    arrays.iter().cloned().map(A::lift_forward).collect()
}

fn differences<A: Algebra>(left: Vec<A::Array>, right: Vec<A::Array>) -> Vec<A::Array> {
    left.into_iter().zip(right).map(|(left, right)| A::binary(Binary::Sub, left, right)).collect()
}

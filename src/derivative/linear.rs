//! Linearisation: the value of a function at a point, and the linear map of tangents there, to be applied many times.
//!
//! [`linearize`] linearises a function that runs, [`Function::linearize`] one that was staged. Either way the map is the
//! transpose of the pullback, which is linear in its cotangent: the pullback already holds everything that the function
//! computes at the point. So nothing new is recorded, loops keep their residuals, and every instance that can take a pullback
//! twice can linearise.

use super::eager::{Over, ParameterOf};
use super::{Function, program};
use crate::algebra::{Algebra, Pullback, floats};
use crate::array;
use crate::concrete::Concrete;
use crate::dual::generic;
use crate::engine::cpu::CompiledAtFirstCall;
use crate::error::{Error, Result};
use crate::tensor::{Args, Family, Tree, check_same_trees, duplicate, refuse};
use crate::term::Body;
use std::cell::RefCell;
use std::fmt;
use std::panic::Location;

/// Takes a tangent of a function's argument, a tree like it, and returns the tangent of the value; callable many times, without
/// running the function. Integer and boolean arrays have no derivative: their entries in tangents are ignored, and are zero in
/// results.
pub type LinearMap<In, Out> = Box<dyn Fn(&In) -> Out>;

/// The algebra in which a function is linearised: two reverse derivatives inside.
type ReverseInReverse<A> = <<A as Algebra>::Nested as Algebra>::Nested;

/// The value of a function at a point, and the linear map from tangents of the argument, or of the first of several, to
/// tangents of the value: the map gives the same as [`jvp`](super::jvp), but the function runs only once. Tangents have the
/// structure, element types and shapes of the argument, and of the value.
///
/// Works inside of a staged function too; the values at the point that the map needs are computed once there. A function that
/// was staged has [`Function::linearize`](super::Function::linearize).
///
/// ```
/// use deltaray::prelude::*;
///
/// let (y, derivative) = linearize(|x| x.powi(2), &Vector::from(vec![1.0, 2.0]));
/// assert_eq!(y.to_vec(), [1.0, 4.0]);
/// assert_eq!(derivative(&Vector::from(vec![1.0, 0.0])).to_vec(), [2.0, 0.0]);
/// assert_eq!(derivative(&Vector::from(vec![0.0, 1.0])).to_vec(), [0.0, 4.0]);
/// ```
///
/// # Panics
///
/// The map, when its tangent has other shapes than the argument; in a staged function that is the error of
/// [`stage`](super::stage) instead.
#[track_caller]
#[allow(clippy::type_complexity)]
pub fn linearize<A, X, O>(
    f: impl Fn(&ParameterOf<A, ReverseInReverse<A>, X>) -> O,
    args: X,
) -> (Over<A, ReverseInReverse<A>, O>, LinearMap<X::First, Over<A, ReverseInReverse<A>, O>>)
where
    A: Algebra,
    X: Args<A>,
    O: Tree<ReverseInReverse<A>>,
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
                let parameter =
                    args.rebuild::<ReverseInReverse<A>>(&mut active.into_iter().chain(passive.iter().cloned()));
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
    let output: Over<A, ReverseInReverse<A>, O> =
        O::Family::rebuild::<ReverseInReverse<A>, A>(&output, &mut values.into_iter());
    let expected = output.types();
    let seeds: Vec<A::Array> = expected.iter().map(generic::<A>).collect();
    let (_, transposed) = A::vjp(&|cotangents| inner(floats::<A::Nested>(cotangents)), seeds);
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
        let _place = array::ReportedAt::place(place);
        <Over<A, ReverseInReverse<A>, O> as Tree<A>>::Family::rebuild::<A, A>(
            &value,
            &mut transposed(floats::<A>(leaves)).into_iter(),
        )
    };
    (output, Box::new(map))
}

/// The derivative of a staged function at a point, as a program of tangents: from a tree of family `First` to one of family
/// `Out`. [`Function::linearize`] computed the values at the point that it needs.
///
/// The first call compiles it. `Display` prints the program. Its parameters are the tangents, then the residuals: the values
/// computed at the point.
pub struct Linearized<Out: Family, First: Family> {
    program: Body,
    kernels: CompiledAtFirstCall,
    residuals: Vec<array::Array>,
    output: Out::At<Concrete>,
    first: First::At<Concrete>,
}

impl<Out: Family, First: Family> Linearized<Out, First> {
    /// The tangent of the value along a tangent of the first argument: trees like these. Tangents of integers are ignored, and
    /// zero in results.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let x = Vector::from(vec![1.0, 2.0]);
    /// let (_, derivative) = stage(|x| x.powi(2), &x)?.linearize(&x)?;
    /// assert_eq!(derivative.call(&Vector::from(vec![1.0, 10.0]))?.to_vec(), [2.0, 40.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the tangent has another structure, element type or shape than the argument; and when there is no memory for an
    /// array that the program computes.
    #[track_caller]
    pub fn call(&self, tangent: &First::At<Concrete>) -> Result<Out::At<Concrete>> {
        if let Err(problem) = check_same_trees(&self.first, tangent) {
            return Err(Error::Structure(format!("argument and tangent differ: {problem}")));
        }
        let arguments: Vec<_> = tangent.leaves().into_iter().chain(self.residuals.iter().cloned()).collect();
        let results = self.kernels.program(&self.program)?.run(&arguments)?;
        Ok(Out::rebuild::<Concrete, Concrete>(&self.output, &mut results.into_iter()))
    }

    /// The program: its parameters are the arrays of the tangents, then the residuals, its results the tangents of the value.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let x = Vector::from(vec![1.0, 2.0]);
    /// let (_, derivative) = stage(|x| x.powi(2), &x)?.linearize(&x)?;
    /// // A tangent, and the slope at every element.
    /// assert_eq!(derivative.program().parameters(), 2);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn program(&self) -> &Body {
        &self.program
    }
}

impl<Out: Family, First: Family> fmt::Display for Linearized<Out, First> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.program, f)
    }
}

impl<In: Family, Out: Family, First: Family> Function<In, Out, First> {
    /// Runs the program at a point, and linearises it there. Gives the value, and the program from tangents of the first
    /// argument to tangents of the value, which may be called many times and recomputes nothing at the point.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let (x, y) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![3.0, 4.0]));
    /// let (value, derivative) = stage(|(x, y)| (x * y).sum(), (&x, &y))?.linearize((&x, &y))?;
    /// assert_eq!(value.item(), 11.0);
    /// assert_eq!(derivative.call(&ones(2))?.item(), 7.0);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Function::call`].
    #[track_caller]
    pub fn linearize<X: Args<Concrete, Family = In>>(
        &self,
        arguments: X,
    ) -> Result<(Out::At<Concrete>, Linearized<Out, First>)> {
        let (computing, program) = program::linearize(self.differentiable(), self.active())?;
        let arguments = self.checked(arguments)?;
        let mut values = CompiledAtFirstCall::default().program(&computing)?.run(&arguments)?;
        let output = self.output();
        let residuals = values.split_off(output.types().len());
        let copied = |values: &[array::Array]| Out::rebuild::<Concrete, Concrete>(output, &mut values.iter().cloned());
        let first = First::rebuild::<Concrete, Concrete>(self.first(), &mut self.first().leaves().into_iter());
        let kernels = CompiledAtFirstCall::default();
        Ok((copied(&values), Linearized { program, kernels, residuals, output: copied(&values), first }))
    }
}

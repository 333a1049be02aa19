//! Staged functions compiled for an engine.

use super::arguments::{argument_error, arguments_differ, checked_arguments};
use crate::array::Array;
use crate::concrete::Concrete;
use crate::engine::Engine;
use crate::engine::cpu::Cpu;
use crate::error::{Error, Result};
use crate::shape::Type;
use crate::tensor::{Args, Family, Outline, Rest, Tree, outline_of};
use crate::term::Body;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// A staged function as kernels of the engine `E`: from a tree of family `In` to one of family `Out`.
///
/// Calling it takes `&self`, from any thread. `Display` prints the kernels.
///
/// [`Compiled::call`] makes new arrays for its results, on every engine: one with a device uploads the arguments and downloads
/// the results. Functions compiled for OpenCL also take and give arrays that stay on the device.
///
/// On the processor [`Compiled::call_into`] writes into those of an existing tree, and
/// [`Compiled::update`] into those of the first argument. The latter two **allocate nothing** once the program is warm: once it
/// has run, in as many calls at a time. There are exceptions:
///
/// - operations that are left to plain arrays, such as sorting and functions with derivatives of their own, which
///   [`Program::report`](crate::engine::cpu::Program::report) lists;
/// - loops with a condition, if more of their steps must be kept than in any run before;
/// - output arrays that share their storage with others, or that store one value for all elements, such as the results of
///   [`zeros`](crate::tensor::zeros): they get storage of their own.
pub struct Compiled<In: Family, Out: Family, E: Engine = Cpu> {
    pub(super) program: E::Program,
    pub(super) body: Arc<Body>,
    pub(super) output: Arc<Out::At<Concrete>>,
    pub(super) outline: Outline,
    pub(super) names: Vec<String>,
    output_outline: Outline,
    /// Outlines of calls that have ended, reused by later calls without an allocation.
    outlines: Mutex<Vec<Outline>>,
    input: PhantomData<fn(In)>,
}

/// Whether an array is of a type.
fn is_of(array: &Array, ty: &Type) -> bool {
    array.dtype() == ty.dtype && *array.shape() == ty.shape[..]
}

impl<In: Family, Out: Family, E: Engine> Compiled<In, Out, E> {
    /// A program of a staged function, whose result has the structure of `output`, as an engine compiled it.
    pub(super) fn new(
        program: E::Program,
        body: Arc<Body>,
        output: Out::At<Concrete>,
        outline: Outline,
        names: Vec<String>,
    ) -> Self {
        let (output_outline, outlines) = (outline_of(&output), Mutex::default());
        let (output, input) = (Arc::new(output), PhantomData);
        Compiled { program, body, output, outline, names, output_outline, outlines, input }
    }

    /// Runs the program, and gives its results in new arrays.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let program = stage(|(x, y)| x * y, (&zeros(2), &zeros(2)))?.compile(Cpu::default())?;
    /// let (x, y) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![3.0, 4.0]));
    /// assert_eq!(program.call((&x, &y))?.to_vec(), [3.0, 8.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the arguments have another structure, or an array another element type or shape, than the function was staged for;
    /// when memory and results are more than the machine has, before anything is allocated; and when there is no memory.
    #[track_caller]
    pub fn call<X: Args<Concrete, Family = In>>(&self, arguments: X) -> Result<Out::At<Concrete>> {
        let arguments = checked_arguments(arguments, (&self.outline, &self.names), &self.body)?;
        let results = E::run(&self.program, &arguments)?;
        Ok(Out::rebuild::<Concrete, Concrete>(&self.output, &mut results.into_iter()))
    }

    /// The kernels, to be counted, or reported on by [`Program::report`](crate::engine::cpu::Program::report).
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let program = stage(|x: &Vector<_, f64>| (x * 2.0 + 1.0).sqrt().sum(), &zeros(10))?.compile(Cpu::default())?;
    /// assert_eq!(program.program().kernels(), 1);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn program(&self) -> &E::Program {
        &self.program
    }
}

impl<In: Family, Out: Family> Compiled<In, Out> {
    /// Runs the program, and writes its results into the arrays of `output`, which a [`call`](Compiled::call) or
    /// anything else has made. When warm this allocates nothing, apart from the exceptions that [`Compiled`] lists.
    ///
    /// Where an array of the output shares its storage with others, arguments included, it gets storage of its own, and they
    /// keep their elements.
    ///
    /// ```
    /// use deltaray::engine::cpu::Cpu;
    /// use deltaray::prelude::*;
    ///
    /// fn squares<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    ///     x * x
    /// }
    /// # fn main() -> deltaray::Result<()> {
    /// let program = stage(squares, &zeros(3))?.compile(Cpu::default())?;
    /// let mut y = zeros(3);
    /// for scale in 1..4 {
    ///     let x = Vector::from(vec![1.0, 2.0, 3.0 * scale as f64]);
    ///     program.call_into(&x, &mut y)?;
    /// }
    /// assert_eq!(y.to_vec(), [1.0, 4.0, 81.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Compiled::call`]; and when the structure of the output, or the element type or shape of one of its arrays, differs
    /// from the results. After an error the output is unchanged, except where an operation that is left to plain arrays found
    /// no memory: its elements may be anything.
    #[track_caller]
    pub fn call_into<X: Args<Concrete, Family = In>>(
        &self,
        arguments: X,
        output: &mut Out::At<Concrete>,
    ) -> Result<()> {
        self.check_arguments(&|outline| arguments.outline(outline), |visitor| arguments.visit(visitor))?;
        self.check_output(&|outline| output.outline(outline), |visitor| output.visit(visitor))?;
        let mut run = self.program.begin();
        arguments.visit(&mut |array| run.argument(array));
        output.visit_mut(&mut |array| run.result(array));
        run.finish()
    }

    /// Runs a program that takes the state and `rest` and results in the next state, and replaces `state` by it. Derivatives
    /// and training steps are such programs: `parameters = step(parameters, batch)`.
    ///
    /// A new state is written over the old one, array by array, where the program has done with an array before it writes
    /// there, or reads each element only to replace it. Other arrays alternate with a second set that the program keeps;
    /// elements are never copied. When warm this allocates nothing, apart from the exceptions that [`Compiled`] lists. If
    /// arrays of the state share their storage with others, the others don't change.
    ///
    /// `rest` is `()`, a reference to one argument, or a tuple of references. See [`Compiled::update_with`] for programs with
    /// other results, a loss for instance.
    ///
    /// ```
    /// use deltaray::engine::cpu::Cpu;
    /// use deltaray::prelude::*;
    ///
    /// fn step<A: Algebra>((w, x): &(Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
    ///     w - 0.25 * grad(|w: &Vector<_, f64>| (w - x.lift()).powi(2).sum(), w)
    /// }
    /// # fn main() -> deltaray::Result<()> {
    /// let (mut w, x) = (Vector::from(vec![0.0, 16.0]), Vector::from(vec![8.0, 8.0]));
    /// let program = stage(step, (&w, &x))?.compile(Cpu::default())?;
    /// for _ in 0..3 {
    ///     program.update(&mut w, &x)?;
    /// }
    /// assert_eq!(w.to_vec(), [7.0, 9.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Compiled::call_into`].
    #[track_caller]
    pub fn update<R: Rest<Concrete, Out, All = In>>(&self, state: &mut Out::At<Concrete>, rest: R) -> Result<()> {
        self.check_state::<Out, R>(state, &rest)?;
        self.check_output(&|outline| state.outline(outline), |visitor| state.visit(visitor))?;
        let mut run = self.program.begin();
        state.visit_mut(&mut |array| run.update(array));
        rest.visit(&mut |array| run.argument(array));
        run.finish()
    }

    /// Checks that arguments have the structure and types that the function was staged for.
    #[track_caller]
    fn check_arguments<'a>(
        &self,
        outline: &dyn Fn(&mut Outline),
        visit: impl FnOnce(&mut dyn FnMut(&'a Array)),
    ) -> Result<()> {
        if let Some(difference) = self.difference(&self.outline, outline) {
            return Err(arguments_differ(&difference));
        }
        let types = (0..self.body.parameters).map(|position| self.body.parameter_type(position));
        match mismatch(types, visit) {
            None => Ok(()),
            Some((position, expected, found)) => {
                Err(argument_error((&self.outline, &self.names), position, expected, found))
            }
        }
    }

    /// As [`Compiled::check_arguments`], for a state and the arguments after it.
    #[track_caller]
    fn check_state<S: Family, R: Rest<Concrete, S, All = In>>(&self, state: &S::At<Concrete>, rest: &R) -> Result<()> {
        let outline = |outline: &mut Outline| rest.outline(&|outline| state.outline(outline), outline);
        self.check_arguments(&outline, |visitor| {
            state.visit(visitor);
            rest.visit(visitor);
        })
    }

    /// Checks that an output has the structure and types of the results.
    #[track_caller]
    fn check_output<'a>(
        &self,
        outline: &dyn Fn(&mut Outline),
        visit: impl FnOnce(&mut dyn FnMut(&'a Array)),
    ) -> Result<()> {
        if let Some(difference) = self.difference(&self.output_outline, outline) {
            let place = Location::caller();
            let problem = format!("the output differs from the program's results: {difference} (at {place})");
            return Err(Error::Structure(problem));
        }
        match mismatch(self.body.result_types(), visit) {
            None => Ok(()),
            Some((position, expected, found)) => {
                let path = self.output_outline.paths().swap_remove(position);
                let place = Location::caller().to_string();
                Err(Error::Output { path, expected: expected.to_string(), found: found.to_string(), place })
            }
        }
    }

    /// The difference between an outline and the expected one, if any.
    fn difference(&self, expected: &Outline, write: &dyn Fn(&mut Outline)) -> Option<String> {
        let outlines = || self.outlines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = outlines().pop().unwrap_or_default();
        found.clear();
        write(&mut found);
        let difference = expected.difference(&found);
        outlines().push(found);
        difference
    }
}

/// The first array of another type than it must have, with its position and the two types.
fn mismatch<'t, 'a>(
    mut types: impl Iterator<Item = &'t Type>,
    visit: impl FnOnce(&mut dyn FnMut(&'a Array)),
) -> Option<(usize, &'t Type, Type)> {
    let (mut position, mut mismatch) = (0, None);
    visit(&mut |array| {
        if let Some(expected) = types.next()
            && mismatch.is_none()
            && !is_of(array, expected)
        {
            mismatch = Some((position, expected, array.ty()));
        }
        position += 1;
    });
    mismatch
}

impl<In: Family, State: Family, Others: Family> Compiled<In, (State, Others)> {
    /// As [`Compiled::update`], for a program with other results in addition to the next state: they are written into `others`.
    ///
    /// ```
    /// use deltaray::engine::cpu::Cpu;
    /// use deltaray::prelude::*;
    ///
    /// type Step<A> = (Vector<A, f64>, Scalar<A, f64>);
    ///
    /// fn step<A: Algebra>((w, x): &(Vector<A, f64>, Vector<A, f64>)) -> Step<A> {
    ///     let (loss, gradient) = value_and_grad(|w: &Vector<_, f64>| (w - x.lift()).powi(2).sum(), w);
    ///     (w - 0.25 * gradient, loss)
    /// }
    /// # fn main() -> deltaray::Result<()> {
    /// let (mut w, x, mut loss) = (Vector::from(vec![0.0, 16.0]), Vector::from(vec![8.0, 8.0]), scalar(0.0));
    /// let program = stage(step, (&w, &x))?.compile(Cpu::default())?;
    /// for expected in [128.0, 32.0, 8.0] {
    ///     program.update_with(&mut w, &x, &mut loss)?;
    ///     assert_eq!(loss.item(), expected);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Compiled::call_into`].
    #[track_caller]
    pub fn update_with<R: Rest<Concrete, State, All = In>>(
        &self,
        state: &mut State::At<Concrete>,
        rest: R,
        others: &mut Others::At<Concrete>,
    ) -> Result<()> {
        self.check_state::<State, R>(state, &rest)?;
        let outline = |outline: &mut Outline| {
            outline.part(0, |outline| state.outline(outline));
            outline.part(1, |outline| others.outline(outline));
        };
        self.check_output(&outline, |visitor| {
            state.visit(visitor);
            others.visit(visitor);
        })?;
        let mut run = self.program.begin();
        state.visit_mut(&mut |array| run.update(array));
        rest.visit(&mut |array| run.argument(array));
        others.visit_mut(&mut |array| run.result(array));
        run.finish()
    }
}

impl<In: Family, Out: Family, E: Engine> fmt::Display for Compiled<In, Out, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.program, f)
    }
}

/// The kernels, as they are displayed.
impl<In: Family, Out: Family, E: Engine> fmt::Debug for Compiled<In, Out, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

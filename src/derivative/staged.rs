//! Staged functions: staged once for given shapes, differentiated as programs, called many times.

use super::arguments::checked_arguments;
use super::compiled::Compiled;
use super::program;
use super::signature::ProgramNames;
use crate::array;
use crate::concrete::Concrete;
use crate::engine::Engine;
use crate::engine::cpu::CompiledAtFirstCall;
use crate::error::{Error, Result};
use crate::evaluate;
use crate::evaluate::Failure;
use crate::shape::Type;
use crate::staged::{self, Staged};
use crate::tensor::{Args, Family, Outline, Tree, attribute, outline_of};
use crate::term::{Body, Build, Program};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// A function as a program for arrays of fixed types: from a tree of family `In` to one of family `Out`.
///
/// Derivatives are taken with respect to the first argument, of family `First`. Calling it takes `&self`, from any thread: the
/// first call compiles the program for [`Cpu::default`](crate::engine::cpu::Cpu), which takes milliseconds, and others run its
/// kernels. `Display` prints the program.
pub struct Function<In: Family, Out: Family, First: Family> {
    /// As the function was written, with `build`; a derivative is of bulk form from the start.
    source: Arc<Body<Build>>,
    /// In bulk form, simplified; marks of chosen branches are there for further differentiation.
    differentiable: Arc<Body>,
    /// The same without those marks, once it was asked for.
    program: OnceLock<Arc<Body>>,
    /// Its kernels, once it was called.
    kernels: Arc<CompiledAtFirstCall>,
    /// How many of the leading parameters are the first argument's.
    active: usize,
    /// Trees of the argument's, result's and first argument's structure.
    input: In::At<Concrete>,
    output: Out::At<Concrete>,
    first: First::At<Concrete>,
    /// The structure that arguments must have.
    outline: Outline,
    /// How the program is printed.
    signature: ProgramNames,
}

/// Clones share the program and its kernels.
impl<In: Family, Out: Family, First: Family> Clone for Function<In, Out, First> {
    fn clone(&self) -> Self {
        Function {
            source: self.source.clone(),
            differentiable: self.differentiable.clone(),
            program: self.program.clone(),
            kernels: self.kernels.clone(),
            active: self.active,
            input: copy::<In>(&self.input),
            output: copy::<Out>(&self.output),
            first: copy::<First>(&self.first),
            outline: self.outline.clone(),
            signature: self.signature.clone(),
        }
    }
}

fn zeros(types: &[Type]) -> Vec<array::Array> {
    types.iter().map(array::Array::zeros).collect()
}

/// Stages a function for arguments of the types of `like`, whose values don't matter.
///
/// The function runs once, on variables, and must be pure in the arrays that it is given. It takes the value that `like` refers
/// to, or a tuple of values where `like` is a tuple of references.
///
/// Plain Rust values are static arguments: a closure captures them, `stage(|x| layers(x, depth), &x)`, or they are fields of a
/// tree that are marked `#[tree(skip)]`. The program is for these values; another one is staged for others.
///
/// ```
/// use deltaray::prelude::*;
///
/// let square = stage(|x| x.powi(2), &zeros(2))?;
/// assert_eq!(square.call(&Vector::from(vec![3.0, 4.0]))?.to_vec(), [9.0, 16.0]);
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Errors
///
/// The first operation whose operands do not fit, with the place in the function, or a value that was used outside of its
/// `build`, loop or staged function; that includes values of a function that is being staged around this one.
#[track_caller]
pub fn stage<X, F, Y>(f: F, like: X) -> Result<Function<X::Family, Y::Family, <X::First as Tree<Concrete>>::Family>>
where
    X: Args<Concrete>,
    Y: Tree<Staged>,
    F: FnOnce(&<X::Family as Family>::At<Staged>) -> Y, // `f {}.closure()`; of two arguments `|(x, y)| ..`
{
    let types = like.types();
    let mut output = None;
    let mut heard = None;
    let source = staged::stage(&types, |variables| {
        let input = like.rebuild::<Staged>(&mut variables.into_iter());
        let result;
        (result, heard) = attribute::listening(|| f(&input));
        let leaves = result.leaves();
        output = Some(Y::Family::rebuild::<Staged, Concrete>(&result, &mut zeros(&result.types()).into_iter()));
        leaves
    })?;
    let output: <Y::Family as Family>::At<Concrete> = output.expect("the function ran");
    let program = program::bulk(&source);
    let mut outline = Outline::default();
    like.outline(&mut outline);
    Ok(Function {
        source: Arc::new(source),
        differentiable: Arc::new(program),
        program: OnceLock::new(),
        kernels: Arc::default(),
        active: like.active(),
        input: like.rebuild::<Concrete>(&mut zeros(&types).into_iter()),
        first: <X::First as Tree<Concrete>>::Family::rebuild::<Concrete, Concrete>(
            like.first(),
            &mut zeros(&types[..like.active()]).into_iter(),
        ),
        signature: ProgramNames::of::<F>(&outline, &outline_of(&output), heard),
        output,
        outline,
    })
}

/// Another handle on a tree's arrays.
fn copy<F: Family>(tree: &F::At<Concrete>) -> F::At<Concrete> {
    F::rebuild::<Concrete, Concrete>(tree, &mut tree.leaves().into_iter())
}

impl<In: Family, Out: Family, First: Family> Function<In, Out, First> {
    /// Runs the program, as kernels that the first call compiles: for [`Cpu::default`](crate::engine::cpu::Cpu), on as many
    /// threads as the processor offers. [`Function::compile`] takes other options, and its calls can write into arrays that are
    /// there.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let product = stage(|(x, y)| x * y, (&zeros(2), &scalar(0.0)))?;
    /// assert_eq!(product.call((&ones(2), &scalar(3.0)))?.to_vec(), [3.0, 3.0]);
    /// assert_eq!(product.interpret((&ones(2), &scalar(3.0)))?.to_vec(), [3.0, 3.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the arguments have another structure, or an array another element type or shape, than the function was staged for;
    /// when memory and results are more than the machine has; and when there is no memory. A failure to compile is not
    /// remembered.
    #[track_caller]
    pub fn call<X: Args<Concrete, Family = In>>(&self, arguments: X) -> Result<Out::At<Concrete>> {
        let arguments = self.checked(arguments)?;
        let results = self.kernels.program(self.program())?.run(&arguments)?;
        Ok(Out::rebuild::<Concrete, Concrete>(&self.output, &mut results.into_iter()))
    }

    /// Runs the program one operation after the other, on plain arrays, without compiling it: the reference that kernels are
    /// tested against, and quick for a program of large operations that runs once. It is called as in the example of
    /// [`Function::call`].
    ///
    /// # Errors
    ///
    /// As [`Function::call`], but that no memory is asked for before it is needed.
    #[track_caller]
    pub fn interpret<X: Args<Concrete, Family = In>>(&self, arguments: X) -> Result<Out::At<Concrete>> {
        let arguments = self.checked(arguments)?;
        let place = Location::caller();
        let results = evaluate::run(self.program(), arguments)
            .map_err(|Failure { operation, problem }| problem.error(&operation, place))?;
        Ok(Out::rebuild::<Concrete, Concrete>(&self.output, &mut results.into_iter()))
    }

    /// The arrays of arguments, of the types that the function was staged for.
    #[track_caller]
    pub(super) fn checked<X: Args<Concrete, Family = In>>(&self, arguments: X) -> Result<Vec<array::Array>> {
        checked_arguments(arguments, self.expected(), &self.differentiable)
    }

    /// A function with another program, whose results have another structure.
    fn derived<I: Family, O: Family, W: Family>(
        &self,
        program: Body,
        active: usize,
        (input, output, first): (I::At<Concrete>, O::At<Concrete>, W::At<Concrete>),
        signature: ProgramNames,
    ) -> Function<I, O, W> {
        let differentiable = Arc::new(program::tidy(&program));
        let source = Arc::new(differentiable.widen());
        let outline = outline_of(&input);
        let (program, kernels) = Default::default();
        Function { source, differentiable, program, kernels, active, input, output, first, outline, signature }
    }

    /// A tree of the result's structure.
    pub(super) fn output(&self) -> &Out::At<Concrete> {
        &self.output
    }

    /// A tree of the first argument's structure.
    pub(crate) fn first(&self) -> &First::At<Concrete> {
        &self.first
    }

    /// Checks that the first result is a float without axes.
    #[track_caller]
    fn check_loss(&self, operation: &str, alone: bool) -> Result<()> {
        let types: Vec<&Type> = self.differentiable.result_types().collect();
        match types[..] {
            [loss, ..] if loss.dtype.is_float() && loss.rank() == 0 && (types.len() == 1 || !alone) => Ok(()),
            _ => {
                let which = if alone { "one float" } else { "a float as its first result," };
                let problem = format!("the function must result in {which} without axes, but results in {types:?}");
                Err(Error::operands(operation, problem, Location::caller()))
            }
        }
    }

    /// The function that results in the value and its gradient with respect to the first argument, a tree like it.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let x = Vector::from(vec![1.0, 2.0]);
    /// let (value, slope) = stage(|x| x.powi(2).sum(), &x)?.value_and_grad()?.call(&x)?;
    /// assert_eq!((value.item(), slope.to_vec()), (5.0, vec![2.0, 4.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the function does not result in one float without axes.
    #[track_caller]
    pub fn value_and_grad(&self) -> Result<Function<In, (Out, First), First>> {
        self.check_loss("value_and_grad", true)?;
        self.value_and_grad_with_auxiliary()
    }

    /// As [`Function::value_and_grad`], of a function whose first result is the value and whose others are auxiliary: they are
    /// returned, and have no part in the gradient.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let x = Vector::from(vec![1.0, 2.0]);
    /// let gradient = stage(|x| (x.powi(2).sum(), x.max_all()), &x)?.value_and_grad_with_auxiliary()?;
    /// let ((value, largest), slope) = gradient.call(&x)?;
    /// assert_eq!((value.item(), largest.item(), slope.to_vec()), (5.0, 2.0, vec![2.0, 4.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the first result is not a float without axes.
    #[track_caller]
    pub fn value_and_grad_with_auxiliary(&self) -> Result<Function<In, (Out, First), First>> {
        self.check_loss("value_and_grad_with_auxiliary", false)?;
        let program = program::value_and_gradient(&self.differentiable, self.active)?;
        let trees = (
            copy::<In>(&self.input),
            (copy::<Out>(&self.output), copy::<First>(&self.first)),
            copy::<First>(&self.first),
        );
        Ok(self.derived::<In, (Out, First), First>(
            program,
            self.active,
            trees,
            self.signature.value_and_gradient(self.active),
        ))
    }

    /// The function that results in the gradient with respect to the first argument, a tree like it.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let second = stage(|x| x.powi(3), &scalar(0.0))?.grad()?.grad()?;
    /// assert_eq!(second.call(&scalar(2.0))?.item(), 12.0);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the function does not result in one float without axes.
    #[track_caller]
    pub fn grad(&self) -> Result<Function<In, First, First>> {
        self.check_loss("grad", true)?;
        let program = program::value_and_gradient(&self.differentiable, self.active)?.with_results_from(1);
        let trees = (copy::<In>(&self.input), copy::<First>(&self.first), copy::<First>(&self.first));
        Ok(self.derived::<In, First, First>(program, self.active, trees, self.signature.gradient(self.active)))
    }

    /// The function that takes the argument and a cotangent of the result, a tree like it, and results in the value and the
    /// cotangent of the first argument. Cotangents of integer results are ignored.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let (x, cotangent) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![1.0, 10.0]));
    /// let (y, dx) = stage(|x| x.powi(2), &x)?.vjp()?.call((&x, &cotangent))?;
    /// assert_eq!((y.to_vec(), dx.to_vec()), (vec![1.0, 4.0], vec![2.0, 40.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// None for functions that were staged without one.
    pub fn vjp(&self) -> Result<Function<(In, Out), (Out, First), In>> {
        let program = program::vjp(&self.differentiable, self.active)?;
        let trees = (
            (copy::<In>(&self.input), copy::<Out>(&self.output)),
            (copy::<Out>(&self.output), copy::<First>(&self.first)),
            copy::<In>(&self.input),
        );
        Ok(self.derived::<(In, Out), (Out, First), In>(
            program,
            self.differentiable.parameters,
            trees,
            self.signature.vjp(self.active),
        ))
    }

    /// The function that takes the argument and a tangent of the first argument, a tree like that, and results in the value and
    /// its tangent. Tangents of integer arrays are ignored.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let (x, along) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![1.0, 10.0]));
    /// let (y, moved) = stage(|x| x.powi(2), &x)?.jvp()?.call((&x, &along))?;
    /// assert_eq!((y.to_vec(), moved.to_vec()), (vec![1.0, 4.0], vec![2.0, 40.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// None for functions that were staged without one.
    pub fn jvp(&self) -> Result<Function<(In, First), (Out, Out), In>> {
        let program = program::jvp(&self.differentiable, self.active)?;
        let trees = (
            (copy::<In>(&self.input), copy::<First>(&self.first)),
            (copy::<Out>(&self.output), copy::<Out>(&self.output)),
            copy::<In>(&self.input),
        );
        Ok(self.derived::<(In, First), (Out, Out), In>(
            program,
            self.differentiable.parameters,
            trees,
            self.signature.jvp(self.active),
        ))
    }

    /// The function as kernels, for an engine with its options. It is called in the same way, and not differentiated any more.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x| x.powi(2), &zeros(2))?.compile(Cpu::default().threads(1))?;
    /// assert_eq!(square.call(&Vector::from(vec![3.0, 4.0]))?.to_vec(), [9.0, 16.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When its memory and results are more than the machine has, or there is no memory for its constants.
    #[track_caller]
    pub fn compile<E: Engine>(&self, engine: E) -> Result<Compiled<In, Out, E>> {
        let program = self.signature.named(self.shared_run_program());
        let compiled = engine.compile(&program)?;
        let (outline, names) = (outline_of(&self.input), program.parameters);
        Ok(Compiled::new(compiled, program.body, copy::<Out>(&self.output), outline, names))
    }

    /// The program as it was staged, with `build`: [`Function::program`] has an example.
    pub fn source(&self) -> &Body<Build> {
        &self.source
    }

    /// The program that derivatives are taken of, in bulk form, simplified: [`Function::program`] has an example.
    pub fn differentiable(&self) -> &Body {
        &self.differentiable
    }

    /// As [`Function::differentiable`], shared.
    pub(crate) fn shared_program(&self) -> Arc<Body> {
        self.differentiable.clone()
    }

    /// As [`Function::program`], shared.
    fn shared_run_program(&self) -> Arc<Body> {
        self.program();
        self.program.get().expect("was just made").clone()
    }

    /// The number of arrays of the first argument.
    pub(crate) fn active(&self) -> usize {
        self.active
    }

    /// The structure that arguments must have, and the names of their arrays.
    pub(crate) fn expected(&self) -> (&Outline, &[String]) {
        (&self.outline, self.signature.parameters())
    }

    /// The program as it runs: in bulk form, simplified. It lacks the operations that concern differentiation only: the marks
    /// of chosen branches, and stopped gradients. To differentiate by hand take [`Function::differentiable`].
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let f = stage(|x: &Vector<_, f64>| build(2, |i| x.at(&i).powi(2).stop_gradient()), &zeros(2))?;
    /// let text = [f.source().to_string(), f.differentiable().to_string(), f.program().to_string()];
    /// let found = text.map(|text| (text.contains("build"), text.contains("stop_gradient")));
    /// assert_eq!(found, [(true, true), (false, true), (false, false)]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn program(&self) -> &Body {
        self.program.get_or_init(|| match self.differentiable.has_marks() {
            true => Arc::new(program::tidy(&self.differentiable.without_marks())),
            false => self.differentiable.clone(),
        })
    }
}

impl<In: Family, Out: Family, First: Family> From<&Function<In, Out, First>> for Program {
    fn from(function: &Function<In, Out, First>) -> Program {
        function.signature.named(function.shared_run_program())
    }
}

impl<In: Family, Out: Family, First: Family> From<&Function<In, Out, First>> for Program<Build> {
    fn from(function: &Function<In, Out, First>) -> Program<Build> {
        function.signature.named(function.source.clone())
    }
}

impl<In: Family, Out: Family, First: Family> fmt::Display for Function<In, Out, First> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.signature.named(self.shared_run_program()), f)
    }
}

/// The program in its displayed form.
impl<In: Family, Out: Family, First: Family> fmt::Debug for Function<In, Out, First> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

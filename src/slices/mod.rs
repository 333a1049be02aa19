//! Staged functions over slices of numbers, as solvers, optimisers and samplers have them.

mod programs;

use crate::concrete::{Array, Concrete};
use crate::derivative::Function;
use crate::engine::cpu::{Cpu, Program, Run};
use crate::error::{Error, Result};
use crate::shape::Type;
use crate::sparse::{Pattern, same_elements};
use crate::tensor::{Family, Float, Outline, Rest, Tree, Vector};
use crate::term::Body;
use programs::{MatrixProgram, Programs, parameter_types};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// A staged function of one slice of `E`: the elements of its first argument's arrays, row-major and one array after the other,
/// in the order of [`ravel`](crate::tensor::ravel()). [`Function::over_slices`] makes it.
///
/// Each derivative is a program that is made and compiled when it is first asked for, or by [`SliceFunction::with_gradient`]
/// and the like. Programs read and write the slices in place: **a call allocates nothing** once the program has run with as
/// many concurrent calls, apart from the exceptions that [`Compiled`](crate::derivative::Compiled) lists.
///
/// It is called by `&self`, from any thread. Clones share the programs, and each has its own data. An error about a slice of
/// the wrong length names both lengths. Elements that are NaN are no error.
///
/// ```
/// use deltaray::prelude::*;
///
/// let cubes = stage(|x: &Vector<_, f64>| x.powi(3).sum(), &zeros(2))?.over_slices::<f64>()?.on(Cpu::default().threads(1));
/// let cubes = cubes.with_gradient()?.with_hvp()?.with_sparse_hessian()?;
/// assert_eq!((cubes.value(&[1.0, 2.0])?, cubes.sparse_hessian_pattern()?.column_indices()), (9.0, &[0, 1][..]));
/// let (mut gradient, mut product, mut entries) = ([0.0; 2], [0.0; 2], [0.0; 2]);
/// assert_eq!(cubes.value_and_grad(&[1.0, 2.0], &mut gradient)?, 9.0);
/// cubes.hvp(&[1.0, 2.0], &[1.0, 10.0], &mut product)?;
/// cubes.sparse_hessian(&[1.0, 2.0], &mut entries)?;
/// assert_eq!((gradient, product, entries), ([3.0, 12.0], [6.0, 120.0], [6.0, 12.0]));
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// The errors of a line, whose slope and offset are two arrays of a tree, at points that are data:
///
/// ```
/// use deltaray::prelude::*;
///
/// let (line, x, y) = ((scalar(0.0), scalar(0.0)), Vector::from(vec![0.0, 1.0]), Vector::from(vec![1.0, 3.0]));
/// let errors = stage(|(line, x, y)| &line.0 * x + &line.1 - y, (&line, &x, &y))?;
/// let mut errors = errors.over_slices_with::<f64, _>((&x, &y))?.with_products()?.with_sparse_jacobian()?;
/// assert_eq!((errors.len(), errors.is_empty(), errors.sparse_jacobian_pattern()?.shape()), (2, false, (2, 2)));
/// let (mut values, mut pushed, mut pulled, mut entries) = ([0.0; 2], [0.0; 2], [0.0; 2], [0.0; 4]);
/// errors.jvp(&[1.0, 1.0], &[1.0, 0.0], &mut pushed)?;
/// errors.vjp(&[1.0, 1.0], &[1.0, 2.0], &mut pulled)?;
/// errors.sparse_jacobian(&[1.0, 1.0], &mut entries)?;
/// assert_eq!((pushed, pulled, entries), ([0.0, 1.0], [2.0, 3.0], [0.0, 1.0, 1.0, 1.0]));
/// errors.set_data((&x, &Vector::from(vec![0.0, 0.0])))?;
/// errors.residuals(&[1.0, 1.0], &mut values)?;
/// assert_eq!((values, errors.result_len()), ([1.0, 2.0], 2));
/// # Ok::<(), deltaray::Error>(())
/// ```
pub struct SliceFunction<E: Float> {
    programs: Arc<Programs>,
    /// The arguments after the first.
    data: Arc<Vec<Array>>,
    element: PhantomData<fn(E) -> E>,
}

/// The structure of the arguments of a function that has one.
#[diagnostic::on_unimplemented(
    message = "`over_slices` is for functions of one argument",
    label = "a function of several arguments",
    note = "the arguments after the first are data: `over_slices_with(&x)`, `over_slices_with((&x, &y))`"
)]
pub trait OnlyArgument<First: Family> {}

impl<First: Family> OnlyArgument<First> for First {}

impl<In: Family, Out: Family, First: Family> Function<In, Out, First> {
    /// The function over slices: of one tree. See [`SliceFunction`].
    ///
    /// # Errors
    ///
    /// When an array of the argument or of the result has another element type than `E`. A function of several arguments does
    /// not compile here: those after the first are data, for [`Function::over_slices_with`].
    #[track_caller]
    pub fn over_slices<E: Float>(&self) -> Result<SliceFunction<E>>
    where
        In: OnlyArgument<First>,
    {
        self.with_data(())
    }

    /// The function over slices of its first argument, with data: the arguments after the first, as a reference or a tuple of
    /// references. [`SliceFunction::set_data`] replaces it.
    ///
    /// # Errors
    ///
    /// When an array of the first argument or of the result has another element type than `E`, and when the data has another
    /// structure, or an array of it another type, than the function was staged for.
    #[track_caller]
    pub fn over_slices_with<E: Float, R: Rest<Concrete, First, All = In>>(&self, data: R) -> Result<SliceFunction<E>> {
        self.with_data(data)
    }

    #[track_caller]
    fn with_data<E: Float>(&self, data: impl Rest<Concrete, First>) -> Result<SliceFunction<E>> {
        let place = Location::caller();
        let (body, active) = (self.shared_program(), self.active());
        let is_other = |ty: &&Type| ty.dtype != E::DTYPE;
        let (mut parameters, mut results) = (parameter_types(&body, 0..active), body.result_types());
        if let Some(ty) = parameters.find(is_other).or_else(|| results.find(is_other)) {
            let problem = format!("slices of {}, but an array of the first argument or the result is {ty}", E::DTYPE);
            return Err(Error::operands("over_slices", problem, place));
        }
        drop((parameters, results));
        let mut all = Outline::default();
        data.outline(&|outline| self.first().outline(outline), &mut all);
        check_structure("over_slices", self.expected().0, &all, place)?;
        let outline = outline_of(&data);
        let marked = outline.fixed_arrays();
        let data = leaves(&data);
        check_data("over_slices", &body, active, &data, place)?;
        let is_fixed = |at: usize| marked.get(at).copied().unwrap_or(false);
        let fixed = data.iter().enumerate().map(|(at, array)| is_fixed(at).then(|| array.clone())).collect();
        let programs = Programs::new(body, active, outline, fixed, Cpu::default());
        Ok(SliceFunction { programs: Arc::new(programs), data: Arc::new(data), element: PhantomData })
    }
}

/// The outline of the arguments after the first.
fn outline_of<First: Family>(data: &impl Rest<Concrete, First>) -> Outline {
    let mut outline = Outline::default();
    data.outline(&|_| {}, &mut outline);
    outline
}

fn leaves<First: Family>(data: &impl Rest<Concrete, First>) -> Vec<Array> {
    let mut arrays = Vec::new();
    data.visit(&mut |array| arrays.push(array.clone()));
    arrays
}

/// Checks that data has the structure that the function was staged for.
fn check_structure(operation: &str, expected: &Outline, found: &Outline, place: &Location<'_>) -> Result<()> {
    match expected.difference(found) {
        None => Ok(()),
        Some(difference) => {
            let problem = format!("the data differs from what the function was staged for: {difference}");
            Err(Error::operands(operation, problem, place))
        }
    }
}

/// Checks that data has the types that the function was staged for.
fn check_data(operation: &str, body: &Body, active: usize, data: &[Array], place: &Location<'_>) -> Result<()> {
    for (position, ty) in parameter_types(body, active..body.parameters).enumerate() {
        let found = data.get(position).map(Array::ty);
        if found.as_ref() != Some(ty) {
            let found = found.map_or("nothing".into(), |ty| ty.to_string());
            let problem = format!("the data at position {position} is {found}, but the function was staged for {ty}");
            return Err(Error::operands(operation, problem, place));
        }
    }
    Ok(())
}

/// A slice, by its name in messages, with the length that it must have.
fn check_length(operation: &str, name: &str, found: usize, expected: usize, place: &Location<'_>) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let problem = format!("`{name}` has {found} elements, but must have {expected}");
    Err(Error::operands(operation, problem, place))
}

/// The parts of a slice that are the arrays of these types.
fn parts<'s, 't, E: Float>(
    mut elements: &'s [E],
    types: impl Iterator<Item = &'t Type>,
) -> impl Iterator<Item = &'s [E]> {
    types.map(move |ty| {
        let (part, rest) = elements.split_at(ty.size());
        elements = rest;
        part
    })
}

/// As [`parts`], to write to.
fn parts_mut<'s, 't, E: Float>(
    mut elements: &'s mut [E],
    types: impl Iterator<Item = &'t Type>,
) -> impl Iterator<Item = &'s mut [E]> {
    types.map(move |ty| {
        let (part, rest) = std::mem::take(&mut elements).split_at_mut(ty.size());
        elements = rest;
        part
    })
}

impl<E: Float> SliceFunction<E> {
    /// The same function, with programs that are compiled in this way: none are there yet.
    pub fn on(self, options: Cpu) -> SliceFunction<E> {
        let Programs { body, active, outline, fixed, .. } = &*self.programs;
        let programs = Programs::new(body.clone(), *active, outline.clone(), fixed.clone(), options);
        SliceFunction { programs: Arc::new(programs), ..self }
    }

    /// The number of elements of the function's argument.
    pub fn len(&self) -> usize {
        self.programs.size_of_arguments()
    }

    /// Whether the function's argument has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements of the function's results, 1 of a loss: the length of `residuals`.
    pub fn result_len(&self) -> usize {
        self.programs.size_of_results()
    }

    /// Replaces the data, given as to [`Function::over_slices_with`], for this handle and its later clones. Nothing is compiled.
    ///
    /// # Errors
    ///
    /// When the data has another structure, or an array of it another type, than the function was staged for; and when elements
    /// differ that are [`fixed`](crate::sparse::fixed()): patterns are for these.
    #[track_caller]
    pub fn set_data<R: Rest<Concrete, Vector<Concrete, E>>>(&mut self, data: R) -> Result<()> {
        let place = Location::caller();
        let Programs { body, active, outline, fixed, .. } = &*self.programs;
        check_structure("set_data", outline, &outline_of(&data), place)?;
        let data = leaves(&data);
        check_data("set_data", body, *active, &data, place)?;
        let is_same =
            |(fixed, array): (&Option<Array>, &Array)| fixed.as_ref().is_none_or(|fixed| same_elements(fixed, array));
        if !fixed.iter().zip(&data).all(is_same) {
            let problem = "fixed data differs from that which patterns were found for";
            return Err(Error::operands("set_data", problem, place));
        }
        self.data = Arc::new(data);
        Ok(())
    }

    /// The value at a point, a slice of [`SliceFunction::len`] elements.
    ///
    /// # Errors
    ///
    /// When the point has another length, the function results in anything but one number, or there is no memory.
    #[track_caller]
    pub fn value(&self, point: &[E]) -> Result<E> {
        self.check("value", point, [])?;
        self.programs.check_loss("value", Location::caller())?;
        let mut value = [E::ZERO];
        let mut run = self.begin(self.programs.results()?, point);
        run.result_slice(&mut value);
        run.finish()?;
        Ok(value[0])
    }

    /// The value at a point, and the gradient there, which is written: a slice as long as the point.
    ///
    /// # Errors
    ///
    /// As [`SliceFunction::value`], also where the gradient has another length.
    #[track_caller]
    pub fn value_and_grad(&self, point: &[E], gradient: &mut [E]) -> Result<E> {
        self.check("value_and_grad", point, [("gradient", gradient.len(), self.len())])?;
        self.programs.check_loss("value_and_grad", Location::caller())?;
        let mut value = [E::ZERO];
        let mut run = self.begin(self.programs.gradient()?, point);
        run.result_slice(&mut value);
        self.results_like_arguments(&mut run, gradient);
        run.finish()?;
        Ok(value[0])
    }

    /// The product of the Hessian at a point with a vector: both are as long as the point.
    ///
    /// # Errors
    ///
    /// As [`SliceFunction::value`], also where the vector or the product has another length.
    #[track_caller]
    pub fn hvp(&self, point: &[E], vector: &[E], product: &mut [E]) -> Result<()> {
        let lengths = [("vector", vector.len(), self.len()), ("product", product.len(), self.len())];
        self.check("hvp", point, lengths)?;
        self.programs.check_loss("hvp", Location::caller())?;
        let mut run = self.begin(self.programs.hvp()?, point);
        parts(vector, self.argument_types()).for_each(|part| run.argument_slice(part));
        self.results_like_arguments(&mut run, product);
        run.finish()
    }

    /// The function's [`SliceFunction::result_len`] results at a point, in their order: residuals, constraints.
    ///
    /// # Errors
    ///
    /// When a slice has another length than [`SliceFunction::len`] or [`SliceFunction::result_len`], or there is no memory.
    #[track_caller]
    pub fn residuals(&self, point: &[E], residuals: &mut [E]) -> Result<()> {
        self.check("residuals", point, [("residuals", residuals.len(), self.result_len())])?;
        let mut run = self.begin(self.programs.results()?, point);
        self.results_like_results(&mut run, residuals);
        run.finish()
    }

    /// The product of the Jacobian at a point with a tangent of the point: as many elements as the results.
    ///
    /// # Errors
    ///
    /// As [`SliceFunction::residuals`].
    #[track_caller]
    pub fn jvp(&self, point: &[E], tangent: &[E], product: &mut [E]) -> Result<()> {
        let lengths = [("tangent", tangent.len(), self.len()), ("product", product.len(), self.result_len())];
        self.check("jvp", point, lengths)?;
        let mut run = self.begin(self.programs.jvp()?, point);
        parts(tangent, self.argument_types()).for_each(|part| run.argument_slice(part));
        self.results_like_results(&mut run, product);
        run.finish()
    }

    /// The product of the transposed Jacobian at a point with a cotangent of the results: as many elements as the point.
    ///
    /// # Errors
    ///
    /// As [`SliceFunction::residuals`].
    #[track_caller]
    pub fn vjp(&self, point: &[E], cotangent: &[E], product: &mut [E]) -> Result<()> {
        let lengths = [("cotangent", cotangent.len(), self.result_len()), ("product", product.len(), self.len())];
        self.check("vjp", point, lengths)?;
        let mut run = self.begin(self.programs.vjp()?, point);
        parts(cotangent, self.programs.body.result_types()).for_each(|part| run.argument_slice(part));
        self.results_like_arguments(&mut run, product);
        run.finish()
    }

    /// Where the Jacobian of the results may have entries other than zero: for all points, and all data whose
    /// [`fixed`](crate::sparse::fixed()) arrays are these.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    #[track_caller]
    pub fn sparse_jacobian_pattern(&self) -> Result<&Pattern> {
        Ok(&self.programs.jacobian::<E>()?.pattern)
    }

    /// The entries of the Jacobian at a point, in the order of [`SliceFunction::sparse_jacobian_pattern`]: row by row.
    ///
    /// # Errors
    ///
    /// When the point or the slice of entries has the wrong length, and when there is no memory.
    #[track_caller]
    pub fn sparse_jacobian(&self, point: &[E], entries: &mut [E]) -> Result<()> {
        self.entries("sparse_jacobian", self.programs.jacobian::<E>()?, point, entries)
    }

    /// The pattern of the whole symmetric Hessian, as [`SliceFunction::sparse_jacobian_pattern`] of the Jacobian.
    ///
    /// # Errors
    ///
    /// When the function results in anything but one number, and when there is no memory.
    #[track_caller]
    pub fn sparse_hessian_pattern(&self) -> Result<&Pattern> {
        self.programs.check_loss("sparse_hessian_pattern", Location::caller())?;
        Ok(&self.programs.hessian::<E>()?.pattern)
    }

    /// The entries of the Hessian at a point, in the order of [`SliceFunction::sparse_hessian_pattern`].
    ///
    /// # Errors
    ///
    /// As [`SliceFunction::sparse_jacobian`], and when the function results in anything but one number.
    #[track_caller]
    pub fn sparse_hessian(&self, point: &[E], entries: &mut [E]) -> Result<()> {
        self.programs.check_loss("sparse_hessian", Location::caller())?;
        self.entries("sparse_hessian", self.programs.hessian::<E>()?, point, entries)
    }

    #[track_caller]
    fn entries(&self, operation: &str, matrix: &MatrixProgram, point: &[E], entries: &mut [E]) -> Result<()> {
        self.check(operation, point, [("entries", entries.len(), matrix.pattern.nonzeros())])?;
        let Some(program) = &matrix.entries else { return Ok(()) };
        let mut run = self.begin(program, point);
        run.result_slice(entries);
        run.finish()
    }

    /// Checks the lengths of the point and of others.
    #[track_caller]
    fn check<const N: usize>(&self, operation: &str, point: &[E], others: [(&str, usize, usize); N]) -> Result<()> {
        for (name, found, expected) in [("point", point.len(), self.len())].into_iter().chain(others) {
            check_length(operation, name, found, expected, Location::caller())?;
        }
        Ok(())
    }

    fn argument_types(&self) -> impl Iterator<Item = &Type> {
        parameter_types(&self.programs.body, 0..self.programs.active)
    }

    /// A run with the point and the data.
    fn begin<'a>(&'a self, program: &'a Program, point: &'a [E]) -> Run<'a> {
        let mut run = program.begin();
        parts(point, self.argument_types()).for_each(|part| run.argument_slice(part));
        self.data.iter().for_each(|array| run.argument(array));
        run
    }

    fn results_like_arguments<'a>(&self, run: &mut Run<'a>, elements: &'a mut [E]) {
        parts_mut(elements, self.argument_types()).for_each(|part| run.result_slice(part));
    }

    fn results_like_results<'a>(&self, run: &mut Run<'a>, elements: &'a mut [E]) {
        parts_mut(elements, self.programs.body.result_types()).for_each(|part| run.result_slice(part));
    }
}

/// Programs made at once, and not at the first call that needs them.
impl<E: Float> SliceFunction<E> {
    /// Makes the programs of [`SliceFunction::value`] and [`SliceFunction::value_and_grad`] now, and gives the function back.
    ///
    /// # Errors
    ///
    /// As these.
    #[track_caller]
    pub fn with_gradient(self) -> Result<SliceFunction<E>> {
        self.programs.check_loss("with_gradient", Location::caller())?;
        self.programs.results()?;
        self.programs.gradient()?;
        Ok(self)
    }

    /// Makes the program of [`SliceFunction::hvp`].
    ///
    /// # Errors
    ///
    /// As that.
    #[track_caller]
    pub fn with_hvp(self) -> Result<SliceFunction<E>> {
        self.programs.check_loss("with_hvp", Location::caller())?;
        self.programs.hvp()?;
        Ok(self)
    }

    /// Makes the programs of [`SliceFunction::residuals`], [`SliceFunction::jvp`] and [`SliceFunction::vjp`].
    ///
    /// # Errors
    ///
    /// As these.
    #[track_caller]
    pub fn with_products(self) -> Result<SliceFunction<E>> {
        self.programs.results()?;
        self.programs.jvp()?;
        self.programs.vjp()?;
        Ok(self)
    }

    /// Finds the pattern of the Jacobian, and makes the program of [`SliceFunction::sparse_jacobian`].
    ///
    /// # Errors
    ///
    /// As that.
    #[track_caller]
    pub fn with_sparse_jacobian(self) -> Result<SliceFunction<E>> {
        self.programs.jacobian::<E>()?;
        Ok(self)
    }

    /// Finds the pattern of the Hessian, and makes the program of [`SliceFunction::sparse_hessian`].
    ///
    /// # Errors
    ///
    /// As that.
    #[track_caller]
    pub fn with_sparse_hessian(self) -> Result<SliceFunction<E>> {
        self.programs.check_loss("with_sparse_hessian", Location::caller())?;
        self.programs.hessian::<E>()?;
        Ok(self)
    }
}

impl<E: Float> Clone for SliceFunction<E> {
    fn clone(&self) -> SliceFunction<E> {
        SliceFunction { programs: self.programs.clone(), data: self.data.clone(), element: PhantomData }
    }
}

impl<E: Float> fmt::Debug for SliceFunction<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SliceFunction")
            .field("len", &self.len())
            .field("result_len", &self.result_len())
            .finish_non_exhaustive()
    }
}

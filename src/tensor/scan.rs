//! Loops that carry values from step to step.

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::error::Error;
use crate::shape::{DType, Shape, Type};
use crate::tensor::structure::stack_columns;
use crate::tensor::tree::{check_same_structure, check_same_trees};
use crate::tensor::{Element, Family, Rank, Tensor, Tree, duplicate, hollow, refuse};
use crate::term::Scan;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::Location;

/// Trees that a loop reads slice by slice along the outermost axis: tensors, batches of structs, and tuples, `Vec`s, `Option`s
/// and Rust arrays of such.
#[diagnostic::on_unimplemented(
    message = "a loop can not read `{Self}` slice by slice",
    note = "inputs of a loop are tensors, and tuples, `Vec`s, `Option`s and Rust arrays of tensors",
    note = "structs are read from a `Batch`, which `stack_trees` makes"
)]
pub trait Sliced<A: Algebra>: Tree<A> {
    /// The tree of one slice.
    type Slice: Tree<A>;
    /// A tree of slices from its arrays.
    fn slice_from(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> Self::Slice;
}

/// Trees that a loop writes slice by slice along a new outermost axis: tensors, structs with `#[derive(Tree)]`, and tuples,
/// `Vec`s, `Option`s and Rust arrays of such.
#[diagnostic::on_unimplemented(
    message = "a loop can not stack `{Self}`",
    note = "outputs of a loop are tensors, structs with `#[derive(Tree)]`, and tuples, `Vec`s, `Option`s and Rust arrays of such"
)]
pub trait Stacked<A: Algebra>: Tree<A> {
    /// The tree of all slices.
    type Stack: Tree<A>;
    /// A tree of stacks from its arrays.
    fn stack_from(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> Self::Stack;
}

fn next<A: Algebra, E: Element, R: Rank>(leaves: &mut dyn Iterator<Item = A::Array>) -> Tensor<A, E, R> {
    Tensor::wrap(leaves.next().expect("as many arrays as the tree has places"))
}

impl<A: Algebra, E: Element, R: Rank> Sliced<A> for Tensor<A, E, R> {
    type Slice = Tensor<A, E, R::Smaller>;
    fn slice_from(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> Self::Slice {
        next(leaves)
    }
}

impl<A: Algebra, E: Element, R: Rank> Stacked<A> for Tensor<A, E, R> {
    type Stack = Tensor<A, E, R::Larger>;
    fn stack_from(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> Self::Stack {
        next(leaves)
    }
}

macro_rules! containers {
    ($($trait:ident $ty:ident $method:ident;)*) => {
        $(
            impl<A: Algebra, T: $trait<A>> $trait<A> for Vec<T> {
                type $ty = Vec<T::$ty>;
                fn $method(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> Self::$ty {
                    self.iter().map(|part| part.$method(leaves)).collect()
                }
            }

            impl<A: Algebra, T: $trait<A>> $trait<A> for Option<T> {
                type $ty = Option<T::$ty>;
                fn $method(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> Self::$ty {
                    self.as_ref().map(|part| part.$method(leaves))
                }
            }

            impl<A: Algebra, T: $trait<A>, const N: usize> $trait<A> for [T; N] {
                type $ty = [T::$ty; N];
                fn $method(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> Self::$ty {
                    std::array::from_fn(|at| self[at].$method(leaves))
                }
            }

            impl<A: Algebra> $trait<A> for () {
                type $ty = ();
                fn $method(&self, _: &mut dyn Iterator<Item = A::Array>) {}
            }

            containers!(@tuples $trait $ty $method (T a););
            containers!(@tuples $trait $ty $method (T a, U b););
            containers!(@tuples $trait $ty $method (T a, U b, V c););
            containers!(@tuples $trait $ty $method (T a, U b, V c, W d););
            containers!(@tuples $trait $ty $method (T a, U b, V c, W d, X e););
            containers!(@tuples $trait $ty $method (T a, U b, V c, W d, X e, Y f););
            containers!(@tuples $trait $ty $method (T a, U b, V c, W d, X e, Y f, Z g););
            containers!(@tuples $trait $ty $method (T a, U b, V c, W d, X e, Y f, Z g, S h););
        )*
    };
    (@tuples $trait:ident $ty:ident $method:ident ($($name:ident $x:ident),*);) => {
        impl<A: Algebra, $($name: $trait<A>),*> $trait<A> for ($($name,)*) {
            type $ty = ($($name::$ty,)*);
            fn $method(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> Self::$ty {
                let ($($x,)*) = self;
                ($($x.$method(leaves),)*)
            }
        }
    };
}

containers! {
    Sliced Slice slice_from;
    Stacked Stack stack_from;
}

/// A loop of `n` steps. Each takes the value that the step before passed on and one slice of every input, and gives the value
/// that it passes on and one slice of every output. The result is the value that the last step passed on, and the outputs along
/// a new outermost axis. A step owns the value that it is given, so that an eager algebra writes into it in place.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([1.0, 2.0, 3.0]);
/// let (sum, before) = scan(scalar(0.0), &x, 3, |sum: Scalar<_, f64>, x| (&sum + x, sum));
/// assert_eq!((sum.item(), before.to_vec()), (6.0, vec![0.0, 1.0, 3.0]));
/// ```
///
/// The inputs have `n` slices; the passed value keeps its shapes. The closure may use whatever arrays it captures. An eager
/// algebra runs the closure for every step; a staged one runs it once and keeps the loop rolled. Staged loops may be nested
/// [`MAX_NESTING`](crate::term::MAX_NESTING) deep.
///
/// # Panics
///
/// When an input has another number of slices, a step passes on a value of another structure or shapes, or the outputs of two
/// steps differ; staged, that is recorded instead.
#[track_caller]
pub fn scan<A: Algebra, C: Tree<A>, X: Sliced<A>, Y: Stacked<A>>(
    carry: C,
    inputs: &X,
    n: usize,
    step: impl Fn(C, X::Slice) -> (C, Y),
) -> (C, Y::Stack) {
    scan_as(("scan", Location::caller()), false, carry, inputs, n, &step)
}

/// As [`scan`], from the last slice to the first: the first step reads and writes the last slice.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([1.0, 2.0, 3.0]);
/// let (_, after) = scan_reverse(scalar(0.0), &x, 3, |sum: Scalar<_, f64>, x| (&sum + x, sum));
/// assert_eq!(after.to_vec(), [5.0, 3.0, 0.0]);
/// ```
///
/// # Panics
///
/// As [`scan`].
#[track_caller]
pub fn scan_reverse<A: Algebra, C: Tree<A>, X: Sliced<A>, Y: Stacked<A>>(
    carry: C,
    inputs: &X,
    n: usize,
    step: impl Fn(C, X::Slice) -> (C, Y),
) -> (C, Y::Stack) {
    scan_as(("scan_reverse", Location::caller()), true, carry, inputs, n, &step)
}

/// A loop's step on arrays, with the facts about the trees that it needs.
pub(super) struct Untyped<A: Algebra, C: Tree<A>, X: Sliced<A>, Y: Stacked<A>> {
    name: &'static str,
    place: &'static Location<'static>,
    carry: C,
    inputs: X,
    carry_types: Vec<Type>,
    /// The outputs of a step.
    outputs: RefCell<Option<Y>>,
    algebra: PhantomData<A>,
}

impl<A: Algebra, C: Tree<A>, X: Sliced<A>, Y: Stacked<A>> Untyped<A, C, X, Y> {
    pub(super) fn new(name: &'static str, place: &'static Location<'static>, carry: C, inputs: &X) -> Self {
        let carry_types = carry.types();
        let (inputs, outputs) = (duplicate(inputs), RefCell::new(None));
        Untyped { name, place, carry, inputs, carry_types, outputs, algebra: PhantomData }
    }

    pub(super) fn carries(&self) -> Vec<A::Array> {
        self.carry.leaves()
    }

    /// Takes the initial carries out, for loops that run at once.
    pub(super) fn take_carries(&mut self) -> Vec<A::Array> {
        let carries = self.carries();
        self.carry = hollow(&self.carry);
        carries
    }

    pub(super) fn report(&self, problem: String, ty: Type) -> A::Array {
        A::fail(Error::operands(self.name, problem, self.place), ty)
    }

    /// The inputs, each of which has `n` slices.
    pub(super) fn sources(&self, n: usize) -> Vec<A::Array> {
        let mut sources = self.inputs.leaves();
        for source in &mut sources {
            let ty = A::type_of(source);
            if ty.shape.first() != Some(&n) {
                let problem = format!("an input of shape {:?} in a loop of {n} steps", &ty.shape[..]);
                // A placeholder with as many slices, so that the loop can go on.
                let mut shape = Shape::from_slice(ty.shape.get(1..).unwrap_or(&[]));
                shape.insert(0, n);
                *source = self.report(problem, Type { dtype: ty.dtype, shape });
            }
        }
        sources
    }

    /// The types of a step's carries and slices.
    pub(super) fn parameters(&self, sources: &[A::Array]) -> Vec<Type> {
        let mut parameters = self.carry_types.clone();
        for source in sources {
            let mut ty = A::type_of(source);
            ty.shape.remove(0);
            parameters.push(ty);
        }
        parameters
    }

    /// One step: carries and slices to carries and outputs.
    pub(super) fn step(&self, mut arrays: Vec<A::Array>, step: &dyn Fn(C, X::Slice) -> (C, Y)) -> Vec<A::Array> {
        let slices = arrays.split_off(self.carry_types.len());
        let before = C::Family::rebuild::<A, A>(&self.carry, &mut arrays.into_iter());
        let (mut after, output) = step(before, self.inputs.slice_from(&mut slices.into_iter()));
        if let Err(problem) = check_same_trees(&self.carry, &after) {
            let problem = format!("what a step is given and what it passes on differ: {problem}");
            let placeholders = refuse::<A>(self.name, problem, &self.carry_types, self.place);
            after = C::Family::rebuild::<A, A>(&self.carry, &mut placeholders.into_iter());
        }
        let mut results = after.leaves();
        results.extend(output.leaves());
        *self.outputs.borrow_mut() = Some(output);
        results
    }

    /// Reports stacks of so many outputs of these types that are larger than can be.
    pub(super) fn check_stacks<'t>(&self, outputs: impl Iterator<Item = &'t Type>, n: usize) {
        for ty in outputs {
            let mut stacked = ty.clone();
            stacked.shape.insert(0, n);
            if let Err(problem) = stacked.check_size() {
                self.report(problem, Type::scalar(DType::Bool));
            }
        }
    }

    /// The last carries and the stacked outputs as trees.
    pub(super) fn finish(&self, mut results: Vec<A::Array>) -> (C, Y::Stack) {
        let stacks = results.split_off(self.carry_types.len());
        let outputs = self.outputs.borrow();
        let output = outputs.as_ref().expect("a step was run");
        let carry = C::Family::rebuild::<A, A>(&self.carry, &mut results.into_iter());
        (carry, output.stack_from(&mut stacks.into_iter()))
    }
}

/// The function that the user called, and the line of the call: mistakes in a loop are reported with these.
pub(crate) type CalledFunction = (&'static str, &'static Location<'static>);

/// As [`scan`], from the last slice to the first if `reverse`; mistakes are reported for the called function.
#[track_caller]
pub(crate) fn scan_as<A: Algebra, C: Tree<A>, X: Sliced<A>, Y: Stacked<A>>(
    (name, place): CalledFunction,
    reverse: bool,
    carry: C,
    inputs: &X,
    n: usize,
    step: &dyn Fn(C, X::Slice) -> (C, Y),
) -> (C, Y::Stack) {
    let mut untyped = Untyped::<A, C, X, Y>::new(name, place, carry, inputs);
    let sources = untyped.sources(n);
    let traced = A::trace_body(&untyped.parameters(&sources), false, &mut |arrays| {
        let slices = &arrays[untyped.carry_types.len()..];
        slices.iter().zip(&sources).for_each(|(slice, source)| A::slice_of(slice, source));
        untyped.step(arrays, step)
    });
    let results = match traced {
        Some((closed, captures)) => {
            let first = untyped.carries();
            untyped.check_stacks(closed.result_types().skip(first.len()), n);
            let scan = Scan { body: closed, carries: first.len(), inputs: sources.len(), length: n, reverse };
            A::scan_source(scan, first, sources, captures)
        }
        None => {
            let first = untyped.take_carries();
            let mut body = |arrays: Vec<A::Array>| untyped.step(arrays, step);
            run::<A>((name, place), first, &sources, (n, reverse), &mut body)
        }
    };
    untyped.finish(results)
}

/// The eager loop, untyped: final carries, then stacked outputs.
fn run<A: Algebra>(
    (name, place): CalledFunction,
    mut carries: Vec<A::Array>,
    inputs: &[A::Array],
    (n, reverse): (usize, bool),
    body: &mut dyn FnMut(Vec<A::Array>) -> Vec<A::Array>,
) -> Vec<A::Array> {
    let count = carries.len();
    let mut rows: Vec<Vec<A::Array>> = Vec::new();
    // A loop of no steps runs one on slices that are out of bounds, thus 0, to see the types of its outputs.
    for step in 0..n.max(1) {
        let position = if reverse { n.max(1) - 1 - step } else { step };
        // A step has the only handles on its carries; the step for the types alone does not.
        let mut arrays = if n > 0 { std::mem::take(&mut carries) } else { carries.clone() };
        for input in inputs {
            let map = AffineMap::pick(&A::shape(input), 0, position as i64);
            arrays.push(A::view(input.clone(), &map));
        }
        let mut results = body(arrays);
        let mut outputs = results.split_off(count);
        if let Some(earlier) = rows.first() {
            let types = |arrays: &[A::Array]| -> Vec<Type> { arrays.iter().map(A::type_of).collect() };
            let expected = types(earlier);
            if let Err(problem) = check_same_structure(&expected, &types(&outputs)) {
                let problem = format!("the outputs of two steps differ: {problem}");
                outputs = refuse::<A>(name, problem, &expected, place);
            }
        }
        rows.push(outputs);
        if n > 0 {
            carries = results;
        }
    }
    if reverse {
        rows.reverse();
    }
    let width = rows[0].len();
    let _place = ReportedAt::place(place);
    if n > 0 {
        carries.extend(stack_columns::<A>(&rows, width));
        return carries;
    }
    for output in &rows[0] {
        let mut ty = A::type_of(output);
        ty.shape.insert(0, 0);
        carries.push(A::zeros(&ty));
    }
    carries
}

//! Choices: of elements by a mask, of computations by a condition.

use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::shape::{DType, Shape, Type};
use crate::tensor::apply::{align, broadcast_shape, fail_array, stretch};
use crate::tensor::tree::check_same_trees;
use crate::tensor::{Element, Family, Max, Operand, R0, Rank, Tensor, Tree, refuse};
use std::borrow::Borrow;

impl<A: Algebra, M: Rank> Tensor<A, bool, M> {
    /// The element of `yes` where this mask is true, else the element of `no`; arrays and literals broadcast together. The side
    /// not taken influences neither values nor derivatives.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([-4.0, 9.0]);
    /// assert_eq!(x.gt(0.0).select(x.sqrt(), 0.0).to_vec(), [0.0, 3.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the shapes do not broadcast together; staged, that is recorded instead.
    #[track_caller]
    pub fn select<E: Element, Y, N>(&self, yes: Y, no: N) -> Tensor<A, E, <N::Rank as Max<M>>::Output>
    where
        Y: Operand<A, E, R0>,
        N: Operand<A, E, Y::Rank, Rank: Max<M>>,
    {
        let yes = yes.into_operand(&self.array);
        let no = no.into_operand(&yes);
        let dtype = E::DTYPE;
        let (yes, no) = match align::<A>(yes, no) {
            Ok(aligned) => aligned,
            Err((problem, shape)) => return self.select_failure(problem, shape),
        };
        match align::<A>(self.array.clone(), yes) {
            Ok((mask, yes)) => {
                let no = stretch::<A>(no, &A::shape(&mask));
                debug_assert_eq!(A::dtype(&no), dtype);
                Tensor::wrap(A::select(mask, yes, no))
            }
            Err((problem, shape)) => self.select_failure(problem, shape),
        }
    }

    #[track_caller]
    fn select_failure<E: Element, R: Rank>(&self, problem: String, shape: Shape) -> Tensor<A, E, R> {
        super::apply::fail("select", problem, &shape)
    }
}

/// Chooses between the arrays of two trees of one structure by a mask, which broadcasts to each of them: see
/// [`Tensor::select`], which takes literals too.
///
/// ```
/// # use deltaray::prelude::*;
/// let (x, y) = ((Vector::from([1.0, 2.0]), scalar(3.0)), (Vector::from([4.0, 5.0]), scalar(6.0)));
/// let (vector, number) = select(scalar(false), &x, &y);
/// assert_eq!((vector.to_vec(), number.item()), (vec![4.0, 5.0], 6.0));
/// ```
///
/// # Panics
///
/// When the trees differ in structure or shapes, or the mask does not broadcast to an array; staged, that is recorded instead.
#[track_caller]
pub fn select<A: Algebra, M: Rank, T: Tree<A>>(mask: impl Borrow<Tensor<A, bool, M>>, yes: &T, no: &T) -> T {
    let types = yes.types();
    let mask = mask.borrow();
    let shape = mask.shape();
    let mut problem = check_same_trees(yes, no).err();
    for ty in &types {
        if problem.is_none() && broadcast_shape(&shape, &ty.shape).as_ref() != Some(&ty.shape) {
            problem = Some(format!("a mask of shape {:?} does not broadcast to {ty}", &shape[..]));
        }
    }
    if let Some(problem) = problem {
        return fail_tree("select", problem, yes);
    }
    let _place = ReportedAt::caller();
    let mut chosen = yes.leaves().into_iter().zip(no.leaves()).map(|(yes, no)| {
        let mask = stretch::<A>(mask.array.clone(), &A::shape(&yes));
        A::select(mask, yes, no)
    });
    T::Family::rebuild::<A, A>(yes, &mut chosen)
}

/// Reports a problem; where that returns, the result is a tree of placeholders.
#[track_caller]
fn fail_tree<A: Algebra, T: Tree<A>>(name: &str, problem: String, like: &T) -> T {
    let reported = fail_array::<A>(name, problem, like.types().first().cloned().unwrap_or(Type::scalar(DType::Bool)));
    let mut leaves = like.leaves();
    if let Some(first) = leaves.first_mut() {
        *first = reported;
    }
    T::Family::rebuild::<A, A>(like, &mut leaves.into_iter())
}

/// The result of the first closure where the condition is true, else the result of the second; both are trees of one structure.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([3.0, 4.0]);
/// let size = cond(x.sum().gt(0.0), || x.sum(), || x.product());
/// assert_eq!(size.item(), 7.0);
/// ```
///
/// An eager algebra runs the chosen closure only; a staged one runs each of them once, and the program chooses. In every
/// algebra the side not taken influences neither values nor derivatives.
///
/// When staged, a conditional keeps both sides as bodies if a side has a loop, a contraction, linear algebra, or a write into or a
/// reduction of an array of 64 elements or more. Such conditionals may be nested [`MAX_NESTING`](crate::term::MAX_NESTING) deep.
/// Others choose between values, and nest to any depth.
///
/// # Errors
///
/// Sides that differ in structure or shapes, which only a staged algebra sees: the error is recorded.
#[track_caller]
pub fn cond<A: Algebra, T: Tree<A>>(
    condition: impl Borrow<Tensor<A, bool, R0>>,
    then: impl FnOnce() -> T,
    otherwise: impl FnOnce() -> T,
) -> T {
    let condition = condition.borrow();
    if let Some(holds) = A::holds(&condition.array) {
        return marked(if holds { then() } else { otherwise() });
    }
    let (mut then, mut otherwise) = (Some(then), Some(otherwise));
    let mut then = || (then.take().expect("a side is run once"))();
    let mut otherwise = || (otherwise.take().expect("a side is run once"))();
    traced(condition, &mut then, &mut otherwise, std::panic::Location::caller())
}

#[track_caller]
fn marked<A: Algebra, T: Tree<A>>(chosen: T) -> T {
    let mut marked = chosen.leaves().into_iter().map(A::mark);
    T::Family::rebuild::<A, A>(&chosen, &mut marked)
}

/// The conditional as a term, in an algebra that does not know its values.
#[track_caller]
fn traced<A: Algebra, T: Tree<A>>(
    condition: &Tensor<A, bool, R0>,
    then: &mut dyn FnMut() -> T,
    otherwise: &mut dyn FnMut() -> T,
    place: &'static std::panic::Location<'static>,
) -> T {
    let mut first: Option<T> = None;
    let yes = A::trace_body(&[], true, &mut |_| first.insert(then()).leaves());
    let like = first.expect("an algebra that does not know its values traces functions");
    let no = A::trace_body(&[], true, &mut |_| {
        let tree = otherwise();
        match check_same_trees(&like, &tree) {
            Ok(()) => tree.leaves(),
            Err(problem) => {
                let problem = format!("the two sides differ: {problem}");
                refuse::<A>("cond", problem, &like.types(), place)
            }
        }
    });
    // A closure would hide the user's line.
    let _place = ReportedAt::place(ReportedAt::or(place));
    let traced = yes.zip(no).map(|(yes, no)| A::cond_source(condition.array.clone(), yes, no));
    let results = traced.expect("an algebra that does not know its values traces functions");
    T::Family::rebuild::<A, A>(&like, &mut results.into_iter())
}

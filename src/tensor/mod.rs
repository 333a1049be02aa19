//! The types that users hold: arrays with their element type and rank in the type, operators, indexing, loops and trees.
//!
//! A [`Tensor`] is an array of some [`Algebra`] together with two phantom types. A mistake in element type or rank is a
//! compile error; shapes are checked when the program runs, or is staged: every method checks with the shape rules of
//! [`crate::term::infer`] and then calls the algebra. The algebra decides how to report operands that don't fit: eager ones
//! panic at the user's line, a staged one records the error.

pub(crate) mod apply;
mod arithmetic;
mod associative;
#[doc(hidden)]
pub mod attribute;
mod batch;
mod build;
mod combination;
mod condition;
mod construct;
mod convert;
mod cumulative;
mod element;
mod elementwise;
mod hints;
mod index;
mod maps;
mod moving;
mod operators;
mod outline;
mod product;
mod rank;
mod ravel;
mod recurrence;
mod reduce;
mod rest;
mod scan;
mod scatter;
mod segments;
mod sort;
mod structure;
mod subscript;
mod tree;
mod while_loop;
mod write;

pub use crate::term::Checkpoints;
pub(crate) use apply::{broadcast_shape, check_axis, refuse};
pub use arithmetic::{TreeArithmetic, TreeFactor};
pub use associative::{
    associative_scan, associative_scan_axis, associative_scan_reverse, associative_scan_reverse_axis, fold,
    fold_reverse, iterate, reduce, reduce_axis,
};
pub use batch::{Batch, stack_trees, unstack_trees};
pub use build::{Extents, build};
pub use condition::{cond, select};
pub use construct::{constant, eye, full, iota, ones, scalar, zeros};
pub use element::{Element, Float, Integer, Number};
pub use index::{Index, IndexArrays, Position};
pub use moving::{MovingPart, MovingSlice, MovingSubscript, MovingVector};
pub use operators::{Bits, Operand};
pub use outline::Outline;
pub use product::Dot;
pub use rank::{IntoShape, Max, OfDimension, R0, R1, R2, R3, R4, R5, R6, RDyn, Rank};
pub use ravel::{Unravel, ravel};
pub(crate) use ravel::{flatten, unflatten};
pub use recurrence::linear_recurrence;
pub use rest::Rest;
pub(crate) use scan::scan_as;
pub use scan::{Sliced, Stacked, scan, scan_reverse};
pub use scatter::{Masked, masked};
pub use segments::{Segments, reduce_by_index, reduce_by_index_axis, reduce_segments, reduce_segments_axis};
pub(crate) use structure::move_axis;
pub use structure::{AxisList, concatenate, stack};
pub use subscript::{Part, Subscript};
pub use tree::{Args, Family, Tree, check_same_structure, check_same_trees, duplicate, rebuild_field};
pub(crate) use tree::{check_same_parts, hollow, outline_of};
pub use while_loop::{WHILE_LOOP_BYTES, checkpoint, while_loop};

use crate::algebra::{Algebra, ForwardArray, NestedArray};
use crate::shape::{Shape, Type};
use std::marker::PhantomData;

/// An array of an algebra, with elements of type `E` and as many axes as `R` says.
///
/// A handle that is cheap to clone. Operators take values and references; a value gives its buffer away where nobody else
/// holds it.
///
/// # Comparing
///
/// Rust's `<`, `>` and `==` result in one `bool`, and a function that is staged has no values yet. So comparisons are methods
/// that result in an array of `bool`: [`lt`](Tensor::lt), [`le`](Tensor::le), [`gt`](Tensor::gt), [`ge`](Tensor::ge),
/// [`equal`](Tensor::equal) and [`not_equal`](Tensor::not_equal), with an array or a literal. Choose by the result with
/// [`select`](Tensor::select), element by element, or with [`cond`], by one condition; combine masks by `&`, `|`, `^` and `!`.
/// `x > 1.0` does not compile, and only plain arrays compare as wholes by `==`, for tests.
///
/// ```
/// use deltaray::prelude::*;
///
/// fn leaky<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
///     x.gt(0.0).select(x, 0.1 * x)
/// }
/// let x = Vector::from(vec![-10.0, 0.0, 2.0]);
/// assert_eq!(leaky(&x), Vector::from(vec![-1.0, 0.0, 2.0]));
/// assert_eq!((x.ge(0.0) & x.lt(1.0)).to_vec(), [false, true, false]);
/// assert!(x.lt(5.0).all().item());
/// ```
///
/// # Panics
///
/// Operands that do not fit, such as shapes that do not broadcast together or an axis that is not there, make a method panic
/// with a message that names the caller's line, as do arrays of more than `isize::MAX` bytes. In a function that is
/// [staged](crate::derivative::stage) no method panics for that: the problem is recorded, and `stage` returns it as an `Err`.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([1.0, 2.0]);
/// let message = stage(|x: &Vector<_, f64>| x.slice(0, 1..9), &x).err().unwrap().to_string();
/// assert!(message.contains("range 1..9 goes beyond axis 0 in shape [2]"));
/// ```
pub struct Tensor<A: Algebra, E: Element, R: Rank> {
    array: A::Array,
    types: PhantomData<fn() -> (E, R)>,
}

/// An array without axes.
pub type Scalar<A, E> = Tensor<A, E, R0>; // `Scalar<f64>` is for functions with `#[differentiable]`
/// An array of one axis.
pub type Vector<A, E> = Tensor<A, E, R1>; // `Vector<f64>` is for functions with `#[differentiable]`
/// An array of two axes.
pub type Matrix<A, E> = Tensor<A, E, R2>; // `Matrix<f64>` is for functions with `#[differentiable]`
/// An array of three axes.
pub type Tensor3<A, E> = Tensor<A, E, R3>; // `Tensor3<f64>` is for functions with `#[differentiable]`
/// An array of four axes.
pub type Tensor4<A, E> = Tensor<A, E, R4>; // `Tensor4<f64>` is for functions with `#[differentiable]`
/// An array of five axes.
pub type Tensor5<A, E> = Tensor<A, E, R5>; // `Tensor5<f64>` is for functions with `#[differentiable]`
/// An array of six axes.
pub type Tensor6<A, E> = Tensor<A, E, R6>; // `Tensor6<f64>` is for functions with `#[differentiable]`
/// An array of any number of axes.
pub type TensorD<A, E> = Tensor<A, E, RDyn>; // `TensorD<f64>` is for functions with `#[differentiable]`

impl<A: Algebra, E: Element, R: Rank> Clone for Tensor<A, E, R> {
    fn clone(&self) -> Self {
        Tensor::wrap(self.array.clone())
    }
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// The typed handle of an array that is known to have this element type and rank.
    pub(crate) fn wrap(array: A::Array) -> Self {
        debug_assert_eq!(A::dtype(&array), E::DTYPE);
        debug_assert!(R::NDIM.is_none_or(|ndim| A::shape(&array).len() == ndim));
        Tensor { array, types: PhantomData }
    }

    /// The typed handle of an untyped array, or `None` where the array has another element type or number of axes.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let array = Vector::from([1.0, 2.0]).into_array();
    /// assert_eq!(Vector::<Concrete, f64>::from_array(array.clone()), Some(Vector::from([1.0, 2.0])));
    /// assert_eq!(Matrix::<Concrete, f64>::from_array(array), None);
    /// ```
    pub fn from_array(array: A::Array) -> Option<Self> {
        let ty = A::type_of(&array);
        (ty.dtype == E::DTYPE && R::NDIM.is_none_or(|ndim| ndim == ty.rank()))
            .then_some(Tensor { array, types: PhantomData })
    }

    /// The untyped array, which the methods of [`Algebra`] take.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0]);
    /// assert_eq!(Concrete::shape(x.array())[..], [2]);
    /// ```
    pub fn array(&self) -> &A::Array {
        &self.array
    }

    /// The untyped array, whose element type and rank must not change.
    pub(crate) fn array_mut(&mut self) -> &mut A::Array {
        &mut self.array
    }

    /// The untyped array, by value: see [`Tensor::from_array`] for the way back.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let array = Vector::from([1.0, 2.0]).into_array();
    /// assert_eq!(Concrete::shape(&array)[..], [2]);
    /// ```
    pub fn into_array(self) -> A::Array {
        self.array
    }

    /// The extents of the axes, outermost first. They are plain numbers in staged functions too.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a = Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(a.shape()[..], [2, 3]);
    /// ```
    pub fn shape(&self) -> Shape {
        A::shape(&self.array)
    }

    /// The element type and the shape in one value, which prints as in error messages.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a = Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(a.ty().to_string(), "f64[2, 3]");
    /// ```
    pub fn ty(&self) -> Type {
        A::type_of(&self.array)
    }

    /// The number of axes: 0 for a scalar, 1 for a vector.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).rank(), 2);
    /// ```
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// The extent of the outermost axis, as of a Rust slice; 1 for a scalar. [`Tensor::size`] counts the elements.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.shape().first().copied().unwrap_or(1)
    }

    /// Whether there are no elements, as where one of the extents is 0.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let none: Matrix<Concrete, f64> = zeros((3, 0));
    /// assert!(none.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// The number of elements, the product of the extents; 1 for a scalar.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).size(), 6);
    /// ```
    pub fn size(&self) -> usize {
        crate::shape::size(&self.shape())
    }

    /// The array as a constant of the algebra under a reverse derivative: how a value of the outer program enters a function
    /// that [`grad`](crate::derivative::grad) or [`vjp`](crate::derivative::vjp) differentiates.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (x, weights) = (Vector::from([1.0, 2.0]), Vector::from([5.0, 7.0]));
    /// assert_eq!(grad(|x| (x * weights.lift()).sum(), &x).to_vec(), [5.0, 7.0]);
    /// ```
    #[track_caller]
    pub fn lift(&self) -> Tensor<A::Nested, E, R> {
        let array: NestedArray<A> = A::lift(self.array.clone());
        Tensor::wrap(array)
    }

    /// The array as a constant of the algebra under a forward derivative: how a value of the outer program enters a function
    /// that [`jvp`](crate::derivative::jvp) differentiates.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (x, weights) = (Vector::from([1.0, 2.0]), Vector::from([5.0, 7.0]));
    /// let (_, tangent) = jvp(|x| x * weights.lift_forward(), &x, &ones(2));
    /// assert_eq!(tangent.to_vec(), [5.0, 7.0]);
    /// ```
    #[track_caller]
    pub fn lift_forward(&self) -> Tensor<A::Forward, E, R> {
        let array: ForwardArray<A> = A::lift_forward(self.array.clone());
        Tensor::wrap(array)
    }

    /// The same array with its rank forgotten by the type. [`Tensor::into_rank`] is the way back.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a: TensorD<Concrete, f64> = Matrix::from([[1.0, 2.0]]).into_dyn();
    /// assert_eq!(a.rank(), 2);
    /// ```
    pub fn into_dyn(self) -> TensorD<A, E> {
        Tensor::wrap(self.array)
    }

    /// The same array with its rank stated otherwise by the type.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let a: TensorD<Concrete, f64> = Matrix::from([[1.0, 2.0]]).into_dyn();
    /// assert_eq!(a.into_rank::<R2>(), [[1.0, 2.0]].into());
    /// ```
    ///
    /// # Panics
    ///
    /// When the array does not have as many axes; staged, that is recorded instead.
    #[track_caller]
    pub fn into_rank<S: Rank>(self) -> Tensor<A, E, S> {
        let shape = self.shape();
        match S::NDIM {
            Some(ndim) if ndim != shape.len() => {
                apply::fail("into_rank", format!("shape {:?} has not {ndim} axes", &shape[..]), &shape)
            }
            _ => Tensor::wrap(self.array),
        }
    }
}

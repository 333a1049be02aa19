//! Arithmetic on whole trees, by their floats.

use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::operation::{Binary, Unary};
use crate::shape::{DType, Type, Value};
use crate::tensor::apply::stretch;
use crate::tensor::attribute::Literal;
use crate::tensor::operators::full_like;
use crate::tensor::{Family, Float, R0, RDyn, Scalar, Tensor, Tree, check_same_trees, refuse};
use std::panic::Location;

/// Trees as vectors: sums, multiples, products and norms over all of their floats. Integers and truth values are taken
/// unchanged from the first operand.
///
/// Import the trait by `use deltaray::tensor::TreeArithmetic;`. The prelude leaves it out because its method names are short
/// and may clash with those of other traits.
///
/// A struct with `#[derive(Tree)]` and `#[tree(arithmetic)]` has these as operators: `&a + &b`, `&a - &b`, `-&a`, `2.0 * &a`,
/// `&a * 2.0`, `&a / 2.0`, of values and of references, and `a += &b`, `a -= &b`, `a *= 2.0`, `a /= 2.0`. Factors and divisors
/// on the right are numbers or arrays without axes, such as `a.norm::<f64>()`: see [`TreeFactor`]. A struct that defines other
/// products of its own uses the methods instead.
///
/// ```
/// use deltaray::prelude::*;
/// use deltaray::tensor::TreeArithmetic;
///
/// #[derive(Tree)]
/// #[tree(arithmetic)]
/// struct Line<A: Algebra> {
///     slope: Vector<A, f64>,
///     offset: Scalar<A, f64>,
/// }
///
/// let line = Line { slope: Vector::from(vec![3.0, 0.0]), offset: scalar(4.0) };
/// let next: Line<Concrete> = &line - 0.5 * &line;
/// assert_eq!((next.slope.to_vec(), next.offset.item()), (vec![1.5, 0.0], 2.0));
/// assert_eq!(line.norm::<f64>().item(), 5.0);
/// assert_eq!(line.dot::<f64>(&next).item(), 12.5);
/// // Gradients are clipped by an array without axes.
/// let clipped = &line * (2.5 / line.norm::<f64>()).min(1.0);
/// assert_eq!((clipped.slope.to_vec(), clipped.offset.item()), (vec![1.5, 0.0], 2.0));
/// // Functions of each array say which floats they are of.
/// assert_eq!(line.map::<f64>(|x| x.powi(2)).offset.item(), 16.0);
/// let tuple = (scalar::<Concrete, f64>(1.0), scalar::<Concrete, f64>(2.0)).scaled(3.0);
/// assert_eq!((tuple.0.item(), tuple.1.item()), (3.0, 6.0));
/// ```
pub trait TreeArithmetic<A: Algebra>: Tree<A> {
    /// The sum of two trees, array by array.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// use deltaray::tensor::TreeArithmetic;
    /// let a = (Vector::from([1.0, 2.0]), Vector::from([3.0]));
    /// assert_eq!(a.plus(&a).0.to_vec(), [2.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When they differ in structure or shapes; staged, that is recorded instead.
    #[must_use]
    #[track_caller]
    fn plus(&self, other: &Self) -> Self {
        combined("plus", self, other, &|a, b| A::binary(Binary::Add, a, b))
    }

    /// The difference of two trees, array by array.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// use deltaray::tensor::TreeArithmetic;
    /// let a = (Vector::from([1.0, 2.0]), Vector::from([3.0]));
    /// assert_eq!(a.minus(&a).0.to_vec(), [0.0, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`TreeArithmetic::plus`].
    #[must_use]
    #[track_caller]
    fn minus(&self, other: &Self) -> Self {
        combined("minus", self, other, &|a, b| A::binary(Binary::Sub, a, b))
    }

    /// All floats times a number, or times an array without axes.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// use deltaray::tensor::TreeArithmetic;
    /// let a = (Vector::from([1.0, 2.0]), Vector::from([3.0]));
    /// assert_eq!(a.scaled(2.0).1.to_vec(), [6.0]);
    /// ```
    #[must_use]
    #[track_caller]
    fn scaled(&self, factor: impl TreeFactor<A>) -> Self {
        by_factor(Binary::Mul, self, &factor)
    }

    /// All floats divided by a number, or by an array without axes.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// use deltaray::tensor::TreeArithmetic;
    /// let a = (Vector::from([1.0, 2.0]), Vector::from([3.0]));
    /// assert_eq!(a.divided(a.1.sum()).1.to_vec(), [1.0]);
    /// ```
    #[must_use]
    #[track_caller]
    fn divided(&self, divisor: impl TreeFactor<A>) -> Self {
        by_factor(Binary::Div, self, &divisor)
    }

    /// All floats with the other sign.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// use deltaray::tensor::TreeArithmetic;
    /// let a = (Vector::from([1.0, 2.0]), Vector::from([3.0]));
    /// assert_eq!(a.negated().0.to_vec(), [-1.0, -2.0]);
    /// ```
    #[must_use]
    #[track_caller]
    fn negated(&self) -> Self {
        let _place = ReportedAt::caller();
        changed(self, &|array| A::unary(Unary::Neg, array))
    }

    /// The tree with a function applied to each array of floats of `E`; the function keeps the shape. Other arrays stay
    /// unchanged.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// use deltaray::tensor::TreeArithmetic;
    /// let a = (Vector::from([1.0, 2.0]), Vector::from([3.0]));
    /// assert_eq!(a.map::<f64>(|x| x.powi(2)).0.to_vec(), [1.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When a result has another shape; staged, that is recorded instead.
    #[must_use]
    #[track_caller]
    fn map<E: Float>(&self, f: impl Fn(Tensor<A, E, RDyn>) -> Tensor<A, E, RDyn>) -> Self {
        let place = Location::caller();
        let _place = ReportedAt::place(place);
        changed(self, &|array| match Tensor::from_array(array.clone()) {
            Some(tensor) => of_shape::<A>("map", f(tensor).into_array(), &array, place),
            None => array,
        })
    }

    /// The tree with a function applied to each pair of arrays of floats of `E` from the two trees; the function keeps the
    /// shape. Other arrays are those of the first.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// use deltaray::tensor::TreeArithmetic;
    /// let a = (Vector::from([1.0, 2.0]), Vector::from([3.0]));
    /// assert_eq!(a.zip_with::<f64>(&a, |x, y| x * y).1.to_vec(), [9.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`TreeArithmetic::plus`], and when a result has another shape.
    #[must_use]
    #[track_caller]
    fn zip_with<E: Float>(
        &self,
        other: &Self,
        f: impl Fn(Tensor<A, E, RDyn>, Tensor<A, E, RDyn>) -> Tensor<A, E, RDyn>,
    ) -> Self {
        let place = Location::caller();
        combined("zip_with", self, other, &|a, b| match Tensor::from_array(a.clone()).zip(Tensor::from_array(b)) {
            Some((left, right)) => of_shape::<A>("zip_with", f(left, right).into_array(), &a, place),
            None => a,
        })
    }

    /// The sum of the products of all floats, as `E`.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// use deltaray::tensor::TreeArithmetic;
    /// let a = (Vector::from([1.0, 2.0]), Vector::from([3.0]));
    /// assert_eq!(a.dot::<f64>(&a).item(), 14.0);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`TreeArithmetic::plus`].
    #[must_use]
    #[track_caller]
    fn dot<E: Float>(&self, other: &Self) -> Scalar<A, E> {
        let _place = ReportedAt::caller();
        let flat = |tree: &Self| crate::tensor::flatten::<A, E>(&floats::<A, Self>(tree));
        if let Err(problem) = check_same_trees(self, other) {
            let problem = format!("the trees differ: {problem}");
            return Tensor::wrap(refuse::<A>("dot", problem, &[Type::scalar(E::DTYPE)], Location::caller()).remove(0));
        }
        flat(self).dot(&flat(other))
    }

    /// The Euclidean norm of all floats, as `E`. Its derivatives at zero are 0; the first derivative follows the convention of
    /// `hypot`.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// use deltaray::tensor::TreeArithmetic;
    /// let a = (Vector::from([2.0, 3.0]), Vector::from([6.0]));
    /// assert_eq!(a.norm::<f64>().item(), 7.0);
    /// ```
    #[must_use]
    #[track_caller]
    fn norm<E: Float>(&self) -> Scalar<A, E> {
        let square = self.dot::<E>(self);
        // The square root is not taken at zero, where it has no derivative.
        let is_zero = square.equal(0);
        is_zero.select(0, is_zero.select(1, square).sqrt())
    }
}

impl<A: Algebra, T: Tree<A>> TreeArithmetic<A> for T {}

/// Factors of whole trees: numbers, and arrays of floats without axes, which are cast to the floats of each array.
#[diagnostic::on_unimplemented(
    message = "a tree over `{A}` is not multiplied or divided by `{Self}`",
    note = "a factor is an `f64`, an `i32`, or an array of floats without axes over the same algebra, `Scalar<{A}, f64>`",
    note = "two trees are multiplied array by array, `a.zip_with::<f64>(&b, |x, y| x * y)`; `a.dot::<f64>(&b)` is the sum of the \
            products"
)]
pub trait TreeFactor<A: Algebra> {
    /// The factor as an array of the element type and shape of another.
    fn like(&self, array: &A::Array) -> A::Array;
}

impl<A: Algebra> TreeFactor<A> for f64 {
    fn like(&self, array: &A::Array) -> A::Array {
        full_like::<A>(array, Value::from_f64(A::dtype(array), *self))
    }
}

impl<A: Algebra> TreeFactor<A> for i32 {
    fn like(&self, array: &A::Array) -> A::Array {
        TreeFactor::<A>::like(&f64::from(*self), array)
    }
}

impl<A: Algebra> TreeFactor<A> for Literal {
    fn like(&self, array: &A::Array) -> A::Array {
        TreeFactor::<A>::like(&self.0, array)
    }
}

impl<A: Algebra, E: Float> TreeFactor<A> for Tensor<A, E, R0> {
    fn like(&self, array: &A::Array) -> A::Array {
        let factor = match A::dtype(array) {
            dtype if dtype == E::DTYPE => self.array.clone(),
            DType::F32 => self.cast::<f32>().into_array(),
            _ => self.cast::<f64>().into_array(),
        };
        stretch::<A>(factor, &A::shape(array))
    }
}

impl<A: Algebra, F: TreeFactor<A>> TreeFactor<A> for &F {
    fn like(&self, array: &A::Array) -> A::Array {
        F::like(self, array)
    }
}

/// An array of the same type as another, or the placeholder for it after an error.
fn of_shape<A: Algebra>(operation: &str, array: A::Array, like: &A::Array, place: &Location<'_>) -> A::Array {
    let (found, expected) = (A::type_of(&array), A::type_of(like));
    if found == expected {
        return array;
    }
    refuse::<A>(operation, format!("{expected} became {found}"), &[expected], place).remove(0)
}

/// The arrays of floats.
fn floats<A: Algebra, T: Tree<A>>(tree: &T) -> Vec<A::Array> {
    tree.leaves().into_iter().filter(|array| A::dtype(array).is_float()).collect()
}

/// The tree with other floats.
fn changed<A: Algebra, T: Tree<A>>(tree: &T, f: &dyn Fn(A::Array) -> A::Array) -> T {
    let of = |array: A::Array| if A::dtype(&array).is_float() { f(array) } else { array };
    T::Family::rebuild::<A, A>(tree, &mut tree.leaves().into_iter().map(of))
}

/// The tree whose floats are combined with a factor.
#[track_caller]
fn by_factor<A: Algebra, T: Tree<A>>(operation: Binary, tree: &T, factor: &impl TreeFactor<A>) -> T {
    let _place = ReportedAt::caller();
    changed(tree, &|array| {
        let factor = factor.like(&array);
        A::binary(operation, array, factor)
    })
}

/// The tree with a function applied to the floats of two trees.
#[track_caller]
fn combined<A: Algebra, T: Tree<A>>(
    operation: &str,
    left: &T,
    right: &T,
    f: &dyn Fn(A::Array, A::Array) -> A::Array,
) -> T {
    let _place = ReportedAt::caller();
    if let Err(problem) = check_same_trees(left, right) {
        let arrays = refuse::<A>(operation, format!("the trees differ: {problem}"), &left.types(), Location::caller());
        return T::Family::rebuild::<A, A>(left, &mut arrays.into_iter());
    }
    let mut others = right.leaves().into_iter();
    let of = |array: A::Array| match others.next() {
        Some(other) if A::dtype(&array).is_float() => f(array, other),
        _ => array,
    };
    T::Family::rebuild::<A, A>(left, &mut left.leaves().into_iter().map(of))
}

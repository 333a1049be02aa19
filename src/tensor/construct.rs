//! Arrays from nothing: constants and positions.

use crate::algebra::Algebra;
use crate::array;
use crate::concrete::Concrete;
use crate::shape::Type;
use crate::tensor::apply::{apply, fail};
use crate::tensor::{Element, Family, IntoShape, Number, R0, R1, R2, Tensor, Tree};
use crate::term::Op;

/// The array `[0, 1, .., n-1]` of `i64`.
///
/// ```
/// # use deltaray::prelude::*;
/// let positions: Vector<Concrete, i64> = iota(3);
/// assert_eq!(positions.to_vec(), [0, 1, 2]);
/// ```
///
/// # Panics
///
/// As [`full`].
#[track_caller]
pub fn iota<A: Algebra>(n: usize) -> Tensor<A, i64, R1> {
    apply("iota", Op::Iota(n), [])
}

/// The array of a shape whose elements all have one value; it takes no memory for them.
///
/// ```
/// # use deltaray::prelude::*;
/// let x: Matrix<Concrete, f64> = full((2, 2), 7.0);
/// assert_eq!(x.to_vec(), [7.0; 4]);
/// ```
///
/// # Panics
///
/// When no memory could hold such a shape, of more than `isize::MAX` bytes; staged, that is recorded instead.
#[track_caller]
pub fn full<A: Algebra, E: Element, S: IntoShape>(shape: S, value: E) -> Tensor<A, E, S::Rank> {
    filled("full", shape, value)
}

/// The array of a shape whose elements are 0, or `false`; as [`full`].
///
/// ```
/// # use deltaray::prelude::*;
/// let x: Vector<Concrete, f64> = zeros(3);
/// assert_eq!(x.to_vec(), [0.0; 3]);
/// ```
///
/// # Panics
///
/// As [`full`].
#[track_caller]
pub fn zeros<A: Algebra, E: Element, S: IntoShape>(shape: S) -> Tensor<A, E, S::Rank> {
    filled("zeros", shape, E::ZERO)
}

/// The array of a shape whose elements are 1, as [`full`].
///
/// ```
/// # use deltaray::prelude::*;
/// let x: Matrix<Concrete, f64> = ones((2, 3));
/// assert_eq!((&x.shape()[..], x.sum().item()), (&[2, 3][..], 6.0));
/// ```
///
/// # Panics
///
/// As [`full`].
#[track_caller]
pub fn ones<A: Algebra, E: Number, S: IntoShape>(shape: S) -> Tensor<A, E, S::Rank> {
    filled("ones", shape, E::ONE)
}

/// The identity matrix of `n` rows.
///
/// ```
/// # use deltaray::prelude::*;
/// let identity: Matrix<Concrete, f64> = eye(2);
/// assert_eq!(identity, [[1.0, 0.0], [0.0, 1.0]].into());
/// ```
///
/// # Panics
///
/// As [`full`].
#[track_caller]
pub fn eye<A: Algebra, E: Number>(n: usize) -> Tensor<A, E, R2> {
    if let Err(problem) = Type::new(E::DTYPE, &[n, n]).check_size() {
        return fail("eye", problem, &[]);
    }
    let rows = iota::<A>(n);
    rows.insert_axis(1).equal(rows).cast()
}

#[track_caller]
fn filled<A: Algebra, E: Element, S: IntoShape>(name: &str, shape: S, value: E) -> Tensor<A, E, S::Rank> {
    let shape = shape.into_shape();
    match Type::new(E::DTYPE, &shape).check_size() {
        Ok(()) => Tensor::wrap(A::constant(array::Array::full(&shape, value.into_value()))),
        Err(problem) => fail(name, problem, &[]),
    }
}

/// The array without axes of one value, in the algebra that it is used in.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([1.0, 2.0]) * scalar(3.0);
/// assert_eq!(x.to_vec(), [3.0, 6.0]);
/// ```
///
/// Where nothing else tells the compiler the algebra, the type does: `let x: Scalar<A, f64> = scalar(2.0);`, or
/// `scalar::<A, f64>(2.0)`, with `Concrete` for `A` where arrays are plain.
pub fn scalar<A, E>(value: E) -> Tensor<A, E, R0>
where
    A: Algebra, // alone, `scalar::<Concrete, _>(2.0)` is a plain one
    E: Element,
{
    full((), value)
}

/// Known arrays, singly or in a tree, in any algebra; they have no derivative.
///
/// ```
/// # use deltaray::prelude::*;
/// let (x, weights) = (Vector::from([1.0, 2.0]), Vector::from([5.0, 7.0]));
/// assert_eq!(grad(|x| x.dot(&constant(&weights)), &x).to_vec(), [5.0, 7.0]);
/// ```
pub fn constant<A: Algebra, T: Tree<Concrete>>(value: &T) -> <T::Family as Family>::At<A> {
    let mut leaves = value.leaves().into_iter().map(A::constant);
    T::Family::rebuild::<Concrete, A>(value, &mut leaves)
}

//! The floats of a tree as one vector, and back.

use super::batch::Template;
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array::ReportedAt;
use crate::error::Error;
use crate::shape::{DType, Type};
use crate::tensor::{Element, Family, Float, Tensor, Tree, Vector, concatenate, refuse, zeros};
use std::panic::Location;

/// Turns a vector back into a tree, see [`ravel`].
pub struct Unravel<F: Family> {
    template: Template<F>,
    types: Vec<Type>,
}

impl<F: Family> Clone for Unravel<F> {
    fn clone(&self) -> Self {
        Unravel { template: self.template.clone(), types: self.types.clone() }
    }
}

/// The elements of a tree's arrays, in the order of [`Tree::visit`] and row-major, as one vector; and the converse, which makes
/// a tree of such a vector again, in any algebra.
///
/// So functions of one tensor take trees of parameters: `hessian`, optimisers, solvers. Floats of another type than `E` are
/// converted, and back.
///
/// ```
/// use deltaray::prelude::*;
///
/// #[derive(Tree, Clone)]
/// struct Line<A: Algebra> {
///     slope: Vector<A, f64>,
///     offset: Scalar<A, f64>,
/// }
///
/// fn loss<A: Algebra>(line: &Line<A>) -> Scalar<A, f64> {
///     line.slope.sum() * &line.offset
/// }
///
/// let line = Line { slope: Vector::from(vec![1.0, 2.0]), offset: scalar(0.5) };
/// let (vector, unravel): (Vector<_, f64>, _) = ravel(&line);
/// assert_eq!(vector.to_vec(), [1.0, 2.0, 0.5]);
/// let hessian = hessian(|x| loss(&unravel.tree(x)), &vector);
/// assert_eq!(hessian.to_vec(), [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]);
/// ```
///
/// # Panics
///
/// When the tree has an array of integers or booleans; staged, that is recorded instead.
#[track_caller]
pub fn ravel<A: Algebra, E: Float, T: Tree<A>>(tree: &T) -> (Vector<A, E>, Unravel<T::Family>) {
    let _place = ReportedAt::caller();
    let place = Location::caller();
    let floats = |array: A::Array| {
        let ty = A::type_of(&array);
        if ty.dtype.is_float() {
            return array;
        }
        let problem = format!("{ty} in a tree of floats");
        A::fail(Error::operands("ravel", problem, place), Type::new(E::DTYPE, &ty.shape))
    };
    let arrays: Vec<A::Array> = tree.leaves().into_iter().map(floats).collect();
    (flatten(&arrays), Unravel { template: Template::of::<A>(tree), types: tree.types() })
}

impl<F: Family> Unravel<F> {
    /// The number of elements of the vector.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (vector, unravel): (Vector<_, f64>, _) = ravel(&(Vector::from([1.0, 2.0]), scalar(3.0)));
    /// assert_eq!((vector.len(), unravel.size()), (3, 3));
    /// ```
    pub fn size(&self) -> usize {
        self.types.iter().map(Type::size).sum()
    }

    /// The tree whose elements these are, in the algebra of the vector.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (vector, unravel): (Vector<_, f64>, _) = ravel(&(Vector::from([1.0, 2.0]), scalar(3.0)));
    /// let (pair, number) = unravel.tree(&(vector * 2.0));
    /// assert_eq!((pair.to_vec(), number.item()), (vec![2.0, 4.0], 6.0));
    /// ```
    ///
    /// # Panics
    ///
    /// When the vector has another length than [`Unravel::size`]; staged, that is recorded instead.
    #[track_caller]
    pub fn tree<A: Algebra, E: Float>(&self, vector: &Vector<A, E>) -> F::At<A> {
        let _place = ReportedAt::caller();
        let leaves = if vector.len() == self.size() {
            unflatten(vector, &self.types)
        } else {
            let problem = format!("a vector of {} elements for a tree of {}", vector.len(), self.size());
            let place = Location::caller();
            refuse::<A>("tree", problem, &self.types, place)
        };
        self.template.fill::<A>(&mut leaves.into_iter())
    }
}

/// An array with this element type.
fn converted<A: Algebra>(array: A::Array, dtype: DType) -> A::Array {
    if A::dtype(&array) == dtype { array } else { A::cast(array, dtype) }
}

/// The elements of floats, one after the other.
pub(crate) fn flatten<A: Algebra, E: Float>(arrays: &[A::Array]) -> Vector<A, E> {
    let flat = |array: &A::Array| -> Vector<A, E> {
        let ty = A::type_of(array);
        let array = converted::<A>(array.clone(), E::DTYPE);
        Tensor::wrap(if ty.rank() == 1 { array } else { A::reshape(array, &[ty.size()]) })
    };
    match arrays {
        [] => zeros(0),
        [one] => flat(one),
        several => concatenate(0, &several.iter().map(flat).collect::<Vec<Vector<A, E>>>()),
    }
}

/// The floats of these types that [`flatten`] makes a vector of.
pub(crate) fn unflatten<A: Algebra, E: Element>(flat: &Vector<A, E>, types: &[Type]) -> Vec<A::Array> {
    let whole = flat.shape();
    let mut start = 0;
    let mut part = |ty: &Type| {
        let count = ty.size();
        let array = flat.array().clone();
        let part = match whole[0] == count {
            true => array,
            false => A::view(array, &AffineMap::along(&whole, 0, start, 1, count)),
        };
        start += count as i64;
        converted::<A>(if ty.rank() == 1 { part } else { A::reshape(part, &ty.shape) }, ty.dtype)
    };
    types.iter().map(&mut part).collect()
}

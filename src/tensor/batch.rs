//! Batches of trees: each array with one more axis, the outermost, along which the trees lie.
//!
//! A batch of tensors and of tuples has a type that shows the axis: the batch of a `(Vector, Scalar)` is a `(Matrix, Vector)`.
//! The fields of a struct have the types that the struct declares, so its batch is a [`Batch`].

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array;
use crate::array::ReportedAt;
use crate::concrete::Concrete;
use crate::error::Error;
use crate::shape::{Shape, Type};
use crate::tensor::structure::stack_columns;
use crate::tensor::{Family, Outline, Sliced, Stacked, Tree, check_same_trees, refuse};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// The structure of a tree, without its arrays.
pub(super) struct Template<F: Family>(Arc<F::At<Concrete>>);

impl<F: Family> Clone for Template<F> {
    fn clone(&self) -> Self {
        Template(self.0.clone())
    }
}

impl<F: Family> Template<F> {
    pub(super) fn of<A: Algebra>(tree: &F::At<A>) -> Self {
        // Arrays without elements hold the places; only their element types and ranks matter.
        let empty = |ty: Type| array::Array::zeros(&Type::new(ty.dtype, &vec![0; ty.rank()]));
        Template(Arc::new(F::rebuild::<A, Concrete>(tree, &mut tree.types().into_iter().map(empty))))
    }

    /// The tree with these arrays.
    pub(super) fn fill<A: Algebra>(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> F::At<A> {
        F::rebuild::<Concrete, A>(&self.0, leaves)
    }

    /// The arrays that hold the places of the tree's.
    fn places(&self) -> Vec<Type> {
        self.0.types()
    }
}

/// Trees of one structure and equal shapes, as one tree whose arrays have one more axis, the outermost.
/// [`vmap`](crate::derivative::vmap) takes and gives these for structs, and loops read or write them slice by slice.
///
/// A family is named by its member over [`Concrete`]: `Batch<A, Mlp<Concrete>>` is a batch of `Mlp<A>`. Batches are made by
/// [`stack_trees`], and by `vmap` of a function that gives a struct; the fields of all are found by `vmap` of a function that
/// takes one.
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
///     (line.slope.dot(&line.slope) + &line.offset).powi(2)
/// }
///
/// let one = Line { slope: Vector::from(vec![1.0, 2.0]), offset: scalar(0.5) };
/// let other = Line { slope: Vector::from(vec![0.0, 1.0]), offset: scalar(2.0) };
/// let lines = stack_trees(&[one, other]);
/// let gradients = vmap(|line: Line<_>| grad(loss, &line), &lines);
/// let offsets = vmap(|line: Line<_>| line.offset, &gradients);
/// assert_eq!(offsets.to_vec(), [11.0, 6.0]);
/// ```
pub struct Batch<A: Algebra, F: Family> {
    one: Template<F>,
    arrays: Vec<A::Array>,
}

impl<A: Algebra, F: Family> Batch<A, F> {
    /// A batch of trees like one, from its arrays, as `#[derive(Tree)]` writes it for [`Stacked`]. Each array has one more axis
    /// than the array in its place, the outermost.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (like, array) = (scalar::<Concrete, f64>(0.0), Vector::from([1.0, 2.0]).into_array());
    /// let batch = Batch::<Concrete, Scalar<Concrete, f64>>::from_arrays(&like, &mut [array].into_iter());
    /// assert_eq!(unstack_trees(&batch)[1].item(), 2.0);
    /// ```
    ///
    /// # Panics
    ///
    /// When there are too few arrays, or one has another element type than its place, or no axis.
    pub fn from_arrays(like: &F::At<A>, arrays: &mut dyn Iterator<Item = A::Array>) -> Self {
        Self::new(Template::of::<A>(like), arrays)
    }

    fn new(one: Template<F>, arrays: &mut dyn Iterator<Item = A::Array>) -> Self {
        let place = |place: Type| {
            let array = arrays.next().expect("as many arrays as the tree has places");
            let ty = A::type_of(&array);
            assert_eq!(ty.dtype, place.dtype, "an array of the element type of its place");
            assert!(ty.rank() > 0, "an array with the axis of the batch");
            array
        };
        let arrays = one.places().into_iter().map(place).collect();
        Batch { one, arrays }
    }
}

impl<A: Algebra, F: Family> Clone for Batch<A, F> {
    fn clone(&self) -> Self {
        Batch { one: self.one.clone(), arrays: self.arrays.clone() }
    }
}

impl<A: Algebra, F: Family> fmt::Debug for Batch<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("arrays", &Tree::<A>::types(self)).finish()
    }
}

impl<F: Family> Family for Batch<Concrete, F> {
    type At<A: Algebra> = Batch<A, F>;
    fn rebuild<A: Algebra, B: Algebra>(like: &Batch<A, F>, leaves: &mut dyn Iterator<Item = B::Array>) -> Batch<B, F> {
        Batch::<B, F>::new(like.one.clone(), leaves)
    }
}

impl<A: Algebra, F: Family> Tree<A> for Batch<A, F> {
    type Family = Batch<Concrete, F>;
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        self.arrays.iter().for_each(visitor);
    }
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array)) {
        self.arrays.iter_mut().for_each(visitor);
    }
    fn outline(&self, outline: &mut Outline) {
        self.one.0.outline(outline);
    }
}

impl<A: Algebra, F: Family> Sliced<A> for Batch<A, F> {
    type Slice = F::At<A>;
    fn slice_from(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> F::At<A> {
        self.one.fill::<A>(leaves)
    }
}

impl<A: Algebra, F: Family> Stacked<A> for Batch<A, F> {
    type Stack = Batch<A, Batch<Concrete, F>>;
    fn stack_from(&self, leaves: &mut dyn Iterator<Item = A::Array>) -> Self::Stack {
        Batch::from_arrays(self, leaves)
    }
}

/// At least one tree, all of one structure and equal shapes, as a batch: each array of the result holds the trees' arrays along
/// a new outermost axis. For structs it is a [`Batch`]; fields that are no trees are taken from the first. Only the arrays tell
/// the number of trees: any number of trees without arrays counts as none.
///
/// ```
/// # use deltaray::prelude::*;
/// let pair = |x: f64| (scalar::<Concrete, f64>(x), Vector::from([x, -x]));
/// let (scalars, vectors) = stack_trees(&[pair(1.0), pair(2.0)]);
/// assert_eq!(scalars.to_vec(), [1.0, 2.0]);
/// assert_eq!(vectors, [[1.0, -1.0], [2.0, -2.0]].into());
/// ```
///
/// # Panics
///
/// When there are no trees. When trees differ in structure or shapes; staged, that is recorded instead.
#[track_caller]
pub fn stack_trees<A: Algebra, T: Stacked<A>>(parts: &[T]) -> T::Stack {
    let place = Location::caller();
    let first = parts.first().unwrap_or_else(|| panic!("stack_trees: takes at least one tree, at {place}"));
    let types = first.types();
    let mut rows: Vec<Vec<A::Array>> = Vec::with_capacity(parts.len());
    for part in parts {
        rows.push(match check_same_trees(first, part) {
            Ok(()) => part.leaves(),
            Err(problem) => refuse::<A>("stack_trees", problem, &types, place),
        });
    }
    let _place = ReportedAt::caller();
    first.stack_from(&mut stack_columns::<A>(&rows, types.len()).into_iter())
}

/// The trees of a batch, or of any tree of arrays along their outermost axis, one by one.
///
/// ```
/// # use deltaray::prelude::*;
/// let rows = unstack_trees(&Matrix::from([[1.0, 2.0], [3.0, 4.0]]));
/// assert_eq!((rows.len(), rows[1].to_vec()), (2, vec![3.0, 4.0]));
/// ```
///
/// # Panics
///
/// When the arrays differ in their outermost extents; staged, that is recorded instead.
#[track_caller]
pub fn unstack_trees<A: Algebra, X: Sliced<A>>(batch: &X) -> Vec<X::Slice> {
    let place = Location::caller();
    let arrays = batch.leaves();
    let outermost = |array: &A::Array| A::shape(array).first().copied();
    let n = arrays.first().and_then(outermost).unwrap_or(0);
    if let Some(other) = arrays.iter().find(|array| outermost(array) != Some(n)) {
        let problem = format!("an array of shape {:?} in a batch of {n}", &A::shape(other)[..]);
        A::fail(Error::operands("unstack_trees", problem, place), Type::scalar(crate::shape::DType::Bool));
    }
    let _place = ReportedAt::caller();
    let slice = |position: usize| {
        let pick = |array: A::Array| {
            let shape: Shape = A::shape(&array);
            // A mismatch that was reported has left a placeholder; a slice beyond the last is zeros.
            if shape.is_empty() { array } else { A::view(array, &AffineMap::pick(&shape, 0, position as i64)) }
        };
        batch.slice_from(&mut arrays.iter().cloned().map(pick))
    };
    (0..n).map(slice).collect()
}

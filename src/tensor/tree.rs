//! Trees of arrays, which functions take and return.
//!
//! A [`Tree`] holds arrays of one algebra; its [`Family`] is the same structure over every algebra, so that going to
//! another algebra and back is the identity, which the compiler knows. A family is named by its member over [`Concrete`]:
//! the family of `Vector<A, f64>` is `Vector<Concrete, f64>`.

use crate::algebra::{Algebra, ForwardArray, NestedArray};
use crate::concrete::Concrete;
use crate::error::{Error, Result};
use crate::shape::Type;
use crate::tensor::outline::Outline;
use crate::tensor::{Element, Rank, Tensor};

/// A structure of arrays over every algebra.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name a family of trees",
    note = "a family is named by its member over `Concrete`, in generic code too: `type In = Vector<Concrete, f64>`",
    note = "families are `Tensor<Concrete, _, _>` and its aliases, `()`, tuples, `Vec`, `Option`, `Box` and Rust arrays of \
            families, and structs and enums with `#[derive(Tree)]` over `Concrete`"
)]
pub trait Family: Sized + 'static {
    /// The structure over one algebra.
    type At<A: Algebra>: Tree<A, Family = Self>;

    /// The structure of `like` with other arrays, in the order of [`Tree::visit`]; lengths, variants and skipped fields
    /// come from `like`.
    ///
    /// # Panics
    ///
    /// When there are too few arrays, or when one has another element type or rank than its place: callers check with
    /// [`Tree::with_leaves`] where that can be.
    fn rebuild<A: Algebra, B: Algebra>(like: &Self::At<A>, leaves: &mut dyn Iterator<Item = B::Array>) -> Self::At<B>;
}

/// A structure of arrays of one algebra: tensors, tuples, `Vec`, `Option`, `Box`, Rust arrays, and structs by
/// `#[derive(Tree)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tree of arrays of `{A}`",
    note = "a vector or slice of numbers is an array by `Vector::from(vec![1.0, 2.0])`, one of ndarray by `Tensor::from_ndarray(&a)`, \
            and a number that a loop carries or a branch results in by `scalar(0.0)`",
    note = "trees are tensors, tuples, `Vec`, `Option`, `Box` and Rust arrays of trees, and structs and enums with `#[derive(Tree)]`",
    note = "a field that holds no arrays, or plain ones in a struct over another algebra, is marked `#[tree(skip)]`",
    note = "a closure results in arrays of the algebra of its parameter: what comes from outside enters by `lift()` \
            under `grad` and `vjp`, by `lift_forward()` under `jvp`, plain arrays by `constant`",
    note = "a closure is for one algebra, that of its first use: what is called, differentiated and staged in turn is a generic \
            `fn`, or a struct that implements `ArrayFn`"
)]
pub trait Tree<A: Algebra>: Sized + 'static {
    /// The structure over every algebra.
    type Family: Family<At<A> = Self>;

    /// Visits the arrays, in the order of fields and positions.
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array));

    /// Visits the places of the arrays, in the same order. Whoever puts another array there keeps its element type and
    /// rank, which the type of the tree may state.
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array));

    /// Appends the lengths of `Vec`s, 1 or 0 for an `Option` that holds something or not, the names of fields, and where
    /// the arrays are.
    fn outline(&self, outline: &mut Outline);

    /// The arrays, in the order of fields and positions.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let tree = (Vector::from([1.0, 2.0]), scalar::<_, f64>(3.0));
    /// assert_eq!(tree.leaves().len(), 2);
    /// ```
    fn leaves(&self) -> Vec<A::Array> {
        let mut leaves = Vec::new();
        self.visit(&mut |leaf| leaves.push(leaf.clone()));
        leaves
    }

    /// The element types and shapes of the arrays.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let tree = (Vector::from([1.0, 2.0]), scalar::<_, f64>(3.0));
    /// assert_eq!(tree.types()[0].to_string(), "f64[2]");
    /// ```
    fn types(&self) -> Vec<Type> {
        let mut types = Vec::new();
        self.visit(&mut |leaf| types.push(A::type_of(leaf)));
        types
    }

    /// This structure with other arrays of any algebra.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let other = Vector::from([1.0, 2.0]).with_leaves::<Concrete>(vec![Vector::from([3.0]).into_array()]);
    /// assert_eq!(other.unwrap().to_vec(), [3.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// When their number, or an element type or a rank, is another than here.
    fn with_leaves<B: Algebra>(&self, leaves: Vec<B::Array>) -> Result<<Self::Family as Family>::At<B>> {
        let types = self.types();
        if types.len() != leaves.len() {
            return Err(Error::Structure(format!("a tree of {} arrays from {}", types.len(), leaves.len())));
        }
        for (position, (ty, leaf)) in types.iter().zip(&leaves).enumerate() {
            let found = B::type_of(leaf);
            if found.dtype != ty.dtype || found.rank() != ty.rank() {
                return Err(Error::Structure(format!("array {position} of a tree is {ty}, but {found} was given")));
            }
        }
        Ok(Self::Family::rebuild::<A, B>(self, &mut leaves.into_iter()))
    }

    /// The tree with all arrays as constants of the algebra under a reverse derivative, see [`Tensor::lift`].
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let line = (Vector::from([1.0, 2.0]), scalar::<_, f64>(3.0));
    /// assert_eq!(grad(|x| x.dot(&line.lift().0), &line.0).to_vec(), [1.0, 2.0]);
    /// ```
    fn lift(&self) -> <Self::Family as Family>::At<A::Nested> {
        let mut leaves = self.leaves().into_iter().map(|leaf| -> NestedArray<A> { A::lift(leaf) });
        Self::Family::rebuild::<A, A::Nested>(self, &mut leaves)
    }

    /// The tree with all arrays as constants of the algebra under a forward derivative, see [`Tensor::lift_forward`].
    fn lift_forward(&self) -> <Self::Family as Family>::At<A::Forward> {
        let mut leaves = self.leaves().into_iter().map(|leaf| -> ForwardArray<A> { A::lift_forward(leaf) });
        Self::Family::rebuild::<A, A::Forward>(self, &mut leaves)
    }
}

/// As [`Family::rebuild`], for a part of a tree whose family is found from its type, as `#[derive(Tree)]` writes it for a
/// field.
///
/// ```
/// # use deltaray::prelude::*;
/// use deltaray::tensor::rebuild_field;
/// let (like, other) = (Vector::from([1.0, 2.0]), Vector::from([3.0]));
/// let rebuilt = rebuild_field::<Concrete, Concrete, _>(&like, &mut [other.into_array()].into_iter());
/// assert_eq!(rebuilt.to_vec(), [3.0]);
/// ```
///
/// # Panics
///
/// As [`Family::rebuild`].
pub fn rebuild_field<A: Algebra, B: Algebra, T: Tree<A>>(
    like: &T,
    leaves: &mut dyn Iterator<Item = B::Array>,
) -> <T::Family as Family>::At<B> {
    T::Family::rebuild::<A, B>(like, leaves)
}

/// Another handle on the same arrays; trees need not be `Clone`.
///
/// ```
/// # use deltaray::prelude::*;
/// use deltaray::tensor::duplicate;
/// let (x, number) = duplicate(&(Vector::from([1.0, 2.0]), scalar::<_, f64>(3.0)));
/// assert_eq!((x.to_vec(), number.item()), (vec![1.0, 2.0], 3.0));
/// ```
pub fn duplicate<A: Algebra, T: Tree<A>>(tree: &T) -> T {
    T::Family::rebuild::<A, A>(tree, &mut tree.leaves().into_iter())
}

/// The structure of a tree, with zeros for its arrays. A loop keeps this for later instead of the tree: it then holds no
/// element of its carries, so that its steps can write in place.
pub(crate) fn hollow<A: Algebra, T: Tree<A>>(tree: &T) -> T {
    T::Family::rebuild::<A, A>(tree, &mut tree.types().iter().map(A::zeros))
}

/// The outline of a tree, see [`Tree::outline`].
pub(crate) fn outline_of<A: Algebra, T: Tree<A>>(tree: &T) -> Outline {
    let mut outline = Outline::default();
    tree.outline(&mut outline);
    outline
}

/// Checks that two trees of one type have the same lengths and variants, and arrays of equal types.
///
/// ```
/// # use deltaray::prelude::*;
/// use deltaray::tensor::check_same_trees;
/// let (x, y) = (Vector::from([1.0, 2.0]), Vector::from([1.0]));
/// assert_eq!(check_same_trees(&x, &y).unwrap_err(), "array 0 is f64[2] and f64[1]");
/// ```
///
/// # Errors
///
/// A sentence that names the difference.
pub fn check_same_trees<A: Algebra, B: Algebra, T: Tree<A>, U: Tree<B>>(
    expected: &T,
    found: &U,
) -> std::result::Result<(), String> {
    check_same_parts((&expected.types(), &outline_of(expected)), found)
}

/// As [`check_same_trees`], where of the expected tree the types of its arrays and its outline are known.
pub(crate) fn check_same_parts<A: Algebra, T: Tree<A>>(
    (expected, outline): (&[Type], &Outline),
    found: &T,
) -> std::result::Result<(), String> {
    // Another number of parts says more than another number of arrays.
    match outline.difference(&outline_of(found)) {
        None => check_types(expected, &found.types(), |at| outline.names().into_iter().nth(at)),
        Some(difference) => Err(difference),
    }
}

/// Checks that two trees have equally many arrays of equal types, as [`Tree::types`] lists them.
///
/// ```
/// # use deltaray::prelude::*;
/// use deltaray::tensor::check_same_structure;
/// let (x, y) = (Vector::from([1.0, 2.0]), Vector::from([3.0, 4.0]));
/// assert!(check_same_structure(&Tree::types(&x), &Tree::types(&y)).is_ok());
/// ```
///
/// # Errors
///
/// A sentence that names the difference.
pub fn check_same_structure(expected: &[Type], found: &[Type]) -> std::result::Result<(), String> {
    check_types(expected, found, |_| None)
}

/// As [`check_same_structure`]; arrays that have a name are called by it.
fn check_types(
    expected: &[Type],
    found: &[Type],
    name: impl FnOnce(usize) -> Option<String>,
) -> std::result::Result<(), String> {
    if expected.len() != found.len() {
        return Err(format!("a tree of {} arrays and one of {}", expected.len(), found.len()));
    }
    match expected.iter().zip(found).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(at) => {
            let name = name(at).filter(|name| !name.is_empty());
            let array = name.map_or_else(|| format!("array {at}"), |name| format!("`{name}`"));
            Err(format!("{array} is {} and {}", expected[at], found[at]))
        }
    }
}

fn next<B: Algebra>(leaves: &mut dyn Iterator<Item = B::Array>) -> B::Array {
    leaves.next().expect("as many arrays as the tree has places")
}

impl<E: Element, R: Rank> Family for Tensor<Concrete, E, R> {
    type At<A: Algebra> = Tensor<A, E, R>;
    fn rebuild<A: Algebra, B: Algebra>(_: &Tensor<A, E, R>, leaves: &mut dyn Iterator<Item = B::Array>) -> Self::At<B> {
        Tensor::from_array(next::<B>(leaves)).expect("an array of the element type and rank of its place")
    }
}

impl<A: Algebra, E: Element, R: Rank> Tree<A> for Tensor<A, E, R> {
    type Family = Tensor<Concrete, E, R>;
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        visitor(self.array());
    }
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array)) {
        visitor(self.array_mut());
    }
    fn outline(&self, outline: &mut Outline) {
        outline.array();
    }
}

fn positions<A: Algebra, T: Tree<A>>(parts: &[T], outline: &mut Outline) {
    for (position, part) in parts.iter().enumerate() {
        outline.position(position, |outline| part.outline(outline));
    }
}

impl<F: Family> Family for Vec<F> {
    type At<A: Algebra> = Vec<F::At<A>>;
    fn rebuild<A: Algebra, B: Algebra>(like: &Self::At<A>, leaves: &mut dyn Iterator<Item = B::Array>) -> Self::At<B> {
        like.iter().map(|part| F::rebuild::<A, B>(part, leaves)).collect()
    }
}

impl<A: Algebra, T: Tree<A>> Tree<A> for Vec<T> {
    type Family = Vec<T::Family>;
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        self.iter().for_each(|part| part.visit(visitor));
    }
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array)) {
        self.iter_mut().for_each(|part| part.visit_mut(visitor));
    }
    fn outline(&self, outline: &mut Outline) {
        outline.length(self.len());
        positions::<A, T>(self, outline);
    }
}

impl<F: Family> Family for Option<F> {
    type At<A: Algebra> = Option<F::At<A>>;
    fn rebuild<A: Algebra, B: Algebra>(like: &Self::At<A>, leaves: &mut dyn Iterator<Item = B::Array>) -> Self::At<B> {
        like.as_ref().map(|part| F::rebuild::<A, B>(part, leaves))
    }
}

impl<A: Algebra, T: Tree<A>> Tree<A> for Option<T> {
    type Family = Option<T::Family>;
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        self.iter().for_each(|part| part.visit(visitor));
    }
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array)) {
        self.iter_mut().for_each(|part| part.visit_mut(visitor));
    }
    fn outline(&self, outline: &mut Outline) {
        outline.length(usize::from(self.is_some()));
        self.iter().for_each(|part| part.outline(outline));
    }
}

impl<F: Family> Family for Box<F> {
    type At<A: Algebra> = Box<F::At<A>>;
    fn rebuild<A: Algebra, B: Algebra>(like: &Self::At<A>, leaves: &mut dyn Iterator<Item = B::Array>) -> Self::At<B> {
        Box::new(F::rebuild::<A, B>(like, leaves))
    }
}

impl<A: Algebra, T: Tree<A>> Tree<A> for Box<T> {
    type Family = Box<T::Family>;
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        (**self).visit(visitor);
    }
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array)) {
        (**self).visit_mut(visitor);
    }
    fn outline(&self, outline: &mut Outline) {
        (**self).outline(outline);
    }
}

impl<F: Family, const N: usize> Family for [F; N] {
    type At<A: Algebra> = [F::At<A>; N];
    fn rebuild<A: Algebra, B: Algebra>(like: &Self::At<A>, leaves: &mut dyn Iterator<Item = B::Array>) -> Self::At<B> {
        std::array::from_fn(|at| F::rebuild::<A, B>(&like[at], leaves))
    }
}

impl<A: Algebra, T: Tree<A>, const N: usize> Tree<A> for [T; N] {
    type Family = [T::Family; N];
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        self.iter().for_each(|part| part.visit(visitor));
    }
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array)) {
        self.iter_mut().for_each(|part| part.visit_mut(visitor));
    }
    fn outline(&self, outline: &mut Outline) {
        positions::<A, T>(self, outline);
    }
}

/// The arguments of a function: `&T`, for a function of `&T`; or a tuple of references, for a function that takes the
/// tuple of the values by reference. Derivatives are taken with respect to the whole of a single argument, and to the
/// first of a tuple.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reference to arrays of `{A}`, or a tuple of references",
    note = "arguments are `&x`, an array or struct of arrays, or `(&x, &y)`, a tuple of references"
)]
pub trait Args<A: Algebra> {
    /// The structure of the function's one parameter, over every algebra.
    type Family: Family;
    /// The argument that derivatives are taken with respect to.
    type First: Tree<A>;
    /// The argument that derivatives are taken with respect to.
    fn first(&self) -> &Self::First;
    /// Visits the arrays of all arguments, those of the first before the others.
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array));
    /// Appends the outlines of all arguments, see [`Tree::outline`].
    fn outline(&self, outline: &mut Outline);
    /// The function's parameter, with these arrays.
    fn rebuild<B: Algebra>(&self, leaves: &mut dyn Iterator<Item = B::Array>) -> <Self::Family as Family>::At<B>;

    /// The arrays of all arguments.
    fn leaves(&self) -> Vec<A::Array> {
        let mut leaves = Vec::new();
        self.visit(&mut |leaf| leaves.push(leaf.clone()));
        leaves
    }

    /// The element types and shapes of the arrays of all arguments.
    fn types(&self) -> Vec<Type> {
        let mut types = Vec::new();
        self.visit(&mut |leaf| types.push(A::type_of(leaf)));
        types
    }

    /// The number of arrays of the first argument.
    fn active(&self) -> usize {
        let mut count = 0;
        self.first().visit(&mut |_| count += 1);
        count
    }
}

impl<A: Algebra, T: Tree<A>> Args<A> for &T {
    type Family = T::Family;
    type First = T;
    fn first(&self) -> &T {
        self
    }
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        Tree::visit(*self, visitor);
    }
    fn outline(&self, outline: &mut Outline) {
        Tree::outline(*self, outline);
    }
    fn rebuild<B: Algebra>(&self, leaves: &mut dyn Iterator<Item = B::Array>) -> <Self::Family as Family>::At<B> {
        T::Family::rebuild::<A, B>(self, leaves)
    }
}

impl Family for () {
    type At<A: Algebra> = ();
    fn rebuild<A: Algebra, B: Algebra>(_: &(), _: &mut dyn Iterator<Item = B::Array>) {}
}

impl<A: Algebra> Tree<A> for () {
    type Family = ();
    fn visit<'a>(&'a self, _: &mut dyn FnMut(&'a A::Array)) {}
    fn visit_mut<'a>(&'a mut self, _: &mut dyn FnMut(&'a mut A::Array)) {}
    fn outline(&self, _: &mut Outline) {}
}

macro_rules! tuples {
    ($(($first:ident $x:ident $(, $name:ident $y:ident)*);)*) => {
        $(
            impl<$first: Family $(, $name: Family)*> Family for ($first, $($name,)*) {
                type At<A: Algebra> = ($first::At<A>, $($name::At<A>,)*);
                fn rebuild<A: Algebra, B: Algebra>(
                    like: &Self::At<A>,
                    leaves: &mut dyn Iterator<Item = B::Array>,
                ) -> Self::At<B> {
                    let ($x, $($y,)*) = like;
                    ($first::rebuild::<A, B>($x, leaves), $($name::rebuild::<A, B>($y, leaves),)*)
                }
            }

            impl<A: Algebra, $first: Tree<A> $(, $name: Tree<A>)*> Tree<A> for ($first, $($name,)*) {
                type Family = ($first::Family, $($name::Family,)*);
                fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
                    let ($x, $($y,)*) = self;
                    $x.visit(visitor);
                    $($y.visit(visitor);)*
                }
                fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array)) {
                    let ($x, $($y,)*) = self;
                    $x.visit_mut(visitor);
                    $($y.visit_mut(visitor);)*
                }
                fn outline(&self, outline: &mut Outline) {
                    let ($x, $($y,)*) = self;
                    let mut positions = 0..usize::MAX;
                    let mut next = || positions.next().unwrap_or_default();
                    outline.part(next(), |outline| $x.outline(outline));
                    $(outline.part(next(), |outline| $y.outline(outline));)*
                }
            }

            impl<A: Algebra, $first: Tree<A> $(, $name: Tree<A>)*> Args<A> for (&$first, $(&$name,)*) {
                type Family = ($first::Family, $($name::Family,)*);
                type First = $first;
                fn first(&self) -> &$first {
                    self.0
                }
                fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
                    let ($x, $($y,)*) = self;
                    Tree::visit(*$x, visitor);
                    $(Tree::visit(*$y, visitor);)*
                }
                fn outline(&self, outline: &mut Outline) {
                    let ($x, $($y,)*) = self;
                    let mut positions = 0..usize::MAX;
                    let mut next = || positions.next().unwrap_or_default();
                    outline.part(next(), |outline| Tree::outline(*$x, outline));
                    $(outline.part(next(), |outline| Tree::outline(*$y, outline));)*
                }
                fn rebuild<B: Algebra>(
                    &self,
                    leaves: &mut dyn Iterator<Item = B::Array>,
                ) -> <Self::Family as Family>::At<B> {
                    let ($x, $($y,)*) = self;
                    (rebuild_field::<A, B, $first>($x, leaves), $(rebuild_field::<A, B, $name>($y, leaves),)*)
                }
            }
        )*
    };
}

tuples! {
    (T a);
    (T a, U b);
    (T a, U b, V c);
    (T a, U b, V c, W d);
    (T a, U b, V c, W d, X e);
    (T a, U b, V c, W d, X e, Y f);
    (T a, U b, V c, W d, X e, Y f, Z g);
    (T a, U b, V c, W d, X e, Y f, Z g, S h);
}

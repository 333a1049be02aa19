//! Captures of a derivative's closure: arrays and trees are lifted, everything else passes through.

use crate::algebra::Algebra;
use crate::tensor::{Family, Tree, duplicate};
use std::marker::PhantomData;

/// The way of arrays of the algebra `A` into the closure of a derivative.
pub trait Entrance<A: Algebra> {
    /// The algebra in there.
    type Inner: Algebra;
    /// An array as a constant in there.
    fn enter(array: A::Array) -> <Self::Inner as Algebra>::Array;
}

/// Into the closure of a reverse derivative, as of `grad`.
pub enum Reverse {}

/// Into the closure of a forward derivative, as of `jvp`.
pub enum Forward {}

/// Into the closure of a second derivative, as of `hessian`.
pub enum Second {}

/// Into the closure that is linearised.
pub enum Linear {}

/// Into a closure that is kept for a derivative, and is of the algebra outside.
pub enum Kept {}

impl<A: Algebra> Entrance<A> for Reverse {
    type Inner = A::Nested;
    fn enter(array: A::Array) -> <A::Nested as Algebra>::Array {
        A::lift(array)
    }
}

impl<A: Algebra> Entrance<A> for Forward {
    type Inner = A::Forward;
    fn enter(array: A::Array) -> <A::Forward as Algebra>::Array {
        A::lift_forward(array)
    }
}

impl<A: Algebra> Entrance<A> for Second {
    type Inner = <A::Forward as Algebra>::Nested;
    fn enter(array: A::Array) -> <Self::Inner as Algebra>::Array {
        A::Forward::lift(A::lift_forward(array))
    }
}

impl<A: Algebra> Entrance<A> for Linear {
    type Inner = <A::Nested as Algebra>::Nested;
    fn enter(array: A::Array) -> <Self::Inner as Algebra>::Array {
        A::Nested::lift(A::lift(array))
    }
}

impl<A: Algebra> Entrance<A> for Kept {
    type Inner = A;
    fn enter(array: A::Array) -> A::Array {
        array
    }
}

/// A tree over `A` as one inside.
type Inside<A, K, T> = <<T as Tree<A>>::Family as Family>::At<<K as Entrance<A>>::Inner>;

fn enter<A: Algebra, K: Entrance<A>, T: Tree<A>>(tree: &T) -> Inside<A, K, T> {
    T::Family::rebuild::<A, K::Inner>(tree, &mut tree.leaves().into_iter().map(K::enter))
}

/// A variable of the function around a derivative's closure, with the algebra there and the way in.
///
/// Traits for fewer and fewer references to this type say what may enter and how. The compiler removes one reference after the
/// other from the receiver `&&&&&&Lift`, and so takes the first trait that applies to the type of the variable.
pub struct Lift<'a, A, K, T>(pub &'a T, pub PhantomData<(A, K)>);

/// A tree that was lifted for a closure, which uses it as a value.
pub struct Entered<B, T>(T, PhantomData<B>);

impl<B: Algebra, T: Tree<B>> Entered<B, T> {
    /// The tree, each time the closure is called.
    pub fn inside(&self) -> T {
        duplicate(&self.0)
    }
}

/// A lifted capture that the closure uses by reference.
pub struct Referred<T>(T);

impl<T> Referred<T> {
    /// A reference, as there is outside.
    pub fn inside(&self) -> &T {
        &self.0
    }
}

/// A capture that passes through.
pub struct Passed<T>(T);

impl<T: Copy> Passed<T> {
    /// The same value.
    pub fn inside(&self) -> T {
        self.0
    }
}

/// Trees are lifted.
pub trait OfTree {
    /// The type inside of the closure.
    type Inside;
    /// The tree inside.
    fn lifted(&self) -> Self::Inside;
}

impl<A: Algebra, K: Entrance<A>, T: Tree<A>> OfTree for &&&&&Lift<'_, A, K, T> {
    type Inside = Entered<K::Inner, Inside<A, K, T>>;
    fn lifted(&self) -> Self::Inside {
        Entered(enter::<A, K, T>(self.0), PhantomData)
    }
}

/// So are those that the variable refers to.
pub trait OfReference {
    /// The type inside of the closure.
    type Inside;
    /// The tree inside.
    fn lifted(&self) -> Referred<Self::Inside>;
}

impl<A: Algebra, K: Entrance<A>, T: Tree<A>> OfReference for &&&&Lift<'_, A, K, &T> {
    type Inside = Inside<A, K, T>;
    fn lifted(&self) -> Referred<Self::Inside> {
        Referred(enter::<A, K, T>(self.0))
    }
}

impl<A: Algebra, K: Entrance<A>, T: Tree<A>> OfReference for &&&&Lift<'_, A, K, &mut T> {
    type Inside = Inside<A, K, T>;
    fn lifted(&self) -> Referred<Self::Inside> {
        Referred(enter::<A, K, T>(self.0))
    }
}

/// The trees of a slice, or behind two references.
pub trait OfSlice {
    /// The type inside of the closure.
    type Inside;
    /// The trees inside.
    fn lifted(&self) -> Referred<Self::Inside>;
}

impl<A: Algebra, K: Entrance<A>, T: Tree<A>> OfSlice for &&&Lift<'_, A, K, &[T]> {
    type Inside = Vec<Inside<A, K, T>>;
    fn lifted(&self) -> Referred<Self::Inside> {
        Referred(self.0.iter().map(enter::<A, K, T>).collect())
    }
}

impl<A: Algebra, K: Entrance<A>, T: Tree<A>> OfSlice for &&&Lift<'_, A, K, &&T> {
    type Inside = Inside<A, K, T>;
    fn lifted(&self) -> Referred<Self::Inside> {
        Referred(enter::<A, K, T>(self.0))
    }
}

/// Numbers and references enter unchanged.
pub trait ByCopy {
    /// The type inside of the closure.
    type Inside;
    /// The same value.
    fn lifted(&self) -> Passed<Self::Inside>;
}

impl<A, K, T: Copy> ByCopy for &&Lift<'_, A, K, T> {
    type Inside = T;
    fn lifted(&self) -> Passed<T> {
        Passed(*self.0)
    }
}

/// A closure that is kept owns a copy of anything that can be copied.
pub trait ByClone {
    /// The type of the variable.
    type Outside;
    /// The copy.
    fn lifted(&self) -> Referred<Self::Outside>;
}

impl<A, T: Clone> ByClone for &Lift<'_, A, Kept, T> {
    type Outside = T;
    fn lifted(&self) -> Referred<T> {
        Referred(self.0.clone())
    }
}

/// Everything else is referred to.
pub trait ByReference<'a> {
    /// The variable's type.
    type Outside;
    /// A reference to the variable.
    fn lifted(&self) -> Passed<&'a Self::Outside>;
}

impl<'a, A, K, T> ByReference<'a> for Lift<'a, A, K, T> {
    type Outside = T;
    fn lifted(&self) -> Passed<&'a T> {
        Passed(self.0)
    }
}

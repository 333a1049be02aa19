//! Owned values of arguments that are passed by reference: parameters that were written by value, and their fields.

use crate::algebra::Algebra;
use crate::tensor::{Tree, duplicate};

/// Another handle on a tree's arrays, where a parameter by value is kept.
pub trait OwnedTree<A: Algebra>: Tree<A> {
    /// Another handle.
    fn owned_tree(&self) -> Self {
        duplicate(self)
    }
}

impl<A: Algebra, T: Tree<A>> OwnedTree<A> for T {}

/// A field of a parameter by value.
pub struct Owned<'a, T>(pub &'a T);

/// Fields with `Clone`: numbers and arrays.
pub trait OwnedByClone {
    /// The field's type.
    type Value;
    /// The same value.
    fn owned(&self) -> Self::Value;
}

impl<T: Clone> OwnedByClone for &Owned<'_, T> {
    type Value = T;
    fn owned(&self) -> T {
        self.0.clone()
    }
}

/// Trees without it.
pub trait OwnedByTree<A> {
    /// The field's type.
    type Value;
    /// Another handle.
    fn owned(&self) -> Self::Value;
}

impl<A: Algebra, T: Tree<A>> OwnedByTree<A> for Owned<'_, T> {
    type Value = T;
    fn owned(&self) -> T {
        duplicate(self.0)
    }
}

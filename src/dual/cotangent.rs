//! Cotangents, which pullbacks pass on.

use crate::algebra::Algebra;

/// A cotangent, and whether it passed through a choice: then zeros in it stay zeros whatever factor they meet.
pub(crate) struct Cotangent<A: Algebra> {
    pub(crate) array: A::Array,
    pub(crate) marked: bool,
}

impl<A: Algebra> Clone for Cotangent<A> {
    fn clone(&self) -> Self {
        Cotangent { array: self.array.clone(), marked: self.marked }
    }
}

//! Arguments whose values shape a pattern.

use crate::algebra::Algebra;
use crate::tensor::{Family, Outline, Tree};
use std::ops::Deref;

/// Arguments whose values shape a sparsity pattern: index arrays, mostly.
///
/// It is a tree like the one that it holds, to be read through `*`. The arrays are arguments of a staged function like
/// others; but [`SparseJacobian`](super::SparseJacobian) and [`SparseHessian`](super::SparseHessian) take their values for
/// known when they find a pattern, and find it anew when they are called with other values. Floats that derivatives are
/// taken by are not known, fixed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed<T>(pub T);

/// Marks an argument as one whose values shape sparsity patterns: see [`Fixed`]. The tree stays as it is.
///
/// ```
/// use deltaray::prelude::*;
///
/// let (x, positions) = (Vector::from(vec![1.0, 4.0, 9.0]), fixed(Vector::from(vec![2, 0])));
/// let roots = |(x, positions): &(Vector<_, f64>, Fixed<Vector<_, i64>>)| x.gather(&**positions).sqrt();
/// let jacobian = stage(roots, (&x, &positions))?.sparse_jacobian()?;
/// assert_eq!(jacobian.call((&x, &positions))?.pattern().to_string(), "..x\nx..\n");
/// # Ok::<(), deltaray::Error>(())
/// ```
pub fn fixed<T>(tree: T) -> Fixed<T> {
    Fixed(tree)
}

impl<T> Deref for Fixed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<F: Family> Family for Fixed<F> {
    type At<A: Algebra> = Fixed<F::At<A>>;
    fn rebuild<A: Algebra, B: Algebra>(like: &Self::At<A>, leaves: &mut dyn Iterator<Item = B::Array>) -> Self::At<B> {
        Fixed(F::rebuild::<A, B>(&like.0, leaves))
    }
}

impl<A: Algebra, T: Tree<A>> Tree<A> for Fixed<T> {
    type Family = Fixed<T::Family>;
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a A::Array)) {
        self.0.visit(visitor);
    }
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn FnMut(&'a mut A::Array)) {
        self.0.visit_mut(visitor);
    }
    fn outline(&self, outline: &mut Outline) {
        outline.fixed(|outline| self.0.outline(outline));
    }
}

//! Iterations, when they end, and whether their results count.

use crate::algebra::Algebra;
use crate::shape::{DType, Type};
use crate::tensor::{Scalar, Vector, scalar, while_loop};

/// When an iteration ends, and whether its result counts.
///
/// An iteration ends when its last change is at most the tolerance, or its steps run out. In the second case the result counts
/// where the change is at most the *square root* of the tolerance: rounding may keep it above the tolerance itself. Where the
/// change is larger, so that not even half of the digits have settled, or is NaN, every element of the result is NaN, and so
/// are derivatives that depend on it. Under [`vmap`](super::super::vmap) and in a `build` each iteration is judged alone. Any
/// change that is small enough is taken for convergence: the result is not checked against the equation. Conjugate gradients, which
/// report a residual, result in the last iterate instead; their derivatives are judged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Convergence {
    /// The change of a step, relative to one plus the largest element, at which the iteration ends. For conjugate gradients,
    /// the norm of the residual relative to the right side. Single precision gets no closer than 1e-6, and the square root is
    /// taken of 2⁻⁵² at least.
    pub tolerance: f64,
    /// The number of steps after which it ends in any case; if 0, the result is NaN where iterations are judged.
    pub steps: usize,
}

impl Default for Convergence {
    fn default() -> Self {
        Convergence { tolerance: 1e-13, steps: 1000 }
    }
}

impl Convergence {
    /// With a tolerance that arrays of these types can keep.
    pub(super) fn of(self, types: &[Type]) -> Convergence {
        let single = types.iter().any(|ty| ty.dtype == DType::F32);
        Convergence { tolerance: if single { self.tolerance.max(1e-6) } else { self.tolerance }, ..self }
    }

    /// 1 where a result counts whose last change was this, and else NaN: a factor, so that derivatives are NaN too.
    pub(super) fn counts<A: Algebra>(&self, change: &Scalar<A, f64>) -> Scalar<A, f64> {
        let enough = self.tolerance.max(f64::EPSILON).sqrt();
        change.stop_gradient().le(enough).select(1.0, f64::NAN)
    }

    /// The change of an iteration without steps: none where it is not reached, so that it does no harm.
    pub(super) fn before<A: Algebra>(&self) -> Scalar<A, f64> {
        scalar(if self.steps == 0 { f64::NAN } else { 0.0 })
    }

    /// The number of steps in a program.
    pub(super) fn steps(&self) -> i64 {
        i64::try_from(self.steps).unwrap_or(i64::MAX)
    }
}

/// Repeats a step until it changes little; NaN where it still changes much when the steps run out.
pub(super) fn iterated<A: Algebra>(
    first: Vector<A, f64>,
    convergence: Convergence,
    types: &[Type],
    step: &dyn Fn(Vector<A, f64>) -> Vector<A, f64>,
) -> Vector<A, f64> {
    let convergence = convergence.of(types);
    let count: Scalar<A, i64> = scalar(0);
    let goes_on = |(_, count, change): &(Vector<A, f64>, Scalar<A, i64>, Scalar<A, f64>)| {
        (count.equal(0) | change.gt(convergence.tolerance)) & count.lt(convergence.steps())
    };
    let (last, _, change) = while_loop((first, count, convergence.before()), goes_on, |(x, count, _)| {
        let next = step(x.clone());
        let change = largest(&(&next - x).stop_gradient()) / (1.0 + largest(&next.stop_gradient()));
        (next, count + 1, change)
    });
    last * convergence.counts(&change)
}

/// The largest magnitude; 0 where there are no elements.
pub(super) fn largest<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    x.abs().max_all().max(0.0)
}

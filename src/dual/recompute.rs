//! Functions that keep nothing: the reverse derivative runs them again.

use super::cotangent::Cotangent;
use super::delta::Rolled;
use super::{Delta, Dual, DualArray};
use crate::algebra::{Algebra, StoredFunction};

/// A function and where it was run.
pub(crate) struct Recomputed<A: Algebra> {
    f: StoredFunction<Dual<A>>,
    at: Vec<DualArray<A>>,
}

impl<A: Algebra> Rolled<A> for Recomputed<A> {
    fn name(&self) -> &'static str {
        "Recomputed"
    }

    fn transpose(&self, _: Vec<Option<Cotangent<A>>>) -> Vec<Option<Cotangent<A>>> {
        unreachable!("what is run again has no operands of its own")
    }

    /// The function's results once more, with Deltas that lead back to those of the point, and of the function's captures: all
    /// of them older than this one, and all in between newer.
    fn again(&self) -> Option<Vec<Option<Delta<A>>>> {
        Some((self.f)(self.at.clone()).into_iter().map(|result| result.delta).collect())
    }
}

/// The results of a function, which is run without a derivative, but may capture arrays that have one.
pub(crate) fn recompute_dual<A: Algebra>(f: &StoredFunction<Dual<A>>, at: Vec<DualArray<A>>) -> Vec<DualArray<A>> {
    let constants = at.iter().map(|array| DualArray { primal: array.primal.clone(), delta: None });
    let results = f(constants.collect());
    let moves = |array: &DualArray<A>| array.delta.is_some();
    if !at.iter().chain(&results).any(moves) {
        return results;
    }
    let all = at.iter().any(moves);
    let moving: Vec<bool> =
        results.iter().map(|result| moves(result) || all && A::dtype(&result.primal).is_float()).collect();
    let primals: Vec<A::Array> = results.into_iter().map(|result| result.primal).collect();
    let delta = Delta::rolled(Recomputed { f: f.clone(), at }, Vec::new());
    let pick = |((position, primal), moves): ((usize, A::Array), bool)| DualArray {
        primal,
        delta: moves.then(|| delta.output(position)),
    };
    primals.into_iter().enumerate().zip(moving).map(pick).collect()
}

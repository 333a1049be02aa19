//! Associative operators as reductions and scans are given them: seen through where that is possible, else as closures.

use crate::algebra::{Algebra, CapturedBody};
use crate::array::ReportedAt;
use crate::operation::{Binary, Reduction};
use crate::shape::Type;
use crate::tensor::{Family, Sliced, Stacked, Tree, check_same_trees, duplicate, refuse, scan_as};
use crate::term::{Body, Build, NodeId, Op, Scan};
use std::panic::Location;

/// An operation of two operands and nothing else. The first operand comes earlier in the order of combination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Combination {
    op: Binary,
    /// Whether the later operand is the operation's first.
    exchanged: bool,
}

impl From<Binary> for Combination {
    fn from(op: Binary) -> Self {
        Combination { op, exchanged: false }
    }
}

impl Combination {
    pub(super) fn apply<A: Algebra>(self, earlier: A::Array, later: A::Array) -> A::Array {
        let [left, right] = self.operands([earlier, later]);
        A::binary(self.op, left, right)
    }

    /// The operation.
    pub(super) fn operation(self) -> Binary {
        self.op
    }

    /// Orders the operands as the operation takes them. They are given with the earlier one first.
    pub(super) fn operands<T>(self, [earlier, later]: [T; 2]) -> [T; 2] {
        if self.exchanged { [later, earlier] } else { [earlier, later] }
    }

    /// The library's reduction with the same value and derivative, if there is one. The maximum of exchanged operands has none:
    /// at a tie its derivative goes to the last operand. Nor has `logaddexp`, whose derivative is finite at infinite operands
    /// too.
    pub(super) fn reduction(self) -> Option<Reduction> {
        match (self.op, self.exchanged) {
            (Binary::Add, _) => Some(Reduction::Sum),
            (Binary::Or, _) | (Binary::Max, false) => Some(Reduction::Max),
            (Binary::And, _) | (Binary::Min, false) => Some(Reduction::Min),
            _ => None,
        }
    }

    /// Whether adding at computed positions combines by it.
    pub(super) fn scatters(self) -> bool {
        matches!(self.op, Binary::Add | Binary::Or)
    }

    /// The combination that a body applies to each array, for a body that combines two trees of `arrays` arrays. `None` unless
    /// each result is one operation on its own two operands.
    fn of_body(body: &Body<Build>, arrays: usize) -> Option<Vec<Combination>> {
        let of_result = |(at, &result): (usize, &NodeId)| {
            let node = body.node(result);
            let Op::Binary(op) = node.op else { return None };
            let (earlier, later) = (at as NodeId, (arrays + at) as NodeId);
            let exchanged = match node.args[..] {
                [left, right] if (left, right) == (earlier, later) => false,
                [left, right] if (left, right) == (later, earlier) => true,
                _ => return None,
            };
            Some(Combination { op, exchanged })
        };
        body.results.iter().enumerate().map(of_result).collect()
    }
}

/// A user's operator on two trees. It is called through a pointer, so that an operator of each closure is not compiled.
pub(super) type Combine<'f, T> = dyn Fn(T, T) -> T + 'f;

/// The operator's result, which must be like the operands; a mismatch is reported and the result is a placeholder.
fn checked_result<A: Algebra, T: Tree<A>>(name: &str, place: &Location<'_>, op: &Combine<T>, a: T, b: T) -> T {
    let like = duplicate(&b);
    let result = {
        let _own = ReportedAt::own_lines();
        op(a, b)
    };
    match check_same_trees(&like, &result) {
        Ok(()) => result,
        Err(problem) => {
            let problem = format!("what the operator takes and what it gives differ: {problem}");
            let placeholders = refuse::<A>(name, problem, &like.types(), place);
            T::Family::rebuild::<A, A>(&like, &mut placeholders.into_iter())
        }
    }
}

/// A user's operator on slices of arrays.
pub(super) struct Operator<'a, A: Algebra, X: Sliced<A>> {
    name: &'static str,
    place: &'static Location<'static>,
    like: &'a X,
    op: &'a Combine<'a, X::Slice>,
    /// The operator as a body, in a staged algebra, which runs the closure for it once.
    traced: Option<CapturedBody<A>>,
}

impl<'a, A, X> Operator<'a, A, X>
where
    A: Algebra,
    X: Sliced<A>,
    X::Slice: Stacked<A, Stack = X>,
{
    /// An operator that is applied to slices of these types at least once.
    pub(super) fn new(
        name: &'static str,
        place: &'static Location<'static>,
        like: &'a X,
        slices: Vec<Type>,
        op: &'a Combine<'a, X::Slice>,
    ) -> Self {
        let count = slices.len();
        let slice = |arrays: Vec<A::Array>| like.slice_from(&mut arrays.into_iter());
        let parameters: Vec<Type> = slices.iter().chain(&slices).cloned().collect();
        let traced = A::trace_body(&parameters, false, &mut |mut earlier| {
            let later = earlier.split_off(count);
            checked_result(name, place, op, slice(earlier), slice(later)).leaves()
        });
        Operator { name, place, like, op, traced }
    }

    /// The combination that the operator applies to each array of the tree. `None` where the operator's body is not visible, or
    /// does more than one operation on the two arrays in the same place.
    pub(super) fn combinations(&self) -> Option<Vec<Combination>> {
        let (body, _) = self.traced.as_ref()?;
        Combination::of_body(body, body.results.len())
    }

    /// Applies the operator at each position of two stacks. This is a loop that carries nothing, so staging turns it into bulk
    /// operations. The results must be like the operands; a mismatch is reported and the results are placeholders.
    pub(super) fn on_stacks(&self, earlier: Vec<A::Array>, later: Vec<A::Array>) -> Vec<A::Array> {
        let length = earlier.first().map_or(0, |array| A::shape(array)[0]);
        match &self.traced {
            Some((body, captures)) => {
                let scan = Scan { body: body.clone(), carries: 0, inputs: 2 * earlier.len(), length, reverse: false };
                A::scan_source(scan, Vec::new(), earlier.into_iter().chain(later).collect(), captures.clone())
            }
            None => {
                let stack = |arrays: Vec<A::Array>| X::Family::rebuild::<A, A>(self.like, &mut arrays.into_iter());
                let step = |(), (a, b)| ((), checked_result(self.name, self.place, self.op, a, b));
                let pairs = (stack(earlier), stack(later));
                scan_as((self.name, self.place), false, (), &pairs, length, &step).1.leaves()
            }
        }
    }
}

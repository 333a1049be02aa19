//! `for t in rolled(0..n)`: a loop that stays one where the function is staged.

use crate::algebra::Algebra;
use crate::tensor::{R0, Tensor, Tree, iota, scan, scan_reverse};
use std::iter::Rev;
use std::ops::{Range, RangeInclusive};

/// The steps of a rolled loop.
#[diagnostic::on_unimplemented(
    message = "a rolled loop does not run over `{Self}`",
    note = "it runs over a range of `usize`: `rolled(0..n)`, `rolled(1..=n)`, `rolled((0..n).rev())`",
    note = "slices of an array are read in it, `x[t]`, or given to the closure of `scan`"
)]
pub trait Steps {
    /// The first position of the range, how many there are, and whether they are counted down.
    fn steps(self) -> (usize, usize, bool);
}

impl Steps for Range<usize> {
    fn steps(self) -> (usize, usize, bool) {
        (self.start, self.len(), false)
    }
}

impl Steps for RangeInclusive<usize> {
    fn steps(self) -> (usize, usize, bool) {
        if self.is_empty() { (0, 0, false) } else { (*self.start(), *self.end() - *self.start() + 1, false) }
    }
}

/// The steps of a range that is read from its end.
fn counted_down(mut range: impl DoubleEndedIterator<Item = usize>) -> (usize, usize, bool) {
    match (range.next(), range.next_back()) {
        (Some(last), Some(first)) => (first, last - first + 1, true),
        (Some(only), None) => (only, 1, true),
        _ => (0, 0, true),
    }
}

impl Steps for Rev<Range<usize>> {
    fn steps(self) -> (usize, usize, bool) {
        counted_down(self)
    }
}

impl Steps for Rev<RangeInclusive<usize>> {
    fn steps(self) -> (usize, usize, bool) {
        counted_down(self)
    }
}

/// What a rolled loop carries from step to step: the `let mut`s that its body assigns.
#[diagnostic::on_unimplemented(
    message = "a rolled loop assigns `{Self}`, and carries arrays only",
    note = "begin with an array, `let mut s = scalar(0.0);`, or `zeros(n)`; structs have `#[derive(Tree)]`",
    note = "they are of one algebra: a plain array enters by `constant(&w)`",
    note = "a loop over plain values is Rust's own: `for t in 0..n`"
)]
pub trait Carried<A: Algebra>: Tree<A> {}

// Else the compiler says what is missing of `Tree` alone, at greater length.
#[diagnostic::do_not_recommend]
impl<A: Algebra, T: Tree<A>> Carried<A> for T {}

/// What the variables are after all steps; each is given the variables, and the position as an array.
#[track_caller]
pub fn rolled<A: Algebra, S: Steps, C: Carried<A>>(steps: S, carry: C, step: impl Fn(C, Tensor<A, i64, R0>) -> C) -> C {
    let (start, count, down) = steps.steps();
    let positions = iota::<A>(count);
    let positions = if start == 0 { positions } else { positions + start };
    let step = |carry: C, position: Tensor<A, i64, R0>| (step(carry, position), ());
    if down { scan_reverse(carry, &positions, count, step).0 } else { scan(carry, &positions, count, step).0 }
}

//! `for t in rolled(0..n)`: a loop that stays one where the function is staged.

use crate::algebra::Algebra;
use crate::tensor::{R0, Tensor, Tree, cond, duplicate, iota, scalar, scan, scan_reverse, while_loop};
use std::iter::Rev;
use std::ops::{Range, RangeInclusive};

/// The steps of a rolled loop.
#[diagnostic::on_unimplemented(
    message = "a rolled loop does not run over `{Self}`",
    note = "it runs over a range of `usize`, or of scalars of `i64`: `rolled(0..n)`, `rolled(1..=i)`, `rolled((0..n).rev())`",
    note = "slices of an array are read in it, `x[t]`, or given to the closure of `scan`"
)]
pub trait Steps<A: Algebra> {
    /// The carried value after all steps.
    #[track_caller]
    fn run<C: Tree<A>>(self, carry: C, step: impl Fn(C, Tensor<A, i64, R0>) -> C) -> C;
}

/// Steps whose number is known.
#[track_caller]
fn counted<A: Algebra, C: Tree<A>>(
    (start, count, down): (i64, usize, bool),
    carry: C,
    step: impl Fn(C, Tensor<A, i64, R0>) -> C,
) -> C {
    let positions = iota::<A>(count);
    let positions = if start == 0 { positions } else { positions + start };
    let step = |carry: C, position: Tensor<A, i64, R0>| (step(carry, position), ());
    if down { scan_reverse(carry, &positions, count, step).0 } else { scan(carry, &positions, count, step).0 }
}

impl<A: Algebra> Steps<A> for Range<usize> {
    #[track_caller]
    fn run<C: Tree<A>>(self, carry: C, step: impl Fn(C, Tensor<A, i64, R0>) -> C) -> C {
        counted((self.start as i64, self.len(), false), carry, step)
    }
}

impl<A: Algebra> Steps<A> for RangeInclusive<usize> {
    #[track_caller]
    fn run<C: Tree<A>>(self, carry: C, step: impl Fn(C, Tensor<A, i64, R0>) -> C) -> C {
        let count = if self.is_empty() { 0 } else { (self.end() - self.start()).saturating_add(1) };
        counted((*self.start() as i64, count, false), carry, step)
    }
}

/// The steps of a range that is read from its end.
fn counted_down(mut range: impl DoubleEndedIterator<Item = usize>) -> (i64, usize, bool) {
    match (range.next(), range.next_back()) {
        (Some(last), Some(first)) => (first as i64, (last - first).saturating_add(1), true),
        (Some(only), None) => (only as i64, 1, true),
        _ => (0, 0, true),
    }
}

impl<A: Algebra> Steps<A> for Rev<Range<usize>> {
    #[track_caller]
    fn run<C: Tree<A>>(self, carry: C, step: impl Fn(C, Tensor<A, i64, R0>) -> C) -> C {
        counted(counted_down(self), carry, step)
    }
}

impl<A: Algebra> Steps<A> for Rev<RangeInclusive<usize>> {
    #[track_caller]
    fn run<C: Tree<A>>(self, carry: C, step: impl Fn(C, Tensor<A, i64, R0>) -> C) -> C {
        counted(counted_down(self), carry, step)
    }
}

/// A range with an array without axes for an end: the number of steps is found when the program runs.
#[derive(Clone, Debug)]
pub struct MovingRange<A: Algebra> {
    start: Tensor<A, i64, R0>,
    end: Tensor<A, i64, R0>,
    down: bool,
}

impl<A: Algebra> MovingRange<A> {
    /// The range between two positions.
    pub(in crate::tensor) fn between(start: Tensor<A, i64, R0>, end: Tensor<A, i64, R0>) -> MovingRange<A> {
        MovingRange { start, end, down: false }
    }

    /// The range from a position on.
    pub(in crate::tensor) fn from(start: Tensor<A, i64, R0>) -> MovingRange<A> {
        MovingRange::between(start, scalar(i64::MAX))
    }

    /// The first position, and the one after the last.
    pub(in crate::tensor) fn ends(self) -> (Tensor<A, i64, R0>, Tensor<A, i64, R0>) {
        (self.start, self.end)
    }

    /// The range from its end.
    pub fn rev(self) -> MovingRange<A> {
        MovingRange { down: !self.down, ..self }
    }
}

/// How many positions a loop runs over, most of which may do nothing.
const MOST_POSITIONS: usize = 1 << 24;

impl<A: Algebra> Steps<A> for MovingRange<A> {
    /// Where both ends are bounded when the function is staged, as positions of loops and builds are, the loop is one over
    /// all positions that there may be, in which those outside of the range do nothing. Others are `while` loops.
    #[track_caller]
    fn run<C: Tree<A>>(self, carry: C, step: impl Fn(C, Tensor<A, i64, R0>) -> C) -> C {
        let MovingRange { start, end, down } = self;
        let ((low, _), (_, high)) = (A::range(start.array()), A::range(end.array()));
        let count = usize::try_from(high.saturating_sub(low)).unwrap_or(0);
        if low > i64::MIN && high < i64::MAX && count <= MOST_POSITIONS {
            if A::known(start.array()).is_some() && A::known(end.array()).is_some() {
                return counted((low, count, down), carry, step);
            }
            return counted((low, count, down), carry, |carry: C, position: Tensor<A, i64, R0>| {
                let is_inside = position.ge(&start) & position.lt(&end);
                cond(is_inside, || step(duplicate(&carry), position.clone()), || duplicate(&carry))
            });
        }
        // The loop carries an end of the range that is left: so no position wraps around, at any ends.
        if down {
            let goes_on = |(_, end): &(C, Tensor<A, i64, R0>)| end.gt(&start);
            let backward = |(carry, end): (C, Tensor<A, i64, R0>)| {
                let position = end - 1;
                (step(carry, position.clone()), position)
            };
            return while_loop((carry, end), goes_on, backward).0;
        }
        let goes_on = |(_, start): &(C, Tensor<A, i64, R0>)| start.lt(&end);
        while_loop((carry, start.clone()), goes_on, |(carry, at)| (step(carry, at.clone()), at + 1)).0
    }
}

/// A range by its ends.
#[diagnostic::on_unimplemented(
    message = "`{Self}` and `{End}` are not the ends of one range of steps",
    note = "a rolled loop runs over positions: its ends are `usize`, or scalars of `i64`"
)]
pub trait Ends<End> {
    /// The range.
    type Range;
    /// `start..end`
    fn to(&self, end: &End) -> Self::Range;
    /// The inclusive range.
    type Inclusive;
    /// `start..=end`
    fn through(&self, end: &End) -> Self::Inclusive;
}

impl Ends<usize> for usize {
    type Range = Range<usize>;
    fn to(&self, &end: &usize) -> Range<usize> {
        *self..end
    }
    type Inclusive = RangeInclusive<usize>;
    fn through(&self, &end: &usize) -> RangeInclusive<usize> {
        *self..=end
    }
}

macro_rules! moving_ranges {
    ($($start:ty, $end:ty;)*) => {
        $(
            impl<A: Algebra> Ends<$end> for $start {
                type Range = MovingRange<A>;
                fn to(&self, end: &$end) -> MovingRange<A> {
                    MovingRange { start: self.position(), end: end.position(), down: false }
                }
                type Inclusive = MovingRange<A>;
                fn through(&self, end: &$end) -> MovingRange<A> {
                    MovingRange { start: self.position(), end: end.position() + 1, down: false }
                }
            }
        )*
    };
}

moving_ranges! {
    usize, Tensor<A, i64, R0>;
    usize, &Tensor<A, i64, R0>;
    Tensor<A, i64, R0>, usize;
    &Tensor<A, i64, R0>, usize;
    Tensor<A, i64, R0>, Tensor<A, i64, R0>;
    Tensor<A, i64, R0>, &Tensor<A, i64, R0>;
    &Tensor<A, i64, R0>, Tensor<A, i64, R0>;
    &Tensor<A, i64, R0>, &Tensor<A, i64, R0>;
}

/// An end of a range, as an array.
trait RangeEnd<A: Algebra> {
    fn position(&self) -> Tensor<A, i64, R0>;
}

impl<A: Algebra> RangeEnd<A> for usize {
    fn position(&self) -> Tensor<A, i64, R0> {
        scalar(*self as i64)
    }
}

impl<A: Algebra> RangeEnd<A> for Tensor<A, i64, R0> {
    fn position(&self) -> Tensor<A, i64, R0> {
        self.clone()
    }
}

impl<A: Algebra> RangeEnd<A> for &Tensor<A, i64, R0> {
    fn position(&self) -> Tensor<A, i64, R0> {
        (*self).clone()
    }
}

/// The variables that a rolled loop carries from step to step: the `let mut`s that its body assigns.
#[diagnostic::on_unimplemented(
    message = "a rolled loop assigns `{Self}`, and carries arrays only",
    note = "begin with an array, `let mut s = scalar(0.0);`, or `zeros(n)`; structs have `#[derive(Tree)]`",
    note = "they are of one algebra: a plain array enters by `constant(&w)`",
    note = "a loop over plain values is Rust's own: `for t in 0..n`"
)]
pub trait Carried<A: Algebra>: Tree<A> {}

// Otherwise the compiler names the missing `Tree` alone, at greater length.
#[diagnostic::do_not_recommend]
impl<A: Algebra, T: Tree<A>> Carried<A> for T {}

/// The variables after all steps. Each step takes the variables, and the position as an array.
#[track_caller]
pub fn rolled<A: Algebra, S: Steps<A>, C: Carried<A>>(
    steps: S,
    carry: C,
    step: impl Fn(C, Tensor<A, i64, R0>) -> C,
) -> C {
    steps.run(carry, step)
}

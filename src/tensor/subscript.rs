//! Positions and ranges along the axes of an array: where it is read or written.

use crate::algebra::Algebra;
use crate::array::Array;
use crate::shape::{Shape, Value};
use crate::tensor::apply::{fail_array, stretch};
use crate::tensor::index::{counted, read_along, read_at};
use crate::tensor::structure::{checked_range, range_map};
use crate::tensor::{Index, Position, R0, R1, R2, R3, R4, R5, R6, Rank, Tensor};
use smallvec::SmallVec;
use std::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// Where one axis of an array is read or written.
pub enum Part<A: Algebra> {
    /// One position: the axis is removed.
    Position(Position<A>),
    /// A range: the axis stays.
    Range(Bound<usize>, Bound<usize>),
}

impl<A: Algebra> Clone for Part<A> {
    fn clone(&self) -> Self {
        match self {
            Part::Position(Position::Known(at)) => Part::Position(Position::Known(*at)),
            Part::Position(Position::Computed(at)) => Part::Position(Position::Computed(at.clone())),
            Part::Range(start, end) => Part::Range(*start, *end),
        }
    }
}

impl<A: Algebra> Part<A> {
    /// Whether it is the whole axis.
    fn is_whole(&self) -> bool {
        matches!(self, Part::Range(Bound::Unbounded, Bound::Unbounded))
    }
}

/// The index in `x[..]`, where `x` is an array over `A`: a position, a range, or a tuple of these.
///
/// Positions and the ends of ranges follow [`Tensor::at`] and [`Tensor::slice`]; axes that are not mentioned are whole.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index into arrays over `{A}`",
    note = "an index is an integer, a scalar of `i64` or `i32`, a range of `usize`, or a tuple of these",
    note = "the length of a range is known when a program is staged: its ends are plain `usize`; sums over a range with computed \
            ends are those of `x.moving_slice(..j)`, and elements at computed positions are read by `build(n, |k| x[start + k])`",
    note = "elements at an array of positions are read by `x.gather(&at)`, and written by `x = x.scatter_set(&at, &values)` or \
            `scatter_add` and its like"
)]
pub trait Subscript<A: Algebra> {
    /// As many axes as there are positions, which are removed.
    type Positions: Rank;
    /// The position or range along each axis, outermost first.
    fn parts(self) -> SmallVec<[Part<A>; 6]>;
}

macro_rules! positions {
    ($($t:ty),*) => {
        $(impl<A: Algebra> Subscript<A> for $t {
            type Positions = R1;
            fn parts(self) -> SmallVec<[Part<A>; 6]> {
                self.positions().into_iter().map(Part::Position).collect()
            }
        })*
    };
}

positions!(usize, i64, i32, Tensor<A, i64, R0>, &Tensor<A, i64, R0>, Tensor<A, i32, R0>, &Tensor<A, i32, R0>);

macro_rules! ranges {
    ($($t:ty),*) => {
        $(impl<A: Algebra> Subscript<A> for $t {
            type Positions = R0;
            fn parts(self) -> SmallVec<[Part<A>; 6]> {
                SmallVec::from_iter([Part::Range(self.start_bound().cloned(), self.end_bound().cloned())])
            }
        })*
    };
}

ranges!(Range<usize>, RangeFrom<usize>, RangeTo<usize>, RangeInclusive<usize>, RangeToInclusive<usize>, RangeFull);

macro_rules! tuples {
    ($(($($name:ident $x:ident),*): $positions:ty;)*) => {
        $(impl<A: Algebra, $($name: Subscript<A>),*> Subscript<A> for ($($name,)*) {
            type Positions = $positions;
            fn parts(self) -> SmallVec<[Part<A>; 6]> {
                let ($($x,)*) = self;
                let mut parts = SmallVec::new();
                $(parts.extend($x.parts());)*
                parts
            }
        })*
    };
}

/// The rank with the axes of both.
pub(super) type Plus<P, R> = <P as Rank>::Plus<R>;

tuples! {
    (I a): I::Positions;
    (I a, J b): Plus<I::Positions, J::Positions>;
    (I a, J b, K c): Plus<I::Positions, Plus<J::Positions, K::Positions>>;
    (I a, J b, K c, L d): Plus<I::Positions, Plus<J::Positions, Plus<K::Positions, L::Positions>>>;
    (I a, J b, K c, L d, M e):
        Plus<I::Positions, Plus<J::Positions, Plus<K::Positions, Plus<L::Positions, M::Positions>>>>;
    (I a, J b, K c, L d, M e, N f):
        Plus<I::Positions, Plus<J::Positions, Plus<K::Positions, Plus<L::Positions, Plus<M::Positions, N::Positions>>>>>;
}

macro_rules! rust_arrays {
    ($($rank:ident $count:literal),*) => {
        $(impl<A: Algebra, I: Index<A, Rank = R1>> Subscript<A> for [I; $count] {
            type Positions = $rank;
            fn parts(self) -> SmallVec<[Part<A>; 6]> {
                self.into_iter().flat_map(I::positions).map(Part::Position).collect()
            }
        })*
    };
}

rust_arrays!(R1 1, R2 2, R3 3, R4 4, R5 5, R6 6);

/// Fails to compile where there are more positions than axes.
pub(super) const fn check_positions<R: Rank, P: Rank>() {
    if let (Some(axes), Some(positions)) = (R::NDIM, P::NDIM) {
        assert!(positions <= axes, "an array was indexed by more positions than it has axes");
    }
}

/// # Errors
///
/// The problem, where there are more positions and ranges than axes.
pub(super) fn check_count(parts: usize, shape: &[usize]) -> Result<(), String> {
    match parts > shape.len() {
        true => Err(format!("{parts} positions and ranges into shape {shape:?}")),
        false => Ok(()),
    }
}

/// Reads axes at positions and ranges. There are at most as many as axes.
#[track_caller]
pub(super) fn read<A: Algebra>(array: A::Array, parts: SmallVec<[Part<A>; 6]>) -> A::Array {
    if parts.iter().all(|part| matches!(part, Part::Position(_))) {
        let positions = parts.into_iter().filter_map(|part| match part {
            Part::Position(position) => Some(position),
            Part::Range(..) => None,
        });
        return read_at::<A>(array, positions.collect());
    }
    // Innermost first, so that the axes before keep their places; not in a closure, which would hide the caller's line.
    let mut array = array;
    for (axis, part) in parts.into_iter().enumerate().rev() {
        array = match part {
            Part::Position(position) => read_along::<A>(array, axis, position),
            Part::Range(start, end) => sliced::<A>(array, axis, start, end),
        };
    }
    array
}

#[track_caller]
pub(super) fn sliced<A: Algebra>(array: A::Array, axis: usize, start: Bound<usize>, end: Bound<usize>) -> A::Array {
    match range_map(&A::shape(&array), axis, (start, end), 1) {
        Ok(map) => A::view(array, &map),
        Err(problem) => {
            let placeholder = A::type_of(&array);
            fail_array::<A>("slice", problem, placeholder)
        }
    }
}

/// Where an array is written.
pub(super) struct WriteTarget<A: Algebra> {
    /// Arrays of positions of one shape along the outer axes; none where all of the array is written.
    pub positions: Vec<A::Array>,
    /// The shape of the elements there.
    pub shape: Shape,
}

/// Positions along the outer axes of an array that stand for positions and ranges: the grid of the ranges. Inner axes that are
/// whole stay out of the grid.
///
/// # Errors
///
/// The problem, where the array has no such axis or range.
#[track_caller]
pub(super) fn written<A: Algebra>(shape: &[usize], parts: &[Part<A>]) -> Result<WriteTarget<A>, String> {
    check_count(parts.len(), shape)?;
    let outer = parts.iter().rposition(|part| !part.is_whole()).map_or(0, |last| last + 1);
    let parts = &parts[..outer];
    let ranges = parts.iter().enumerate().map(|(axis, part)| match part {
        Part::Position(_) => Ok(None),
        Part::Range(start, end) => checked_range(shape, axis, (*start, *end)).map(Some),
    });
    let ranges: Vec<_> = ranges.collect::<Result<_, String>>()?;
    let grid: Shape = ranges.iter().flatten().map(|range| range.len()).collect();
    let (mut positions, mut axis) = (Vec::with_capacity(outer), 0);
    // Not in a closure, which would hide the caller's line.
    for (part, range) in parts.iter().zip(ranges) {
        positions.push(match (part, range) {
            (Part::Position(Position::Known(at)), _) => A::constant(Array::full(&grid, Value::I64(*at))),
            (Part::Position(Position::Computed(at)), _) => stretch::<A>(at.clone(), &grid),
            (Part::Range(..), range) => {
                axis += 1;
                counted::<A>(range.unwrap_or_default(), &grid, axis - 1)
            }
        });
    }
    let shape = grid.into_iter().chain(shape[outer..].iter().copied()).collect();
    Ok(WriteTarget { positions, shape })
}

//! `x[i]`: of arrays by positions and ranges, of everything else by `std::ops::Index`.

use crate::algebra::Algebra;
use crate::tensor::apply::{fail, fail_array};
use crate::tensor::index::{read_along, read_at};
use crate::tensor::structure::range_map;
use crate::tensor::{Element, Index, Position, R0, R1, R2, R3, R4, R5, R6, Rank, Tensor};
use smallvec::SmallVec;
use std::ops::{Bound, Deref, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// What one axis of an array is read at.
pub enum Part<A: Algebra> {
    /// One position: the axis is removed.
    Position(Position<A>),
    /// A range: the axis stays.
    Range(Bound<usize>, Bound<usize>),
}

/// What stands between the brackets of `x[..]`, where `x` is an array over `A`: a position, a range, or a tuple of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index into arrays over `{A}`",
    note = "an index is an integer, a scalar of `i64` or `i32`, a range of `usize`, or a tuple of these",
    note = "the length of a range is known when a program is staged: its ends are plain `usize`; elements at computed \
            positions are read by `build(n, |k| x[start + k])`"
)]
pub trait Subscript<A: Algebra> {
    /// As many axes as there are positions, which are removed.
    type Positions: Rank;
    /// What each axis is read at, outermost first.
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

/// A literal position, range or list with a minus sign, `x[-1]`, which no array takes; what is not literal among it is kept.
pub struct FromTheEnd<T>(pub T);

/// What nothing implements: arrays have no positions from the end.
#[diagnostic::on_unimplemented(
    message = "positions count from 0, and none is negative: from the end write `x[x.len() - 1]`",
    label = "a position before the first",
    note = "along an inner axis it is `x.shape()[axis] - 1`, and a range without the last is `x[..x.len() - 1]`"
)]
pub trait CountedFromTheEnd<A: Algebra> {
    /// What each axis is read at, outermost first.
    fn counted(self) -> SmallVec<[Part<A>; 6]>;
}

impl<A: Algebra, T> Subscript<A> for FromTheEnd<T>
where
    FromTheEnd<T>: CountedFromTheEnd<A>,
{
    type Positions = R1;
    fn parts(self) -> SmallVec<[Part<A>; 6]> {
        self.counted()
    }
}

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

type Plus<P, R> = <P as Rank>::Plus<R>;

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

/// What was read from an array.
pub struct Read<T>(T);

impl<T> Read<T> {
    /// The array, where a value is wanted.
    pub fn value(self) -> T {
        self.0
    }

    /// The array, as the receiver of a method or an operand.
    pub fn receiver(self) -> T {
        self.0
    }

    /// The array, to which a variable will refer.
    pub fn bound(self) -> T {
        self.0
    }
}

impl<T> Deref for Read<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// The place that an index of anything but an array stands for.
pub struct Place<'a, T: ?Sized>(&'a T);

impl<'a, T: ?Sized> Place<'a, T> {
    /// What is there, where a value is wanted.
    pub fn value(self) -> T
    where
        T: OutOfPlace,
    {
        self.0.out_of_place()
    }

    /// What is there, as the receiver of a method or an operand.
    pub fn receiver(self) -> &'a T {
        self.0
    }

    /// What is there, to which a variable will refer.
    pub fn bound(self) -> &'a T {
        self.0
    }
}

impl<T: ?Sized> Deref for Place<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0
    }
}

/// What an index of a slice or map gives by value: what is `Copy`, and arrays, of which it is another handle.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can not be moved out of what is indexed: write `&v[i]` for a reference, or `v[i].clone()`"
)]
pub trait OutOfPlace: Sized {
    /// The same value.
    fn out_of_place(&self) -> Self;
}

impl<T: Copy> OutOfPlace for T {
    fn out_of_place(&self) -> T {
        *self
    }
}

impl<A: Algebra, E: Element, R: Rank> OutOfPlace for Tensor<A, E, R> {
    fn out_of_place(&self) -> Self {
        self.clone()
    }
}

/// Reading what is no array by its own `std::ops::Index`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not indexed by `{I}`",
    label = "no index for `{Self}`",
    note = "slices and `Vec`s are indexed by `usize`; at a position that is an array, an array is read: the array of a plain table \
            is `constant(&Vector::from(table))`, of a slice `constant(&Vector::from(table.to_vec()))`"
)]
pub trait IndexByRust<I> {
    /// What is read.
    type Output: ?Sized;
    /// The place at an index.
    fn index_at(&self, index: I) -> Place<'_, Self::Output>;
    /// The place at an index with literals, given as an array takes it, and made of that as Rust takes it.
    fn index_at_literals<S>(&self, index: S, plain: impl FnOnce(S) -> I) -> Place<'_, Self::Output>;
}

#[diagnostic::do_not_recommend]
impl<I, X: std::ops::Index<I> + ?Sized> IndexByRust<I> for X {
    type Output = X::Output;
    #[track_caller]
    fn index_at(&self, index: I) -> Place<'_, X::Output> {
        Place(&self[index])
    }
    #[track_caller]
    fn index_at_literals<S>(&self, index: S, plain: impl FnOnce(S) -> I) -> Place<'_, X::Output> {
        Place(&self[plain(index)])
    }
}

/// Assigning to what is no array by its own `std::ops::IndexMut`.
pub trait AssignByRust<I> {
    /// What is assigned.
    type Output: ?Sized;
    /// The place at an index.
    fn place_at(&mut self, index: I) -> &mut Self::Output;
}

impl<I, X: std::ops::IndexMut<I> + ?Sized> AssignByRust<I> for X {
    type Output = X::Output;
    #[track_caller]
    fn place_at(&mut self, index: I) -> &mut X::Output {
        &mut self[index]
    }
}

/// What nothing implements: arrays are values.
#[diagnostic::on_unimplemented(
    message = "an element of an array is not assigned: arrays are values",
    label = "this is an array, `{Self}`",
    note = "a new array has it: `x = x.scatter_set(&i, &v);` for a position that is an array, `scatter_add` to add to what is there",
    note = "all elements at once are given by `build(n, |i| ..)`; a `Vec` of arrays, of which each is assigned, becomes one by \
            `stack(&list)`"
)]
pub trait AssignedByElement<I> {
    /// The place.
    fn place<T>(&mut self, index: I) -> &mut T;
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// What `x[i] = ..` means under `#[differentiable]`: an error that says what to write.
    #[doc(hidden)]
    pub fn place_at<I, T>(&mut self, index: I) -> &mut T
    where
        Self: AssignedByElement<I>,
    {
        self.place(index)
    }

    /// What `x[..]` means under `#[differentiable]`: as [`Tensor::at`] where all are positions; ranges are those of
    /// [`Tensor::slice`].
    #[doc(hidden)]
    #[track_caller]
    pub fn index_at<S: Subscript<A>>(&self, subscript: S) -> Read<Tensor<A, E, <S::Positions as Rank>::TakenFrom<R>>> {
        const {
            if let (Some(axes), Some(positions)) = (R::NDIM, <S::Positions as Rank>::NDIM) {
                assert!(positions <= axes, "an array was indexed by more positions than it has axes");
            }
        }
        let parts = subscript.parts();
        let shape = self.shape();
        if parts.len() > shape.len() {
            let problem = format!("{} positions and ranges into shape {:?}", parts.len(), &shape[..]);
            return Read(fail("at", problem, &shape));
        }
        Read(Tensor::wrap(read::<A>(self.array().clone(), parts)))
    }

    /// The same for what has literals in it, of which plain values make another index.
    #[doc(hidden)]
    #[track_caller]
    pub fn index_at_literals<S: Subscript<A>, I>(
        &self,
        subscript: S,
        _: impl FnOnce(S) -> I,
    ) -> Read<Tensor<A, E, <S::Positions as Rank>::TakenFrom<R>>> {
        self.index_at(subscript)
    }
}

/// Reads axes at positions and ranges; not more than there are.
#[track_caller]
fn read<A: Algebra>(array: A::Array, parts: SmallVec<[Part<A>; 6]>) -> A::Array {
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
fn sliced<A: Algebra>(array: A::Array, axis: usize, start: Bound<usize>, end: Bound<usize>) -> A::Array {
    match range_map(&A::shape(&array), axis, (start, end), 1) {
        Ok(map) => A::view(array, &map),
        Err(problem) => {
            let placeholder = A::type_of(&array);
            fail_array::<A>("slice", problem, placeholder)
        }
    }
}

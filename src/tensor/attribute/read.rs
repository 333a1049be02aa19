//! `x[i]`: of arrays by positions and ranges, of everything else by `std::ops::Index`.

use crate::algebra::Algebra;
use crate::tensor::apply::fail;
use crate::tensor::subscript::{Part, check_count, check_positions, read};
use crate::tensor::{Element, R1, Rank, Subscript, Tensor};
use smallvec::SmallVec;
use std::ops::Deref;

/// A literal position, range or list with a minus sign, such as `x[-1]`, which no array takes; other parts of the index are
/// kept.
pub struct FromTheEnd<T>(pub T);

/// Never implemented: arrays have no positions from the end.
#[diagnostic::on_unimplemented(
    message = "positions count from 0, and none is negative: from the end write `x[x.len() - 1]`",
    label = "a position before the first",
    note = "along an inner axis it is `x.shape()[axis] - 1`, and a range without the last is `x[..x.len() - 1]`"
)]
pub trait CountedFromTheEnd<A: Algebra> {
    /// The position or range along each axis, outermost first.
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

/// A value read from an array.
pub struct Read<T>(T);

impl<T> Read<T> {
    /// Marks an array as read.
    pub(in crate::tensor) fn new(value: T) -> Read<T> {
        Read(value)
    }

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
    /// The value at the place, where a value is needed.
    pub fn value(self) -> T
    where
        T: OutOfPlace,
    {
        self.0.out_of_place()
    }

    /// The place as the receiver of a method or as an operand.
    pub fn receiver(self) -> &'a T {
        self.0
    }

    /// The place that a variable will refer to.
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

/// Elements that indexing a slice or map gives by value: `Copy` types, and arrays, as another handle.
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

/// Reads by `std::ops::Index`, for values that are not arrays.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not indexed by `{I}`",
    label = "no index for `{Self}`",
    note = "slices and `Vec`s are indexed by `usize`; at a position that is an array, an array is read: the array of a plain table \
            is `constant(&Vector::from(table))`, of a slice `constant(&Vector::from(table.to_vec()))`"
)]
pub trait IndexByRust<I> {
    /// The element's type.
    type Output: ?Sized;
    /// The place at an index.
    fn index_at(&self, index: I) -> Place<'_, Self::Output>;
    /// The place at an index with literals. The index is given in the form of arrays; `plain` converts it to the form of Rust.
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

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// The meaning of `x[..]` under `#[differentiable]`: as [`Tensor::at`] where all parts are positions; ranges follow
    /// [`Tensor::slice`].
    #[doc(hidden)]
    #[track_caller]
    pub fn index_at<S: Subscript<A>>(&self, subscript: S) -> Read<Tensor<A, E, <S::Positions as Rank>::TakenFrom<R>>> {
        const { check_positions::<R, S::Positions>() }
        let parts = subscript.parts();
        match check_count(parts.len(), &self.shape()) {
            Ok(()) => Read(Tensor::wrap(read::<A>(self.array().clone(), parts))),
            Err(problem) => Read(fail("at", problem, &self.shape())),
        }
    }

    /// The same for an index with literals, which plain values would convert to another index.
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

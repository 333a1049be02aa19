//! `x[i] = v` and `x[i] += v`: of arrays at positions and ranges, of everything else by `std::ops::IndexMut`.
//!
//! An index comes in the form for arrays, with a function to the form for Rust, where literals have another type; so does a
//! value.

use crate::algebra::Algebra;
use crate::tensor::write::{Opened, ReadRank, UpdateMode};
use crate::tensor::{Element, Number, Operand, Rank, Subscript, Tensor};
use std::ops::{self, IndexMut};

/// `x[i] += v` and its like.
macro_rules! rust_operators {
    ($($trait:ident $operator:ident $method:ident),*) => {
        $(
            /// Applies the operator to the element at an index.
            #[track_caller]
            fn $method<S, V, W>(
                &mut self,
                index: S,
                plain_index: impl FnOnce(S) -> I,
                value: V,
                plain_value: impl FnOnce(V) -> W,
            ) where
                Self::Output: ops::$trait<W>,
            {
                ops::$trait::$operator(&mut self[plain_index(index)], plain_value(value));
            }
        )*
    };
}

/// Assignment by `std::ops::IndexMut`, for values that are not arrays.
pub trait AssignByRust<I>: IndexMut<I> {
    /// The place at an index.
    #[track_caller]
    fn place_at(&mut self, index: I) -> &mut Self::Output {
        &mut self[index]
    }

    /// `x[i] = v`
    #[track_caller]
    fn assign_at<S, V>(
        &mut self,
        index: S,
        plain_index: impl FnOnce(S) -> I,
        value: V,
        plain_value: impl FnOnce(V) -> Self::Output,
    ) where
        Self::Output: Sized,
    {
        self[plain_index(index)] = plain_value(value);
    }

    rust_operators! {
        AddAssign add_assign add_assign_at, SubAssign sub_assign sub_assign_at, MulAssign mul_assign mul_assign_at,
        DivAssign div_assign div_assign_at, RemAssign rem_assign rem_assign_at, BitAndAssign bitand_assign bitand_assign_at,
        BitOrAssign bitor_assign bitor_assign_at, BitXorAssign bitxor_assign bitxor_assign_at,
        ShlAssign shl_assign shl_assign_at, ShrAssign shr_assign shr_assign_at
    }
}

#[diagnostic::do_not_recommend]
impl<I, X: IndexMut<I> + ?Sized> AssignByRust<I> for X {}

/// No array implements it: an element is no place.
#[diagnostic::on_unimplemented(
    message = "a part of an array is assigned by one pair of brackets",
    label = "this is an array, `{Self}`",
    note = "positions stand side by side: `a[(i, j)] = v` for `a[i][j] = v`"
)]
pub trait AssignedInParts<I> {
    /// The place.
    fn place<T>(&mut self, index: I) -> &mut T;
}

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// `x[i][j] = ..` under `#[differentiable]`: an error that suggests the fix.
    #[doc(hidden)]
    pub fn place_at<I, T>(&mut self, index: I) -> &mut T
    where
        Self: AssignedInParts<I>,
    {
        self.place(index)
    }

    /// `x[..] = v` under `#[differentiable]`: [`Tensor::with`].
    #[doc(hidden)]
    #[track_caller]
    pub fn assign_at<S: Subscript<A>, I, V: Operand<A, E, ReadRank<A, R, S>>, W>(
        &mut self,
        subscript: S,
        _: impl FnOnce(S) -> I,
        value: V,
        _: impl FnOnce(V) -> W,
    ) {
        self.put("assignment", UpdateMode::Set, subscript, value);
    }
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    /// `x[..] += v` under `#[differentiable]`: [`Tensor::with_added`].
    #[doc(hidden)]
    #[track_caller]
    pub fn add_assign_at<S: Subscript<A>, I, V: Operand<A, E, ReadRank<A, R, S>>, W>(
        &mut self,
        subscript: S,
        _: impl FnOnce(S) -> I,
        value: V,
        _: impl FnOnce(V) -> W,
    ) {
        self.put("assignment", UpdateMode::Add, subscript, value);
    }

    /// `x[..] -= v` under `#[differentiable]`: [`Tensor::with_added`] of the negated value.
    #[doc(hidden)]
    #[track_caller]
    pub fn sub_assign_at<S: Subscript<A>, I, V: Operand<A, E, ReadRank<A, R, S>>, W>(
        &mut self,
        subscript: S,
        _: impl FnOnce(S) -> I,
        value: V,
        _: impl FnOnce(V) -> W,
    ) {
        self.put("assignment", UpdateMode::Subtract, subscript, value);
    }
}

/// Compound assignment to elements of arrays.
macro_rules! array_operators {
    ($($trait:ident $operator:ident $method:ident),*) => {
        impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
            $(
                /// Applies the operator to the elements read there, and writes the result back.
                #[doc(hidden)]
                #[track_caller]
                pub fn $method<S: Subscript<A>, I, V: Operand<A, E, ReadRank<A, R, S>>, W>(
                    &mut self,
                    subscript: S,
                    _: impl FnOnce(S) -> I,
                    value: V,
                    _: impl FnOnce(V) -> W,
                ) where
                    Tensor<A, E, ReadRank<A, R, S>>: ops::$trait<Tensor<A, E, ReadRank<A, R, S>>>,
                {
                    if let Some(Opened { place, mut read, value }) = self.open("assignment", subscript, value) {
                        ops::$trait::$operator(&mut read, value);
                        self.close("assignment", place, read);
                    }
                }
            )*
        }
    };
}

array_operators! {
    MulAssign mul_assign mul_assign_at, DivAssign div_assign div_assign_at, RemAssign rem_assign rem_assign_at,
    BitAndAssign bitand_assign bitand_assign_at, BitOrAssign bitor_assign bitor_assign_at,
    BitXorAssign bitxor_assign bitxor_assign_at, ShlAssign shl_assign shl_assign_at, ShrAssign shr_assign shr_assign_at
}

//! `&&` and `||`: with short cuts for `bool`, elementwise for arrays.

use crate::algebra::Algebra;
use crate::tensor::{Operand, Rank, Tensor};

/// The left side of `&&` or `||`.
pub struct Truth<T>(pub T);

/// The right side of `&&` or `||` where the left side is a `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no truth value",
    note = "the sides of `&&` and `||` are `bool`s or arrays of `bool`, such as comparisons give"
)]
pub trait AfterBool: Sized {
    /// Both.
    fn and_after(left: bool, right: impl FnOnce() -> Self) -> Self;
    /// One of them.
    fn or_after(left: bool, right: impl FnOnce() -> Self) -> Self;
}

impl AfterBool for bool {
    fn and_after(left: bool, right: impl FnOnce() -> bool) -> bool {
        left && right()
    }
    fn or_after(left: bool, right: impl FnOnce() -> bool) -> bool {
        left || right()
    }
}

impl<A: Algebra, R: Rank> AfterBool for Tensor<A, bool, R> {
    #[track_caller]
    fn and_after(left: bool, right: impl FnOnce() -> Self) -> Self {
        right() & left
    }
    #[track_caller]
    fn or_after(left: bool, right: impl FnOnce() -> Self) -> Self {
        right() | left
    }
}

impl Truth<bool> {
    /// `&&`
    #[track_caller]
    pub fn and<T: AfterBool>(self, right: impl FnOnce() -> T) -> T {
        T::and_after(self.0, right)
    }
    /// `||`
    #[track_caller]
    pub fn or<T: AfterBool>(self, right: impl FnOnce() -> T) -> T {
        T::or_after(self.0, right)
    }
}

impl<A: Algebra, R: Rank> Truth<Tensor<A, bool, R>> {
    /// Where both hold.
    #[track_caller]
    pub fn and<T: Operand<A, bool, R>>(self, right: impl FnOnce() -> T) -> Tensor<A, bool, T::Rank> {
        self.0 & right()
    }
    /// Where one of them holds.
    #[track_caller]
    pub fn or<T: Operand<A, bool, R>>(self, right: impl FnOnce() -> T) -> Tensor<A, bool, T::Rank> {
        self.0 | right()
    }
}

impl<A: Algebra, R: Rank> Truth<&Tensor<A, bool, R>> {
    /// Where both hold.
    #[track_caller]
    pub fn and<T: Operand<A, bool, R>>(self, right: impl FnOnce() -> T) -> Tensor<A, bool, T::Rank> {
        self.0 & right()
    }
    /// Where one of them holds.
    #[track_caller]
    pub fn or<T: Operand<A, bool, R>>(self, right: impl FnOnce() -> T) -> Tensor<A, bool, T::Rank> {
        self.0 | right()
    }
}

/// The error for a left side that is neither a `bool` nor an array of them.
pub trait TruthOfAnotherType {
    /// The type of the left side.
    type Left;
    /// `&&`
    fn and<T>(self, right: impl FnOnce() -> T) -> T
    where
        Self::Left: AfterBool;
    /// `||`
    fn or<T>(self, right: impl FnOnce() -> T) -> T
    where
        Self::Left: AfterBool;
}

impl<L> TruthOfAnotherType for Truth<L> {
    type Left = L;
    fn and<T>(self, right: impl FnOnce() -> T) -> T
    where
        L: AfterBool,
    {
        right()
    }
    fn or<T>(self, right: impl FnOnce() -> T) -> T
    where
        L: AfterBool,
    {
        right()
    }
}

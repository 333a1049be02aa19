//! Where Rust wants values that an array does not have: `match` by literals, and `for` over elements.

use crate::algebra::Algebra;
use crate::tensor::{Element, Rank, Tensor};

/// The value that a `match` compares with literals.
pub struct Matched<'a, T: ?Sized>(pub &'a T);

/// Never implemented: an array has no value where a function is staged.
#[diagnostic::on_unimplemented(
    message = "`match` goes by a plain value, and this is an array",
    label = "an array, `{Self}`",
    note = "an array chooses by `if`: `if i == 0 {{ a }} else {{ b }}`; many cases are read from an array at a position, `cases[i]`"
)]
pub trait MatchedByLiteral<N: ?Sized> {
    /// The value.
    fn matched(&self) -> &N;
}

/// The value that a loop iterates over.
pub struct Iterated<T>(pub T);

/// Never implemented: an array is no collection of values.
#[diagnostic::on_unimplemented(
    message = "an array is not iterated over",
    label = "an array, `{Self}`",
    note = "a loop over positions reads the elements: `for i in rolled(0..x.len()) {{ .. x[i] .. }}` stays a loop, `for i in 0..x.len()` \
            is written out where the function is staged",
    note = "without a loop: `x * 2.0`, `x.sum()`, `build(x.len(), |i| ..)`; the elements of a plain array are `x.to_vec()`"
)]
pub trait IteratedByElement<N> {
    /// The elements.
    fn elements(&self) -> N;
}

macro_rules! arrays {
    ($($array:ty),*) => {
        $(
            impl<'a, A: Algebra, E: Element, R: Rank> Matched<'a, $array> {
                /// There is no value.
                pub fn value<N: ?Sized>(self) -> &'a N
                where
                    Tensor<A, E, R>: MatchedByLiteral<N>,
                {
                    self.0.matched()
                }
            }

            impl<A: Algebra, E: Element, R: Rank> Iterated<$array> {
                /// There are no values.
                pub fn values<N>(self) -> N
                where
                    Tensor<A, E, R>: IteratedByElement<N>,
                {
                    self.0.elements()
                }
            }
        )*
    };
}

arrays!(Tensor<A, E, R>, &Tensor<A, E, R>, &&Tensor<A, E, R>);

impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
    /// The meaning of `x.iter()`: an error that suggests the fix.
    #[doc(hidden)]
    pub fn iter<N>(&self) -> N
    where
        Self: IteratedByElement<N>,
    {
        self.elements()
    }
}

/// Values that are not arrays are matched as they are.
pub trait MatchedByRust<'a> {
    /// The type.
    type Of: ?Sized;
    /// The same value.
    fn value(self) -> &'a Self::Of;
}

impl<'a, T: ?Sized> MatchedByRust<'a> for Matched<'a, T> {
    type Of = T;
    fn value(self) -> &'a T {
        self.0
    }
}

/// Values that are not arrays are iterated as they are.
pub trait IteratedByRust {
    /// The type.
    type Of;
    /// The same value.
    fn values(self) -> Self::Of;
}

impl<T> IteratedByRust for Iterated<T> {
    type Of = T;
    fn values(self) -> T {
        self.0
    }
}

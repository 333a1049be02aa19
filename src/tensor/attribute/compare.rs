//! `<`, `==` and the like: of arrays elementwise, of everything else by `PartialOrd` and `PartialEq`.

use crate::algebra::Algebra;
use crate::tensor::{Element, Operand, Rank, Tensor};

/// The two sides of a comparison.
pub struct Compared<'a, L: ?Sized, R: ?Sized>(pub &'a L, pub &'a R);

macro_rules! arrays {
    ($($left:ty, |$x:ident| $array:expr;)*) => {
        $(impl<'a, A: Algebra, E: Element, R: Rank, T> Compared<'a, $left, T> {
            arrays!(@methods |$x| $array, 'a A E R T: less lt, less_equal le, greater gt, greater_equal ge, equal equal,
                not_equal not_equal);
        })*
    };
    (@methods |$x:ident| $array:expr, $a:lifetime $A:ident $E:ident $R:ident $T:ident: $($method:ident $of_tensor:ident),*) => {
        $(
            /// Where the comparison holds of the elements.
            #[track_caller]
            pub fn $method<O: Rank>(self) -> Tensor<$A, bool, O>
            where
                &$a $T: Operand<$A, $E, $R, Rank = O>,
            {
                let $x = self.0;
                $array.$of_tensor(self.1)
            }
        )*
    };
}

arrays! {
    Tensor<A, E, R>, |x| x;
    &'a Tensor<A, E, R>, |x| (*x);
    &'a &'a Tensor<A, E, R>, |x| (**x);
}

macro_rules! numbers {
    ($($number:ident $element:ident),*) => {
        $(
            numbers!(@right $number $element, Tensor<A, $element, R>);
            numbers!(@right $number $element, &'a Tensor<A, $element, R>);
        )*
    };
    (@right $number:ident $element:ident, $right:ty) => {
        impl<'a, A: Algebra, R: Rank> Compared<'a, $number, $right> {
            numbers!(@methods $number $element: less gt, less_equal ge, greater lt, greater_equal le, equal equal,
                not_equal not_equal);
        }
    };
    (@methods $number:ident $element:ident: $($method:ident $mirrored:ident),*) => {
        $(
            /// Where the comparison holds of the number and the elements.
            #[track_caller]
            pub fn $method(self) -> Tensor<A, bool, R> {
                self.1.$mirrored(*self.0)
            }
        )*
    };
}

numbers!(f32 f32, f64 f64, i32 i32, i64 i64, usize i64);

/// Comparisons of values that are not arrays.
pub trait CompareByRust<L: ?Sized, R: ?Sized> {
    /// `<`
    fn less(self) -> bool
    where
        L: PartialOrd<R>;
    /// `<=`
    fn less_equal(self) -> bool
    where
        L: PartialOrd<R>;
    /// `>`
    fn greater(self) -> bool
    where
        L: PartialOrd<R>;
    /// `>=`
    fn greater_equal(self) -> bool
    where
        L: PartialOrd<R>;
    /// `==`
    fn equal(self) -> bool
    where
        L: PartialEq<R>;
    /// `!=`
    fn not_equal(self) -> bool
    where
        L: PartialEq<R>;
}

impl<L: ?Sized, R: ?Sized> CompareByRust<L, R> for Compared<'_, L, R> {
    fn less(self) -> bool
    where
        L: PartialOrd<R>,
    {
        self.0 < self.1
    }
    fn less_equal(self) -> bool
    where
        L: PartialOrd<R>,
    {
        self.0 <= self.1
    }
    fn greater(self) -> bool
    where
        L: PartialOrd<R>,
    {
        self.0 > self.1
    }
    fn greater_equal(self) -> bool
    where
        L: PartialOrd<R>,
    {
        self.0 >= self.1
    }
    fn equal(self) -> bool
    where
        L: PartialEq<R>,
    {
        self.0 == self.1
    }
    fn not_equal(self) -> bool
    where
        L: PartialEq<R>,
    {
        self.0 != self.1
    }
}

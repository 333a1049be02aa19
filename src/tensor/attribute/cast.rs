//! `as` to a number: of arrays [`Tensor::cast`], of plain values Rust's own.

use crate::algebra::Algebra;
use crate::tensor::{Element, Rank, Tensor};

/// The operand of `as`, which stays in place.
///
/// The cast itself comes as a closure, since its target type, which may be an enum, is known only where it is written.
pub struct Cast<'a, T>(pub &'a T);

/// A type that the elements of arrays are cast to, where they are an `N`.
///
/// `N` is a parameter, which the compiler leaves open where there is no implementation, so it reports the error once.
#[diagnostic::on_unimplemented(
    message = "an array is not cast to `{Self}`, which is not the type of an array's elements",
    label = "this is an array",
    note = "arrays are cast to `f32`, `f64`, `i32` or `i64`",
    note = "a position that is an array indexes as it is, `x[i]`, or `x[y as i64]` of floats; a size is plain, `x.len()`"
)]
pub trait CastTo<N> {}

impl CastTo<f32> for f32 {}
impl CastTo<f64> for f64 {}
impl CastTo<i32> for i32 {}
impl CastTo<i64> for i64 {}

/// The operand of `as` where it is the result of a function or method, which is moved.
pub struct CastValue<T>(pub T);

macro_rules! arrays {
    ($($array:ty),*) => {
        $(impl<A: Algebra, E: Element, R: Rank> CastValue<$array> {
            /// The array with elements of another type.
            #[track_caller]
            pub fn converted<T: CastTo<N>, N: Element>(self, _: impl FnOnce(f64) -> T) -> Tensor<A, N, R> {
                self.0.cast::<N>()
            }
        }

        impl<A: Algebra, E: Element, R: Rank> Cast<'_, $array> {
            /// The array with elements of another type.
            #[track_caller]
            pub fn converted<T: CastTo<N>, N: Element>(self, _: impl FnOnce(f64) -> T) -> Tensor<A, N, R> {
                self.0.cast::<N>()
            }
        })*
    };
}

arrays!(Tensor<A, E, R>, &Tensor<A, E, R>, &&Tensor<A, E, R>);

/// Casts of values that are not arrays.
pub trait CastByRust {
    /// The operand's type.
    type Of;
    /// The result of the cast.
    fn converted<T>(self, cast: impl FnOnce(Self::Of) -> T) -> T;
}

impl<V: Copy> CastByRust for Cast<'_, V> {
    type Of = V;
    fn converted<T>(self, cast: impl FnOnce(V) -> T) -> T {
        cast(*self.0)
    }
}

impl<V> CastByRust for CastValue<V> {
    type Of = V;
    fn converted<T>(self, cast: impl FnOnce(V) -> T) -> T {
        cast(self.0)
    }
}

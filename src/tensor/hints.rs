//! Names that other libraries have, and what they are called here: errors of the compiler that say so.

use crate::algebra::Algebra;
use crate::tensor::{Element, Rank, Tensor};

macro_rules! hints {
    ($($trait:ident $method:ident($($argument:ident)?): $message:literal;)*) => {
        $(
            /// Implemented by nothing.
            #[diagnostic::on_unimplemented(message = $message)]
            pub trait $trait<N> {
                /// There is no result.
                fn result(&self) -> N;
            }
        )*

        impl<A: Algebra, E: Element, R: Rank> Tensor<A, E, R> {
            $(
                #[doc(hidden)]
                pub fn $method<N $(, $argument)?>(&self $(, _: $argument)?) -> N
                where
                    Self: $trait<N>,
                {
                    self.result()
                }
            )*
        }
    };
}

hints! {
    Maximum maximum(T):
        "the larger ones of two arrays are `x.max(y)`; the largest element is `x.max_all()`, along an axis `x.max_axis(0)`";
    Minimum minimum(T):
        "the smaller ones of two arrays are `x.min(y)`; the smallest element is `x.min_all()`, along an axis `x.min_axis(0)`";
    StandardDeviation std(): "the standard deviation is `x.variance().sqrt()`, along an axis `x.variance_axis(0).sqrt()`";
    Trace trace(): "the trace of a matrix is `x.diagonal().sum()`";
}

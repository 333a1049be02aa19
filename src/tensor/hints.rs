//! Names from other libraries, and their equivalents here: compiler errors that suggest them.

use crate::algebra::Algebra;
use crate::tensor::{Element, Rank, Tensor};

macro_rules! hints {
    ($($trait:ident $method:ident($($argument:ident),*): $message:literal;)*) => {
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
                pub fn $method<N $(, $argument)*>(&self $(, _: $argument)*) -> N
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
    Clamp clamp(T, U): "the elements between two bounds are `x.max(low).min(high)`";
    Clip clip(T, U): "the elements between two bounds are `x.max(low).min(high)`";
    Column column(T): "a column is `x.index_axis(1, j)`, and `x[(.., j)]` under the attribute";
    Logarithm log(): "the natural logarithm is `x.ln()`; others are `x.log2()` and `x.log10()`";
    LogarithmOfSum log1p(): "the logarithm of one and the elements is `x.ln_1p()`";
    Mapped mapv(T): "arrays have the methods of numbers, `x.sin()`; a function of each element is `build(x.shape(), |i| ..)`";
    Maximum maximum(T):
        "the larger ones of two arrays are `x.max(y)`; the largest element is `x.max_all()`, along an axis `x.max_axis(0)`";
    Minimum minimum(T):
        "the smaller ones of two arrays are `x.min(y)`; the smallest element is `x.min_all()`, along an axis `x.min_axis(0)`";
    Columns ncols(): "the number of columns is `x.shape()[1]`";
    Rows nrows(): "the number of rows is `x.shape()[0]`";
    Product prod(): "the product of the elements is `x.product()`, along an axis `x.product_axis(0)`";
    Row row(T): "a row is `x.at(i)`, and `x[i]` under the attribute";
    ReciprocalRoot rsqrt(): "the reciprocal of the square root is `1.0 / x.sqrt()`";
    Softmax softmax(): "the softmax is `(x - x.logsumexp()).exp()`, along an axis with `x.logsumexp_axis(1).insert_axis(1)`";
    Square square(): "the square is `x.powi(2)`";
    StandardDeviation std(): "the standard deviation is `x.variance().sqrt()`, along an axis `x.variance_axis(0).sqrt()`";
    Trace trace(): "the trace of a matrix is `x.diagonal().sum()`";
    Variance var(): "the variance is `x.variance()`, along an axis `x.variance_axis(0)`";
}

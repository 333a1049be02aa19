//! Parts of kernels that a machine runs by its instructions: all in which vectors save time. What is around them, and what only
//! moves elements, is compiled once for every machine.

use super::hardware::Target;
use super::lanes::Work;
use super::rotations::Waiting;
use super::{MatrixElement, cholesky, cholesky_derivative, eigen, lanes, lu, lu_derivative, positive, reflections};
use super::{bidiagonal, qr, triangular};
use ndarray::{ArrayView2, ArrayViewMut1, ArrayViewMut2};

macro_rules! parts {
    ($($name:ident($($argument:ident: $type:ty),*) => $function:expr;)*) => {
        /// A part of a kernel, with its operands.
        pub(crate) enum Part<'a, T> {
            Lanes(Work<'a, T>),
            $($name($($type),*),)*
        }

        impl<T: MatrixElement> Part<'_, T> {
            /// Runs the part, which is compiled for the instructions.
            pub(crate) fn run_by<I: Target<T>>(self, instructions: I) {
                match self {
                    Part::Lanes(work) => lanes::run(instructions, work),
                    $(Part::$name($($argument),*) => instructions.run(
                        #[inline(always)]
                        || $function($($argument),*),
                    ),)*
                }
            }
        }
    };
}

parts! {
    Cholesky(a: ArrayViewMut2<'a, T>, is_definite: &'a mut bool) => cholesky::factor_small::<T, I::Vector>;
    CholeskyForward(l: ArrayView2<'a, T>, s: ArrayViewMut2<'a, T>) => cholesky_derivative::forward_small::<T, I::Vector>;
    CholeskyAdjoint(l: ArrayView2<'a, T>, z: ArrayViewMut2<'a, T>) => cholesky_derivative::adjoint_small::<T, I::Vector>;
    Eliminate(
        a: ArrayViewMut2<'a, T>,
        order: ArrayViewMut1<'a, T>,
        columns: [usize; 2],
        scratch: &'a mut [T]
    ) => lu::eliminate;
    LuForward(factors: ArrayView2<'a, T>, x: ArrayViewMut2<'a, T>) => lu_derivative::forward_small::<T, I::Vector>;
    LuAdjoint(factors: ArrayView2<'a, T>, w: ArrayViewMut2<'a, T>) => lu_derivative::adjoint_small::<T, I::Vector>;
    Invert(lower: ArrayView2<'a, T>, out: ArrayViewMut2<'a, T>) => positive::invert_small::<T, I::Vector>;
    Substitute(l: ArrayView2<'a, T>, unit: bool, b: ArrayViewMut2<'a, T>) => triangular::substitute::<T, I::Vector>;
    SubstituteOne(l: ArrayView2<'a, T>, unit: bool, b: ArrayViewMut2<'a, T>) => triangular::substitute_one;
    Reflect(
        start: usize,
        r: ArrayViewMut2<'a, T>,
        rows: ArrayViewMut2<'a, T>,
        factors: &'a mut [T]
    ) => qr::factor_few;
    Combine(vectors: ArrayView2<'a, T>, factors: &'a [T], out: ArrayViewMut2<'a, T>) => reflections::combine_few;
    Product(
        vectors: ArrayView2<'a, T>,
        factors: &'a [T],
        out: ArrayViewMut2<'a, T>,
        scratch: &'a mut [T]
    ) => reflections::product_of_few;
    Tridiagonal(a: &'a mut [T], to: [&'a mut [T]; 3], scratch: &'a mut [T]) => eigen::tridiagonal;
    Bidiagonal(
        a: &'a mut [T],
        left: &'a mut [T],
        factors: [&'a mut [T]; 2],
        to: [&'a mut [T]; 2],
        scratch: &'a mut [T]
    ) => bidiagonal::reduce;
    Rotate(waiting: Waiting<'a, T>) => Waiting::apply;
}
